"""Macros taken up where their records leave them: after a restart, or from a node that died.

    record: position, state, last result ──▶ results behind it ──▶ what was processed already
                                         └─▶ readings behind the position, in the order of their times ──▶ processed

Readings are in the repo of this node, those of the dead one too, as far as they came. What they set off is processed
apart from all else, so that nothing newer is seen; a result that some node published is known by its cause, and not
published again. So nothing is left out and nothing is there twice, whatever the record did not say. Then the macros
stand where the present is, and go on with it. What belongs to no group is not found again.
"""

from __future__ import annotations

from heapq import merge
from typing import Final

from roost.broker.core import Core
from roost.broker.macros.macros import Cause, Known, Macros, Place, cause_in, sample_of_message
from roost.broker.macros.processing import act, publish_result
from roost.broker.recall import History
from roost.broker.since import Since
from roost.errors import BadMacro
from roost.machine.contract import Effect, Note
from roost.naming.name import Name
from roost.process.definition import PREFIX
from roost.process.effects import Publish
from roost.process.macro import MAX_POSITION, MAX_ROOTS, Macro
from roost.process.parsing import sample_of
from roost.process.processor import Processor
from roost.process.sample import Sample
from roost.repo.numbering import key_of
from roost.wire.lineage import MAX_AFTER

MAX_READINGS: Final = 200_000  # of a stream that are processed again
MAX_RESULTS: Final = 100_000  # of a stream that are looked through
_PIECE: Final = 1000
_END: Final = (1 << 63) - 1


def take_up(core: Core, macros: Macros, names: list[str], now: int) -> None:
    """Run macros from where their records leave them, up to the present."""
    side = Processor(macros.engines, macros.history, reserve=macros.reserve, stopwatch=macros.stopwatch)
    taken: list[Known] = []
    for name in names:
        known = macros.known[name]
        definition = known.record.definition
        if definition is None:
            continue
        try:
            side.restore(definition, known.record.standing, now)
        except BadMacro as error:
            known.refusal = str(error)
            core.effects.append(Note("macro not run", (("macro", name), ("reason", known.refusal))))
            continue
        taken.append(known)
    history = core.history
    if history is not None and macros.tree is not None:
        for known in taken:
            _find_results(history, macros, known)
            _recall(history, side.macro(known.record.name))
        samples = _missed(history, [(known, side.macro(known.record.name)) for known in taken])
        _publish(core, macros, [*side.arrived(samples, now), *side.tick(now)], now)
        if samples:
            facts = (("macros", len(taken)), ("readings", len(samples)))
            core.effects.append(Note("macros caught up", facts))
    for known in taken:
        macro = side.macro(known.record.name)
        macros.processor.restore(macro.definition, macro.standing(), now)
        macros.processor.macro(known.record.name).roots.update(macro.roots)
        known.published = {}
        known.is_here = True
    core.router.decide_anew()


def present_of(core: Core, filters: list[str]) -> tuple[tuple[bytes, int], ...]:
    """How far the streams of filters were handed on: what is behind that is still to arrive."""
    history = core.history
    if history is None:
        return ()
    streams = _streams(history, filters)
    numbers = [(stream, history.present(stream)) for stream in streams[:MAX_POSITION]]
    return tuple(sorted([(stream, number) for stream, number in numbers if number > 0]))


def _streams(history: History, filters: list[str]) -> list[bytes]:
    return list(dict.fromkeys([stream for each in filters for stream in history.streams(each.encode())]))


def _publish(core: Core, macros: Macros, effects: list[Effect], now: int) -> None:
    """Publish results that nobody has published; macros that run already get them."""
    fresh: list[Sample] = []
    for effect in effects:
        if isinstance(effect, Publish):
            if publish_result(core, macros, effect, now):
                time, format_ = effect.time, effect.format
                sample = sample_of(effect.topic, time, format_, effect.payload, effect.stream, effect.number)
                fresh.append(sample._replace(root=effect.cause.origin))
        elif isinstance(effect, Note):
            core.effects.append(effect)
    if fresh:
        act(core, macros, macros.processor.arrived(fresh, now), now)
    macros.samples = []


def _find_results(history: History, macros: Macros, known: Known) -> None:
    """Find out what has its result: those that are behind what the record includes. Ours come after all of others."""
    topic = PREFIX + known.record.name
    published: dict[Cause, list[Place]] = {}
    after: list[Name] = []
    for stream in history.streams(topic.encode()):
        last = max(history.present(stream), known.record.results.get(stream, 0))
        for number, message in _read(history, stream, known.record.results.get(stream, 0) + 1, _END, MAX_RESULTS):
            last = max(last, number)
            if message is not None and message.lineage:
                published.setdefault(cause_in(message), []).append((stream, number))
        if last and stream != macros.stream_of(topic):
            after.append(Name(key_of(stream, last)))
    known.published, known.after = published, tuple(after[:MAX_AFTER])


def _recall(history: History, macro: Macro) -> None:
    """Know which results of other macros were processed: the same, as another node has published it, is not to be."""
    for stream in _streams(history, [each for each in macro.filters if each.startswith(PREFIX)]):
        high = macro.seen.get(stream, 0)
        for number, message in _read(history, stream, max(1, high - MAX_ROOTS + 1), high, MAX_ROOTS):
            if message is not None:
                macro.is_twin(sample_of_message(message, stream, number))


def _missed(history: History, taken: list[tuple[Known, Macro]]) -> list[Sample]:
    """The readings that macros have not processed, in the order of their times."""
    lows: dict[bytes, int] = {}
    for known, macro in taken:
        for stream in _streams(history, macro.filters):
            if stream not in macro.seen:
                macro.seen[stream] = history.first(stream, Since(time=known.record.changed)) - 1
            lows[stream] = min(macro.seen[stream] + 1, lows.get(stream, _END))
    strands = [_strand(history, stream, low) for stream, low in lows.items()]
    return list(merge(*strands, key=_order))


def _strand(history: History, stream: bytes, low: int) -> list[Sample]:
    found = _read(history, stream, low, history.present(stream), MAX_READINGS)
    return [sample_of_message(message, stream, number) for number, message in found if message is not None]


def _read(history: History, stream: bytes, low: int, high: int, limit: int):  # type: ignore[no-untyped-def]  # noqa: ANN202
    count = 0
    while low <= high and count < limit:
        piece = history.read(stream, low, high, _PIECE)
        if not piece:
            return
        yield from piece
        count += len(piece)
        low = piece[-1][0] + 1


def _order(sample: Sample) -> tuple[int, bytes, int]:
    return sample.time, sample.stream, sample.number
