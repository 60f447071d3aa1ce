"""Sizes of packets: those below `limits`, one for all or others for some users and some networks, and what they need.

A packet that is allowed has to fit wherever it may have to wait: else it would be acknowledged and never delivered, or
cost a client its connection that has done nothing wrong.

CONNECT is a packet too, and a limit that it does not fit into would keep everybody out: so a size is at least 1024
bytes, or 0, which is no limit but that of `packets`.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from roost.broker.message import OVERHEAD_BYTES
from roost.broker.settings import MAX_PACKET_BYTES, BrokerSettings
from roost.errors import BadConfig
from roost.host.mqtt.config_values import Reader, section, size_bytes
from roost.host.mqtt.link import Bounds
from roost.host.mqtt.users import MAX_USERS, encoded_name

MIN_PACKET_BYTES: Final = 1024
_SENT_SLACK_BYTES: Final = 64 << 10  # what may be added to a message, and to packets by TLS and WebSocket
MAX_NETWORKS: Final = 256  # every one is looked at when somebody connects

_some: Final[Reader] = size_bytes(MIN_PACKET_BYTES, MAX_PACKET_BYTES)


def packet_bytes(key: str, value: object) -> int:
    """Read the size of a packet, or 0."""
    return 0 if value == 0 and not isinstance(value, bool) else int(str(_some(key, value)))


def packet_bytes_by_user(key: str, value: object) -> object:
    """Read `user: size` lines."""
    sizes: dict[bytes, int] = {}
    for name, size in _lines(key, value, MAX_USERS).items():
        try:
            user = encoded_name(name)
        except BadConfig as error:
            raise BadConfig(f"{key}: {error}") from None
        sizes[user] = packet_bytes(f"{key}.{name}", size)
    return sizes


def packet_bytes_by_network(key: str, value: object) -> object:
    """Read `network: size` lines."""
    sizes: dict[IPv4Network | IPv6Network, int] = {}
    for name, size in _lines(key, value, MAX_NETWORKS).items():
        try:
            network = ip_network(name)
        except ValueError:
            raise BadConfig(
                f"{key}.{name}: this is no network; write its first address and its length, as in 10.1.0.0/16"
            ) from None
        if network.is_loopback:
            raise BadConfig(f"{key}.{name}: this machine has no limits of an address; limit its users")
        sizes[network] = packet_bytes(f"{key}.{name}", size)
    return sizes


def check_sizes(broker: BrokerSettings, bounds: Bounds) -> None:
    """Raise `BadConfig` if a packet of the largest size could not wait somewhere."""
    packet = broker.max_packet_bytes
    message = packet + OVERHEAD_BYTES
    sent = packet + 2 * broker.high_water_bytes + _SENT_SLACK_BYTES  # the mark is looked at before and after a turn
    for key, place_bytes, needed in (
        ("queues.bytes", broker.max_queued_bytes, message),
        ("queues.total_bytes", broker.max_total_bytes, message),
        ("memory.connections", broker.max_links_bytes, packet),
        ("buffers.link_bytes", bounds.max_link_bytes, sent),
        ("buffers.total_bytes", bounds.max_total_bytes, sent),
    ):
        if place_bytes < needed:
            beside = " and queues.high_water" if needed == sent else ""
            raise BadConfig(
                f"{key}: {place_bytes} bytes are too few for a packet of packets.max_bytes{beside}, which may have to "
                f"wait there; make {key} at least {needed}, or packets.max_bytes{beside} smaller"
            )


def _lines(key: str, value: object, most: int) -> dict[str, object]:
    given = section(key, value)
    if len(given) > most:
        raise BadConfig(f"{key}: there are {len(given)} lines, {most} are the limit")
    return given
