"""What packets are made of: numbers, strings, binary data, and the form of topics and filters [MQTT 5.0 §1.5, §4.7].

Strings stay `bytes`. A string is well-formed UTF-8 without NUL; everything else passes unchanged, a byte order mark
included [MQTT-1.5.4-3] [3.1.1 MQTT-1.5.3-3]. Whether a topic matches a filter is `roost.broker.filters`' matter.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from roost.broker.packets.reasons import MALFORMED_PACKET, PROTOCOL_ERROR, Malformed

_SHARE: Final = b"$share/"


def read_byte(frame: bytes, at: int, end: int) -> tuple[int, int]:
    """Read a byte; returns it and the index behind it."""
    if at >= end:
        raise Malformed(MALFORMED_PACKET, f"the packet ends at byte {at}, where a byte is expected")
    return frame[at], at + 1


def read_u16(frame: bytes, at: int, end: int) -> tuple[int, int]:
    """Read a two byte integer; returns it and the index behind it."""
    index: i64 = at
    if index + 2 > end:
        raise Malformed(MALFORMED_PACKET, f"the packet ends inside the two byte integer at byte {at}")
    high: i64 = frame[index]
    low: i64 = frame[index + 1]
    return high << 8 | low, index + 2


def read_u32(frame: bytes, at: int, end: int) -> tuple[int, int]:
    """Read a four byte integer; returns it and the index behind it."""
    index: i64 = at
    if index + 4 > end:
        raise Malformed(MALFORMED_PACKET, f"the packet ends inside the four byte integer at byte {at}")
    first: i64 = frame[index]
    second: i64 = frame[index + 1]
    third: i64 = frame[index + 2]
    fourth: i64 = frame[index + 3]
    return first << 24 | second << 16 | third << 8 | fourth, index + 4


def read_binary(frame: bytes, at: int, end: int) -> tuple[bytes, int]:
    """Read binary data with its length; returns it and the index behind it."""
    length, start = read_u16(frame, at, end)
    stop = start + length
    if stop > end:
        raise Malformed(
            MALFORMED_PACKET, f"the field at byte {at} is {length} bytes long, only {end - start} are there"
        )
    return frame[start:stop], stop


def read_text(frame: bytes, at: int, end: int) -> tuple[bytes, int]:
    """Read a UTF-8 string with its length; returns it and the index behind it."""
    string, after = read_binary(frame, at, end)
    check_text(string)
    return string, after


def read_packet_id(frame: bytes, at: int, end: int) -> tuple[int, int]:
    """Read a packet identifier, never 0; returns it and the index behind it [MQTT-2.2.1-3] [3.1.1 MQTT-2.3.1-1]."""
    packet_id, after = read_u16(frame, at, end)
    if packet_id == 0:
        raise Malformed(PROTOCOL_ERROR, "the packet identifier is 0")
    return packet_id, after


def check_end(at: int, end: int) -> None:
    """Check that nothing follows what was read."""
    if at != end:
        raise Malformed(MALFORMED_PACKET, f"the packet goes on for {end - at} bytes behind its last field")


def check_text(string: bytes) -> str:
    """Check that a string is UTF-8 without NUL; returns its characters.

    Well-formed is [MQTT-1.5.4-1] [3.1.1 MQTT-1.5.3-1], which also forbids surrogates; without NUL is [MQTT-1.5.4-2]
    [3.1.1 MQTT-1.5.3-2].
    """
    try:
        characters = string.decode()
    except UnicodeDecodeError as error:
        raise Malformed(MALFORMED_PACKET, f"{string[:64]!r} is not UTF-8: {error.reason}") from None
    if "\x00" in characters:
        raise Malformed(MALFORMED_PACKET, f"{string[:64]!r} has a NUL")
    return characters


def check_topic(topic: bytes) -> None:
    """Check a topic name: a string [MQTT-3.3.2-1], not empty [MQTT-4.7.3-1], no wildcards [MQTT-3.3.2-2]."""
    if not topic:
        raise Malformed(MALFORMED_PACKET, "the topic is empty")
    characters = check_text(topic)
    if "+" in characters or "#" in characters:
        raise Malformed(MALFORMED_PACKET, f"topic {topic[:64]!r} has a wildcard")


def check_filter(topic_filter: bytes) -> None:
    """Check a topic filter, which may be a shared one [MQTT-3.8.3-1, MQTT-4.7.3-1]."""
    check_text(topic_filter)
    _check_wildcards(split_shared(topic_filter)[1] if is_shared(topic_filter) else topic_filter)


def _check_wildcards(topic_filter: bytes) -> None:
    """Check that '#' is all of the last level [MQTT-4.7.1-1] and '+' all of its level [MQTT-4.7.1-2].

    3.1.1 has the two rules as [3.1.1 MQTT-4.7.1-2] and [3.1.1 MQTT-4.7.1-3].
    """
    if not topic_filter:
        raise Malformed(MALFORMED_PACKET, "the filter is empty")
    levels = topic_filter.split(b"/")
    last = len(levels) - 1
    for index, level in enumerate(levels):
        if level.find(b"#") >= 0 and (level != b"#" or index != last):
            raise Malformed(MALFORMED_PACKET, f"filter {topic_filter[:64]!r}: '#' stands alone in the last level")
        if level.find(b"+") >= 0 and level != b"+":
            raise Malformed(MALFORMED_PACKET, f"filter {topic_filter[:64]!r}: '+' stands alone in its level")


def is_shared(topic_filter: bytes) -> bool:
    """Whether a filter is a shared subscription's."""
    return topic_filter.startswith(_SHARE)


def split_shared(topic_filter: bytes) -> tuple[bytes, bytes]:
    """Split `$share/<name>/<filter>` into name and filter.

    The name is there [MQTT-4.8.2-1], without wildcards, and a filter follows it [MQTT-4.8.2-2].
    """
    parts = topic_filter.split(b"/", 2)
    if len(parts) < 3 or parts[0] != b"$share" or not parts[1] or not parts[2]:
        raise Malformed(MALFORMED_PACKET, f"{topic_filter[:64]!r} is not of the form $share/<name>/<filter>")
    if parts[1].find(b"+") >= 0 or parts[1].find(b"#") >= 0:
        raise Malformed(MALFORMED_PACKET, f"the share name in {topic_filter[:64]!r} has a wildcard")
    return parts[1], parts[2]


def text(string: bytes) -> bytes:
    """Write a string or binary data with its length."""
    return len(string).to_bytes(2, "big") + string
