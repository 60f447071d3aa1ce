"""What we are called in a group of blobs when nobody says: as this machine, or as a key that we have allows.

The trust of `roost init` lets a panel of the group publish, and nobody else. Any member of the group, its key and its
repos among them, may say what others published; who only carries needs no more, and has a name of its own below that
key's, so that it is not taken for who publishes under it.
"""

from __future__ import annotations

import socket
from typing import Final

from roost.errors import NoKey
from roost.naming import Component, Name
from roost.pubsub.blobs.names import Naming
from roost.sync.choice import signed_name
from roost.sync.port import Stream
from roost.sync.svs_settings import SvsSettings
from roost.trust import KeyChain
from roost.wire import Signer

MULE: Final = Component(b"mule")


def machine() -> Name:
    """The name of this machine."""
    return Name() / Component(socket.gethostname().encode())


def publishing_name(group: Name, settings: SvsSettings, keys: KeyChain | None, now: int) -> Name:
    """The machine's name, or, if no key may sign for that, the first key by name that may publish; raises `NoKey`."""
    if keys is None:
        return machine()
    naming = Naming(group, settings.version)
    for node in (machine(), *sorted(held.name for held in keys.identities)):
        stream = Stream(node)
        try:
            keys.signer_for(naming.publication(stream, 1), now)
            keys.signer_for(naming.query(stream, 1, 1), now)
        except NoKey:
            continue
        return node
    raise _no_member(group)


def carrying_name(group: Name, settings: SvsSettings, keys: KeyChain, now: int) -> tuple[Name, Signer]:
    """The name of who only carries, and who signs what it tells; raises `NoKey`."""
    try:
        held = keys.identity_for(signed_name(group, settings), now)
    except NoKey:
        raise _no_member(group) from None
    return held.name / MULE, held.signer


def _no_member(group: Name) -> NoKey:
    return NoKey(
        f"no key here may be a member of {group}: make one with `roost key make {group}/NAME`, and join as that "
        f"(`roost.join({str(group)!r}, {f'{group}/NAME'!r})`; a mule: --node {group}/NAME)"
    )
