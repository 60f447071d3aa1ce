"""`roost bridge`: bring what an existing MQTT broker has to a node, or the other way round."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._output import add_json, say
from roost.cli._page import Page

if TYPE_CHECKING:
    from roost.host.bridge import Bridge, End

SUMMARY = "Bring messages from one MQTT broker to another: a node beside the broker there is."

PAGE: Final = Page(
    examples=(
        (
            "roost bridge --from mqtt://broker.example.org --topics 'plant/#' --to mqtt://127.0.0.1",
            "everything below plant/, as it comes",
        ),
        (
            "roost bridge --from mqtt://broker.example.org --topics 'plant/#' --strip plant/ --to mqtt://127.0.0.1",
            "the same without plant/ in front; --add would put something else there",
        ),
        (
            "roost bridge --from mqtts://me@example.org --from-password-file secret --topics '#' --to mqtt://localhost",
            "over TLS, as a user whose password is in a file",
        ),
    ),
    text="QoS 1 from end to end: a message is acknowledged to its broker once the other has it, and the bridge's "
    "session there lasts, so nothing is missing after an outage of either or of the bridge. Two bridges in opposite "
    "directions make no circle with MQTT 5; with 3.1.1 give them prefixes.",
    see=("replay", "mqtt", "up", "docs/import.md"),
)

_PORT: Final = 1883
_TLS_PORT: Final = 8883
_STATUS_S: Final = 60.0
_VERSIONS: Final = {"5": 5, "311": 4}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say from where to where, and which topics."""
    url = "mqtt[s]://[user@]host[:port]"
    parser.add_argument("--from", dest="source", metavar="URL", required=True, help=f"the broker that has it: {url}")
    parser.add_argument("--to", dest="target", metavar="URL", required=True, help=f"the broker that gets it: {url}")
    parser.add_argument("--topics", metavar="FILTER", required=True, help="which topics: plant/#")
    parser.add_argument("--strip", metavar="PREFIX", default="", help="take this from the front of each topic")
    parser.add_argument("--add", metavar="PREFIX", default="", help="and put this there")
    parser.add_argument(
        "--name", default="roost-bridge", help="of its sessions (default: roost-bridge); one per bridge"
    )
    for which in ("from", "to"):
        parser.add_argument(
            f"--{which}-password-file", type=Path, metavar="FILE", help="the file whose first line is the password"
        )
        parser.add_argument(f"--{which}-cafile", type=Path, metavar="FILE", help="for mqtts: whom to believe")
        parser.add_argument(
            f"--{which}-version",
            choices=tuple(_VERSIONS),
            default="5",
            help="of MQTT (default: 5), as the broker has it",
        )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run until a signal comes."""
    import signal
    from threading import Event, Lock

    from roost.errors import BadConfig
    from roost.host.bridge import Bridge, Mapping

    source, target = end_of(options, "from", options.source), end_of(options, "to", options.target)
    mapping = Mapping(options.topics, options.strip, options.add)
    if source.name == target.name and options.strip == options.add:
        raise BadConfig(f"--from and --to are both {source.name}, with the same topics: every message would come back")
    stopped = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stopped.set())
    whole = Lock()  # the threads of both connections speak, and so does this one: a line at a time

    def told(text: str) -> None:
        with whole:
            say(options, text, text=text)

    bridge = Bridge(source, target, mapping, options.name, told)
    with whole:
        say(options, f"ready; {options.topics} of {source.name} goes to {target.name}; stop with Ctrl-C", ready=True)
    bridge.start()
    while not stopped.wait(_STATUS_S):
        with whole:
            _tell(options, bridge)
    bridge.close()
    _tell(options, bridge)
    return 0


def end_of(options: argparse.Namespace, which: str, url: str) -> End:
    """Read one of the addresses; raises `BadConfig`."""
    import ssl
    from urllib.parse import unquote, urlsplit

    from roost.errors import BadConfig
    from roost.host.bridge import End

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in {"mqtt", "mqtts"} or not parts.hostname or parts.path not in {"", "/"}:
        raise BadConfig(f"--{which} {url}: write mqtt://host, mqtts://host or mqtt://user@host:1883")
    if parts.password is not None:
        raise BadConfig(f"--{which}: a password in an address is seen by everybody here; use --{which}-password-file")
    given: Path | None = getattr(options, f"{which}_password_file")
    password: bytes | None = None
    if given is not None:
        if parts.username is None:
            raise BadConfig(
                f"--{which}-password-file: a password goes with a user: --{which} mqtt://user@{parts.hostname}"
            )
        try:
            password = bytes([*given.read_bytes().splitlines(), b""][0])
        except OSError as error:
            raise BadConfig(f"{given} cannot be read: {error.strerror}") from None
    tls: ssl.SSLContext | None = None
    if parts.scheme == "mqtts":
        cafile: Path | None = getattr(options, f"{which}_cafile")
        try:
            tls = ssl.create_default_context(cafile=cafile)
        except (OSError, ssl.SSLError) as error:
            raise BadConfig(f"--{which}-cafile {cafile} cannot be used: {error}") from None
    version = _VERSIONS[getattr(options, f"{which}_version")]
    user = None if parts.username is None else unquote(parts.username)
    return End(parts.hostname, port or (_TLS_PORT if tls else _PORT), user, password, tls, version)


def _tell(options: argparse.Namespace, bridge: Bridge) -> None:
    counts = bridge.counts()
    say(options, ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in counts.items()), **counts)
