"""Face URIs as `faces/create` takes them: canonical, never a host name [nfd-management §4].

`udp4://192.0.2.1:6363`, `tcp6://[2001:db8::1]:6363`. Resolving names is a client's work; opening is the driver's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from roost.errors import Refused

CREATABLE: Final = frozenset({"udp4", "udp6", "tcp4", "tcp6"})
MAX_URI_BYTES: Final = 256

_SHAPE: Final = re.compile(r"([a-z0-9]+(?:\+[a-z0-9]+)*)://([^/]*)(/.*)?", re.ASCII)
_HOST_PORT: Final = re.compile(r"(\[[^\]]+\]|[^:\[\]]+):([1-9][0-9]{0,4})", re.ASCII)
_IP_SCHEMES: Final = frozenset({"udp4", "udp6", "tcp4", "tcp6"})
_KNOWN: Final = frozenset({"dev", "ether", "fd", "internal", "null", "unix", "ws", "wsclient"})


@dataclass(frozen=True, slots=True)
class FaceUri:
    """A canonical URI, taken apart; `loopback` and `multicast` are those of its address."""

    scheme: str
    loopback: bool = False
    multicast: bool = False


def parse_canonical(uri: str, which: str) -> FaceUri:
    """Take apart a canonical URI; raises `Refused` 400 as NFD words it."""
    shape = _SHAPE.fullmatch(uri)
    if shape is None or len(uri) > MAX_URI_BYTES:
        raise Refused("Malformed command", 400)
    scheme, authority, path = shape.groups()
    if scheme in _IP_SCHEMES:
        address = _address(scheme, authority) if not path else None
        if address is not None:
            return FaceUri(scheme, address.is_loopback, address.is_multicast)
    elif scheme in _KNOWN:
        return FaceUri(scheme)
    raise Refused(f"Non-canonical {which} URI", 400)


def _address(scheme: str, authority: str) -> IPv4Address | IPv6Address | None:
    match = _HOST_PORT.fullmatch(authority)
    if match is None or int(match[2]) > 0xFFFF:
        return None
    host = match[1]
    try:
        if scheme.endswith("4"):
            return IPv4Address(host)
        if not host.startswith("["):
            return None
        address = IPv6Address(host[1:-1])
    except AddressValueError:
        return None
    return address if str(address) == host[1:-1] else None
