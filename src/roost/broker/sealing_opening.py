"""Opening: sealed readings in the repo of this node, made plain with the keys that were wrapped for it.

A wrapped key is a Data of its own, kept in the same store and verified when it came there. Readings of another node may
be here before the key to them: who hands them on waits for it (`roost.broker.succession`), and once only for each key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.errors import BadPacket, NoKey
from roost.naming.name import Name
from roost.repo.store import Damaged, Store
from roost.trust.access import FOR, KeyWanted, Opened, Opener, parse_sealed
from roost.trust.wrapping import Receiver
from roost.wire.data import decode_data

MAX_KEYS: Final = 20_000  # content keys at hand; one too many makes the one that was not used for longest be read again
MAX_GIVEN_UP: Final = 4096
_KEY_PARTS: Final = 4  # of a wrapped key's name, behind its stream


class Opening:
    """What the keys of this node open."""

    def __init__(self, store: Store, receivers: Iterable[Receiver]) -> None:
        self._store: Final = store
        held = list(receivers)
        self._digests: Final = frozenset([receiver.digest for receiver in held])
        self._opener: Final = Opener(held, MAX_KEYS)
        self._given_up: Final[dict[bytes, None]] = {}  # keys that did not come in time; bound: MAX_GIVEN_UP

    def open(self, name: Name, content: bytes) -> bytes:
        """The plain content of a sealed reading; raises `NoKey` while its key is not here, `BadPacket` if it is bad."""
        outcome = self._opener.open(name, content)
        if isinstance(outcome, KeyWanted):
            for wanted in outcome.names:
                if self._learn(wanted):
                    outcome = self._opener.open(name, content)
                    break
        if isinstance(outcome, Opened):
            return outcome.content
        if isinstance(outcome, KeyWanted):
            raise NoKey(f"{name} is sealed, and no key to it is here")
        raise BadPacket(str(outcome))

    def came(self, name: Name) -> Name | None:
        """A packet is here now; the stream that it has a key to, None if it has none for us."""
        if len(name) <= _KEY_PARTS or name.at(-2) != FOR or name.at(-1).value not in self._digests:
            return None
        self._given_up.pop(name.prefix(-2).value, None)
        return name.prefix(-_KEY_PARTS)

    def give_up(self, wire: bytes) -> None:
        """Wait no longer for the key to a reading."""
        if len(self._given_up) >= MAX_GIVEN_UP:
            del self._given_up[next(iter(self._given_up))]
        self._given_up[_key_of(wire)] = None

    def is_given_up(self, wire: bytes) -> bool:
        """Whether the key to a reading was waited for in vain."""
        return not self._digests or _key_of(wire) in self._given_up

    def _learn(self, name: Name) -> bool:
        try:
            wire = self._store.get(name)
        except Damaged:
            return False
        return wire is not None and self._opener.learn(decode_data(wire)) is None


def _key_of(wire: bytes) -> bytes:
    return parse_sealed(decode_data(wire).content)[2].value
