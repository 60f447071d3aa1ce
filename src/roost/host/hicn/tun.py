"""Raw IPv6 faces through a TUN device: hICN packets travel as what they are, and routers between see IPv6 with TCP.

An Interest leaves with our locator as its source; whoever it comes from is a face, by their locator. Data goes back to
the locator of who asked; it does not say from whom it is, so it counts as coming over the one face that Interests leave
by (`DEFAULT`). The kernel routes: prefixes of names that are served here, and our locator, lead into the device; names
that are served elsewhere lead to the next router. Packets in the compact form are no IPv6 and cannot travel here.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
from collections.abc import Callable
from ipaddress import AddressValueError, IPv6Address
from pathlib import Path
from typing import Final

from roost.errors import BadConfig
from roost.hicn.checksum import checksum_holds, patched
from roost.hicn.head import IS_DATA, MAX_PACKET_BYTES, TCP_BYTES
from roost.host.datagram import SocketAddress
from roost.host.transport import MAX_BATCH, Counters

DEVICE: Final = Path("/dev/net/tun")
DEFAULT: Final = b""  # stands for no locator
_TUNSETIFF: Final = 0x400454CA
_IFF_TUN: Final = 0x0001
_IFF_NO_PI: Final = 0x1000
_MAX_NAME_BYTES: Final = 15

Take = Callable[["TunLink", bytes, list[bytes]], None]  # the locator it comes from, and what comes


class TunLink:
    """The device, as long as it is open."""

    def __init__(self, name: str, locator: str, take: Take) -> None:
        self.refused = 0  # packets that are no hICN, and those that cannot travel as IPv6
        try:
            self._locator: Final = IPv6Address(locator).packed
        except AddressValueError:
            raise BadConfig(f"{locator!r} is no IPv6 address: a TUN face needs one of its own, as fd00::1") from None
        self.name: Final = name
        self._take: Final = take
        self._fd: Final = _opened(name)
        self._loop: Final = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._readable)

    def send(self, packets: list[bytes], address: SocketAddress, counters: Counters) -> None:
        """Write packets: Interests over `DEFAULT`, Data to a locator."""
        for packet in packets:
            if packet[0] >> 4 != 6:
                self.refused += 1
                continue
            try:
                os.write(self._fd, addressed(packet, bytes(address), self._locator))
            except OSError:  # the device is down, or its queue is full: a packet may get lost
                counters.dropped += 1
                continue
            counters.out_packets += 1
            counters.out_bytes += len(packet)

    def close(self) -> None:
        """Give the device back."""
        self._loop.remove_reader(self._fd)
        os.close(self._fd)

    def _readable(self) -> None:
        groups: dict[bytes, list[bytes]] = {}
        for _ in range(MAX_BATCH):
            try:
                packet = os.read(self._fd, MAX_PACKET_BYTES + 1)
            except OSError:
                break
            if len(packet) < TCP_BYTES or packet[0] >> 4 != 6 or packet[6] != 6 or not checksum_holds(packet):
                self.refused += 1  # the kernel's own, as router solicitations, and what was damaged
            elif packet[53] & IS_DATA:
                groups.setdefault(DEFAULT, []).append(packet)
            else:
                groups.setdefault(packet[8:24], []).append(packet)
        for locator, packets in groups.items():
            self._take(self, locator, packets)


def addressed(packet: bytes, locator: bytes, ours: bytes) -> bytes:
    """Return a packet with the addresses it travels with, and its checksum corrected."""
    at, address = (24, locator) if packet[53] & IS_DATA else (8, ours)
    found = int.from_bytes(packet[56:58], "big")
    correct = patched(found, packet[at : at + 16], address).to_bytes(2, "big")
    changed = packet[:at] + address + packet[at + 16 :]
    return changed[:56] + correct + changed[58:]


def _opened(name: str) -> int:
    if not 1 <= len(name.encode()) <= _MAX_NAME_BYTES:
        raise BadConfig(f"{name!r} is no name of a device: it has 1 to {_MAX_NAME_BYTES} bytes, as hicn0")
    if not DEVICE.exists():
        raise BadConfig(f"{DEVICE} is not there, so there are no TUN faces: load the module tun, or use --udp")
    fd = os.open(DEVICE, os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    except OSError as error:
        os.close(fd)
        raise BadConfig(f"the device {name} cannot be had: {error.strerror}; that takes CAP_NET_ADMIN") from None
    return fd
