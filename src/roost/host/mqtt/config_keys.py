"""The keys of the configuration that are settings of the broker, of its limits or of its buffers, by section."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from roost.broker.limits import Limits
from roost.broker.settings import DISCONNECT, DROP_NEWEST, DROP_OLDEST, MAX_PACKET_BYTES
from roost.host.mqtt.config_sizes import MIN_PACKET_BYTES, packet_bytes, packet_bytes_by_network, packet_bytes_by_user
from roost.host.mqtt.config_values import Reader, choice, known, section, size_bytes, time_s, whole, words, yes_or_no

_MANY: Final = 10_000_000
_HUGE: Final = 1 << 40

Keys: TypeAlias = Mapping[str, tuple[str, Reader]]  # key → the name of the setting, and how its value is written

BROKER: Final[Mapping[str, Keys]] = {
    "packets": {
        "max_bytes": ("max_packet_bytes", size_bytes(MIN_PACKET_BYTES, MAX_PACKET_BYTES)),
        "connect_bytes": ("max_connect_bytes", size_bytes(MIN_PACKET_BYTES, MAX_PACKET_BYTES)),
        "client_id_bytes": ("max_client_id_bytes", whole(23, 65_535)),
        "topic_levels": ("max_levels", whole(1, 65_535)),
        "topic_aliases": ("topic_alias_maximum", whole(0, 65_535)),
        "sent_aliases": ("max_sent_aliases", whole(0, 65_535)),
        "receive_maximum": ("receive_maximum", whole(1, 65_535)),
    },
    "sessions": {
        "max": ("max_sessions", whole(1, _MANY)),
        "per_user": ("max_sessions_per_user", whole(0, _MANY)),
        "max_filters": ("max_filters", whole(1, _MANY)),
        "filter_bytes": ("max_filter_bytes", size_bytes(1024, _HUGE)),
        "max_expiry": ("max_session_expiry_s", time_s(0, 0xFFFFFFFF)),
        "max_keep_alive": ("max_keep_alive_s", time_s(1, 65_535)),
        "connect_timeout": ("connect_timeout_s", time_s(1, 3600)),
    },
    "queues": {
        "in_flight": ("max_inflight", whole(1, 65_535)),
        "messages": ("max_queued", whole(1, _MANY)),
        "bytes": ("max_queued_bytes", size_bytes(1024, _HUGE)),
        "total_bytes": ("max_total_bytes", size_bytes(1024, _HUGE)),
        "high_water": ("high_water_bytes", size_bytes(4096, 1 << 30)),
        "qos0": ("queue_qos0", yes_or_no),
        "overflow": (
            "overflow",
            choice({"drop-oldest": DROP_OLDEST, "drop-newest": DROP_NEWEST, "disconnect": DISCONNECT}),
        ),
    },
    "retained": {
        "messages": ("max_retained", whole(0, _MANY)),
        "bytes": ("max_retained_bytes", size_bytes(0, _HUGE)),
        "bytes_per_user": ("max_retained_bytes_per_user", size_bytes(0, _HUGE)),
    },
    "memory": {
        "filters": ("max_filters_bytes", size_bytes(1024, _HUGE)),
        "wills": ("max_wills_bytes", size_bytes(0, _HUGE)),
        "routes": ("max_routes_bytes", size_bytes(1024, _HUGE)),
        "connections": ("max_links_bytes", size_bytes(64 << 10, _HUGE)),
    },
    "features": {
        "maximum_qos": ("maximum_qos", whole(0, 2)),
        "retain": ("retain_available", yes_or_no),
        "wildcards": ("wildcards_available", yes_or_no),
        "shared": ("shared_available", yes_or_no),
        "identifiers": ("identifiers_available", yes_or_no),
        "response_prefix": ("response_prefix", words),
        "server_reference": ("server_reference", words),
        "sys_interval": ("sys_interval_s", time_s(0, 86_400)),
    },
    "denied": {
        "publish": ("drop_denied", choice({"drop": True, "disconnect": False})),
        "reload": ("drop_disallowed", choice({"keep": False, "disconnect": True})),
    },
}
LIMITS: Final[Keys] = {
    "connections": ("max_links", whole(1, _MANY)),
    "connections_per_address": ("max_links_per_address", whole(0, _MANY)),
    "connections_per_user": ("max_links_per_user", whole(0, _MANY)),
    "connects_per_s": ("connects_per_s", whole(0, _MANY)),
    "failures_per_minute": ("failures_per_minute", whole(0, _MANY)),
    "messages_per_s": ("messages_per_s", whole(0, _MANY)),
    "bytes_per_s": ("bytes_per_s", size_bytes(0, _HUGE)),
    "address_messages_per_s": ("address_messages_per_s", whole(0, _MANY)),
    "address_bytes_per_s": ("address_bytes_per_s", size_bytes(0, _HUGE)),
    "packet_bytes": ("packet_bytes", packet_bytes),
    "user_packet_bytes": ("user_packet_bytes", packet_bytes_by_user),
    "address_packet_bytes": ("address_packet_bytes", packet_bytes),
    "network_packet_bytes": ("network_packet_bytes", packet_bytes_by_network),
}
BUFFERS: Final[Keys] = {
    "link_bytes": ("max_link_bytes", size_bytes(64 << 10, _HUGE)),
    "total_bytes": ("max_total_bytes", size_bytes(64 << 10, _HUGE)),
}


def values_of(limits: Limits) -> dict[str, object]:
    """What limits say, by the name of the setting."""
    return {name: getattr(limits, name) for name, _ in LIMITS.values()}


def read_values(name: str, said: object, keys: Keys) -> dict[str, object]:
    """Read a section: the settings that were given; raises `BadConfig`."""
    given = section(name, said)
    known(name, given, keys)
    return {keys[key][0]: keys[key][1](f"{name}.{key}", value) for key, value in given.items()}
