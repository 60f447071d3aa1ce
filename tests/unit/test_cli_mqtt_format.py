"""The formats of `roost sub -F`. What mosquitto_sub shows for them is compared in tests/interop."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from roost.cli._mqtt_format import Format
from roost.cli._mqtt_json import read, write
from roost.cli._mqtt_message import Message
from roost.errors import BadConfig, InvalidInput

NOW = 1_794_835_817_040_994_211
TEXT = Message(b"a/b", b"hello", 1, retain=True, packet_id=7)
RICH = Message(
    b"a/b",
    b"{}",
    0,
    retain=False,
    packet_id=0,
    properties=(
        ("content-type", "text"),
        ("user-property", ("k", "v")),
        ("user-property", ("k", "w")),
        ("subscription-identifier", 3),
        ("subscription-identifier", 4),
        ("correlation-data", b"\xff\x00"),
    ),
)


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def shown(text: str, message: Message = TEXT, *, pretty: bool = False) -> bytes:
    complaints: list[str] = []
    output = Format(text, pretty=pretty).show(message, NOW, complaints.append)
    assert complaints == []
    return output


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("", b""),
        ("%t %p", b"a/b hello"),
        ("%6t|%-6t|%.2t|%6.2t|%06t", b"   a/b|a/b   |a/|    a/|   a/b"),
        ("%8p|%-8p|%3p|%.2p|%08p", b"   hello|hello   |hel|hello|000hello"),
        ("%x|%X|%4x|%12x", b"68656c6c6f|68656C6C6F|6865|        6865"),
        ("%l|%3l|%03l|%-3l|%m|%q|%r", b"5|  5|005|5  |7|1|1"),
        ("%A|%3A|%03E|%C|%3C|%D|%P|%R|%3R|%S", b"|   |000||   |||||"),
        ("%%|@@|\\\\|\\n\\t\\0", b"%|@|\\|\n\t\0"),
        ("%I|%U|@N", b"2026-11-16T13:30:17+0000|1794835817.040994211|040994211"),
        ("@Y-@m-@d|@s|@é", b"2026-11-16|1794835817|%\xc3\xa9"),
    ],
)
def test_sequences_are_replaced(text: str, output: bytes) -> None:
    assert shown(text) == output


def test_properties_are_shown_the_first_of_several_but_all_of_the_user() -> None:
    assert shown("%C|%6C|%.2C|%P|%S|%02S|%D", RICH) == b"text|  text|te|k:v k:w|3|03|\xff\x00"


@pytest.mark.parametrize("text", ["%", "@", "\\", "%-", "%5", "%5.", "%.3", "%z", "\\q", "%0-5l", "% t", "%100001t"])
def test_a_format_that_means_nothing_is_refused_at_once(text: str) -> None:
    with pytest.raises(BadConfig, match=r"^-F: "):
        Format(text)


def test_json_has_the_message_and_its_properties() -> None:
    head = b'{"tst":"2026-11-16T13:30:17.040994Z+0000","topic":"a/b","qos":'
    assert shown("%j") == head + b'1,"retain":1,"payloadlen":5,"mid":7,"payload":"hello"}'
    properties = b'{"content-type":"text","user-properties":{"k":"v","k":"w"},"subscription-identifier":3,'
    assert shown("%J", RICH) == (
        head + b'0,"retain":0,"payloadlen":2,"properties":' + properties + b'"subscription-identifier":4,'
        b'"correlation-data":"\xff\\u0000"},"payload":{}}'
    )
    assert shown("%j", RICH, pretty=True).endswith(b'\n\t},\n\t"payload":\t"{}"\n}')


@pytest.mark.parametrize("payload", [b"{oops", b"NaN", b"1 2", b'"\\ud800"', b"[" * 100_000])
def test_a_payload_that_is_no_json_is_told(payload: bytes) -> None:
    complaints: list[str] = []
    message = Message(b"a/b", payload, 0, retain=False, packet_id=0)
    assert Format("<%J>").show(message, NOW, complaints.append) == b"<>"
    assert complaints == ["the message on a/b is no JSON, so %J cannot show it"]


@pytest.mark.parametrize(
    ("payload", "line"),
    [
        (b' {"b": 1, "a": [true, null], "b": {}} ', '{"b":1,"a":[true,null],"b":{}}'),
        (b"[1.0, -0, 1e30, 0.1, 0.30000000000000004, 1e400]", "[1,-0,1e+30,0.1,0.3,null]"),
        (b"[12345678901234567890, 123456789012]", "[1.2345678901234567e+19,123456789012]"),
        ('"\\u00e9\\/\\u0001é"'.encode(), '"é/\\u0001é"'),
    ],
)
def test_json_is_written_as_cjson_writes_it(payload: bytes, line: str) -> None:
    assert write(read(payload)) == line


def test_pretty_json_has_tabs() -> None:
    value = read(b'{"a":[1,{"x":null}],"e":{},"l":[]}')
    assert write(value, pretty=True) == '{\n\t"a":\t[1, {\n\t\t\t"x":\tnull\n\t\t}],\n\t"e":\t{\n\t},\n\t"l":\t[]\n}'


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(InvalidInput):
        read(b"{")
