"""MQTT in WebSocket frames: the server's pipe against a client of the websockets library [MQTT 5.0 §6]."""

from typing import Final

import pytest
from tests.conformance.clauses import clauses
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from roost.host.mqtt.websocket import WebSocket

PACKETS: Final = b"\xc0\x00\xc0\x00\xe0\x00"


class Browser:
    """The other end: a client that has sent its request and read the answer."""

    def __init__(self, *offers: str) -> None:
        self.pipe = WebSocket(max_frame_bytes=1 << 20)
        self._protocol = ClientProtocol(
            parse_uri("ws://127.0.0.1/mqtt"), subprotocols=[Subprotocol(offer) for offer in offers] or None
        )
        self._protocol.send_request(self._protocol.connect())
        self.frames: list[Frame] = []
        self.response: Response | None = None
        self.exchange()

    @property
    def chosen(self) -> str | None:
        assert self.response is not None
        return self.response.headers.get("Sec-WebSocket-Protocol")

    def exchange(self) -> bytes:
        """Carry what the client has to say to the pipe and the answer back; what the machine would get."""
        plain, reply = self.pipe.feed(b"".join(self._protocol.data_to_send()))
        self.hear(reply)
        return plain

    def hear(self, reply: bytes) -> None:
        self._protocol.receive_data(reply)
        for event in self._protocol.events_received():
            if isinstance(event, Response):
                self.response = event
            elif isinstance(event, Frame):
                self.frames.append(event)

    def say(self, data: bytes) -> bytes:
        self._protocol.send_binary(data)
        return self.exchange()

    def say_text(self, data: bytes) -> bytes:
        self._protocol.send_text(data)
        return self.exchange()


@clauses(v4="6.0.0-4", v5="6.0.0-4")
def test_the_server_chooses_mqtt_among_what_is_offered() -> None:
    browser = Browser("soap", "mqtt")
    assert browser.pipe.ready
    assert browser.chosen == "mqtt"


@clauses(v4="6.0.0-3", v5="6.0.0-3")
@pytest.mark.parametrize("offers", [(), ("soap", "mqttv3.1")])
def test_a_client_that_does_not_offer_mqtt_is_not_let_in(offers: tuple[str, ...]) -> None:
    browser = Browser(*offers)
    assert not browser.pipe.ready
    assert browser.pipe.ended
    assert browser.response is not None
    assert browser.response.status_code != 101


@clauses(v4="6.0.0-2", v5="6.0.0-2")
@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
def test_the_bytes_are_a_stream_wherever_the_frames_begin(size: int) -> None:
    browser = Browser("mqtt")
    taken = [browser.say(PACKETS[at : at + size]) for at in range(0, len(PACKETS), size)]
    assert b"".join(taken) == PACKETS


@clauses(v4="6.0.0-1", v5="6.0.0-1")
def test_a_text_frame_ends_the_link_and_nothing_of_it_gets_through() -> None:
    browser = Browser("mqtt")
    assert browser.say(PACKETS) == PACKETS
    assert browser.say_text(PACKETS[:2]) == b""
    assert browser.pipe.ended
    assert browser.frames[-1].opcode is Opcode.CLOSE
    assert browser.pipe.wrap(PACKETS) == b""


@clauses(v4="6.0.0-1", v5="6.0.0-1")
def test_the_server_sends_binary_frames_only() -> None:
    browser = Browser("mqtt")
    browser.hear(browser.pipe.wrap(PACKETS))
    assert [(frame.opcode, bytes(frame.data)) for frame in browser.frames] == [(Opcode.BINARY, PACKETS)]
