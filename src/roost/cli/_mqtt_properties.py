"""MQTT 5 properties from the command line, `-D COMMAND NAME VALUE`, as paho has them [MQTT 5 §2.2.2]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from roost.errors import BadConfig

_PAIR: Final = "user-property"
_TEXT: Final = -1
_BYTES: Final = -2

# Per name: the highest number (or that it is text, or bytes), and the commands that take it.
KNOWN: Final[dict[str, tuple[int, str]]] = {
    "payload-format-indicator": (1, "publish will"),
    "message-expiry-interval": (0xFFFF_FFFF, "publish will"),
    "content-type": (_TEXT, "publish will"),
    "response-topic": (_TEXT, "publish will"),
    "correlation-data": (_BYTES, "publish will"),
    "topic-alias": (0xFFFF, "publish"),
    "subscription-identifier": (0xFFF_FFFF, "subscribe"),
    "session-expiry-interval": (0xFFFF_FFFF, "connect disconnect"),
    "authentication-method": (_TEXT, "connect"),
    "authentication-data": (_BYTES, "connect"),
    "request-problem-information": (1, "connect"),
    "request-response-information": (1, "connect"),
    "receive-maximum": (0xFFFF, "connect"),
    "topic-alias-maximum": (0xFFFF, "connect"),
    "maximum-packet-size": (0xFFF_FFFF, "connect"),
    "will-delay-interval": (0xFFFF_FFFF, "will"),
    _PAIR: (_TEXT, "connect publish subscribe unsubscribe disconnect will"),
}
_NOT_ZERO: Final = ("topic-alias", "subscription-identifier", "receive-maximum", "maximum-packet-size")


def properties_of(command: str, wanted: Iterable[Sequence[str]]) -> Properties:
    """Give the properties of one command. Raises `BadConfig` for a property that it cannot have."""
    found = Properties(PacketTypes.WILLMESSAGE if command == "will" else getattr(PacketTypes, command.upper()))  # type: ignore[no-untyped-call]
    for words in wanted:
        if words[0].lower() == command:
            name, value = _checked(command, words)
            setattr(found, attribute_of(name), value)
    return found


def attribute_of(name: str) -> str:
    """What paho calls a property."""
    return name.title().replace("-", "")


def check_properties(wanted: Iterable[Sequence[str]], allowed: Iterable[str]) -> None:
    """Raise `BadConfig` for a command that this verb does not send."""
    commands = tuple(allowed)
    for words in wanted:
        if words[0].lower() not in commands:
            raise BadConfig(f"-D {' '.join(words)}: the command is one of {', '.join(commands)}")


def _checked(command: str, words: Sequence[str]) -> tuple[str, int | str | bytes | tuple[str, str]]:
    given = f"-D {' '.join(words)}"
    name = words[1].lower() if len(words) > 1 else ""
    limit, commands = KNOWN.get(name, (0, ""))
    if command not in commands.split():
        names = ", ".join(known for known, (_, where) in KNOWN.items() if command in where.split())
        raise BadConfig(f"{given}: {command} has the properties {names}")
    if name == _PAIR:
        if len(words) != 4:
            raise BadConfig(f"{given}: a user property is `-D {command} user-property KEY VALUE`")
        return name, (words[2], words[3])
    if len(words) != 3:
        raise BadConfig(f"{given}: a property is `-D {command} {name} VALUE`")
    if limit == _TEXT:
        return name, words[2]
    if limit == _BYTES:
        return name, words[2].encode(errors="surrogateescape")
    low = 1 if name in _NOT_ZERO else 0
    if not (words[2].isascii() and words[2].isdigit() and low <= int(words[2]) <= limit):
        raise BadConfig(f"{given}: {name} is a number from {low} to {limit}")
    return name, int(words[2])
