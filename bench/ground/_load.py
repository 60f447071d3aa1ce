"""The load generator: a consumer and a producer in one process, with packets made ahead so that it costs little itself.

The consumer looks at every answer: an exchange counts when the Data has a name that was asked and not answered yet.

Run as `python -m bench.ground._load` with a JSON object on the command line (see `Load`); prints one JSON line:
exchanges and seconds. Names differ only in an 8-byte counter at a fixed place, so the producer answers by a splice.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import sys
import time
from dataclasses import dataclass

from roost.naming import Name
from roost.naming.component import Component
from roost.wire import Data, DigestSigner, encode_data, encode_interest, sign_interest
from roost.wire.tlv import number, tlv

PREFIX = Name.parse("/bench/load")
ROUTE = PREFIX.wire + number(111, 0) + number(106, 0) + number(108, 1)
COUNTER = struct.Struct(">Q")
REGISTRATION_TRIES = 100


@dataclass(frozen=True)
class Load:
    """What to do: where both ends connect, how much is in flight, how large, for how long."""

    consumer: str
    producer: str
    in_flight: int
    payload_bytes: int
    seconds: float
    distinct: int = 0  # names that repeat (cache hits); 0: every name is new
    register: bool = True
    control: str = ""  # a local face for commands, where the producer's own may not command


class Templates:
    """Interest and Data split around the counter."""

    def __init__(self, payload_bytes: int) -> None:
        name = PREFIX / Component(bytes(8))
        interest = encode_interest(name, nonce=b"\x00\x00\x00\x00")
        data = encode_data(name, bytes(payload_bytes), DigestSigner(), freshness_ms=3_600_000)
        self.at = interest.index(bytes(8))
        self.nonce_at = len(interest) - 4
        self.interest_head, self.interest_middle = interest[: self.at], interest[self.at + 8 : self.nonce_at]
        self.interest_size = len(interest)
        self.data_size = len(data)
        place = data.index(b"\x08\x08" + bytes(8)) + 2
        self.data_at = place
        self.data_head, self.data_tail = data[:place], data[place + 8 :]


def connect(address: str) -> socket.socket:
    """Open `unix:<path>` or `udp:<port>`, non-blocking."""
    kind, _, rest = address.partition(":")
    if kind == "unix":
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.connect(rest)
    else:
        link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        link.connect(("127.0.0.1", int(rest)))
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    return link


def register(producer: socket.socket, control: str) -> int:
    """Have Interests under the prefix sent to the producer: over its own face, or for UDP by FaceId over `control`."""
    if not control:
        command(producer, "rib/register", ROUTE)
        return 0
    link = connect(control)
    port = producer.getsockname()[1]
    answer = command(link, "faces/create", tlv(114, f"udp4://127.0.0.1:{port}".encode()))
    at = answer.index(b"\x69", answer.index(b"\x68"))  # FaceId in ControlParameters
    face = int.from_bytes(answer[at + 2 : at + 2 + answer[at + 1]], "big")
    command(link, "rib/register", PREFIX.wire + number(105, face) + ROUTE[len(PREFIX.wire) :])
    link.close()
    return face


def command(link: socket.socket, verb: str, parameters: bytes) -> bytes:
    """Send a management command until it is answered with 200 or 409; returns the content of the answer."""
    link.settimeout(0.2)
    for attempt in range(REGISTRATION_TRIES):
        link.send(
            sign_interest(
                Name.parse(f"/localhost/nfd/{verb}") / Component(tlv(104, parameters)),
                DigestSigner(),
                nonce=COUNTER.pack(attempt)[4:],
                signature_nonce=COUNTER.pack(time.time_ns()),
                time_ms=time.time_ns() // 1_000_000,
            )
        )
        with contextlib.suppress(TimeoutError):
            answer = link.recv(9000)
            if b"\x66\x01\xc8" in answer or b"\x66\x02\x01\x99" in answer:
                return Data.decode(answer).content
    sys.exit(f"the forwarder did not answer {verb}")


def run(load: Load) -> tuple[int, float]:
    """Keep `in_flight` Interests pending for the given time; returns exchanges and seconds."""
    templates = Templates(load.payload_bytes)
    producer = connect(load.producer)
    face = 0
    if load.register:
        face = register(producer, load.control)
    elif load.producer.startswith("udp"):
        producer.send(b"\x00")  # a datagram relay learns the producer's address
    consumer = connect(load.consumer)
    for link in (consumer, producer):
        link.settimeout(0)
    stream = load.consumer.startswith("unix")
    side = _StreamSide if stream else _DatagramSide
    result = side(load, templates, consumer, producer).run()
    if face:  # a persistent face would stay, and keep its route
        command(connect(load.control), "faces/destroy", number(105, face))
    return result


class _Side:
    def __init__(self, load: Load, templates: Templates, consumer: socket.socket, producer: socket.socket) -> None:
        self.load, self.templates = load, templates
        self.base = time.time_ns() & 0xFFFFFFFF_FFFF0000  # names of an earlier run are in the cache
        self.consumer, self.producer = consumer, producer
        self.next = 0
        self.pending: set[bytes] = set()

    def interests(self, count: int) -> list[bytes]:
        """Make the next Interests."""
        first, distinct, base, pack = self.next, self.load.distinct, self.base, COUNTER.pack
        self.next += count
        head, middle = self.templates.interest_head, self.templates.interest_middle
        numbers = range(first, first + count)
        names = [pack(base + (n % distinct if distinct else n)) for n in numbers]
        self.pending.update(names)
        return [head + name + middle + pack(n)[4:] for name, n in zip(names, numbers, strict=True)]

    def answered(self, names: list[bytes]) -> int:
        """Count the exchanges that these answers complete."""
        before = len(self.pending)
        self.pending.difference_update(names)
        return before - len(self.pending)

    def run(self) -> tuple[int, float]:
        poll = select.epoll()
        poll.register(self.consumer, select.EPOLLIN)
        poll.register(self.producer, select.EPOLLIN)
        consumer = self.consumer.fileno()
        if self.load.distinct:  # fill the cache first
            self.warm(poll, consumer)
        done = 0
        start = time.perf_counter()
        end = start + self.load.seconds
        self.ask(self.load.in_flight)
        while (now := time.perf_counter()) < end:
            events = poll.poll(1.0)
            if not events:  # datagrams were lost: keep the window full
                self.pending.clear()
                self.ask(self.load.in_flight)
            for descriptor, _ in events:
                if descriptor == consumer:
                    received = self.collect()
                    done += received
                    self.ask(received)
                else:
                    self.answer()
        return done, now - start

    def warm(self, poll: select.epoll, consumer: int) -> None:
        for _ in range(self.load.distinct):
            self.ask(1)
            got = 0
            for _ in range(8):
                for descriptor, _ in poll.poll(1.0):
                    if descriptor == consumer:
                        got += self.collect()
                    else:
                        self.answer()
                if got:
                    break
            else:
                sys.exit("the cache could not be filled: no answer")

    def ask(self, count: int) -> None:
        raise NotImplementedError

    def collect(self) -> int:
        raise NotImplementedError

    def answer(self) -> None:
        raise NotImplementedError


class _StreamSide(_Side):
    _partial = b""
    _rest = b""

    def ask(self, count: int) -> None:
        self.consumer.settimeout(None)
        self.consumer.sendall(b"".join(self.interests(count)))
        self.consumer.settimeout(0)

    def collect(self) -> int:
        size, at = self.templates.data_size, self.templates.data_at
        chunk = self._partial + self.consumer.recv(1 << 20)
        whole = len(chunk) - len(chunk) % size
        self._partial = chunk[whole:]
        return self.answered([chunk[low : low + 8] for low in range(at, whole, size)])

    def answer(self) -> None:
        templates = self.templates
        size, at = templates.interest_size, templates.at
        chunk = self._rest + self.producer.recv(1 << 20)
        whole = len(chunk) - len(chunk) % size
        self._rest = chunk[whole:]
        head, tail = templates.data_head, templates.data_tail
        out = b"".join([head + chunk[low + at : low + at + 8] + tail for low in range(0, whole, size)])
        self.producer.settimeout(None)
        self.producer.sendall(out)
        self.producer.settimeout(0)


class _DatagramSide(_Side):
    def ask(self, count: int) -> None:
        send = self.consumer.send
        for interest in self.interests(count):
            with contextlib.suppress(BlockingIOError):
                send(interest)

    def collect(self) -> int:
        at, receive = self.templates.data_at, self.consumer.recv
        names: list[bytes] = []
        with contextlib.suppress(BlockingIOError):
            while True:
                names.append(receive(9000)[at : at + 8])
        return self.answered(names)

    def answer(self) -> None:
        templates = self.templates
        at, head, tail = templates.at, templates.data_head, templates.data_tail
        receive, send = self.producer.recv, self.producer.send
        with contextlib.suppress(BlockingIOError):
            while True:
                interest = receive(9000)
                send(head + interest[at : at + 8] + tail)


if __name__ == "__main__":
    exchanges, seconds = run(Load(**json.loads(sys.argv[1])))
    print(json.dumps({"exchanges": exchanges, "seconds": seconds}))
