r"""How a message is shown: the formats of `mosquitto_sub -F`, byte for byte.

Three characters begin a sequence: `%` (the message; with flags `-` and `0`, a width and a maximum, as printf has them),
`@` (one letter for strftime, and `@N`, nanoseconds) and `\` (`\n`, `\t`, …). A format is read once, and a mistake in it
is told then. Widths count bytes.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from roost.cli import _mqtt_json as mqtt_json
from roost.cli._mqtt_message import Message, Value
from roost.errors import BadConfig, InvalidInput

MAX_WIDTH: Final = 100_000

_SEQUENCE: Final = re.compile(rb"%(-?)(0?)([0-9]*)(?:\.([0-9]*))?(.)|([@\\])(.)|([^%@\\]+)", re.DOTALL)
_LETTERS: Final = b"%ACDEFIJPRSUXjlmpqrtx"
_ESCAPES: Final = {
    b"\\": b"\\", b"0": b"\0", b"a": b"\a", b"e": b"\x1b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"
}  # fmt: skip
_NUMBERS: Final = {
    b"A": "topic-alias",
    b"E": "message-expiry-interval",
    b"F": "payload-format-indicator",
    b"S": "subscription-identifier",
}


@dataclass(frozen=True, slots=True)
class _Field:
    letter: bytes
    left: bool
    zero: bool
    width: int
    most: int | None


class Format:
    """A format that was read."""

    def __init__(self, text: str, *, pretty: bool = False) -> None:
        self._pretty: Final = pretty
        self._parts: Final = _parts(os.fsencode(text))

    def show(self, message: Message, now_ns: int, complain: Callable[[str], None]) -> bytes:
        """The message in this format; `complain` is told what cannot be shown."""
        moment = time.localtime(now_ns // 1_000_000_000)
        shown = []
        for part in self._parts:
            if isinstance(part, _Field):
                shown.append(self._field(part, message, moment, now_ns, complain))
            elif part[0] == b"@":
                shown.append(_time(part[1], moment, now_ns))
            else:
                shown.append(part[1])
        return b"".join(shown)

    def _field(
        self,
        field: _Field,
        message: Message,
        moment: time.struct_time,
        now_ns: int,
        complain: Callable[[str], None],
    ) -> bytes:
        letter = field.letter
        match letter:
            case b"%":
                return b"%"
            case b"t":
                return _text(field, message.topic)
            case b"p" | b"x" | b"X":
                return _payload(field, message.payload)
            case b"l":
                return _number(field, len(message.payload))
            case b"m":
                return _number(field, message.packet_id)
            case b"q":
                return b"%d" % message.qos
            case b"r":
                return b"%d" % message.retain
            case b"A" | b"E" | b"F" | b"S":
                return _number(field, message.first(_NUMBERS[letter]))
            case b"C":
                return _text(field, _bytes(message.first("content-type")))
            case b"R":
                topic = message.first("response-topic")
                return b"" if topic is None else _text(field, _bytes(topic))
            case b"D":
                return _bytes(message.first("correlation-data"))
            case b"P":
                pairs = [value for name, value in message.properties if name == "user-property"]
                return b" ".join(f"{pair[0]}:{pair[1]}".encode() for pair in pairs if isinstance(pair, tuple))
            case b"I":
                return _text(field, time.strftime("%FT%T%z", moment).encode())
            case b"U":
                return b"%d.%09d" % divmod(now_ns, 1_000_000_000)
        return self._json(message, moment, now_ns, complain, parsed=letter == b"J")

    def _json(
        self,
        message: Message,
        moment: time.struct_time,
        now_ns: int,
        complain: Callable[[str], None],
        *,
        parsed: bool,
    ) -> bytes:
        microseconds = now_ns % 1_000_000_000 // 1000
        members = mqtt_json.Members(
            [
                ("tst", f"{time.strftime('%FT%T', moment)}.{microseconds:06}Z{time.strftime('%z', moment)}"),
                ("topic", _str(message.topic)),
                ("qos", message.qos),
                ("retain", int(message.retain)),
                ("payloadlen", len(message.payload)),
            ]
        )
        if message.qos:
            members.append(("mid", message.packet_id))
        if message.properties:
            members.append(("properties", _properties(message)))
        try:
            payload = mqtt_json.read(message.payload) if parsed and message.payload else _str(message.payload) or None
            written = mqtt_json.write(mqtt_json.Members([*members, ("payload", payload)]), pretty=self._pretty)
            return written.encode(errors="surrogateescape")
        except (InvalidInput, UnicodeEncodeError, RecursionError):
            complain(f"the message on {_str(message.topic)} is no JSON, so %J cannot show it")
            return b""


def _parts(text: bytes) -> list[_Field | tuple[bytes, bytes]]:
    parts: list[_Field | tuple[bytes, bytes]] = []
    at = 0
    while at < len(text):
        found = _SEQUENCE.match(text, at)
        if found is None:
            raise BadConfig(f"-F: the format ends in the middle of {os.fsdecode(text[at:])!r}; write %%, @@ or \\\\")
        at = found.end()
        left, zero, width, most, letter, starts, behind, plain = found.groups()
        if plain is not None:
            parts.append((b"", plain))
        elif starts == b"@":
            parts.append((b"", b"@") if behind == b"@" else (b"@", behind))
        elif starts == b"\\":
            if behind not in _ESCAPES:
                raise BadConfig(
                    f"-F: \\{os.fsdecode(behind)} means nothing; there are \\\\ \\0 \\a \\e \\n \\r \\t \\v"
                )
            parts.append((b"", _ESCAPES[behind]))
        else:
            if letter not in _LETTERS:
                known = " ".join(f"%{known:c}" for known in _LETTERS)
                raise BadConfig(f"-F: %{os.fsdecode(letter)} means nothing; there are {known}")
            if max(int(width or 0), int(most or 0)) > MAX_WIDTH:
                raise BadConfig(f"-F: a width is at most {MAX_WIDTH}")
            parts.append(
                _Field(letter, bool(left), bool(zero), int(width or 0), None if most is None else int(most or 0))
            )
    return parts


def _time(letter: bytes, moment: time.struct_time, now_ns: int) -> bytes:
    if letter == b"N":
        return b"%09d" % (now_ns % 1_000_000_000)
    if not letter.isascii():  # strftime knows none of those, and shows them as they are
        return b"%" + letter
    return time.strftime(f"%{letter.decode()}", moment).encode()


def _text(field: _Field, value: bytes) -> bytes:
    value = value[: field.most]
    return value.ljust(field.width) if field.left else value.rjust(field.width)


def _number(field: _Field, value: Value | None) -> bytes:
    pad = b"0" if field.zero else b" "
    if not isinstance(value, int):
        return pad * field.width
    digits = b"%d" % value
    return digits.ljust(field.width) if field.left else digits.rjust(field.width, pad)


def _payload(field: _Field, payload: bytes) -> bytes:
    """The width is a maximum here too, and counts bytes of the payload, as mosquitto has it."""
    if field.width:
        payload = payload[: field.width if field.letter == b"p" else min(field.width, len(payload)) // 2]
    shown = payload if field.letter == b"p" else payload.hex().encode()
    if field.letter == b"X":
        shown = shown.upper()
    return shown.ljust(field.width) if field.left else shown.rjust(field.width, b"0" if field.zero else b" ")


def _properties(message: Message) -> mqtt_json.Members:
    """As JSON has them: the user properties are an object of their own, where the first of them was."""
    members = mqtt_json.Members()
    users: mqtt_json.Members | None = None
    for name, value in message.properties:
        if isinstance(value, tuple):
            if users is None:
                users = mqtt_json.Members()
                members.append(("user-properties", users))
            users.append(value)
        else:
            members.append((name, _str(value) if isinstance(value, bytes) else value))
    return members


def _bytes(value: Value | None) -> bytes:
    if value is None or isinstance(value, (int, tuple)):
        return b""
    return value if isinstance(value, bytes) else value.encode()


def _str(value: bytes) -> str:
    return value.decode(errors="surrogateescape")
