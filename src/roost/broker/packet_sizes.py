"""The largest packet that is taken from a link: while it is a stranger's by its address, then by its user as well.

    opened ──▶ largest_of_address ──▶ CONNECT, and who it is ──▶ largest_of_client ──▶ told in CONNACK [MQTT-3.2.2-15]

The smallest of what holds counts: the server's own maximum (for a stranger a small one of its own), that of the
address, that of the client. The most specific
network that an address is in speaks for it. The answer stands for as long as the link does, for the client was told it:
other limits count for the links that come after.
"""

from __future__ import annotations

from roost.broker.limits import Limits, remote_address


def largest_of_address(limits: Limits, address: str, most: int) -> int:
    """The largest packet from this address, if the server takes `most`."""
    if not limits.address_packet_bytes and not limits.network_packet_bytes:
        return most
    found = remote_address(address)
    if found is None:
        return most
    allowed = limits.address_packet_bytes
    narrowest = -1
    for network, size_bytes in limits.network_packet_bytes.items():
        if network.prefixlen > narrowest and found in network:
            narrowest = network.prefixlen
            allowed = size_bytes
    return _smaller(most, allowed)


def largest_of_client(limits: Limits, user: bytes, most: int) -> int:
    """The largest packet from a client of this user, if its address may send `most`."""
    return _smaller(most, limits.user_packet_bytes.get(user, limits.packet_bytes))


def _smaller(most: int, allowed: int) -> int:
    return min(most, allowed) if allowed else most
