"""The only place that touches the real world: sockets, disk, clock, keys on disk, metrics, the asyncio client API.

What people use is named here and loaded when it is first asked for, so that tools which only read keys stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roost.host.blocking import SyncFace, connect_sync
    from roost.host.blocking_group import SyncFollowed, SyncJoined
    from roost.host.blocking_streams import SyncPanel, SyncStreamGroup, SyncSubscription
    from roost.host.client import Connection, connect
    from roost.host.face import Face
    from roost.host.joining import Followed, Joined
    from roost.host.listening import Listen, ListeningNode, running
    from roost.host.publishing import RunningPanel
    from roost.host.sealed import SealedReader, SealedStream
    from roost.host.serving import Serving
    from roost.host.streams import StreamGroup
    from roost.host.subscribing import Subscription
    from roost.pubsub.fetch_effects import FetchSettings
    from roost.trust.acceptance import ACCEPT_ANY, Checker

_HOMES = {
    "ACCEPT_ANY": "roost.trust.acceptance",
    "Checker": "roost.trust.acceptance",
    "Connection": "roost.host.client",
    "Face": "roost.host.face",
    "FetchSettings": "roost.pubsub.fetch_effects",
    "Followed": "roost.host.joining",
    "Joined": "roost.host.joining",
    "Listen": "roost.host.listening",
    "ListeningNode": "roost.host.listening",
    "RunningPanel": "roost.host.publishing",
    "SealedReader": "roost.host.sealed",
    "SealedStream": "roost.host.sealed",
    "Serving": "roost.host.serving",
    "StreamGroup": "roost.host.streams",
    "Subscription": "roost.host.subscribing",
    "SyncFace": "roost.host.blocking",
    "SyncFollowed": "roost.host.blocking_group",
    "SyncJoined": "roost.host.blocking_group",
    "SyncPanel": "roost.host.blocking_streams",
    "SyncStreamGroup": "roost.host.blocking_streams",
    "SyncSubscription": "roost.host.blocking_streams",
    "connect": "roost.host.client",
    "connect_sync": "roost.host.blocking",
    "running": "roost.host.listening",
}

__all__ = [
    "ACCEPT_ANY",
    "Checker",
    "Connection",
    "Face",
    "FetchSettings",
    "Followed",
    "Joined",
    "Listen",
    "ListeningNode",
    "RunningPanel",
    "SealedReader",
    "SealedStream",
    "Serving",
    "StreamGroup",
    "Subscription",
    "SyncFace",
    "SyncFollowed",
    "SyncJoined",
    "SyncPanel",
    "SyncStreamGroup",
    "SyncSubscription",
    "connect",
    "connect_sync",
    "running",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
