"""Macros at the end of a call: what it collected is processed, results are published, and what has to last is kept.

Results go where all messages of their topics go: into the group of `Noctua/#`, or to plain subscribers. A record of a
macro is written when its definition or its state changes; where it has only come further, every `PAUSE`; and never
before the group has all results that it includes, for a crash must not lose them. Other nodes of the group are told the
same. What a crash leaves out of the records is found again in the readings: what follows the position is processed
again, and results that are there already are not published twice (`macros.catching_up`).

A call has a budget (`Macros.budget_ns`): what takes longer waits in order, and goes on with the next tick, so that
everything else has its turn in between.
"""

from __future__ import annotations

from typing import Final

from roost.broker.core import Core
from roost.broker.ledger import FAR
from roost.broker.macros.macros import PAUSE, Macros, cause_of
from roost.broker.macros.record import Record
from roost.broker.message import Message
from roost.broker.routing import publish, route_of
from roost.machine.contract import SECOND, Effect, Note, Rejected
from roost.naming.name import Name
from roost.process.effects import KeepState, Publish
from roost.repo.numbering import key_of
from roost.wire.lineage import InputRange, lineage_of

QOS: Final = 1  # of results
MAX_JOB_BYTES: Final = 255
MAX_UNPLACED: Final = 10_000  # results that wait for room in their group
_SAMPLE_BYTES: Final = 64


def proceed(core: Core, macros: Macros, now: int) -> None:
    """Process what was collected, and what is due; behind what waits already it waits too."""
    samples, macros.samples = macros.samples, []
    processor = macros.processor
    effects = processor.arrived(samples, now) if samples else []
    if not processor.is_busy:
        due = processor.deadline()
        if due is not None and due <= now:
            effects += processor.tick(now)
    _finish(core, macros, effects, len(samples), now)


def _finish(core: Core, macros: Macros, effects: list[Effect], processed: int, now: int) -> None:
    """Do what came of processing."""
    if effects:
        act(core, macros, effects, now)
        macros.samples = []  # results that were published in this call: their macros had them
    elif processed:
        mark(macros, now)


def act(core: Core, macros: Macros, effects: list[Effect], now: int) -> None:
    """Do what a processor wants."""
    changed: dict[str, None] = {}
    for effect in effects:
        if isinstance(effect, Publish):
            publish_result(core, macros, effect, now)
        elif isinstance(effect, KeepState):
            changed[effect.name] = None
        elif isinstance(effect, Note):
            core.effects.append(effect)
    for name in changed:
        if macros.runs(name):
            save(core, macros, macros.standing(macros.known[name]), now, sync=False)
    mark(macros, now)


def mark(macros: Macros, now: int) -> None:
    """Something has come further; it is saved soon."""
    if macros.save_at is None:
        macros.save_at = now + PAUSE


def publish_result(core: Core, macros: Macros, result: Publish, now: int) -> bool:
    """Publish a result, unless it was published before."""
    known = macros.known.get(result.name)
    if known is not None and (places := known.published.get(cause_of(result.cause))):
        del places[0]
        macros.repeated += 1
        return False
    macros.published += 1
    topic = result.topic.encode()
    lineage = b""
    if result.stream:
        lineage = _lineage(result, () if known is None else known.after)
        if known is not None:
            known.after = ()
    time = result.time if result.stream else now
    message = Message(topic, result.payload, QOS, False, b"", 0, b"", time, None, 0, lineage)  # noqa: FBT003  a C call
    place(core, macros, message, now)
    return True


def place(core: Core, macros: Macros, message: Message, now: int) -> None:
    """Put a result where its topic belongs; what its group has no room for just now is tried again."""
    route = route_of(core, message.topic)
    if route.tree is None:
        publish(core, message, route, 0, now)
        return
    refusal = "" if core.gateway is None else core.gateway.refusal_of(route.tree, message)
    if refusal:
        macros.lost += 1
        core.effects.append(Rejected("a macro", refusal, message.topic[:_SAMPLE_BYTES]))
        return
    macros.inserting.setdefault(core.insert(route.tree, message), []).append(message)


