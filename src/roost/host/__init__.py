"""The only place that touches the real world: sockets, disk, clock, keys on disk, metrics, the asyncio client API.

What people use is named here and loaded when it is first asked for, so that tools which only read keys stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roost.host.blob_feed import Feed
    from roost.host.blobs import BlobGroup, Receipt
    from roost.host.blocking import SyncFace, connect_sync
    from roost.host.blocking_group import SyncFollowed, SyncJoined
    from roost.host.blocking_streams import SyncPanel, SyncStreamGroup, SyncSubscription
    from roost.host.client import Connection, connect, join
    from roost.host.face import Face
    from roost.host.joining import Followed, Joined
    from roost.host.listening import Listen, ListeningNode, running
    from roost.host.publishing import RunningPanel
    from roost.host.sealed import SealedReader, SealedStream
    from roost.host.serving import Serving
    from roost.host.streams import StreamGroup
    from roost.host.subscribing import Subscription
    from roost.host.topics.feed import Content, TopicFeed
    from roost.host.topics.opening import flips
    from roost.host.topics.topics import Topics
    from roost.pubsub.fetch_effects import FetchSettings
    from roost.trust.acceptance import ACCEPT_ANY, Checker

_HOMES = {
    "ACCEPT_ANY": "roost.trust.acceptance",
    "BlobGroup": "roost.host.blobs",
    "Checker": "roost.trust.acceptance",
    "Connection": "roost.host.client",
    "Content": "roost.host.topics.feed",
    "Face": "roost.host.face",
    "Feed": "roost.host.blob_feed",
    "FetchSettings": "roost.pubsub.fetch_effects",
    "Followed": "roost.host.joining",
    "Joined": "roost.host.joining",
    "Listen": "roost.host.listening",
    "ListeningNode": "roost.host.listening",
    "Receipt": "roost.host.blobs",
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
    "TopicFeed": "roost.host.topics.feed",
    "Topics": "roost.host.topics.topics",
    "connect": "roost.host.client",
    "connect_sync": "roost.host.blocking",
    "flips": "roost.host.topics.opening",
    "join": "roost.host.client",
    "running": "roost.host.listening",
}

__all__ = [
    "ACCEPT_ANY",
    "BlobGroup",
    "Checker",
    "Connection",
    "Content",
    "Face",
    "Feed",
    "FetchSettings",
    "Followed",
    "Joined",
    "Listen",
    "ListeningNode",
    "Receipt",
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
    "TopicFeed",
    "Topics",
    "connect",
    "connect_sync",
    "flips",
    "join",
    "running",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
