"""What the driver holds of links in its own buffers: for them, which slows messages down, and of them, which counts.

Above the high-water mark of what a link has not taken, messages wait in the session's queue instead. A WebSocket frame
that is not whole yet is held as a packet is that is not whole, within about the same bounds.
"""

from __future__ import annotations

from typing import Final

from roost.broker.core import Core
from roost.broker.delivery import pump
from roost.broker.memory import weigh
from roost.broker.packets.reasons import PACKET_TOO_LARGE

FRAME_SLACK_BYTES: Final = 64 << 10  # a frame may hold several packets, or parts of some
_TOO_LARGE: Final = "a WebSocket frame is larger than the packets that this client may send"


def drained(core: Core, number: int, queued_bytes: int, now: int) -> None:
    """So many bytes for a link still wait."""
    link = core.links.get(number)
    if link is not None and number not in core.gated:
        congested = queued_bytes > core.high_water_bytes
        if congested != link.congested:
            link.congested = congested
            core.stats.slow += 1 if congested else -1
        link.room = core.high_water_bytes - queued_bytes
        link.mark = link.room
        if link.session is not None:
            pump(core, link.session, now)


def go_on(core: Core, now: int) -> None:
    """Send more to the links that used up their room in the last call."""
    capped = core.capped
    core.capped = []
    for link in capped:
        if link.session is not None:
            pump(core, link.session, now)


def took(core: Core, numbers: list[int], now: int) -> None:
    """These links are not read, for too much waits for them; but they took some of it, so they are alive."""
    for number in numbers:
        link = core.links.get(number)
        if link is not None:
            link.heard = now


def held(core: Core, sizes: list[tuple[int, int]]) -> None:
    """So many bytes of frames of links are there, and the ends of these are not."""
    for number, size_bytes in sizes:
        link = core.links.get(number)
        if link is None or link.doomed:
            continue
        if size_bytes > link.framer.max_bytes + FRAME_SLACK_BYTES:
            core.stats.refused_large += 1
            core.reject(link, _TOO_LARGE, b"")
            core.doom(link, PACKET_TOO_LARGE, _TOO_LARGE)
        else:
            link.frame_bytes = size_bytes
            weigh(core, link)
