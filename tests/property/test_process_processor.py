"""The processor against a model that remembers everything and works all out anew for every sample.

Macros come, change and go while readings arrive, some late and some again; ticks are late; the node restarts with what
it kept. The model has no window, no history, no ranks and no caches: only a list of all that there ever was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from zlib import crc32

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.process_world import NOW, Call, World

from roost.errors import BadMacro
from roost.machine import SECOND
from roost.process.effects import Publish
from roost.process.reference import Reference
from roost.process.sample import Sample
from roost.process.wildcards import matches

NAMES = ("m0", "m1", "m2", "m3")
TOPICS = ("a", "b", "room/1", "room/2", "plain")
FILTERS = (*TOPICS, "room/+", "Noctua/m0", "Noctua/m1", "Noctua/m2", "Noctua/+")
references = st.builds(
    Reference,
    topic=st.sampled_from(FILTERS),
    cutoff_s=st.sampled_from([0.0, 0.0, 2.0, 20.0]),
    required=st.integers(0, 3),
    limit=st.integers(1, 4),
)
arrivals = st.tuples(st.sampled_from(TOPICS), st.sampled_from([0, 0, 0, 1, 5, 30]))


def compute(seen: list[list[Sample]]) -> str | None:
    """What every macro does: a number out of all it is given, and nothing for some."""
    number = crc32(repr([[(each.topic, str(each.value)) for each in samples] for samples in seen]).encode()) % 1009
    return None if number % 7 == 0 else str(number)


@dataclass
class Modelled:
    references: list[Reference]
    trigger: str
    every: int
    version: int = 1
    seen: dict[bytes, int] = field(default_factory=dict)
    used: dict[str, Sample] = field(default_factory=dict)
    due: int = 0

    def depends(self, topic: str) -> bool:
        return any(matches(each.topic, topic) for each in self.references)


class Model:
    def __init__(self) -> None:
        self.macros: dict[str, Modelled] = {}
        self.everything: list[Sample] = []  # in the order in which it came
        self.numbers: dict[str, int] = {}

    def above(self, name: str) -> list[str]:
        return [each for each in self.macros if self.macros[name].depends(f"Noctua/{each}")]

    def is_cyclic(self) -> bool:
        left = dict.fromkeys(self.macros)
        while left:
            free = [name for name in left if not any(each in left for each in self.above(name))]
            if not free:
                return True
            for name in free:
                del left[name]
        return False

    def rank(self, name: str) -> int:
        return 1 + max((self.rank(each) for each in self.above(name)), default=0)

    def look(self, reference: Reference, now: int) -> list[Sample]:
        since = now - round(reference.cutoff_s * SECOND) if reference.cutoff_s else 0
        found = [each for each in self.everything if matches(reference.topic, each.topic) and each.time >= since]
        return sorted(found, key=lambda each: each.time)[::-1][: reference.count]

    def arrive(self, sample: Sample) -> list[tuple[str, str]]:
        published = self.tick(sample.time)
        if not any(
            sample.stream and (each.stream, each.number) == (sample.stream, sample.number) for each in self.everything
        ):
            self.everything.append(sample)
        names = [name for name, macro in self.macros.items() if macro.depends(sample.topic)]
        return published + self.run(names, sample, sample.time, [])

    def tick(self, now: int) -> list[tuple[str, str]]:
        published: list[tuple[str, str]] = []
        while due := min((each.due for each in self.macros.values() if 0 < each.due <= now), default=0):
            names = [name for name, each in self.macros.items() if each.due == due]
            published += self.run(names, Sample("", due, None), due, names)
        return published

    def run(self, names: list[str], cause: Sample, now: int, due: list[str]) -> list[tuple[str, str]]:
        published = []
        active = {name: [cause] for name in names}
        for name in due:
            self.macros[name].due = 0
        for name in sorted(self.macros, key=lambda each: (self.rank(each), each)):
            macro = self.macros[name]
            if name not in active:
                continue
            is_new = False
            for each in active[name]:
                is_new = is_new or not each.stream or each.number > macro.seen.get(each.stream, 0)
                if each.stream:
                    macro.seen[each.stream] = max(each.number, macro.seen.get(each.stream, 0))
            if not is_new:
                continue
            if macro.every and name not in due:
                macro.due = macro.due or (now // macro.every + 1) * macro.every
                continue
            seen = [self.look(each, now) for each in macro.references]
            if any(len(samples) < each.required for samples, each in zip(seen, macro.references, strict=True)):
                continue
            heads = {each.topic: samples[0] for each, samples in zip(macro.references, seen, strict=True) if samples}
            needed = [each.topic for each in macro.references if each.required]
            if macro.trigger == "set" and any(heads[each] == macro.used.get(each) for each in needed):
                continue
            macro.used = heads if macro.trigger == "set" else macro.used
            result = compute(seen)
            if result is not None:
                published.append((name, result))
                topic = f"Noctua/{name}"
                self.numbers[topic] = self.numbers.get(topic, 0) + 1
                made = Sample(topic, now, result, stream=topic.encode(), number=self.numbers[topic])
                self.everything.append(made)
                for following in [other for other in self.macros if self.macros[other].depends(topic)]:
                    active.setdefault(following, []).append(made)
        return published


class ProcessorMachine(RuleBasedStateMachine):
    @initialize(macros=st.lists(st.tuples(st.lists(references, min_size=1, max_size=3, unique=True)), max_size=4))
    def begin(self, macros: list[tuple[list[Reference]]]) -> None:
        self.model = Model()
        self.now = NOW
        self.ticks = 0
        self.numbers: dict[str, int] = {}
        self.last: dict[str, Sample] = {}
        self.kept: list[Sample] = []
        self.published: dict[str, int] = {}
        self.world = self.fresh()
        for name, (wanted,) in zip(NAMES, macros, strict=False):
            self.define(name, wanted, "arrival", 1)

    def fresh(self) -> World:
        world = World()
        world.past.samples = self.kept
        world.streams = True
        world.reserved = self.published
        return world

    def expect(self, effects: list[object], expected: list[tuple[str, str]]) -> None:
        published = [each for each in effects if isinstance(each, Publish)]
        assert [(each.name, each.payload.decode()) for each in published] == expected
        for each in published:
            value = each.payload.decode()
            self.kept.append(Sample(each.topic, each.time, value, stream=each.stream, number=each.number))
            known = {(sample.stream, sample.number) for sample in self.model.everything}
            assert known.issuperset(each.inputs)
            assert each.version == self.model.macros[each.name].version

    @rule(
        name=st.sampled_from(NAMES),
        wanted=st.lists(references, min_size=1, max_size=3, unique=True),
        trigger=st.sampled_from(["arrival", "arrival", "set", "every"]),
        every=st.integers(1, 7),
    )
    def define(self, name: str, wanted: list[Reference], trigger: str, every: int) -> None:
        before = self.model.macros.get(name)
        period = every * SECOND if trigger == "every" else 0
        after = Modelled(list(wanted), trigger, period)
        if before is not None:
            after.version, after.seen, after.used = before.version + 1, before.seen, before.used
            after.due = (self.now // period + 1) * period if period and before.due else 0
        self.model.macros[name] = after
        self.world.now = self.now
        try:
            self.world.define(name, wanted, _function(wanted), trigger=f"every {every}s" if period else trigger)
            assert not self.model.is_cyclic()
        except BadMacro:
            assert self.model.is_cyclic()
            del self.model.macros[name]
            if before is not None:
                self.model.macros[name] = before

    @rule(name=st.sampled_from(NAMES))
    def undefine(self, name: str) -> None:
        if name in self.model.macros:
            self.expect(list(self.world.processor.undefine(name, self.now)), self.model.tick(self.now))
            del self.model.macros[name]

    @rule(batch=st.lists(arrivals, min_size=1, max_size=4), pause=st.integers(0, 3))
    def arrive(self, batch: list[tuple[str, int]], pause: int) -> None:
        self.now += pause * SECOND
        samples = []
        for topic, age_s in batch:
            self.ticks += 1
            time = self.now - age_s * SECOND + self.ticks
            if topic == "plain":
                samples.append(Sample(topic, time, self.ticks))
                continue
            self.numbers[topic] = self.numbers.get(topic, 0) + 1
            samples.append(Sample(topic, time, self.ticks, stream=topic.encode(), number=self.numbers[topic]))
            self.last[topic] = samples[-1]
            self.kept.append(samples[-1])  # readings are in the store before they arrive
        expected: list[tuple[str, str]] = []
        for sample in samples:
            expected += self.model.arrive(sample)
        self.expect(list(self.world.processor.arrived(samples, self.now)), expected)
        self.kept += [sample for sample in samples if not sample.stream]

    @rule(topic=st.sampled_from(TOPICS))
    def arrive_again(self, topic: str) -> None:
        if topic in self.last:
            self.expect(list(self.world.processor.tick(self.now)), self.model.tick(self.now))
            expected = self.model.arrive(self.last[topic])
            self.expect(list(self.world.processor.arrived([self.last[topic]], self.now)), expected)

    @rule(pause=st.integers(1, 20))
    def wait(self, pause: int) -> None:
        self.now += pause * SECOND
        self.expect(list(self.world.processor.tick(self.now)), self.model.tick(self.now))

    @rule()
    def restart(self) -> None:
        old = self.world.processor
        self.world = self.fresh()
        for name in old.macros():
            macro = old.macro(name)
            model = self.model.macros[name]
            definition = macro.definition
            self.world.engine.programs[definition.code] = macro.program  # type: ignore[assignment]
            self.world.processor.restore(definition, macro.standing(), self.now)
            assert self.world.processor.macro(name).version == model.version

    @invariant()
    def deadlines_agree(self) -> None:
        due = [each.due for each in self.model.macros.values() if each.due]
        assert self.world.processor.deadline() == min(due, default=None)
        assert self.world.processor.window.total <= 4 * 3 * (4 + 8)


def _function(wanted: list[Reference]):  # type: ignore[no-untyped-def]  # noqa: ANN202
    def run(call: Call) -> object:
        assert list(call.inputs) == wanted
        return compute([list(call.inputs[each]) for each in wanted])

    return run


ProcessorMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestProcessor = ProcessorMachine.TestCase
