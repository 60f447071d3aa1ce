"""Whether a request of HTTP was made on this machine, or somebody elsewhere is behind it; nothing of it is believed.

Loopback is reached by more than the programs of this machine: a page of some web site does, open in a browser here, and
so does everybody for whom a proxy asks. So a request counts as made here only if the address it asked for is a number
or localhost (a name can be made to mean this machine), and no header says that it was forwarded. Not all proxies say so
unasked: where there is one, the configuration says it (`behind_proxy`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from roost.broker.limits import remote_address
from roost.host.address import is_loopback

Headers: TypeAlias = Iterable[tuple[str, str]]  # as they came, with those that came twice

_FORWARDED_FOR: Final = "x-forwarded-for"
_FORWARDED: Final = frozenset(
    {"forwarded", "via", "x-real-ip", _FORWARDED_FOR, "x-forwarded-host", "x-forwarded-proto", "x-forwarded-server"}
)


def is_made_here(headers: Headers) -> bool:
    """Whether it asks for this very machine, and nobody says that it was forwarded."""
    hosts: list[str] = []
    for name, value in headers:
        if name.lower() in _FORWARDED:
            return False
        if name.lower() == "host":
            hosts.append(value)
    return len(hosts) == 1 and _is_this_machine(hosts[0])


def is_of_one_site(headers: Headers) -> bool:
    """Whether no page sends it, or one that this very address served."""
    origins = [value for name, value in headers if name.lower() == "origin"]
    hosts = [value for name, value in headers if name.lower() == "host"]
    return all([origin.partition("://")[2]] == hosts for origin in origins)


def forwarded_for(headers: Headers) -> str:
    """The address that the nearest proxy says it asks for: the last one, for anybody may have said the others.

    Empty if it says none, or one of this machine, where another proxy is.
    """
    lines = [value for name, value in headers if name.lower() == _FORWARDED_FOR]
    last = lines[-1].rpartition(",")[2].strip() if lines else ""
    found = remote_address(last)
    return "" if found is None else str(found)


def _is_this_machine(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name == "localhost" or is_loopback(name)
