"""Which member of a shared subscription gets a message of a group, when members may be at several nodes.

All nodes rank the members they know of by the same sum over the message's name and the client id, and the first one
that is online gets it: where two nodes know different members they still agree on most messages. A full queue here is
passed over while another member here has room. What is not done with may be chosen for again, by the same rule
(`roost.broker.settling`).
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from roost.broker.core import Core
from roost.broker.delivery import deliver
from roost.broker.message import Message
from roost.broker.roles.presenting import given
from roost.broker.routing import has_room, is_undecided
from roost.broker.session import Session
from roost.broker.shared import Group, whole_filter
from roost.broker.track import SOMEWHERE, Open

_MAX_TRIES: Final = 16  # members here that are asked for room
_WORD: Final = 0xFFFF_FFFF


def share(core: Core, group: Group, message: Message, sync: bool, now: int) -> None:  # noqa: FBT001  a C call
    """Deliver to the one member that every node chooses, if it is here, or may come here."""
    if message.origin is None:
        return
    if core.roaming is not None:
        sharing, filter_ = core.roaming.sharing, whole_filter(group.name, group.filter)
        _, stream, number = message.origin
        if sharing.is_done(filter_, stream, number):
            sharing.note(filter_, stream, number, None)
            return
    if core.roles is not None and is_undecided(core, group, message):
        core.roles.hold_for_group(group, message)
        return
    chosen = choose(core, message, able(core, group, message))
    if chosen is not None:
        give(core, group, chosen, message, sync, now, is_first=True)


def wants(session: Session, message: Message) -> bool:
    """Whether a session is to get a message live: not if it had it elsewhere, or a recall brings it."""
    return session.abroad is None or not session.abroad.leaves(message)


def able(core: Core, group: Group, message: Message) -> list[Session]:
    """Members who may read it; only those who are online, if any is."""
    members = [core.numbers[number] for number in group.members()]
    readers = [each for each in members if given(core, each, group.filter, message) is not None]
    return [each for each in readers if is_online(core, each)] or readers


def choose(core: Core, message: Message, pool: list[Session]) -> Session | None:
    """The first by rank; if that one is here and has no room, the first of those here who has."""
    assert message.origin is not None  # noqa: S101  it comes out of a group
    name = message.origin[1] + message.origin[2].to_bytes(8, "big")
    ranked = sorted([(rank(name, each.client), each.client, each.number) for each in pool], reverse=True)
    first = core.numbers[ranked[0][2]] if ranked else None
    if first is None or is_elsewhere(first) or has_room(core, first, message):
        return first
    here = [core.numbers[number] for _, _, number in ranked if not is_elsewhere(core.numbers[number])]
    return next((each for each in here[:_MAX_TRIES] if has_room(core, each, message)), first)


def rank(name: bytes, client: bytes) -> int:
    """A number that depends on every bit of both, for CRC-32 alone would favour some clients."""
    rank = crc32(name + client)
    rank = ((rank ^ rank >> 16) * 0x85EB_CA6B) & _WORD
    rank = ((rank ^ rank >> 13) * 0xC2B2_AE35) & _WORD
    return rank ^ rank >> 16


def panel_of(session: Session) -> bytes:
    """By which panel the node that has a session is known, empty for this one."""
    return (session.abroad.panel or SOMEWHERE) if session.abroad is not None and session.abroad.elsewhere else b""


def is_elsewhere(session: Session) -> bool:
    """Whether another node has a session."""
    return session.abroad is not None and session.abroad.elsewhere


def is_online(core: Core, session: Session) -> bool:
    """Whether a member has a link, here or at another node that lives."""
    abroad = session.abroad
    if session.link is not None or abroad is None or not abroad.elsewhere or not abroad.online:
        return session.link is not None
    return core.roaming is None or not core.roaming.sharing.nodes.is_silent(abroad.panel)


def give(
    core: Core,
    group: Group,
    chosen: Session,
    message: Message,
    sync: bool,  # noqa: FBT001  a C call
    now: int,
    *,
    is_first: bool,
) -> None:
    """Give a message to a member, unless it is known to have had it, or has its own node to give it."""
    options = group.options_of(chosen.number)
    origin, roaming, abroad = message.origin, core.roaming, chosen.abroad
    if options is None or origin is None:
        return
    qos = min(message.qos, options.qos)
    if roaming is not None:
        panel = panel_of(chosen)
        opened = Open(qos, chosen.client, panel) if qos else None
        roaming.sharing.note(whole_filter(group.name, group.filter), origin[1], origin[2], opened)
    if abroad is not None and (abroad.fleeting or abroad.covers(message.topic)):
        return
    if qos == 2 and is_first and not wants(chosen, message):
        return
    identifiers = [options.identifier] if options.identifier else None
    retained = message.retain and options.retain_as_published
    dressed = given(core, chosen, group.filter, message) or message
    deliver(core, chosen, dressed, qos, retained, identifiers, sync, 0, (group.name, group.filter), now)
    if roaming is not None and qos:
        roaming.hand(chosen, message)
