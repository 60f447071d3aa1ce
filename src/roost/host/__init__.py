"""The only place that touches the real world: sockets, disk, clock, keys on disk, metrics, the asyncio client API."""

from roost.host.blocking import SyncFace, connect_sync
from roost.host.client import Connection, Face, connect
from roost.host.listening import Listen, ListeningNode, running
from roost.host.serving import Serving
from roost.host.verification import ACCEPT_ANY, Verifier
from roost.pubsub.fetch import FetchSettings

__all__ = [
    "ACCEPT_ANY",
    "Connection",
    "Face",
    "FetchSettings",
    "Listen",
    "ListeningNode",
    "Serving",
    "SyncFace",
    "Verifier",
    "connect",
    "connect_sync",
    "running",
]
