"""What is known of a topic, and of all subscriptions: `Route`, `Target` and the `Router` that remembers them.

A route is good until a subscription changes that could change it; whoever holds one looks at `valid`. What happens to a
message on its route is in `roost.broker.routing`.
"""

from __future__ import annotations

from typing import Final, Protocol

from roost.broker.filters import Options, Subscriptions
from roost.broker.message import Message
from roost.broker.session import Session
from roost.broker.shared import Group, Shares


class Trees(Protocol):
    """Which topics belong to a group: the number of their tree, or None for plain MQTT."""

    def of(self, topic: bytes) -> int | None: ...

    def refusal_of(self, tree: int, message: Message) -> str:
        """Why a message cannot be a reading of the tree's group, empty if it can."""
        ...


class Target:
    """A session that gets what a topic brings, and how."""

    def __init__(self, session: Session) -> None:
        self.session: Final = session
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
        self.simple = self.identifiers is None and not self.no_local


class Route:
    """What is known of a topic."""

    def __init__(self, topic: bytes, level: int, tree: int | None) -> None:
        self.topic: Final = topic
        self.level: Final = level
        self.tree: Final = tree
        self.targets: list[Target] = []
        self.groups: list[Group] = []
        self.plain = False  # targets are all there is to it
        self.valid = True


class Router:
    """All subscriptions, and the routes that are remembered; bounds: filters per session, settings.max_routes."""

    def __init__(self) -> None:
        self.subscriptions: Final = Subscriptions()
        self.shares: Final = Shares()
        self.routes: dict[bytes, Route] = {}
        self.levels = Subscriptions()  # durability by filter; its subscribers are places in `settings.durable`

    def learn_levels(self, filters: list[bytes], options: Options) -> None:
        """Take over which filters have a durability of their own."""
        self.levels = Subscriptions()
        for place, filter_ in enumerate(filters):
            self.levels.add(filter_, place, options)

    def add(self, filter_: bytes, bare: bytes, session: Session, options: Options) -> bool:
        """Subscribe; `bare` is the filter without `$share/<name>/`. True when it is new."""
        session.subscriptions[filter_] = options
        self.changed(bare)
        if options.shared is not None:
            return self.shares.add(options.shared, bare, session.number, options)
        return self.subscriptions.add(bare, session.number, options)

    def remove(self, filter_: bytes, bare: bytes, session: Session) -> bool:
        """Unsubscribe; False when there was nothing to."""
        options = session.subscriptions.pop(filter_, None)
        if options is None:
            return False
        self.changed(bare)
        if options.shared is not None:
            return self.shares.remove(options.shared, bare, session.number)
        return self.subscriptions.remove(bare, session.number)

    def changed(self, bare: bytes) -> None:
        """Forget the routes that a filter may touch."""
        if bare.find(b"+") >= 0 or bare.endswith(b"#"):
            self.forget()
            return
        route = self.routes.pop(bare, None)
        if route is not None:
            route.valid = False

    def forget(self) -> None:
        """Forget all routes."""
        for route in self.routes.values():
            route.valid = False
        self.routes = {}
