"""The budget of a call: what it has no time for waits in order, and who keeps others waiting rests."""

from __future__ import annotations

from tests.process_world import NOW, Past, Scripted, Scripts

from roost.machine import MS, SECOND
from roost.process.backlog import Backlog
from roost.process.definition import MOST, Definition
from roost.process.effects import Publish
from roost.process.engine import Limits
from roost.process.macro import LONG_REST
from roost.process.processor import LATE, SHARE, Processor
from roost.process.reference import Reference
from roost.process.sample import Sample
from roost.process.use import PERIOD, WINDOW, Use

RUN = 19 * MS
BUDGET = 50 * MS


class Timed:
    """A processor whose macros take time, and count what they are given."""

    def __init__(self, history: tuple[Sample, ...] = (), *, share: float = SHARE, most: Limits = MOST) -> None:
        self.stopwatch = 0
        self.now = NOW
        self.engine = Scripts()
        self.made: list[str] = []
        self.processor = Processor(
            {"python": self.engine},
            Past(history),
            stopwatch=lambda: self.stopwatch,
            budget_ns=BUDGET,
            share=share,
            most=most,
        )

    def define(self, name: str, topic: str, *, takes: int = RUN, **more: str) -> None:
        def run(call: object) -> str:
            self.stopwatch += takes
            return " ".join(str(sample.value) for samples in call.inputs.values() for sample in samples)  # type: ignore[attr-defined]

        self.engine.programs[name] = Scripted([Reference(topic)], run)
        self.processor.define(Definition(name, name, "python", **more), self.now)  # type: ignore[arg-type]

    def arrive(self, *samples: Sample) -> float:
        return self._took(lambda: self.processor.arrived(samples, self.now))

    def tick(self) -> float:
        return self._took(lambda: self.processor.tick(self.now))

    def finish(self) -> int:
        """Tick until nothing waits; how often."""
        ticks = 0
        while self.processor.is_busy:
            assert self.processor.deadline() == 0
            assert self.tick() <= BUDGET + RUN
            ticks += 1
        return ticks

    def _took(self, call: object) -> float:
        before = self.stopwatch
        for effect in call():  # type: ignore[operator]
            if isinstance(effect, Publish):
                self.made.append(f"{effect.name}={effect.payload.decode()}")
        return self.stopwatch - before


def readings(topic: str, count: int, first: int = 1) -> list[Sample]:
    return [Sample(topic, NOW + n, n, stream=topic.encode(), number=n) for n in range(first, first + count)]


def test_a_call_takes_its_budget_and_one_run_at_most_and_what_is_left_waits_in_order() -> None:
    world = Timed()
    world.define("slow", "a")
    assert world.arrive(*readings("a", 100)) <= BUDGET + RUN
    assert world.processor.sizes()["waiting"] == (97, 100_000)
    assert world.arrive(*readings("a", 2, 101)) == 0  # behind the others
    assert world.finish() == 33
    assert world.made == [f"slow={n}" for n in range(1, 103)]


def test_one_reading_that_touches_many_macros_is_interrupted_too() -> None:
    world = Timed()
    for n in range(20):
        world.define(f"slow{n:02}", "a")
    world.define("last", "Noctua/slow19")
    assert world.arrive(*readings("a", 2)) <= BUDGET + RUN
    world.finish()
    one = [f"slow{n:02}=%d" for n in range(20)] + ["last=%d"]
    assert world.made == [each % 1 for each in one] + [each % 2 for each in one]


def test_what_waits_is_not_looked_back_on_before_its_turn() -> None:
    past = readings("b", 9)
    world = Timed(tuple(past))
    world.define("slow", "b")
    world.arrive(*past[4:])
    world.define("both", "b")  # new while readings wait: history has them already
    world.finish()
    assert [each for each in world.made if each.startswith("both")] == ["both=8", "both=9"]
    assert [each for each in world.made if each.startswith("slow")] == [f"slow={n}" for n in range(5, 10)]


