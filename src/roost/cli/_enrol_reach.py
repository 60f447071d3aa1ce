"""Where other machines reach the node behind which an invitation waits."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

from roost.errors import BadConfig

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roost.host.face import Face

_ELSEWHERE = {
    4: "192.0.2.1",
    6: "2001:db8::1",
}  # of documentation: nothing is sent, the system says which card it takes


async def listening(face: Face) -> list[str]:
    """The addresses that the node listens on, as URIs."""
    from roost.cli.status import fetch_dataset
    from roost.forwarding.requests import read_dataset
    from roost.forwarding.status import ChannelStatus

    channels = read_dataset("faces/channels", await fetch_dataset(face, "faces/channels"))
    return [channel.local_uri for channel in channels if isinstance(channel, ChannelStatus)]


def reach(said: str | None, listening: Iterable[str]) -> tuple[str, int]:
    """The numeric host and port that go into the code, "" and 0 where there are none; what was said goes before."""
    from roost.host.address import NDN_PORT, is_loopback, parse_listen, parse_uri

    if said is not None:
        host, port = parse_listen(said.removeprefix("tcp4://").removeprefix("tcp6://").removeprefix("tcp://"), NDN_PORT)
        return _numeric(host), port
    addresses = [parse_uri(uri) for uri in listening if uri.startswith("tcp")]
    found = [(_outside(each.host), each.port) for each in addresses]
    outside = [(host, port) for host, port in found if not is_loopback(host)]
    return (outside or found or [("", 0)])[0]


def _outside(host: str) -> str:
    """An address of this machine in the place of "any"."""
    address = ipaddress.ip_address(host)
    if not address.is_unspecified:
        return host
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((_ELSEWHERE[address.version], 9))
        except OSError:  # it has no network
            return "127.0.0.1" if address.version == 4 else "::1"
        return str(probe.getsockname()[0])


def _numeric(host: str) -> str:
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise BadConfig(f"--reach {host} is no address that can be found: {error.strerror}") from None
