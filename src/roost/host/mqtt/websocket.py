"""WebSocket between a socket and the machine, by the websockets library's protocol without I/O.

The sub-protocol is "mqtt" [MQTT-6.0.0-3, MQTT-6.0.0-4] and packets travel in binary frames only [MQTT-6.0.0-1], whose
boundaries mean nothing [MQTT-6.0.0-2]. Frames are not compressed. Pings are answered and never sent: MQTT has its own.
"""

from __future__ import annotations

from typing import Final

from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import OPEN
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from roost.host.nearness import forwarded_for, is_made_here, is_of_one_site

PLAIN_MQTT: Final = "the client speaks plain MQTT here: have it use WebSocket, or a tcp listener"

_MQTT: Final = Subprotocol("mqtt")
_CONNECT: Final = b"\x10"  # how plain MQTT begins, and a request never
_CLOSED: Final = "the other end closed it"


class WebSocket:
    """One connection."""

    __slots__ = ("_protocol", "ended", "forwarded_for", "is_foreign", "ready")
    user = None

    def __init__(self, max_frame_bytes: int) -> None:
        self._protocol: Final = ServerProtocol(subprotocols=[_MQTT], max_size=max_frame_bytes)
        self.ready = False
        self.ended = ""
        self.is_foreign = False
        self.forwarded_for = ""

    @property
    def held_bytes(self) -> int:
        """What came of a frame that is not whole yet; bound: the largest frame, and the owner's before that."""
        return len(self._protocol.reader.buffer)

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Take frames apart; before that, answer the request."""
        protocol = self._protocol
        if not self.ready and data[:1] == _CONNECT:
            self.ended = PLAIN_MQTT
            return b"", b""
        protocol.receive_data(data)
        plain: list[bytes] = []
        for event in protocol.events_received():
            if isinstance(event, Request):
                self._greet(event)
            elif isinstance(event, Frame):
                self._take(event, plain)
        if protocol.close_expected() and not self.ended:
            self.ended = self._why()
        return b"".join(plain), b"".join(protocol.data_to_send())

    def wrap(self, data: bytes) -> bytes:
        """Make a frame of it; who has not been greeted, or has gone, gets nothing."""
        if self._protocol.state is not OPEN:
            return b""
        self._protocol.send_binary(data)
        return b"".join(self._protocol.data_to_send())

    def farewell(self) -> bytes:
        """Close as RFC 6455 §7.1.2 has it."""
        if self._protocol.state is OPEN:
            self._protocol.send_close(CloseCode.NORMAL_CLOSURE)
        return b"".join(self._protocol.data_to_send())

    def _greet(self, request: Request) -> None:
        if self._protocol.eof_sent:
            return  # what came behind the request was no frame, and all is over already
        headers = list(request.headers.raw_items())
        self.is_foreign = not (is_made_here(headers) and is_of_one_site(headers))
        self.forwarded_for = forwarded_for(headers)
        response = self._protocol.accept(request)
        self._protocol.send_response(response)
        self.ready = self._protocol.state is OPEN

    def _take(self, frame: Frame, plain: list[bytes]) -> None:
        if frame.opcode is Opcode.TEXT:
            self._protocol.fail(CloseCode.UNSUPPORTED_DATA, "MQTT packets travel in binary frames")
            self.ended = "it sent text, where packets travel in binary frames"
        elif frame.opcode in (Opcode.BINARY, Opcode.CONT) and not self.ended:
            plain.append(bytes(frame.data))

    def _why(self) -> str:
        trouble = self._protocol.handshake_exc or self._protocol.parser_exc
        return f"WebSocket failed: {trouble}" if trouble is not None else _CLOSED
