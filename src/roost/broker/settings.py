"""What a broker is told when it starts: bounds, policies and how durable an acknowledged message is.

Defaults suit a building's gateway. Every bound here is one that a client could otherwise make the broker exceed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.machine.contract import SECOND

RECEIVED: Final = 0  # acknowledged when it is in memory
DISK: Final = 1  # acknowledged when it is forced to the disk
REPLICATED: Final = 2  # acknowledged when k repos have it; trees with a group only

DROP_OLDEST: Final = 0
DROP_NEWEST: Final = 1
DISCONNECT: Final = 2

NEVER: Final = 0xFFFFFFFF  # a Session Expiry Interval that does not end [MQTT-3.1.2.11.2]
MAX_PACKET_BYTES: Final = 268_435_460  # what a fixed header can say, header included


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The settings of one broker; times with a unit in their name are seconds, others nanoseconds."""

    # durability
    persistent: bool = False  # whether there is a disk; without one sessions live as long as the process
    durability: int = RECEIVED
    durable: tuple[tuple[bytes, int], ...] = ()  # topic filters with another level than the default; the first counts

    # bounds in all
    max_sessions: int = 100_000
    max_total_bytes: int = 256 << 20
    max_retained: int = 100_000
    max_retained_bytes: int = 256 << 20
    max_routes: int = 65_536  # topics whose receivers are remembered
    max_routes_bytes: int = 128 << 20
    max_filters_bytes: int = 256 << 20
    max_wills_bytes: int = 64 << 20
    max_links_bytes: int = 256 << 20  # packets that are not whole, CONNECTs that are not judged, aliases

    # bounds per user; 0 is none, and the anonymous are no user
    max_sessions_per_user: int = 50_000
    max_retained_bytes_per_user: int = 128 << 20

    # bounds per client
    max_packet_bytes: int = 1 << 20
    max_connect_bytes: int = 256 << 10  # a packet of who is not let in; the largest will and password fit
    max_inflight: int = 1024
    receive_maximum: int = 1024  # QoS 1 and 2 publications of a client that are not acknowledged
    max_queued: int = 10_000
    max_queued_bytes: int = 16 << 20
    max_filters: int = 1_000
    max_filter_bytes: int = 4 << 20  # of all of a session's filters
    max_levels: int = 128
    max_early_bytes: int = 64 << 10  # what a client may send before it is let in
    topic_alias_maximum: int = 64
    max_sent_aliases: int = 64  # that we use towards a client that takes more
    high_water_bytes: int = 1 << 20
    max_client_id_bytes: int = 1024

    # policies
    overflow: int = DROP_OLDEST
    queue_qos0: bool = False
    maximum_qos: int = 2
    retain_available: bool = True
    wildcards_available: bool = True
    shared_available: bool = True
    identifiers_available: bool = True
    drop_denied: bool = True  # a 3.1.1 client that publishes what it may not: acknowledge and drop, or hang up
    drop_disallowed: bool = False  # on reload, hang up on links whose user is gone

    # times
    connect_timeout_s: int = 10
    max_keep_alive_s: int = 65_535
    max_session_expiry_s: int = 7 * 24 * 3600
    sys_interval_s: int = 10  # 0 is never

    # told to clients
    response_prefix: bytes = b""
    server_reference: bytes = b""
    release: str = "roost"

    def connect_timeout(self) -> int:
        """How long a link may take to be let in."""
        return self.connect_timeout_s * SECOND
