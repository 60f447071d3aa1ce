"""A repo's data interface: plain Interests for what is stored [NDN-PS §III-B, fig. 2].

    exact name              that packet
    with CanBePrefix        the last one below it in canonical order: the newest reading of a stream
    implicit digest         the packet, if it is that one

A repo speaks for producers that sleep, so it is no cache: a reading is answered although MustBeFresh is set and its
FreshnessPeriod passed long ago, because nobody nearer to the panel than the repo is awake to say anything newer. Other
packets, metadata that names the newest version of something say, are left to their producers when freshness is asked
for: out of a store they would hide what is newer.

What is damaged on the disk is not handed out; `damaged` is told, and who asked tries another repo.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.forwarding.endpoint_effects import Asked
from roost.machine import Effect
from roost.naming import Name
from roost.naming.component import IMPLICIT_DIGEST, SEQUENCE
from roost.repo.store import Damaged, Store
from roost.sync.port import Reply
from roost.wire import Interest
from roost.wire.data import decode_data


class DataInterface:
    """Answers out of a store."""

    def __init__(self, store: Store, damaged: Callable[[Name, int], list[Effect]]) -> None:
        self.answered = 0
        self.damaged = 0
        self._store: Final = store
        self._tell: Final = damaged

    def asked(self, asked: Asked, now: int) -> list[Effect] | None:
        """Answer an Interest; None if nothing here does."""
        try:
            packet = self._find(asked.interest)
        except Damaged as damage:
            self.damaged += 1
            return self._tell(damage.name, now)
        if packet is None:
            return None
        self.answered += 1
        return [Reply(packet, asked.token)]

    def _find(self, interest: Interest) -> bytes | None:
        name = interest.name
        digest = b""
        if name and name.at(-1).type == IMPLICIT_DIGEST:
            digest = name.at(-1).value
            name = name.prefix(-1)
        packet = self._store.get(name)
        if packet is None and interest.can_be_prefix and not digest:
            packet = self._store.find(name)
        if packet is None or not (digest or interest.must_be_fresh):
            return packet
        data = decode_data(packet)
        if digest:
            return packet if data.implicit_digest == digest else None
        return packet if data.name.at(-1).type == SEQUENCE else None