def inserted(core: Core, macros: Macros, ticket: int, refusal: str, now: int) -> None:
    """A group has the results of a ticket, or has no room for them."""
    messages = macros.inserting.pop(ticket, None)
    if messages is None:
        return
    if not refusal:
        release(core, macros, now)
    else:
        room = MAX_UNPLACED - len(macros.unplaced)
        macros.unplaced += messages[:room]
        macros.lost += max(0, len(messages) - room)
        macros.place_at = now + SECOND


def _lineage(result: Publish, after: tuple[Name, ...]) -> bytes:
    stream, number = result.cause.origin
    named = Name(key_of(stream, number)) if stream else None
    job = f"{result.topic}@{result.version}"
    if len(job.encode()) > MAX_JOB_BYTES:
        job = ""
    return lineage_of(result.program, ranges=_ranges(result.inputs), job=job, cause=named, after=after).encode()


def _ranges(inputs: tuple[tuple[bytes, int], ...]) -> list[InputRange]:
    """What was used, those with consecutive numbers together."""
    found: list[InputRange] = []
    stream, low, high = b"", 0, 0
    for each, number in sorted(inputs):
        if each == stream and number == high + 1:
            high = number
            continue
        if stream:
            found.append(InputRange(Name(stream), low, high))
        stream, low, high = each, number, number
    if stream:
        found.append(InputRange(Name(stream), low, high))
    return found


def save(core: Core, macros: Macros, record: Record, now: int, *, sync: bool) -> None:
    """Keep a record and tell other nodes, once the group has the results that it includes."""
    known = macros.remember(record)
    record = known.record
    known.ticket = FAR
    if macros.unplaced or macros.inserting:
        before = macros.held.get(record.name)
        if before is None:
            macros.held[record.name] = (max(macros.inserting, default=0), record, sync)
        else:  # it goes first; what is newer by then follows
            macros.newer[record.name] = sync or macros.newer.get(record.name, False)
        return
    _write(core, macros, record, now, sync=sync)


def release(core: Core, macros: Macros, now: int) -> None:
    """Write the records that wait for no results any more."""
    if not macros.held or macros.unplaced:
        return
    awaited = min(macros.inserting, default=FAR)
    for name, (barrier, record, sync) in list(macros.held.items()):
        if barrier < awaited:
            del macros.held[name]
            again = macros.newer.pop(name, None)
            _write(core, macros, record, now, sync=sync)
            if again is not None:
                save(core, macros, macros.standing(macros.known[name]), now, sync=again)


def _write(core: Core, macros: Macros, record: Record, now: int, *, sync: bool) -> None:
    known = macros.known[record.name]
    known.ticket = core.ledger.save_macro(record.name, record.encode(), sync)
    if macros.tree is not None and (sync or not macros.alone):
        parts = record.parts()
        macros.unsaid += 0 if parts else 1
        for part in parts:
            told = Message(record.topic, part, QOS, False, b"", 0, b"", now)  # noqa: FBT003  a C call
            core.insert(macros.tree, told)


def keep(core: Core, macros: Macros, record: Record) -> None:
    """Keep a record of a macro that runs elsewhere, in the rows of this node."""
    record = macros.remember(record).record
    core.ledger.save_macro(record.name, record.encode(), sync=False)


def tick(core: Core, macros: Macros, now: int) -> None:
    """Run what is due, save those that have come further, and place what had no room."""
    processor = macros.processor
    due = processor.deadline()
    if due is not None and due <= now:
        waited = len(processor.backlog)
        _finish(core, macros, processor.tick(now), waited, now)
    if macros.place_at is not None and macros.place_at <= now:
        macros.place_at = None
        unplaced, macros.unplaced = macros.unplaced, []
        for message in unplaced:
            place(core, macros, message, now)
        release(core, macros, now)
    if macros.save_at is None or macros.save_at > now:
        return
    macros.save_at = None
    for known in list(macros.known.values()):
        macro = macros.macro_of(known)
        if macro is not None and known.saved != macro.activations:
            known.saved = macro.activations
            save(core, macros, macros.standing(known), now, sync=False)
