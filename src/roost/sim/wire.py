"""What a wire or a bus does to packets: the settings of a medium."""

from __future__ import annotations

from dataclasses import dataclass

from roost.errors import BadConfig

QUEUE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Wire:
    """How packets travel. Shares are of packets, from 0 to 1, drawn anew for everyone who could hear a packet."""

    delay_ms: float = 5.0
    jitter_ms: float = 0.0  # up to this much more, without overtaking
    loss: float = 0.0
    duplicate: float = 0.0  # come twice, the second time held back
    reorder: float = 0.0  # are held back, so that later ones overtake
    held_ms: float = 20.0  # for at most this long
    rate_bps: int = 0  # bits per second, one packet after the other; 0 is without limit
    queue_bytes: int = QUEUE_BYTES  # with more than this still to be sent before it, a packet is dropped
    mtu: int = 0  # the largest packet in bytes, larger ones are dropped; 0 is without limit
    local: bool = False  # both ends are on one machine: an application and its forwarder
    flags: int = 0  # of the faces, as in `FaceSpec`

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate", "reorder"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadConfig(f"{name}={getattr(self, name)} is no share of the packets: give 0 to 1")
        for name in ("delay_ms", "jitter_ms", "held_ms", "rate_bps", "queue_bytes", "mtu"):
            if getattr(self, name) < 0:
                raise BadConfig(f"{name}={getattr(self, name)} is negative")
