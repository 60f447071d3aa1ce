"""What is known of a topic, and of all subscriptions: `Route`, `Target` and the `Router` that remembers them.

A route is good until a subscription changes that could change it; whoever holds one looks at `valid`. Links remember
routes as well: what is counted stays so until all routes are forgotten, by the links too, for only then it is gone.
What happens to a message on its route is in `roost.broker.routing`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from roost.broker.filters import Options, Subscriptions, cost_of, own_cost_of
from roost.broker.link import MAX_ROUTES, Link
from roost.broker.message import Message
from roost.broker.session import Session
from roost.broker.shared import Group, Shares

_ROUTE_BYTES: Final = 450  # what each costs beside its topic, measured and rounded up
_TARGET_BYTES: Final = 250
_PLACE_BYTES: Final = 100  # in the table of a link


class Trees(Protocol):
    """Which topics belong to a group: the number of their tree, or None for plain MQTT."""

    def of(self, topic: bytes) -> int | None: ...

    def refusal_of(self, tree: int, message: Message) -> str:
        """Why a message cannot be a reading of the tree's group, empty if it can."""
        ...


class Target:
    """A session that gets what a topic brings, and how."""

    def __init__(self, session: Session, name: bytes = b"") -> None:
        self.session: Final = session
        self.name: Final = name  # the topic as which it gets what another one brings; empty: as it is
        self.qos = 0
        self.identifiers: list[int] | None = None
        self.retain_as_published = False
        self.no_local = False  # at least one of its subscriptions says so
        self.simple = True  # nothing but the QoS to mind
        self.options: list[Options] = []

    def add(self, options: Options) -> None:
        """Take one more matching subscription into account."""
        self.options.append(options)
        self.qos = max(self.qos, options.qos)
        if options.identifier:
            if self.identifiers is None:
                self.identifiers = []
            self.identifiers.append(options.identifier)
        self.retain_as_published = self.retain_as_published or options.retain_as_published
        self.no_local = self.no_local or options.no_local
        self.simple = self.identifiers is None and not self.no_local and not self.name


class Route:
    """What is known of a topic."""

    def __init__(self, topic: bytes, level: int, tree: int | None) -> None:
        self.topic: Final = topic
        self.level: Final = level
        self.tree: Final = tree
        self.targets: list[Target] = []
        self.groups: list[Group] = []
        self.waiting: list[Session] = []  # they may get it once their roles are known
        self.touched = False  # a macro looks at it
        self.plain = False  # targets are all there is to it
        self.valid = True


class Router:
    """All subscriptions, and the routes that are remembered; their bounds are in `roost.broker.memory`."""

    def __init__(self) -> None:
        self.subscriptions: Final = Subscriptions()
        self.shares: Final = Shares()
        self.routes: dict[bytes, Route] = {}
        self.routes_bytes = 0  # of those that were made since all were forgotten, and of links' tables
        self.heard_on: Callable[[bytes], list[bytes]] | None = None  # where else something comes for a filter, by roles
        self.on_change: Callable[[], None] | None = None  # told when who may see what is decided by other things
        self._tables: dict[int, dict[bytes, Route]] = {}  # of links that remember some, by link; bound: the links
        self._own_bytes = 0  # of filters, beside their branches
        self.levels = Subscriptions()  # durability by filter; its subscribers are places in `settings.durable`

    def learn_levels(self, filters: list[bytes], options: Options) -> None:
        """Take over which filters have a durability of their own."""
        self.levels = Subscriptions()
        for place, filter_ in enumerate(filters):
            self.levels.add(filter_, place, options)

    def add(self, filter_: bytes, bare: bytes, session: Session, options: Options) -> bool:
        """Subscribe; `bare` is the filter without `$share/<name>/`. True when it is new."""
        if filter_ not in session.subscriptions:
            session.filter_bytes += cost_of(filter_)
            self._own_bytes += own_cost_of(filter_)
        session.subscriptions[filter_] = options
        session.touched.append(filter_)
        self.changed(bare)
        if options.shared is not None:
            return self.shares.add(options.shared, bare, session.number, options)
        return self.subscriptions.add(bare, session.number, options)

    def remove(self, filter_: bytes, bare: bytes, session: Session) -> bool:
        """Unsubscribe; False when there was nothing to."""
        options = session.subscriptions.pop(filter_, None)
        if options is None:
            return False
        session.filter_bytes -= cost_of(filter_)
        self._own_bytes -= own_cost_of(filter_)
        session.touched.append(filter_)
        self.changed(bare)
        if options.shared is not None:
            return self.shares.remove(options.shared, bare, session.number)
        return self.subscriptions.remove(bare, session.number)

    @property
    def filters_bytes(self) -> int:
        """What all filters take of memory."""
        return self._own_bytes + self.subscriptions.held_bytes + self.shares.held_bytes

    def remember(self, route: Route) -> None:
        """Have a route found again."""
        self.routes[route.topic] = route
        self.routes_bytes += len(route.topic) + _ROUTE_BYTES + _TARGET_BYTES * len(route.targets)

    def remember_for(self, link: Link, route: Route) -> None:
        """Have a link find a route again that its client may publish by."""
        if len(link.routes) >= MAX_ROUTES:
            link.routes.clear()
        link.routes[route.topic] = route
        self._tables[link.id] = link.routes
        self.routes_bytes += _PLACE_BYTES

    def left(self, link: Link) -> None:
        """A link is over."""
        link.routes.clear()
        self._tables.pop(link.id, None)

    def changed(self, bare: bytes) -> None:
        """Forget the routes that a filter may touch."""
        if bare.find(b"+") >= 0 or bare.endswith(b"#"):
            self.forget()
            return
        for topic in [bare] if self.heard_on is None else self.heard_on(bare):
            route = self.routes.pop(topic, None)
            if route is not None:
                route.valid = False

    def decide_anew(self) -> None:
        """Forget all routes: permissions, documents, roles or macros are others than before."""
        self.forget()
        if self.on_change is not None:
            self.on_change()

    def forget(self) -> None:
        """Forget all routes."""
        for route in self.routes.values():
            route.valid = False
        for table in self._tables.values():
            table.clear()
        self.routes = {}
        self._tables = {}
        self.routes_bytes = 0
