"""Prefix announcements: a Data that says for how long its signer serves a prefix [nfd-management §6].

`/<prefix>/32=PA/v=<version>/seg=0`, ContentType 5, Content { ExpirationPeriod, [ValidityPeriod] }. Whether its
signature is to be believed is not decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.errors import BadPacket
from roost.machine import MS
from roost.naming import Name
from roost.naming.component import VERSION
from roost.naming.conventions import keyword, segment
from roost.naming.number import read_nni
from roost.wire import Data, tlv
from roost.wire.certificate import time_of
from roost.wire.data import PREFIX_ANNOUNCEMENT
from roost.wire.signature import VALIDITY_PERIOD, read_validity

EXPIRATION_PERIOD: Final = 109

_MARK: Final = keyword("PA")
_FIRST: Final = segment(0)


@dataclass(frozen=True, slots=True)
class Announcement:
    """A prefix, for how long it is announced, and within which times that may be used (ns since 1970)."""

    prefix: Name
    expiration_ms: int
    not_before: int | None = None
    not_after: int | None = None

    def remaining_ns(self, now: int) -> int:
        """How long a route made of it lives: 0 outside the validity period."""
        lives = self.expiration_ms * MS
        if self.not_before is not None and self.not_after is not None:
            if not self.not_before <= now <= self.not_after:
                return 0
            lives = min(lives, self.not_after - now)
        return lives


def read_announcement(data: Data) -> Announcement:
    """Read a Data as an announcement; raises `BadPacket` where it is none."""
    name = data.name
    if len(name) < 3 or name.at(-3) != _MARK or name.at(-2).type != VERSION or name.at(-1) != _FIRST:
        raise BadPacket(f"{name} is not the name of a prefix announcement, they end in /32=PA/v=…/seg=0")
    if data.content_type != PREFIX_ANNOUNCEMENT:
        raise BadPacket(f"a prefix announcement has ContentType {PREFIX_ANNOUNCEMENT}, this has {data.content_type}")
    content = data.content
    expiration: int | None = None
    validity: tuple[int, int] | None = None
    for type_, low, high in tlv.elements(content):
        if type_ == EXPIRATION_PERIOD and expiration is None:
            expiration = read_nni(content, low, high)
        elif type_ == VALIDITY_PERIOD and validity is None:
            begin, end = read_validity(content, low, high)
            validity = time_of(begin), time_of(end)
        else:
            tlv.skip(type_, low, "a prefix announcement")
    if expiration is None:
        raise BadPacket("a prefix announcement has an ExpirationPeriod, this one has none")
    prefix = name.prefix(-3)
    if validity is None:
        return Announcement(prefix, expiration)
    return Announcement(prefix, expiration, *validity)
