"""Which node runs a macro: the one that claimed it last, as long as it lives.

    defined here ──▶ ours               its node is silent ──▶ the living node of highest rank claims it
    a later claim is heard ──▶ not ours any more

A claim stands in the macro's record with its time, and of two the later one counts, at every node. A node that starts
waits for what others say, for its macros may have moved meanwhile (`SETTLE`). Where a macro stands counts once all
results are here that this includes, its own and those of other macros that it has processed: a record is small and
comes sooner than they do, and if its node dies in between, what they were made of is processed again. Two nodes that
cannot hear each other both run a macro; their results have the same causes, and by these who gets both can tell.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from roost.broker.choosing import rank
from roost.broker.core import Core
from roost.broker.macros.catch_up import AT_ONCE, CatchUp
from roost.broker.macros.catching_up import arrive, catch_up_of, go_on, leave, present_of, refuse, take_up
from roost.broker.macros.macros import Known, Macros
from roost.broker.macros.processing import act, keep, save
from roost.broker.macros.record import Record
from roost.broker.nodes import SILENCE
from roost.errors import BadMacro
from roost.machine.contract import SECOND, Note
from roost.naming.name import Name
from roost.naming.topic import name_of_topic
from roost.process.definition import NODE, PREFIX, Definition
from roost.process.effects import Standing

SETTLE: Final = 3 * SECOND
LOOK: Final = SECOND
_RESULTS: Final = name_of_topic(PREFIX.rstrip("/")).value  # is in the names of streams with results
MAX_AHEAD: Final = 16  # records of a macro that wait for its results; of more the newest takes the last place


def begin(macros: Macros, now: int) -> None:
    """Groups are there, or there are none: run what is ours, at once or when others had time to speak."""
    macros.started = now
    macros.look_at = now if macros.alone else now + SETTLE


def tick(core: Core, macros: Macros, now: int) -> None:
    """See who has to run what, if it is time to; what is to be taken up comes first, a piece at a time."""
    if macros.catching is not None:
        if macros.is_ready(macros.catching):
            _proceed(core, macros, macros.catching, now)
    elif macros.look_at is not None and macros.look_at <= now:
        look(core, macros, now)


def look(core: Core, macros: Macros, now: int) -> None:
    """Take up what nobody runs, and what the configuration wants."""
    names = [known.record.name for known in macros.known.values() if _is_ours_to_run(core, macros, known, now)]
    is_more = bool(names) and macros.catching is not None
    if names and macros.catching is None:
        macros.catching = catch_up_of(macros, names)
        _proceed(core, macros, macros.catching, now)
    _take_in(core, macros, _at_once(core, macros.wanted), now)
    while macros.wanted and core.history is None:
        _take_in(core, macros, len(macros.wanted), now)
    if is_more or macros.wanted:
        macros.look_at = now
    else:
        macros.look_at = None if macros.alone else now + LOOK


def _at_once(core: Core, waiting: list[str] | list[Definition]) -> int:
    """How many macros are taken in by one call: all of them where nothing keeps what comes meanwhile."""
    return len(waiting) if core.history is None else AT_ONCE


def _proceed(core: Core, macros: Macros, catching: CatchUp, now: int) -> None:
    """Take some macros up; when all are, go on with what they missed."""
    names: list[str] = []
    for name in catching.next_names(_at_once(core, catching.names)):
        ours = macros.known.get(name)
        if ours is not None and _is_ours_to_run(core, macros, ours, now):
            ours.record, ours.ahead = _reached(core, macros, ours, ours.record), []
            names.append(name)
    take_up(core, macros, catching, names, now)
    for name in names:
        if name in catching.since:
            claim(core, macros, macros.known[name], now)
    if not catching.names:
        _catch_up(core, macros, catching, now)


def _take_in(core: Core, macros: Macros, count: int, now: int) -> None:
    """Have so many macros of the configuration.

    What one of them refers to may be free only once another is changed: who is refused waits behind all others, until
    none of those that wait can be had.
    """
    wanted, macros.wanted = macros.wanted[:count], macros.wanted[count:]
    for definition in wanted:
        known = macros.known.get(definition.name)
        if known is not None and known.record.definition == definition:
            continue
        try:
            define(core, macros, definition, now)
        except BadMacro as error:
            macros.wanted.append(definition)
            macros.put_off[definition.name] = str(error)
        else:
            macros.put_off.clear()
    if macros.put_off and len(macros.put_off) >= len(macros.wanted):
        facts = [(("macro", name), ("reason", reason)) for name, reason in macros.put_off.items()]
        core.effects += [Note("macro not run", each) for each in facts]
        macros.wanted = []
        macros.put_off.clear()


def _catch_up(core: Core, macros: Macros, catching: CatchUp, now: int) -> None:
    """Go on with macros that were taken up; those that have caught up are from now on what they were made meanwhile."""
    if not go_on(core, macros, catching, now):
        return
    arrived = arrive(core, macros, catching, now)
    macros.catching = None
    for known, macro in arrived:
        definition = known.record.definition
        if definition is not None and definition != macro.definition:
            changed = known.record.changed + 1
            if not _is_updated(core, macros, definition, known, changed, now):
                _stop(core, macros, known, now)


def claim(core: Core, macros: Macros, known: Known, now: int) -> None:
    """Say that this node runs a macro."""
    record = macros.standing(known)
    if record.runner != macros.panel:
        record = replace(record, runner=macros.panel, claimed=max(now, record.claimed + 1))
        save(core, macros, record, now, sync=True)


def _is_ours_to_run(core: Core, macros: Macros, known: Known, now: int) -> bool:
    if known.is_taken_up or not macros.is_for_node(known):
        return False
    runner = known.record.runner
    if macros.alone or not runner or runner == macros.panel:
        return True
    if core.roaming is None or now < macros.started + SILENCE:
        return False
    nodes = core.roaming.sharing.nodes
    if not nodes.is_silent(runner):
        return False
    name = known.record.name.encode()
    return max([macros.panel, *nodes.living()], key=lambda panel: (rank(name, panel), panel)) == macros.panel


def define(core: Core, macros: Macros, definition: Definition, now: int) -> None:
    """Have a macro, or have one do something else, from the next arrival on; raises `BadMacro`."""
    known = macros.known.get(definition.name)
    is_new = known is None or known.is_deleted
    is_run = definition.engine == NODE and (is_new or (known is not None and known.is_here))
    filters = macros.link(definition, is_run=is_run)
    changed = now if known is None else max(now, known.record.changed + 1)
    if known is None or known.is_deleted:
        claimed = now if known is None else max(now, known.record.claimed + 1)
        version = 1 if known is None else known.record.version + 1
        record = Record(
            definition.name, definition, changed, version, runner=macros.panel, claimed=claimed, begun=changed
        )
        stream = macros.stream_of(definition.topic)
        results = {stream: macros.last_result(definition.topic)} if stream else {}
        standing = Standing(version=version, position=present_of(core, filters))
        known = macros.remember(replace(record, standing=standing, results=results))
        if definition.engine == NODE:
            catching = catch_up_of(macros, [])
            take_up(core, macros, catching, [definition.name], now)
            while not go_on(core, macros, catching, now):  # it begins at the present: there is nothing
                pass
            arrive(core, macros, catching, now)
        if known.refusal:
            why, known.refusal = known.refusal, ""
            macros.remember(replace(record, definition=None))
            raise BadMacro(why)
        record = macros.standing(known)
        save(core, macros, replace(record, effective=dict(record.standing.position)), now, sync=True)
        return
    if known.is_here and definition.engine == NODE:
        _update(core, macros, definition, known, changed, now)
        return
    if known.is_taken_up and definition.engine != NODE:
        record = _stop(core, macros, known, now)
        effective = dict(record.standing.position)
    else:
        record, effective = known.record, {}
        _ask(macros, known, changed)
    version = known.record.version + 1
    known = macros.remember(
        replace(record, definition=definition, changed=changed, version=version, effective=effective)
    )
    save(core, macros, macros.standing(known), now, sync=True)  # who runs it hears of it
    if macros.alone:
        look(core, macros, now)  # nobody else does; it may have been on Spark until now


def _ask(macros: Macros, known: Known, changed: int) -> None:
    """From which readings on a change holds is for the node to say that runs the macro."""
    definition, runner = known.record.definition, known.record.runner
    is_run = definition is not None and definition.engine == NODE and runner not in {b"", macros.panel}
    if is_run or known.behind is not None:
        known.asked = changed


def _update(core: Core, macros: Macros, definition: Definition, known: Known, changed: int, now: int) -> None:
    """Have a macro that runs here do something else from the next arrival on."""
    code = macros.code_of(definition)
    core.effects += [each for each in macros.processor.define(definition, now, code) if isinstance(each, Note)]
    core.router.decide_anew()
    macro = macros.processor.macro(definition.name)
    ahead = macros.processor.ahead()  # that came, and is for the version that is there when its turn comes
    for stream, number in present_of(core, macro.filters):  # else a crash would make up for what no version looked at
        macro.pass_by(stream, min(number, ahead.get(stream, number + 1) - 1))
    record = macros.standing(known)
    effective = dict(record.standing.position)
    record = replace(record, definition=definition, changed=changed, effective=effective)
    save(core, macros, record, now, sync=True)


def _is_updated(core: Core, macros: Macros, definition: Definition, known: Known, changed: int, now: int) -> bool:
    """The same for what another node wants, if it is a macro that runs here."""
    try:
        macros.link(definition, is_run=True)
        _update(core, macros, definition, known, changed, now)
    except BadMacro as error:
        refuse(core, known, error)
        return False
    return True


def delete(core: Core, macros: Macros, name: str, now: int) -> None:
    """Have a macro no more; raises `NoMacro`."""
    known = macros.find(name)
    changed = max(now, known.record.changed + 1)
    if known.is_taken_up:
        record = _stop(core, macros, known, now)
        effective = dict(record.standing.position)
    else:
        record, effective = known.record, {}
        _ask(macros, known, changed)
    save(core, macros, replace(record, definition=None, changed=changed, effective=effective), now, sync=True)


def hear(core: Core, macros: Macros, said: Record, now: int) -> None:
    """Take in what another node says of a macro."""
    known = macros.known.get(said.name)
    if known is None:
        keep(core, macros, said)
        return
    record = macros.standing(known)
    if (said.claimed, said.runner) > (record.claimed, record.runner):
        if known.is_taken_up:
            _stop(core, macros, known, now)
        record = replace(record, runner=said.runner, claimed=said.claimed)
    if said.runner == record.runner and not known.is_taken_up:
        del known.ahead[MAX_AHEAD - 1 :]
        known.ahead.append(said)
        record = _reached(core, macros, known, record)
    if _is_later(said, record):
        is_for_node = said.definition is not None and said.definition.engine == NODE
        if known.is_here and said.definition is not None and is_for_node:
            if _is_updated(core, macros, said.definition, known, said.changed + 1, now):
                return
            is_for_node = False
        changed, effective = said.changed, said.effective
        is_ended = known.is_taken_up and not is_for_node
        if is_ended:
            record = _stop(core, macros, known, now)
            changed, effective = changed + 1, dict(record.standing.position)
        record = replace(
            record,
            definition=said.definition,
            changed=changed,
            version=said.version,
            effective=effective,
            begun=said.begun,
        )
        if is_ended:  # who ended it hears where that was
            save(core, macros, record, now, sync=True)
            return
    if known.behind is None:
        keep(core, macros, record)
        return
    known = macros.remember(record)  # what is said holds when it has caught up
    save(core, macros, macros.standing(known), now, sync=False)


def _reached(core: Core, macros: Macros, known: Known, record: Record) -> Record:
    """A record with where the macro stood last, as far as all results are here that this includes."""
    while known.ahead and _has_results(core, macros, known.ahead[0]):
        said = known.ahead.pop(0)
        record = replace(record, standing=said.standing, results=said.results, made=said.made)
    return record


def _has_results(core: Core, macros: Macros, said: Record) -> bool:
    history = core.history
    if history is None:
        return True
    group = Name(macros.panel).prefix(-1)
    processed = [each for each in said.standing.position if _RESULTS in each[0] and Name(each[0]).starts_with(group)]
    return all(
        Name(stream).starts_with(group) and history.present(stream) >= number
        for stream, number in [*said.results.items(), *said.made.items(), *processed]
    )


def _is_later(said: Record, record: Record) -> bool:
    """Whether a definition is later than another; of two of the same time the nodes choose the same one."""
    if said.changed != record.changed or said.definition == record.definition:
        return said.changed > record.changed
    digests = [b"" if each.definition is None else each.definition.digest for each in (said, record)]
    return digests[0] > digests[1]


def _stop(core: Core, macros: Macros, known: Known, now: int) -> Record:
    """Run a macro here no more; what was due has its results. What it has not caught up with is left to others.

    Returns where it stands.
    """
    if known.behind is not None:
        record = macros.standing(known)
        leave(macros, known)
        return record
    act(core, macros, macros.processor.tick(now), now)
    record = macros.standing(known)
    effects = macros.processor.undefine(known.record.name, now)
    core.effects += [each for each in effects if isinstance(each, Note)]
    known.is_here = False
    core.router.decide_anew()
    return record
