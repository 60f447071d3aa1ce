"""What `roost doctor` sees of the node: its configuration, the addresses it listens on, and who answers already."""

from __future__ import annotations

import contextlib
import errno
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from roost.cli._doctor_finding import FINE, HINT, WRONG, Finding
from roost.errors import BadConfig, NoKey, RoostError

if TYPE_CHECKING:
    from roost.cli._config_source import ConfigSource
    from roost.host.mqtt.config import Config

_AREA: Final = "ports"
_TABLES: Final = {socket.SOCK_STREAM: ("tcp", "tcp6"), socket.SOCK_DGRAM: ("udp", "udp6")}
_LISTENS: Final = {"0A", "07"}  # the states of a TCP socket that listens, and of a UDP socket


class Place(NamedTuple):
    """An address that the configuration has."""

    key: str
    host: str
    port: int
    kind: socket.SocketKind = socket.SOCK_STREAM


def configuration(source: ConfigSource) -> tuple[list[Finding], Config | None]:
    """Whether the file and what it names can be read; each mistake is a finding."""
    from roost.cli._config_check import check

    area = "configuration"
    config: Config | None = None
    try:
        config = source.read()
        checked = check(config)
    except (BadConfig, NoKey) as error:
        remedy = "correct it, and look again with: roost check-config"
        return [Finding(area, WRONG, line, remedy) for line in source.place(str(error)).splitlines()], config
    where = str(source.path) if source.path is not None else "no file: what holds without one"
    found = [Finding(area, FINE, f"{where}: {'; '.join(checked.parts)}")]
    return found + [Finding(area, HINT, source.place(each)) for each in checked.warnings], config


def places_of(config: Config) -> Iterator[Place]:
    """Every address that the node would listen on."""
    for at, listener in enumerate(config.listeners):
        yield Place(f"listeners[{at}]", listener.host, listener.port)
    if config.http is not None:
        yield Place("http", config.http.host, config.http.port)
    listen = config.node.listen
    for scheme, addresses in (("tcp", listen.tcp), ("ws", listen.ws)):
        yield from (Place(f"node.{scheme}", host, port) for host, port in addresses)
    for host, port in listen.udp:
        yield Place("node.udp", host, port, socket.SOCK_DGRAM)
    for host, port in () if config.flips is None else config.flips.listen:
        yield Place("flips.listen", host, port, socket.SOCK_DGRAM)


def ports(config: Config) -> list[Finding]:
    """Whether each address can be had, or is the running node's."""
    from roost.host.mqtt.rows import owner_of

    ours = None if config.store is None else owner_of(config.store)
    found = [port(place, ours) for place in places_of(config)]
    if config.node.listen.unix is not None:
        found.append(_unix(config.node.listen.unix))
    return found


def port(place: Place, ours: int | None) -> Finding:
    """Whether one address can be had; `ours` is the process of the node that runs, if one does."""
    where = f"{place.host}:{place.port} ({place.key})"
    try:
        family, kind, _, _, address = socket.getaddrinfo(place.host, place.port, type=place.kind)[0]
        with socket.socket(family, kind) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(kind == socket.SOCK_STREAM))
            sock.bind(address)
            if kind == socket.SOCK_STREAM:
                sock.listen(1)
    except socket.gaierror as error:
        return Finding(_AREA, WRONG, f"{where}: {error.strerror}", f"write an address of this machine in {place.key}")
    except OSError as error:
        return _refused(place, where, error, ours)
    return Finding(_AREA, FINE, f"{where} is free")


def holder_of(place: Place) -> int | None:
    """The process that has a port, None if that cannot be seen; of other users' processes it cannot."""
    inodes = {f"socket:[{inode}]" for inode in _inodes(place)}
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with contextlib.suppress(OSError):
            if any(str(each.readlink()) in inodes for each in folder.iterdir()):
                return int(folder.parent.name)
    return None


def _refused(place: Place, where: str, error: OSError, ours: int | None) -> Finding:
    if error.errno == errno.EADDRINUSE:
        holder = holder_of(place)
        if holder is not None and holder == ours:
            return Finding(_AREA, FINE, f"{where} is held by the node that runs, process {holder}")
        who = "another user's program" if holder is None else f"process {holder} ({_name_of(holder)})"
        return Finding(_AREA, WRONG, f"{where} is held by {who}", f"stop that, or write another port in {place.key}")
    if error.errno == errno.EACCES:
        remedy = "take a port from 1024 on, or give the service AmbientCapabilities=CAP_NET_BIND_SERVICE"
        return Finding(_AREA, WRONG, f"{where} is for administrators only", remedy)
    remedy = f"write an address of this machine in {place.key}, as `ip address` shows them"
    return Finding(_AREA, WRONG, f"{where}: {error.strerror}", remedy)


def _inodes(place: Place) -> Iterator[str]:
    for table in _TABLES[place.kind]:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
                _, local, _, state, *rest = line.split()
                if state in _LISTENS and int(local.rpartition(":")[2], 16) == place.port:
                    yield rest[5]


def _name_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return "gone meanwhile"


def _unix(path: Path) -> Finding:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return Finding(_AREA, FINE, f"{path} (node.unix) is free")
    if not stat.S_ISSOCK(mode):
        return Finding(_AREA, WRONG, f"{path} (node.unix) is there and is no socket", "move it away")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return Finding(_AREA, FINE, f"{path} (node.unix) was left behind, and is replaced at the next start")
        except OSError as error:
            return Finding(_AREA, WRONG, f"{path} (node.unix): {error.strerror}", "see who owns it")
    return Finding(_AREA, FINE, f"{path} (node.unix) is held by the node that runs")


async def forwarders(others: list[str]) -> list[Finding]:
    """Which NDN forwarders answer: ours, and those at the places of NFD."""
    from roost.host import ACCEPT_ANY, connect
    from roost.host.locate import locate

    area = "forwarders"
    found: list[Finding] = []
    candidates: list[str] = []
    try:
        address, source = locate()
        found.append(Finding(area, FINE, f"by default {address or 'a node inside each program'} ({source})"))
        candidates += [str(address)] if address is not None else []
    except RoostError as error:
        found.append(Finding(area, WRONG, f"by default: {error}"))
    for candidate in dict.fromkeys(candidates + others):
        try:
            async with connect(candidate, verifier=ACCEPT_ANY) as face:
                await face.fetch(
                    "/localhost/nfd/status/general", can_be_prefix=True, must_be_fresh=True, lifetime_ms=1000, tries=1
                )
            found.append(Finding(area, FINE, f"{candidate} answers"))
        except RoostError as error:
            found.append(Finding(area, HINT, f"{candidate}: {error}", "start one: roost up"))
    return found
