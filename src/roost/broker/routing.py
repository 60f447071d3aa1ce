"""Who gets a message: from a topic to sessions, remembered per topic, and the one way in for every message.

    PUBLISH, will, stored ──▶ publish ──▶ tree of a group? ──yes──▶ Insert …… stored ──┐
                                              └──no──▶ retained, then every receiver ◀──┘

A client whose filters overlap gets one copy, at the highest QoS granted and with all its identifiers [MQTT-3.3.4-2,
3.3.4-3]. What matches a topic is a `Route`, good until a subscription changes that could change it. Whether a client
may publish is asked by its handler; whether a receiver may read, here, once per route.
"""

from __future__ import annotations

from typing import Final

from roost.broker.access import ANONYMOUS
from roost.broker.core import Core
from roost.broker.delivery import deliver
from roost.broker.memory import has_room_for_retained
from roost.broker.message import Message
from roost.broker.roles.presenting import given
from roost.broker.roles.targets import aim
from roost.broker.routes import Route, Target
from roost.broker.session import Session
from roost.broker.settings import DISK, RECEIVED
from roost.broker.shared import Group
from roost.machine.contract import Rejected

_SAMPLE_BYTES: Final = 64
_MAX_TRIES: Final = 64  # members of a shared subscription that are asked for room


def route_of(core: Core, topic: bytes) -> Route:
    """Find the route of a topic."""
    route = core.router.routes.get(topic)
    if route is not None:
        return route
    router = core.router
    if len(router.routes) >= core.max_routes or router.routes_bytes >= core.max_routes_bytes:
        core.stats.routes_forgotten += len(router.routes)
        router.forget()
    gateway = core.gateway
    route = Route(topic, _level_of(core, topic), None if gateway is None else gateway.of(topic))
    if core.roles is None:
        _aim(core, route)
    else:
        aim(core, core.roles, route)
    route.touched = core.macros is not None and core.macros.touches(topic)
    route.plain = not (route.tree is not None or route.groups or route.waiting or route.touched or core.listened)
    router.remember(route)
    return route


def _aim(core: Core, route: Route) -> None:
    """Find who gets what is on a topic, by permissions alone."""
    topic = route.topic
    found: dict[int, Target] = {}
    for number, options in core.router.subscriptions.matches(topic):
        target = found.get(number)
        if target is None:
            session = core.numbers[number]
            if not core.access.may_receive(session.user, session.client, topic):
                continue
            target = Target(session)
            found[number] = target
        target.add(options)
    route.targets = list(found.values())
    route.groups = core.router.shares.matches(topic)


def _level_of(core: Core, topic: bytes) -> int:
    """How durable messages of a topic are."""
    if not core.ledger.active:
        return RECEIVED
    places = [place for place, _ in core.router.levels.matches(topic)]
    return core.settings.durable[min(places)][1] if places else core.settings.durability


def publish(core: Core, message: Message, route: Route, hold: int, now: int) -> int:
    """Give a message to everyone who gets it; returns the ticket that its acknowledgement waits for, 0 for none.

    `hold` is a ticket that its deliveries wait for: a QoS 2 message is seen by nobody before its identifier is safe.
    """
    wait = 0
    sync = route.level >= DISK
    if message.retain:
        wait = retain(core, message, sync and message.qos > 0)
    for target in route.targets:
        ticket = deliver_to(core, target, message, sync, hold, now)
        wait = max(wait, ticket)
    for group in route.groups:
        wait = max(wait, deliver_shared(core, group, message, sync, hold, now))
    if route.waiting:
        hold_for(core, route, message)
    if route.touched and core.macros is not None:
        core.macros.collect(message)
    if core.listened:
        core.told.append(message)
    return wait


def hold_for(core: Core, route: Route, message: Message) -> None:
    """Hold a message for sessions whose roles are not known yet, but for those whose past will bring it."""
    assert core.roles is not None  # noqa: S101  else nobody waits for them
    for session in route.waiting:
        if session.abroad is None or not session.abroad.leaves(message):
            core.roles.hold(session, message)


