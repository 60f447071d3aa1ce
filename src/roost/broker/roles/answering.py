"""Roles become known, or other ones: answers to SUBSCRIBEs that waited, and what was held goes where it belongs.

    SUBSCRIBE ──▶ roles not known: what comes is held, the SUBACK waits ──▶ LookUp …… answered ──▶ SUBACK, then what was
                                                                                        held and is permitted, in order

Whoever's roles cannot be found out is answered too, and gets nothing that documents govern. What was held is delivered
by the routes that hold then, as if it had come just now.
"""

from __future__ import annotations

from roost.broker import hearing
from roost.broker.choosing import share, wants
from roost.broker.core import Core
from roost.broker.handlers import subscribe
from roost.broker.message import Message
from roost.broker.roles.keeper import RoleKeeper, Standing
from roost.broker.roles.presenting import is_kept_back
from roost.broker.routing import deliver_shared, deliver_to, route_of
from roost.broker.session import Session
from roost.broker.settings import DISK
from roost.machine.contract import Effect
from roost.process.roles.lookup_port import Move, Tell


def ask(core: Core, keeper: RoleKeeper, now: int) -> None:
    """End of a call: have looked up whose roles it wants to know."""
    while keeper.unasked:
        unasked, keeper.unasked = keeper.unasked, []
        for standing in unasked:
            if standing.is_needed:
                take_in(core, keeper, keeper.lookup.ask(standing.name, standing.ticket, now), now)


def take_in(core: Core, keeper: RoleKeeper, effects: list[Effect], now: int) -> None:
    """Do as the look-up says; what is the driver's goes to the driver."""
    for effect in effects:
        if not isinstance(effect, Tell | Move):
            core.effects.append(effect)
            continue
        standing = keeper.standings.get(effect.user.encode())
        if standing is None:
            continue
        standing.roles, standing.why = effect.roles, effect.why
        if isinstance(effect, Move):
            core.router.decide_anew()
        elif effect.ticket == standing.ticket and not standing.is_told:
            standing.is_told = True
            _tell(core, keeper, standing, now)


def _tell(core: Core, keeper: RoleKeeper, standing: Standing, now: int) -> None:
    if standing.is_awaited:
        standing.is_awaited = False
        core.router.decide_anew()
    answered = [asked for asked in keeper.asked if asked.session.user == standing.user]
    keeper.asked = [asked for asked in keeper.asked if asked.session.user != standing.user]
    for asked in answered:
        subscribe.conclude(core, asked)
    for session in list(standing.sessions.values()):
        if session.number in keeper.holding:
            for message in keeper.holding.release(session.number, _any).messages:
                _hand_over(core, session, message, now)
    _release_groups(core, keeper, now)
    hearing.catch_up(core, now)


def go_on(core: Core, keeper: RoleKeeper, now: int) -> None:
    """Other documents hold: what waits for roles that do not matter to it any more comes now, before what is new."""
    for standing in list(keeper.standings.values()):
        for session in [] if standing.is_told else list(standing.sessions.values()):
            held = keeper.holding.release(session.number, _any).messages if session.number in keeper.holding else ()
            for message in held:
                if not keeper.matters(message.topic):
                    _hand_over(core, session, message, now)
                elif keeper.await_roles(session):
                    keeper.hold(session, message)
    _release_groups(core, keeper, now)


def _any(_topic: str) -> bool:
    return True


def _hand_over(core: Core, session: Session, message: Message, now: int) -> None:
    route = route_of(core, message.topic)
    if message.lineage and is_kept_back(core, session, message):
        return
    for target in route.targets:
        if target.session is session and wants(session, message):
            deliver_to(core, target, message, route.level >= DISK, 0, now)
            if core.roaming is not None and message.qos and target.qos and session.expiry_s:
                core.roaming.hand(session, message)


def _release_groups(core: Core, keeper: RoleKeeper, now: int) -> None:
    """Choose for what was held for shared subscriptions; it may have to wait again, for another member."""
    for group in list(keeper.groups.values()):
        del keeper.groups[group.number]
        for message in keeper.holding.release(-group.number, _any).messages:
            sync = route_of(core, message.topic).level >= DISK
            if message.origin is None:
                deliver_shared(core, group, message, sync, 0, now)
            else:
                share(core, group, message, sync, now)
