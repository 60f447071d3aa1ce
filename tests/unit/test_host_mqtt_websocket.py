"""WebSocket as a pipe, beyond what the specification of MQTT says: pages, pings, refusals, bounds and ends."""

from __future__ import annotations

import pytest
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.typing import Origin, Subprotocol
from websockets.uri import parse_uri

from roost.host.mqtt.websocket import WebSocket


class Client:
    """The other end."""

    def __init__(self, offer: str = "mqtt", origin: str | None = None, max_frame_bytes: int = 1 << 20) -> None:
        self.pipe = WebSocket(max_frame_bytes)
        self.protocol = ClientProtocol(
            parse_uri("ws://127.0.0.1/mqtt"),
            origin=None if origin is None else Origin(origin),
            subprotocols=[Subprotocol(offer)],
        )
        self.protocol.send_request(self.protocol.connect())

    def exchange(self) -> bytes:
        plain, reply = self.pipe.feed(b"".join(self.protocol.data_to_send()))
        self.protocol.receive_data(reply)
        return plain


def test_nothing_is_ready_before_the_request_is_complete() -> None:
    client = Client()
    request = b"".join(client.protocol.data_to_send())
    for at in range(len(request) - 1):
        assert client.pipe.feed(request[at : at + 1]) == (b"", b"")
        assert not client.pipe.ready
    _, reply = client.pipe.feed(request[-1:])
    assert client.pipe.ready
    assert reply.startswith(b"HTTP/1.1 101 ")


def test_a_page_in_a_browser_is_known_by_its_origin() -> None:
    page, program = Client(origin="https://example.org"), Client()
    page.exchange()
    program.exchange()
    assert page.pipe.ready
    assert page.pipe.is_foreign
    assert not program.pipe.is_foreign


REQUEST = (
    b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Protocol: mqtt\r\n"
)


@pytest.mark.parametrize(
    ("headers", "foreign", "address"),
    [
        (b"Host: 127.0.0.1:8083\r\n", False, ""),
        (b"Host: mqtt.example\r\n", True, ""),
        (b"Host: 127.0.0.1\r\nX-Forwarded-For: 10.9.9.9, 192.0.2.1\r\n", True, "192.0.2.1"),
        (b"Host: 127.0.0.1\r\nForwarded: for=192.0.2.1\r\n", True, ""),
        (b"Host: [::1\r\n", True, ""),
        (b"Host: a\r\nHost: b\r\n", True, ""),
        (b"Host: a\r\nOrigin: http://[a\r\n", True, ""),
        (b"", True, ""),
    ],
)
def test_whom_a_proxy_brings_is_not_on_this_machine(headers: bytes, foreign: bool, address: str) -> None:
    pipe = WebSocket(1 << 20)
    pipe.feed(REQUEST + headers + b"\r\n")
    assert pipe.ready
    assert (pipe.is_foreign, pipe.forwarded_for) == (foreign, address)


@pytest.mark.parametrize("name", [b"Origin", b"Upgrade", b"Sec-WebSocket-Key"])
def test_a_header_that_comes_twice_costs_its_sender_the_connection_and_nobody_else(name: bytes) -> None:
    pipe = WebSocket(1 << 20)
    line = name + b": http://a\r\n"
    assert pipe.feed(REQUEST + b"Host: a\r\n" + line + line + b"\r\n")[0] == b""
    assert pipe.ended
    assert not pipe.ready


def test_who_wants_another_protocol_is_refused_in_http() -> None:
    client = Client(offer="chat")
    client.exchange()
    (response,) = [event for event in client.protocol.events_received() if isinstance(event, Response)]
    assert response.status_code == 400
    assert not client.pipe.ready
    assert "subprotocol" in client.pipe.ended


@pytest.mark.parametrize("garbage", [b"\x16\x03\x01\x00\x00\r\n\r\n", b"GET " + b"x" * 10_000])
def test_what_is_no_request_ends_it(garbage: bytes) -> None:
    pipe = WebSocket(1 << 20)
    assert pipe.feed(garbage)[0] == b""
    assert pipe.ended.startswith("WebSocket failed: ")
    assert not pipe.ready


def test_plain_mqtt_ends_it_at_once_with_what_to_do() -> None:
    pipe = WebSocket(1 << 20)
    assert pipe.feed(b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x00\x00\x00") == (b"", b"")
    assert pipe.ended == "the client speaks plain MQTT here: have it use WebSocket, or a tcp listener"
    assert pipe.farewell() == b""


def test_pings_are_answered_and_are_nothing_to_the_machine() -> None:
    client = Client()
    client.exchange()
    client.protocol.send_ping(b"there?")
    client.protocol.send_binary(b"packet")
    assert client.exchange() == b"packet"
    frames = [event for event in client.protocol.events_received() if isinstance(event, Frame)]
    assert [(frame.opcode, frame.data) for frame in frames] == [(Opcode.PONG, b"there?")]


@pytest.mark.parametrize("request_line", [b"GET / HTTP/1.1\r\n", b"PUT / HTTP/1.1\r\n"])
def test_nonsense_right_behind_a_request_ends_it(request_line: bytes) -> None:
    pipe = WebSocket(1 << 20)
    pipe.feed(request_line + b"Host: a\r\n\r\n" + b"nonsense")
    assert pipe.ended
    assert not pipe.ready


def test_a_frame_beyond_the_bound_ends_it() -> None:
    client = Client(max_frame_bytes=100)
    client.exchange()
    client.protocol.send_binary(b"x" * 101)
    assert client.exchange() == b""
    assert client.protocol.close_rcvd is not None
    assert client.protocol.close_rcvd.code == 1009
    assert client.pipe.ended


def test_what_came_of_a_frame_is_held_until_it_is_whole() -> None:
    client = Client()
    client.exchange()
    client.protocol.send_binary(b"x" * 1000)
    frame = b"".join(client.protocol.data_to_send())
    head_bytes = len(frame) - 1000
    assert client.pipe.feed(frame[: head_bytes + 600]) == (b"", b"")
    assert client.pipe.held_bytes == 600
    assert client.pipe.feed(frame[head_bytes + 600 :] + frame[:head_bytes]) == (b"x" * 1000, b"")
    assert client.pipe.held_bytes == 0


def test_either_side_may_close_and_nothing_passes_afterwards() -> None:
    client = Client()
    client.exchange()
    client.protocol.send_binary(b"last words")
    client.protocol.send_close(1000)
    assert client.exchange() == b"last words"
    assert client.pipe.ended == "the other end closed it"
    assert client.pipe.wrap(b"too late") == b""
    other = Client()
    other.exchange()
    other.protocol.receive_data(other.pipe.farewell())
    assert other.protocol.close_rcvd is not None
    assert other.protocol.close_rcvd.code == 1000
