"""The bounds of a forwarder, each with its default."""

from __future__ import annotations

from dataclasses import dataclass

from roost.naming import Name


@dataclass(frozen=True)
class ForwarderSettings:
    """What a forwarder may hold; every table has an upper bound."""

    pit_limit: int = 65_536
    pit_bytes: int = 64 * 1024 * 1024
    fib_limit: int = 1_000_000
    face_limit: int = 4_096
    store_packets: int = 65_536
    store_bytes: int = 256 * 1024 * 1024
    dead_nonce_limit: int = 65_536
    regions: tuple[Name, ...] = ()
    unsolicited: str = "drop-all"  # or admit-local, admit-network, admit-all