def test_macros_that_change_in_the_middle_of_a_reading_take_their_turns_as_they_are_then() -> None:
    world = Timed()
    for name in "pqrst":
        world.define(name, "a")
    world.arrive(*readings("a", 1))
    assert world.made == ["p=1", "q=1", "r=1"]
    assert world.processor.ahead() == {b"a": 1}
    world.processor.undefine("s", world.now)  # goes on first, and has its result
    world.define("t", "a", description="another")
    world.finish()
    assert world.processor.ahead() == {}
    assert world.processor.macro("t").runs == 1


def test_what_is_due_keeps_to_the_budget_and_comes_behind_what_waits() -> None:
    world = Timed()
    for n in range(10):
        world.define(f"often{n}", "a", trigger="every 1s")
    world.arrive(*readings("a", 1))
    world.now += 2 * SECOND
    assert world.tick() <= BUDGET + RUN
    world.finish()
    assert world.made == [f"often{n}=1" for n in range(10)]


def test_who_keeps_readings_waiting_rests_and_the_others_do_not() -> None:
    world = Timed()
    world.define("slow", "a")
    world.define("quick", "b", takes=MS // 100)
    world.arrive(*[each for pair in zip(readings("a", 500), readings("b", 500), strict=True) for each in pair])
    ticks = 0
    while world.processor.is_busy:
        world.now += BUDGET + RUN
        ticks += 1
        world.tick()
    assert ticks <= LATE // BUDGET + 5
    slow, quick = world.processor.macro("slow"), world.processor.macro("quick")
    assert quick.runs == 500
    assert slow.runs + slow.limited == 500
    assert slow.is_resting(world.now)
    failure = slow.trace.last_failure
    assert failure is not None
    assert failure.failure is not None
    assert failure.failure.message == "it ran for 0.912 s of the last 10 s while readings waited, and rests for 4.93 s"
    world.now += LONG_REST
    world.arrive(*readings("a", 1, 501))
    assert world.made[-1] == "slow=501"


def test_all_that_use_more_than_their_share_rest_at_once() -> None:
    world = Timed(share=0.02)
    macros = [("one", RUN), ("two", RUN), ("light", MS // 100)]
    for name, takes in macros:
        world.define(name, "a", takes=takes)
    world.arrive(*readings("a", 100))
    resting: list[str] = []
    while not resting:
        world.now += BUDGET + RUN
        world.tick()
        resting = [name for name, _ in macros if world.processor.macro(name).is_resting(world.now)]
    assert resting == ["one", "two"]


def test_limits_of_definitions_hold_as_far_as_those_of_the_node() -> None:
    limits = Limits(time_ms=20, runs_per_s=2)
    world = Timed(most=limits)
    world.define("x", "a", takes=0)
    assert world.processor.macro("x").limits == Limits(time_ms=20, runs_per_s=2)
    world.arrive(*readings("a", 3))
    assert world.made == ["x=1", "x=2"]


def test_a_backlog_has_bounds_and_counts_what_it_leaves_out() -> None:
    backlog = Backlog(max_samples=3, max_bytes=100_000)
    backlog.add(readings("a", 5), 7)
    assert (len(backlog), backlog.left_out, backlog.since) == (3, 2, 7)
    backlog.drop_first()
    backlog.add([Sample("a", NOW, "x" * 100_000), Sample("a", NOW, {"k": ["x"] * 999})], 8)
    assert (len(backlog), backlog.left_out) == (2, 4)
    assert [each.value for each in backlog.samples()] == [2, 3]


def test_use_looks_back_on_this_period_and_the_one_before() -> None:
    use = Use()
    use.add(3, NOW)
    assert use.lately(NOW + PERIOD - 1) == 3
    use.add(2, NOW + PERIOD)
    assert use.lately(NOW + PERIOD) == 5
    assert use.lately(NOW + 2 * PERIOD) == 2
    assert use.lately(NOW + 2 * PERIOD + WINDOW) == 0
    use.add(1, NOW)  # the clock was set back
    assert use.lately(NOW) == 1
