"""Macros taken up where their records leave them: after a restart, or from a node that died.

    record: position, state, last result ──▶ results behind it ──▶ what was processed already
                                         └─▶ readings behind the position, in the order of their times ──▶ processed

Readings are in the repo of this node, those of the dead one too, as far as they came. What they set off is processed
apart from all else, so that nothing newer is seen; a result that some node published is known by its cause, and not
published again. So nothing is left out and nothing is there twice, whatever the record did not say. Then the macros
stand where the present is, and go on with it. What belongs to no group is not found again.

It goes piece by piece, one in a call, and everything else goes on in between; the next piece begins when the group has
the results of the last. What arrives meanwhile is for the streams to keep: when all is processed, one more look finds
it, and the call that finds less than a piece has the macros go on with the present, before anything else can arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from roost.broker.core import Core
from roost.broker.macros.catch_up import CatchUp
from roost.broker.macros.finding import END, PART, find_results, recall, stored, streams_of, to_come
from roost.broker.macros.macros import MAX_LEFT, Cause, Known, Macros, Place, sample_of_message
from roost.broker.macros.merging import Entry, entry_of, merged
from roost.broker.macros.processing import act, mark, proceed, publish_result
from roost.broker.recall import History
from roost.broker.since import Since
from roost.errors import BadMacro
from roost.machine.bucket import Bucket
from roost.machine.contract import SECOND, Effect, Note
from roost.process.definition import PREFIX
from roost.process.effects import Publish
from roost.process.macro import MAX_POSITION, Macro
from roost.process.parsing import sample_of
from roost.process.processor import Processor
from roost.process.sample import Sample

_UNLIMITED: Final = 1 << 40  # runs per second: what was missed came at its own times, not all at once


def catch_up_of(macros: Macros, names: list[str]) -> CatchUp:
    """What macros are taken up in, which are loaded a few at a time."""
    side = Processor(
        macros.engines,
        macros.history,
        reserve=macros.reserve,
        stopwatch=macros.stopwatch,
        has_rests=False,
        budget_ns=macros.budget_ns,
        most=macros.processor.most,
    )
    side.dependencies.watcher = macros.processor.dependencies.watcher
    return CatchUp(side, names)


def take_up(core: Core, macros: Macros, catching: CatchUp, names: list[str], now: int) -> None:
    """Have macros where their records leave them, each with what has its result already."""
    side = catching.side
    for name in names:
        known = macros.known[name]
        definition = known.record.definition
        if definition is None:
            continue
        try:
            side.restore(definition, known.record.standing, now, macros.code_of(definition))
        except BadMacro as error:
            refuse(core, known, error)
            continue
        macro = known.behind = side.macro(name)
        macro.is_behind = True
        macro.rate = Bucket(_UNLIMITED, SECOND, _UNLIMITED, now)
        catching.since[name] = known.record.since
        if core.history is not None and macros.tree is not None:
            find_results(core.history, macros, known)
            recall(core.history, macro)
            _hand_out(core, macros, known, now)


def go_on(core: Core, macros: Macros, catching: CatchUp, now: int) -> bool:
    """Process a piece of what was missed; whether that was all, up to the present."""
    history = core.history
    if history is None or macros.tree is None:
        return True
    if macros.samples:
        proceed(core, macros, now)
    side = catching.side
    if side.is_busy:
        _publish(core, macros, side.go_on(now), now)
        mark(macros, now)
    catching.room = macros.piece
    is_present = False
    while not side.is_busy:
        if catching.missed is None:
            catching.missed, is_present = _missed(history, macros, catching), True
        samples = catching.take()
        if samples:
            _publish(core, macros, side.arrived(samples, now), now)
            mark(macros, now)
        if catching.room <= 0:
            break
        catching.missed = None
        if is_present and not side.is_busy:
            _publish(core, macros, side.arrived(_under_way(history, macros, side), now), now)
            if not side.is_busy:
                _pass_by(side)
                _publish(core, macros, side.tick(now), now)
            if side.is_idle(now):
                return True
            break
    catching.barrier = max(macros.inserting, default=0)
    return False


def arrive(core: Core, macros: Macros, catching: CatchUp, now: int) -> list[tuple[Known, Macro]]:
    """Have macros that have caught up go on with the present; returns them, and as what they did."""
    if catching.readings:
        facts = (("macros", len(catching.since)), ("readings", catching.readings))
        core.effects.append(Note("macros caught up", facts))
        mark(macros, now)
    arrived: list[tuple[Known, Macro]] = []
    for name in catching.since:
        known, macro = macros.known[name], catching.side.macro(name)
        known.behind, known.published = None, _left(known.published)
        try:
            code = macro.program, [view.reference for view in macro.views]
            macros.processor.restore(macro.definition, macro.standing(), now, code)
        except BadMacro as error:
            refuse(core, known, error)
            continue
        macros.processor.macro(name).roots.update(macro.roots)
        known.is_here = True
        known.saved = -1 if catching.readings else 0
        arrived.append((known, macro))
    core.router.decide_anew()
    return arrived


def leave(macros: Macros, known: Known) -> None:
    """Catch up with a macro no more; the results that it has stay, and are known by their causes."""
    catching, macro = macros.catching, known.behind
    if macro is not None:
        macro.is_here = False  # those that refer to it get the results of others
        known.behind, known.published = None, {}
    if catching is None or catching.since.pop(known.record.name, None) is None:
        return
    if not catching.since and not catching.names:
        macros.catching = None


def refuse(core: Core, known: Known, error: BadMacro) -> None:
    """Say why a macro cannot be run here."""
    known.refusal = str(error)
    core.effects.append(Note("macro not run", (("macro", known.record.name), ("reason", known.refusal))))


def present_of(core: Core, filters: list[str]) -> tuple[tuple[bytes, int], ...]:
    """How far the streams of filters were handed on: what is behind that is still to arrive."""
    history = core.history
    if history is None:
        return ()
    streams = streams_of(history, filters)
    numbers = [(stream, history.present(stream)) for stream in streams[:MAX_POSITION]]
    return tuple(sorted([(stream, number) for stream, number in numbers if number > 0]))


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
    _set_off(core, macros, fresh, now)


def _hand_out(core: Core, macros: Macros, known: Known, now: int) -> None:
    """Have macros that run already process results that are still to come: new ones would overtake them."""
    history = core.history
    if history is None or not macros.processor.touches(PREFIX + known.record.name):
        return
    entries = merged(to_come(history, macros, known), _none)
    _set_off(core, macros, [each.sample for each in entries], now)


def _set_off(core: Core, macros: Macros, results: list[Sample], now: int) -> None:
    """Have macros that run already process results."""
    if results:
        act(core, macros, macros.processor.arrived(results, now), now)
    macros.samples = []  # what their own results set off they had


def _missed(history: History, macros: Macros, catching: CatchUp) -> Iterator[Sample]:
    """The readings that macros have not processed, in the order of their times.

    Results that count as published are among them, though they may not have been handed on: others come after them.
    """
    highs: dict[bytes, int] = {}
    for name in [*macros.processor.macros(), *catching.side.macros()]:
        ours = macros.stream_of(PREFIX + name)
        highs.update({**macros.known[name].counted, ours: macros.last_number(ours)})
    lows: dict[bytes, int] = {}
    looked: list[tuple[str, bytes]] = []
    for name, since in catching.since.items():
        macro = catching.side.macro(name)
        for filter_ in dict.fromkeys([view.reference.topic for view in macro.views]):
            for stream in history.streams(filter_.encode()):
                if stream not in macro.seen:
                    macro.seen[stream] = history.first(stream, Since(time=since)) - 1
                lows[stream] = min(macro.seen[stream] + 1, lows.get(stream, END))
                looked.append((filter_, stream))
    for filter_, stream in looked:  # what is in later pieces is not to be looked back on
        catching.side.window.expect(Sample("", 0, None, stream=stream, number=lows[stream]), [filter_])
    ends = [(stream, low, max(history.present(stream), highs.get(stream, 0))) for stream, low in lows.items()]
    strands = {stream: _strand(history, stream, low, high) for stream, low, high in ends if low <= high}
    return _whole(history, merged(strands, _included(macros, catching.side)))


def _included(macros: Macros, side: Processor) -> Callable[[Sample], bool]:
    """Tell results that are not made again, for what set them off was processed before: they go first."""
    known = {PREFIX + name: (macros.known[name].record.results, dict(side.macro(name).seen)) for name in side.macros()}

    def is_included(sample: Sample) -> bool:
        root, number = sample.root
        results, seen = known.get(sample.topic, ({}, {}))
        return bool(root) and (number <= seen.get(root, 0) or sample.number <= results.get(sample.stream, 0))

    return is_included


def _whole(history: History, entries: Iterable[Entry]) -> Iterator[Sample]:
    """Samples with their payloads, as far as these are here."""
    for sample, is_large, _ in entries:
        if not is_large:
            yield sample
            continue
        for _, message in history.read(sample.stream, sample.number, sample.number, 1):
            if message is not None:
                yield sample_of_message(message, sample.stream, sample.number)


def _under_way(history: History, macros: Macros, side: Processor) -> list[Sample]:
    """Results that have not come out of the group: the next ones would overtake them.

    They are of macros that run here or catch up, and those of other nodes that were made again.
    """
    strands: dict[bytes, Iterator[Entry]] = {}
    for stream, top in _tops(side).items():
        strands[stream] = iter(stored(history, stream, top))
    for name in [*macros.processor.macros(), *side.macros()]:
        if side.touches(PREFIX + name):
            strands.update(to_come(history, macros, macros.known[name]))
    return [each.sample for each in merged(strands, _included(macros, side))]


def _tops(side: Processor) -> dict[bytes, int]:
    """How far results of each stream were made again, behind others that were not read yet."""
    found: dict[bytes, int] = {}
    for name in side.macros():
        for stream, top in side.macro(name).ahead.tops().items():
            found[stream] = max(top, found.get(stream, 0))
    return found


def _pass_by(side: Processor) -> None:
    """All of the past is processed: what was missing in it is missed."""
    for macro in [side.macro(name) for name in side.macros()]:
        for stream, top in macro.ahead.tops().items():
            macro.pass_by(stream, top)


def _left(published: dict[Cause, list[Place]]) -> dict[Cause, list[Place]]:
    """The results of which the causes have not come again: those may be there twice, or later than their results."""
    left = [(cause, places) for cause, places in published.items() if places]
    return dict(left[-MAX_LEFT:])


def _strand(history: History, stream: bytes, low: int, high: int) -> Iterator[Entry]:
    """The samples of a stream; a large one comes without its payload, and is told of: there may be many streams."""
    while low <= high and (part := history.outlines(stream, low, high, PART)):
        for number, message, is_large in part:
            if message is not None:
                yield entry_of(message, sample_of_message(message, stream, number), is_large=is_large)
        low = part[-1][0] + 1


def _none(_sample: Sample) -> bool:
    return False
