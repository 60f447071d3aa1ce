"""What the broker counts, and how it tells under `$SYS/broker/…`, by the names that mosquitto gave these topics.

Counters only grow; gauges are what is now. Clients watch them as ordinary QoS 0 messages that are found by a later
subscriber too. Nobody but the broker publishes there.
"""

from __future__ import annotations

from typing import Final

from roost.machine.contract import SECOND

PREFIX: Final = b"$SYS/broker/"
MAX_TOPICS: Final = 128
MAX_TOPICS_BYTES: Final = 256 << 10


class Statistics:
    """One broker's counters and gauges."""

    def __init__(self) -> None:
        # counters
        self.received = 0  # packets of any kind
        self.received_bytes = 0
        self.sent_bytes = 0
        self.publish_received = 0
        self.publish_received_bytes = 0  # whole packets
        self.publish_sent = 0
        self.dropped = 0  # messages that somebody should have got, all reasons
        self.dropped_full = 0  # a queue was full
        self.dropped_total = 0  # all queues together were too large
        self.dropped_large = 0  # above the client's Maximum Packet Size
        self.refused_large = 0  # packets of clients, above the server's limits
        self.expired = 0
        self.left_out = 0  # of pasts: what a client of 3.1.1 could not tell from the living
        self.denied = 0  # publications that were not allowed
        self.unfit = 0  # publications that can be no readings of their group
        self.links_opened = 0
        self.links_refused = 0
        self.protocol_errors = 0
        self.sessions_expired = 0
        self.sessions_refused = 0
        self.sessions_refused_user = 0  # of them, for a user had too many
        self.taken_over = 0
        self.routes_forgotten = 0
        self.filters_refused = 0
        self.wills_refused = 0
        self.links_relieved = 0  # ended for the bytes that all links made us hold
        self.bad_rows = 0
        self.unkept = 0
        self.unknown_acks = 0
        # gauges
        self.connected = 0
        self.connected_most = 0
        self.sessions = 0
        self.subscriptions = 0
        self.shared = 0
        self.retained = 0
        self.retained_bytes = 0
        self.retained_refused = 0
        self.retained_refused_user = 0  # of them, for a user had too much: a counter
        self.queued_bytes = 0
        self.queued_most = 0  # bytes of the largest queue
        self.slow = 0  # links that are above the high-water mark


def topics(statistics: Statistics, more: list[tuple[str, int]], release: str, uptime: int) -> list[tuple[bytes, bytes]]:
    """Every topic under `$SYS` that says a number, and a few that say more; `docs/mqtt.md` lists them."""
    values: list[tuple[str, int]] = [
        ("clients/total", statistics.sessions),
        ("clients/connected", statistics.connected),
        ("clients/active", statistics.connected),
        ("clients/disconnected", statistics.sessions - statistics.connected),
        ("clients/inactive", statistics.sessions - statistics.connected),
        ("clients/maximum", statistics.connected_most),
        ("clients/expired", statistics.sessions_expired),
        ("clients/refused", statistics.sessions_refused),
        ("clients/refused/user", statistics.sessions_refused_user),
        ("clients/taken_over", statistics.taken_over),
        ("clients/slow", statistics.slow),
        ("messages/received", statistics.received),
        ("messages/refused/large", statistics.refused_large),
        ("publish/messages/received", statistics.publish_received),
        ("publish/messages/sent", statistics.publish_sent),
        ("publish/messages/dropped", statistics.dropped),
        ("publish/messages/dropped/full", statistics.dropped_full),
        ("publish/messages/dropped/total", statistics.dropped_total),
        ("publish/messages/dropped/large", statistics.dropped_large),
        ("publish/messages/expired", statistics.expired),
        ("publish/messages/denied", statistics.denied),
        ("publish/messages/unfit", statistics.unfit),
        ("past/left_out", statistics.left_out),
        ("publish/bytes/received", statistics.publish_received_bytes),
        ("bytes/received", statistics.received_bytes),
        ("bytes/sent", statistics.sent_bytes),
        ("store/messages/bytes", statistics.queued_bytes),
        ("store/messages/bytes/largest", statistics.queued_most),
        ("subscriptions/count", statistics.subscriptions),
        ("shared_subscriptions/count", statistics.shared),
        ("retained messages/count", statistics.retained),
        ("retained messages/bytes", statistics.retained_bytes),
        ("retained messages/refused", statistics.retained_refused),
        ("retained messages/refused/user", statistics.retained_refused_user),
        ("subscriptions/refused", statistics.filters_refused),
        ("wills/refused", statistics.wills_refused),
        ("routes/forgotten", statistics.routes_forgotten),
        ("acknowledgements/unknown", statistics.unknown_acks),
        ("connections/opened", statistics.links_opened),
        ("connections/refused", statistics.links_refused),
        ("connections/ended/errors", statistics.protocol_errors),
        ("connections/ended/bytes", statistics.links_relieved),
        ("rows/unreadable", statistics.bad_rows),
        ("rows/unwritten", statistics.unkept),
        *more,
    ]
    told = [(PREFIX + name.encode(), b"%d" % value) for name, value in values]
    told.append((PREFIX + b"uptime", b"%d seconds" % (uptime // SECOND)))
    told.append((PREFIX + b"version", release.encode()))
    return told