def deliver_to(core: Core, target: Target, message: Message, sync: bool, hold: int, now: int) -> int:  # noqa: FBT001
    """Deliver to a session that a route names; to the publisher itself not by No Local [MQTT-3.8.3-3]."""
    session = target.session
    if target.no_local and session.client == message.publisher:
        own = Target(session, target.name)
        for options in target.options:
            if not options.no_local:
                own.add(options)
        if not own.options:
            return 0
        target = own
    if target.name and core.roles is not None:
        message = core.roles.dress(message, target.name)
    retained = message.retain and target.retain_as_published
    qos = min(target.qos, message.qos)
    return deliver(core, session, message, qos, retained, target.identifiers, sync, hold, None, now)


def deliver_shared(core: Core, group: Group, message: Message, sync: bool, hold: int, now: int) -> int:  # noqa: FBT001
    """Deliver to one member of a shared subscription who may read it; returns what to wait for."""
    for _ in range(len(group)):
        session = core.numbers[group.choose(core.online)]
        mine = given(core, session, group.filter, message)
        if mine is None:
            continue
        if not has_room(core, session, message):
            session = _with_room(core, group, session, message)
            mine = given(core, session, group.filter, message) or mine
        options = group.options_of(session.number)
        assert options is not None  # noqa: S101  it is a member
        identifiers = [options.identifier] if options.identifier else None
        retained = message.retain and options.retain_as_published
        qos = min(message.qos, options.qos)
        by = (group.name, group.filter)
        return deliver(core, session, mine, qos, retained, identifiers, sync, hold, by, now)
    if is_undecided(core, group, message):
        assert core.roles is not None  # noqa: S101  else all is decided
        core.roles.hold_for_group(group, message)
    return 0


def is_undecided(core: Core, group: Group, message: Message) -> bool:
    """Whether the roles of a member are not known yet that may get a message."""
    keeper = core.roles
    if keeper is None or not keeper.matters(message.stream or message.topic):
        return False
    return any(not keeper.is_known(core.numbers[number]) for number in group.members())


def _with_room(core: Core, group: Group, full: Session, message: Message) -> Session:
    """Another member for a message whose turn it is at one whose queue is full: online if one is, else any."""
    found = full
    for number in group.members()[:_MAX_TRIES]:
        session = core.numbers[number]
        if has_room(core, session, message) and given(core, session, group.filter, message) is not None:
            if session.link is not None:
                return session
            found = session if found is full else found
    return found


def has_room(core: Core, session: Session, message: Message) -> bool:
    """Whether a session can hold a message without losing one."""
    return len(session.queue) < core.max_queued and session.held_bytes + message.size <= core.max_queued_bytes


def retain(core: Core, message: Message, sync: bool) -> int:  # noqa: FBT001  a C call
    """Make a message the last one of its topic [MQTT-3.3.1-5 to 3.3.1-8]; returns what to wait for."""
    publisher = core.sessions.get(message.publisher)
    owner = ANONYMOUS if publisher is None else publisher.user
    wanted = message if message.payload else None
    if message.origin is None and not has_room_for_retained(core, owner, message):  # a group's was asked about before
        core.stats.retained_refused_user += 1
        wanted = None
    if core.retained.set(message.topic, wanted, message.size, message.expires, owner):
        ticket = core.ledger.save_retained(message, owner, sync)
    else:
        ticket = core.ledger.forget_retained(message.topic, sync)
    if core.roles is not None and core.roles.heard(message.topic):
        core.router.decide_anew()
    return ticket if sync else 0


def publish_anywhere(core: Core, message: Message, now: int, spread: bool = False) -> int:  # noqa: FBT001, FBT002  a C call
    """Publish what nobody waits for an acknowledgement of: to whoever gets it, or into a group; returns that ticket."""
    route = route_of(core, message.topic)
    if route.tree is None:
        publish(core, message, route, 0, now)
        return 0
    refusal = "" if core.gateway is None else core.gateway.refusal_of(route.tree, message)
    if refusal:
        core.stats.dropped += 1
        core.effects.append(Rejected("this broker", refusal, message.topic[:_SAMPLE_BYTES]))
        return 0
    return core.insert(route.tree, message, spread)
