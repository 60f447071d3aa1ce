"""The letters of `mosquitto_pub` and `mosquitto_sub` (2.0), as options of `roost pub` and `roost sub`.

`-h` is the host, as there, so help is `--help` only. Roost's own are `--ws`, `--ws-path`, `--password-file`,
`--ask-password` and `--since`. Left out is what needs more than the `ssl` module has: pre-shared keys, TLS engines,
SOCKS proxies and SRV records (`--psk`, `--tls-engine`, `--proxy`, `-S`).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from roost.errors import BadConfig

NEVER_EXPIRES: Final = 0xFFFF_FFFF
VERSIONS: Final = {"5": 5, "mqttv5": 5, "311": 4, "mqttv311": 4, "31": 3, "mqttv31": 3}
TLS_VERSIONS: Final = ("tlsv1.2", "tlsv1.3")


class Letters:
    """A group of options that knows which of them were given: those of one form of a verb are refused in the other."""

    def __init__(self, parser: argparse.ArgumentParser, title: str) -> None:
        # -h is the host here: this takes it from help, which other verbs keep it for.
        self._group: Final = parser.add_argument_group(title, conflict_handler="resolve")
        self._actions: Final[list[argparse.Action]] = []

    def add(self, *names: str, **how: Any) -> None:  # noqa: ANN401  what argparse takes
        self._actions.append(self._group.add_argument(*names, **how))

    def with_value(self) -> list[str]:
        """The spellings of those that always have one value."""
        return [name for found in self._actions if found.nargs is None for name in found.option_strings]

    def given(self, options: argparse.Namespace) -> list[str]:
        """The options that do not have their default."""
        return [found.option_strings[0] for found in self._actions if getattr(options, found.dest) != found.default]


class _Url(argparse.Action):
    """A URL says where the server is; so do -h and -p, and the later of them counts, as with mosquitto."""

    def __call__(
        self, _: argparse.ArgumentParser, options: argparse.Namespace, url: str | Sequence[Any] | None, *_letter: object
    ) -> None:
        options.url = url
        options.host = options.port = None


def is_mqtt(options: argparse.Namespace, required: Sequence[str]) -> bool:
    """Which form of the verb this is; ends it with its usage when letters of both are given, or too few of either."""
    if options.host == "":
        raise BadConfig(f"-h is the host of an MQTT server, as mosquitto has it; for help: roost {options.verb} --help")
    if options.topic not in (None, []) or options.url is not None:
        if surplus := [*options.for_groups.given(options), *(["--at"] if options.uris else [])]:
            options.mistake(f"{surplus[0]} is for groups, and -t or -L for MQTT: leave one of them out")
        if options.group is not None:
            options.mistake(f"{options.group} is one word too many: with -t or -L there is no GROUP")
        return True
    if surplus := options.for_mqtt.given(options):
        options.mistake(f"{surplus[0]} is for MQTT: add -t TOPIC")
    if missing := [name for name in required if getattr(options, name.lower()) is None]:
        options.mistake(f"the following arguments are required: {', '.join(missing)}; or, for MQTT, -t TOPIC")
    return False


def add_connection(letters: Letters) -> None:
    """Take where the server is, as whom to connect, and how."""
    add = letters.add
    add("-h", "--host", nargs="?", const="", metavar="HOST", help="the server (default: localhost); help is --help")
    add("-p", "--port", type=int, metavar="PORT", help="its port (default: 1883, with TLS 8883)")
    add(
        "-L",
        "--url",
        action=_Url,
        metavar="URL",
        help="all in one: mqtt[s]://[user[:password]@]host[:port]/topic, or ws[s]://…",
    )
    add("--unix", metavar="PATH", help="connect through a Unix socket")
    add("--ws", action="store_true", help="speak MQTT over WebSocket")
    add("--ws-path", metavar="PATH", default="/mqtt", help="the path of the WebSocket (default: /mqtt)")
    add("-A", dest="bind", metavar="ADDRESS", default="", help="connect from this local address")
    add("-V", "--protocol-version", dest="version", metavar="VERSION", choices=tuple(VERSIONS), help=_VERSION)
    add("-i", "--id", dest="client_id", metavar="ID", help="the client id (default: a random one)")
    add("-I", "--id-prefix", metavar="PREFIX", help="the client id is this and the number of the process")
    add("-u", "--username", metavar="USER", help="the user")
    add("-P", "--pw", dest="password", metavar="PASSWORD", help=_VISIBLE)
    add("--password-file", metavar="FILE", type=Path, help="the password is the first line of this file")
    add("--ask-password", action="store_true", help="ask for the password at the terminal")
    add("-k", "--keepalive", metavar="S", type=int, default=60, help="seconds between signs of life (default: 60)")
    add("-c", "--disable-clean-session", dest="persistent", action="store_true", help=_PERSISTENT)
    add("-x", dest="expiry", metavar="S", type=_expiry, help="MQTT 5: the server keeps the session so long; -1: always")
    add("-D", "--property", dest="properties", action="append", nargs="+", default=[], metavar="WORD", help=_PROPERTY)
    add("-M", dest="inflight", metavar="N", type=int, default=20, help="messages in flight at most (default: 20)")
    add("--nodelay", action="store_true", help="send small packets at once")
    add("--will-topic", metavar="TOPIC", help="the server publishes there if we vanish")
    add("--will-payload", metavar="MESSAGE", help="what it publishes (default: an empty message)")
    add("--will-qos", metavar="QOS", type=int, choices=(0, 1, 2), default=0, help="at which QoS (default: 0)")
    add("--will-retain", action="store_true", help="and retained")
    add("--cafile", metavar="FILE", type=Path, help="TLS: trust the certificates in this file")
    add("--capath", metavar="DIR", type=Path, help="TLS: trust the certificates in this directory")
    add("--tls-use-os-certs", action="store_true", help="TLS: trust what the system trusts")
    add("--cert", metavar="FILE", type=Path, help="TLS: our certificate")
    add("--key", metavar="FILE", type=Path, help="TLS: its key")
    add("--ciphers", metavar="LIST", help="TLS: the ciphers, as OpenSSL names them")
    add("--tls-version", metavar="VERSION", choices=TLS_VERSIONS, help="TLS: at least tlsv1.2 (the default) or tlsv1.3")
    add("--tls-alpn", metavar="PROTOCOL", help="TLS: the protocol to ask for")
    add("--insecure", action="store_true", help="TLS: do not check the name in the server's certificate (for tests)")
    add("-d", "--debug", action="store_true", help="tell each packet on standard error")
    add("--quiet", action="store_true", help="tell no errors")


def add_publishing(letters: Letters) -> None:
    """Take what to publish."""
    add = letters.add
    add("-t", "--topic", metavar="TOPIC", help="publish to this topic of an MQTT server")
    add("-m", "--message", metavar="MESSAGE", help="this message")
    add("-f", "--file", metavar="FILE", type=Path, help="the content of a file")
    add("-l", "--stdin-line", dest="lines", action="store_true", help="each line of standard input")
    add("-s", "--stdin-file", dest="whole", action="store_true", help="all of standard input as one message")
    add("-n", "--null-message", dest="null", action="store_true", help="an empty message")
    add("-q", "--qos", metavar="QOS", type=int, choices=(0, 1, 2), default=0, help="the QoS (default: 0)")
    add("-r", "--retain", action="store_true", help="retained")
    add("--repeat", metavar="N", type=int, default=1, help="publish it so many times (default: 1)")
    add("--repeat-delay", metavar="S", type=float, default=0.0, help="wait so many seconds in between (default: 0)")


def add_subscribing(letters: Letters) -> None:
    """Take to what to subscribe, and how to show it; -C, -W and --since are those of groups too."""
    add = letters.add
    add("-t", "--topic", action="append", default=[], metavar="FILTER", help=_FILTER)
    add("-T", "--filter-out", action="append", default=[], metavar="FILTER", help="do not show these; repeatable")
    add("-U", "--unsubscribe", action="append", default=[], metavar="FILTER", help="unsubscribe from it; repeatable")
    add("-q", "--qos", metavar="QOS", type=int, choices=(0, 1, 2), default=0, help="the QoS (default: 0)")
    add("-v", "--verbose", action="store_true", help="show the topic before the message")
    add("-F", dest="form", metavar="FORMAT", help="how to show a message: '%%t %%p', '%%j'; see mosquitto_sub(1)")
    add("--pretty", action="store_true", help="JSON (%%j, %%J) over several lines")
    add("-N", dest="no_newline", action="store_true", help="no line end behind a message")
    add("-R", dest="no_retained", action="store_true", help="do not show retained messages")
    add("--retained-only", action="store_true", help="only retained messages; leave at the first other one")
    add("--retain-as-published", action="store_true", help="MQTT 5: messages keep the retain flag of their publisher")
    add("--remove-retained", action="store_true", help="clear each retained message that comes; those of -T stay")
    add(
        "--random-filter",
        metavar="PERCENT",
        type=float,
        default=100.0,
        help="show so many of the messages by chance (default: 100)",
    )
    add("-E", dest="leave", action="store_true", help="leave once the subscriptions are acknowledged")


def _expiry(text: str) -> int:
    seconds = NEVER_EXPIRES if text in ("-1", "∞") else int(text)
    if not 0 <= seconds <= NEVER_EXPIRES:
        raise argparse.ArgumentTypeError("seconds are 0 to 4294967295, or -1 for a session that does not expire")
    return seconds


_VERSION: Final = "5 (the default), 311 or 31, with or without mqttv before it"
_VISIBLE: Final = (
    "the password; others on this machine can read it here, so better give it in ROOST_MQTT_PASSWORD, with "
    "--password-file or --ask-password"
)
_PERSISTENT: Final = "the server keeps the session when we leave (needs -i)"
_PROPERTY: Final = (
    "MQTT 5: a property, as COMMAND NAME VALUE or COMMAND user-property KEY VALUE; COMMAND is connect, publish, "
    "subscribe, unsubscribe, disconnect or will; repeatable"
)
_FILTER: Final = "subscribe to this filter at an MQTT server; repeatable"
