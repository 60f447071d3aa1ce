"""Roost: publish, process and subscribe over named, signed data.

What people import is named here and loaded when it is first asked for:

    async with roost.connect() as face:
        data = await face.fetch("/BigCompany/Building1/Electricity/Panel1/Heater/Voltage/seq=5")

`roost.sync` has the names that go with groups: which protocol, what is learnt, what is subscribed to.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roost import sync
    from roost.errors import RoostError
    from roost.host import ACCEPT_ANY, Face, SyncFace, connect, connect_sync, flips, join
    from roost.naming import Component, Name
    from roost.wire import Data, Interest

__version__ = "0.1.0"

_HOMES = {
    "ACCEPT_ANY": "roost.host",
    "Component": "roost.naming",
    "Data": "roost.wire",
    "Face": "roost.host",
    "Interest": "roost.wire",
    "Name": "roost.naming",
    "RoostError": "roost.errors",
    "SyncFace": "roost.host",
    "connect": "roost.host",
    "connect_sync": "roost.host",
    "flips": "roost.host",
    "join": "roost.host",
}

__all__ = [
    "ACCEPT_ANY",
    "Component",
    "Data",
    "Face",
    "Interest",
    "Name",
    "RoostError",
    "SyncFace",
    "__version__",
    "connect",
    "connect_sync",
    "flips",
    "join",
    "sync",
]


def __getattr__(name: str) -> object:
    if name == "sync":
        return import_module("roost.sync")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
