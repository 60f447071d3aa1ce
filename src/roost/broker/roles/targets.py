"""Who gets what is on a topic when roles are configured: the targets of its route, made once per route.

A subscription is found where its filter matches the topic, where it matches a topic or filter of which this one is a
stream, and by `$raw/`. What it brings is `roost.broker.roles.presenting`'s to say. A session has one target for each
topic as which it is given the messages: filters that overlap bring one copy. Sessions whose roles are not known yet
wait, if it depends on roles who gets what is on the topic.
"""

from __future__ import annotations

from roost.broker.core import Core
from roost.broker.filters import Options
from roost.broker.roles.keeper import RoleKeeper
from roost.broker.roles.presenting import RAW, name_for
from roost.broker.routes import Route, Target
from roost.broker.shared import Group


def aim(core: Core, keeper: RoleKeeper, route: Route) -> None:
    """Find the targets, the shared subscriptions and those who wait."""
    topic = route.topic
    if topic.startswith(RAW):
        return  # it is how filters begin, and no place to publish
    wanted: dict[tuple[int, bytes], Options] = {}
    groups: dict[int, Group] = {}
    for place in _places(keeper, topic):
        for filter_, number, options in core.router.subscriptions.crossing(place):
            wanted[number, filter_] = options
        for group in core.router.shares.crossing(place):
            groups[group.number] = group
    depends = keeper.matters(topic)
    found: dict[tuple[int, bytes], Target] = {}
    waiting: dict[int, None] = {}
    for (number, filter_), options in wanted.items():
        session = core.numbers[number]
        if depends and not keeper.is_known(session):
            waiting[number] = None
            continue
        name = name_for(core, keeper, session, filter_, topic)
        if name is None:
            continue
        target = found.get((number, name))
        if target is None:
            target = found[number, name] = Target(session, b"" if name == topic else name)
        target.add(options)
    for number in waiting:
        session = core.numbers[number]
        keeper.await_roles(session)
        keeper.standings[session.user].is_awaited = True
        route.waiting.append(session)
    route.targets = list(found.values())
    route.groups = list(groups.values())


def _places(keeper: RoleKeeper, topic: bytes) -> list[bytes]:
    direct = [] if topic.startswith(b"$") else [RAW + topic]
    return [topic, *direct, *[each.encode() for each in keeper.policy.origins(topic.decode())]]
