"""The link of an application's face: link packets opened, fragments put together, what is too large cut.

A stream needs none of it, so there is a `Link` behind it only where packets have a size limit. An application neither
acknowledges nor asks for acknowledgements: it asks again by itself.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.wire import LpPacket, decode_lp
from roost.wire.link import Link
from roost.wire.tlv import LP_PACKET


class AppLink:
    """One face's, from when it is up until it is down; `mtu` 0 is a stream."""

    def __init__(self, mtu: int = 0, first_sequence: int = 0) -> None:
        self._link: Final = Link(mtu, first_sequence=first_sequence) if mtu else None

    def open(self, packet: bytes, now: int) -> LpPacket | None:
        """Open a link packet; None while there is nothing to hand on."""
        lp: LpPacket | None = decode_lp(packet)
        if lp is not None and lp.frag_count > 1:
            if self._link is None:
                raise BadPacket("a fragment came on a face that has no fragments")
            lp = self._link.unwrap(lp, now)
        return lp if lp is not None and lp.fragment else None

    def wrap(self, wires: list[bytes], now: int) -> list[bytes]:
        """Cut what is too large for the face."""
        if self._link is None or not wires:
            return wires
        return self._link.wrap([decode_lp(wire) if wire[0] == LP_PACKET else wire for wire in wires], now)

    def tick(self, now: int) -> None:
        """Forget incomplete messages that are overdue."""
        if self._link is not None:
            self._link.tick(now)

    def deadline(self) -> int | None:
        """When `tick` wants to be called next."""
        return None if self._link is None else self._link.deadline()
