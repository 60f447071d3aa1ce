"""How much one client, one user and one address may ask of the broker: connections, rates and sizes of what they send.

A rate is a token bucket that may go into debt: what was read is never thrown away, the link is not read until the
debt is paid (`Pause`), and TCP makes the sender wait. Connections have no such patience: one too many is refused.

    connect ──▶ True: the link counts until `disconnect`; False: `why` says which limit, a counter how often
    enter   ──▶ the same for the user who was proved, until `leave`
    failed  ──▶ a wrong password: too many, and the address may not connect for a while
    spend   ──▶ 0, or until when (ns) not to read the link

An IPv6 address counts by its first 64 bits, for one machine has all of them. Loopback is limited in all and per client
only. `ELSEWHERE` is everybody of whom no more is known than that they are not on this machine: of the limits of an
address it has that of wrong passwords alone, for the others would be those of one client for all that a proxy brings. A
limit of 0 is none. Which packets are too large is worked out in `roost.broker.packet_sizes`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from roost.broker.access import ANONYMOUS
from roost.machine import SECOND
from roost.machine.bucket import Bucket

ELSEWHERE: Final = "elsewhere"
MAX_IDLE_ADDRESSES: Final = 65_536  # addresses without a link whose rates are remembered; the oldest is forgotten


class Limits:
    """The numbers; 0 means no limit, but for `max_links`, which always holds."""

    def __init__(
        self,
        *,
        max_links: int = 20_000,
        max_links_per_address: int = 15_000,
        max_links_per_user: int = 15_000,
        connects_per_s: int = 1_000,  # per address; a burst of ten seconds' worth is free
        failures_per_minute: int = 10,  # per address: wrong passwords and unknown users
        messages_per_s: int = 0,  # per client
        bytes_per_s: int = 0,  # per client
        address_messages_per_s: int = 0,
        address_bytes_per_s: int = 0,
        packet_bytes: int = 0,  # per client: the largest packet it may send
        user_packet_bytes: Mapping[bytes, int] | None = None,  # for clients of these users instead
        address_packet_bytes: int = 0,
        network_packet_bytes: Mapping[IPv4Network | IPv6Network, int] | None = None,  # for these addresses instead
    ) -> None:
        self.max_links: Final = max_links
        self.max_links_per_address: Final = max_links_per_address
        self.max_links_per_user: Final = max_links_per_user
        self.connects_per_s: Final = connects_per_s
        self.failures_per_minute: Final = failures_per_minute
        self.messages_per_s: Final = messages_per_s
        self.bytes_per_s: Final = bytes_per_s
        self.address_messages_per_s: Final = address_messages_per_s
        self.address_bytes_per_s: Final = address_bytes_per_s
        self.packet_bytes: Final = packet_bytes
        self.user_packet_bytes: Final = user_packet_bytes or {}  # bound: the configuration
        self.address_packet_bytes: Final = address_packet_bytes
        self.network_packet_bytes: Final = network_packet_bytes or {}  # the same


class Rate:
    """What one sender may send: messages and bytes."""

    def __init__(self, messages_per_s: int, bytes_per_s: int, now: int) -> None:
        self._messages: Final = Bucket(messages_per_s, SECOND, messages_per_s, now) if messages_per_s else None
        self._bytes: Final = Bucket(bytes_per_s, SECOND, bytes_per_s, now) if bytes_per_s else None

    @property
    def limited(self) -> bool:
        """Whether spending can ever mean waiting."""
        return self._messages is not None or self._bytes is not None

    def spend(self, messages: int, size_bytes: int, now: int) -> int:
        """Count what was sent; 0, or until when to read no more."""
        until = 0 if self._messages is None else self._messages.spend(messages, now)
        return until if self._bytes is None else max(until, self._bytes.spend(size_bytes, now))


class _Address:
    def __init__(self, limits: Limits, now: int) -> None:
        self.links = 0
        self.rate: Final = Rate(limits.address_messages_per_s, limits.address_bytes_per_s, now)
        connects = limits.connects_per_s
        failures = limits.failures_per_minute
        self.connects: Final = Bucket(connects, SECOND, 10 * connects, now) if connects else None
        self.failures: Final = Bucket(failures, 60 * SECOND, failures, now) if failures else None


class Limiter:
    """Counts links and holds the rates; one for a broker."""

    def __init__(self, limits: Limits, max_idle_addresses: int = MAX_IDLE_ADDRESSES) -> None:
        self.limits = limits
        self.max_idle_addresses: Final = max_idle_addresses
        self.why = ""  # of the latest refusal
        self.links = 0
        self.refused_in_all = 0
        self.refused_by_address = 0
        self.refused_by_rate = 0
        self.refused_by_failures = 0
        self.refused_by_user = 0
        self.forgotten = 0
        self._linked: Final[dict[str, _Address]] = {}  # addresses with links; bound: max_links
        self._idle: Final[OrderedDict[str, _Address]] = OrderedDict()  # bound: max_idle_addresses
        self._users: Final[dict[bytes, int]] = {}  # user → links; bound: max_links

    def connect(self, address: str, now: int) -> bool:
        """Whether one more link from this address is welcome; if so it counts until `disconnect`."""
        if self.links >= self.limits.max_links:
            self.refused_in_all += 1
            return self._refuse(f"{self.links} connections are open, which is the limit (max_links)")
        where = _place_of(address)
        if where:
            found = self._found(where, now)
            allowed = 0 if where == ELSEWHERE else self.limits.max_links_per_address
            if allowed and found.links >= allowed:
                self.refused_by_address += 1
                return self._refuse(f"{where} has {found.links} connections, its limit (max_links_per_address)")
            if found.failures is not None and not found.failures.holds(now):
                self.refused_by_failures += 1
                return self._refuse(f"{where} gave too many wrong passwords of late (failures_per_minute)")
            if found.connects is not None and not found.connects.take(now):
                self.refused_by_rate += 1
                return self._refuse(f"{where} connects too often (connects_per_s)")
            found.links += 1
            self._linked[where] = found
            self._idle.pop(where, None)
        self.links += 1
        return True

    def disconnect(self, address: str) -> None:
        """The link that was welcome is gone."""
        self.links -= 1
        where = _place_of(address)
        if where:
            found = self._linked[where]
            found.links -= 1
            if not found.links:
                del self._linked[where]
                self._remember(where, found)

    def failed(self, address: str, now: int) -> None:
        """Count a wrong password or an unknown user."""
        where = _place_of(address)
        if where:
            failures = self._found(where, now).failures
            if failures is not None:
                failures.take(now)

    def enter(self, user: bytes) -> bool:
        """Whether one more link of this user is welcome; if so it counts until `leave`. The nameless are no user."""
        if user == ANONYMOUS:
            return True
        count = self._users.get(user, 0)
        if self.limits.max_links_per_user and count >= self.limits.max_links_per_user:
            self.refused_by_user += 1
            return self._refuse(f"the user has {count} connections, which is the limit (max_links_per_user)")
        self._users[user] = count + 1
        return True

    def leave(self, user: bytes) -> None:
        """A link that had entered is gone."""
        if user != ANONYMOUS:
            self._users[user] -= 1
            if not self._users[user]:
                del self._users[user]

    def rate(self, now: int) -> Rate:
        """Make the rate of one client."""
        return Rate(self.limits.messages_per_s, self.limits.bytes_per_s, now)

    def spend(self, address: str, rate: Rate, messages: int, size_bytes: int, now: int) -> int:
        """Count what a link that is open sent, for its client and for its address; 0, or until when to read no more."""
        until = rate.spend(messages, size_bytes, now)
        if self.limits.address_messages_per_s or self.limits.address_bytes_per_s:
            found = self._linked.get(_place_of(address))
            if found is not None:
                until = max(until, found.rate.spend(messages, size_bytes, now))
        return until

    def reloaded(self, limits: Limits, now: int) -> None:
        """Go by other numbers: links stay, rates of addresses begin afresh; `rate` makes new ones for clients."""
        self.limits = limits
        self._idle.clear()
        for where, found in list(self._linked.items()):
            self._linked[where] = fresh = _Address(_limits_of(where, limits), now)
            fresh.links = found.links

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "links": (self.links, self.limits.max_links),
            "linked addresses": (len(self._linked), self.limits.max_links),
            "idle addresses": (len(self._idle), self.max_idle_addresses),
            "users": (len(self._users), self.limits.max_links),
        }

    def _found(self, where: str, now: int) -> _Address:
        found = self._linked.get(where) or self._idle.get(where)
        if found is None:
            found = _Address(_limits_of(where, self.limits), now)
            self._remember(where, found)
        return found

    def _remember(self, where: str, found: _Address) -> None:
        if len(self._idle) >= self.max_idle_addresses:
            self._idle.popitem(last=False)
            self.forgotten += 1
        self._idle[where] = found

    def _refuse(self, why: str) -> bool:
        self.why = why
        return False


def remote_address(address: str) -> IPv4Address | IPv6Address | None:
    """The address of another machine; None for this one and for what has no address, as a Unix socket."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return None if found.is_loopback else found


def _limits_of(where: str, limits: Limits) -> Limits:
    """What holds for an address."""
    return Limits(connects_per_s=0, failures_per_minute=limits.failures_per_minute) if where == ELSEWHERE else limits


def _place_of(address: str) -> str:
    """What counts as one address; empty if it has no limits."""
    if address == ELSEWHERE:
        return address
    found = remote_address(address)
    if found is None:
        return ""
    return f"{IPv6Address(int(found) >> 64 << 64)}/64" if isinstance(found, IPv6Address) else str(found)
