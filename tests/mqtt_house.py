"""A broker with its disk and its links, driven by hand: what is written when, what is lost, and when it crashes.

Every packet is told to `Truth` (`tests.mqtt_truth`) when its last byte reaches the broker, or when the broker sends it.
What a server must keep to on one link is checked here: packet identifiers, DUP, and how much is in flight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from tests.broker_packets import Seen, seen
from tests.mqtt_truth import Truth

from roost.broker.access import ALLOW_ALL
from roost.broker.broker import Broker
from roost.broker.effects import Authenticate, Hangup, Keep, Send, Verdict
from roost.broker.link import Peer
from roost.broker.settings import DISCONNECT, BrokerSettings
from roost.machine import SECOND, Effect, Note, Rejected

if TYPE_CHECKING:  # a client opens a line, and a line has a client
    from collections.abc import Sequence

    from tests.mqtt_clients import Client

START = 1_700_000_000 * SECOND
Meaning = Callable[[], None]


@dataclass
class Line:
    """A connection: bytes on their way up, and down."""

    number: int
    client: Client
    quota: int
    up: deque[tuple[bytes, Meaning]] = field(default_factory=deque)  # a packet, and what it means
    given: int = 0  # bytes of the first packet that the broker has
    air: bytearray = field(default_factory=bytearray)  # sent by the broker, on its way
    down: bytearray = field(default_factory=bytearray)  # with the client
    over: bool = False  # the broker has hung up, or knows of the end
    leaving_s: int | None = None  # the expiry that a DISCONNECT asked for
    incarnation: int = -1  # of the session, once it is let in
    asked: dict[int, Callable[[list[int]], None]] = field(default_factory=dict)  # SUBSCRIBE and UNSUBSCRIBE
    published: dict[int, int] = field(default_factory=dict)  # packet id → message
    in_flight: set[int] = field(default_factory=set)  # PUBLISH sent by the broker, not answered to the end
    released: set[int] = field(default_factory=set)  # PUBREL sent


class House:
    """The broker and what is around it."""

    def __init__(self, settings: BrokerSettings, seed: int = 0) -> None:
        self.settings = settings
        self.seed = seed
        self.truth = Truth()
        self.now = START
        self.rows: dict[bytes, bytes] = {}  # forced to the disk
        self.unforced: list[Keep] = []  # written and answered, but a power failure may take them
        self.waiting: deque[Keep] = deque()  # not written yet
        self.lines: dict[int, Line] = {}
        self.current: dict[str, Line] = {}  # client → the line that has its session
        self.sent: dict[str, dict[int, Seen]] = {}  # client → packet id → sent and not answered to the end
        self.forgetful: set[str] = set()  # clients of whom a restarted broker need not know what it had sent
        self.next_line = 1
        self.next_number = 1
        self.notes: list[Note] = []
        self.broker = self._boot()

    # -- links

    def open(self, client: Client, quota: int) -> Line:
        line = Line(self.next_line, client, quota)
        self.next_line += 1
        self.lines[line.number] = line
        self.act(self.broker.opened(line.number, Peer(), self.now))
        return line

    def push(self, line: Line, size: int | None = None) -> None:
        """Let bytes of a line reach the broker: all, or so many."""
        data = b""
        while line.up and not line.over and (size is None or size > 0):
            packet, meaning = line.up[0]
            part = packet[line.given :] if size is None else packet[line.given : line.given + size]
            data += part
            line.given += len(part)
            size = None if size is None else size - len(part)
            if line.given == len(packet):
                line.up.popleft()
                line.given = 0
                meaning()
                if self.settings.overflow == DISCONNECT:  # it may stop reading behind any packet
                    self._give(line, data)
                    data = b""
        self._give(line, data)
        if line.over:
            line.up.clear()

    def _give(self, line: Line, data: bytes) -> None:
        if data:
            self.act(self.broker.receive([(line.number, data)], self.now))

    def pull(self, line: Line, size: int | None = None) -> None:
        """Let bytes of the broker reach the client: all, or so many."""
        size = len(line.air) if size is None else size
        line.down += line.air[:size]
        del line.air[:size]

    def lose(self, line: Line) -> None:
        """The broker hears that a line is over."""
        if not line.over:
            self._over(line)
            self.act(self.broker.closed(line.number, self.now))

    def _over(self, line: Line) -> None:
        line.over = True
        del self.lines[line.number]
        name = line.client.name
        if self.current.get(name) is line:
            del self.current[name]
            self.truth.lost(name, self.now, line.leaving_s)

    # -- time and disk

    def wait(self, seconds: float) -> None:
        """Let time pass, with the broker's timers."""
        end = self.now + int(seconds * SECOND)
        for _ in range(10_000):
            deadline = self.broker.deadline()
            if deadline is None or deadline > end:
                break
            self.now = max(self.now, deadline)
            self.truth.passed(self.now)
            self.act(self.broker.tick(self.now))
            after = self.broker.deadline()
            assert after is None or after > self.now, "the broker wants to be called again at once"
        self.now = end
        self.truth.passed(end)

    def write(self, count: int = 1_000_000) -> None:
        """The disk has done its next steps."""
        while self.waiting and count > 0:
            count -= 1
            keep = self.waiting.popleft()
            self.unforced.append(keep)
            if keep.sync:
                self._force(len(self.unforced))
            self.act(self.broker.kept(keep.ticket, self.now))
        if not self.waiting and not self.unforced:
            self.truth.settled()

    def _force(self, count: int) -> None:
        for keep in self.unforced[:count]:
            for key in keep.deletes:
                self.rows.pop(key, None)
            self.rows.update(keep.puts)
        del self.unforced[:count]

    def crash(self, written: int, *, power: bool = False) -> None:
        """End at once, with the first `written` of the steps under way on the disk, and start again."""
        everything = [*self.unforced, *self.waiting]
        at_least = 0 if power else len(self.unforced)
        self.unforced = everything
        self.waiting.clear()
        self._force(min(at_least + written, len(everything)))
        self.unforced = []
        for line in self.lines.values():
            line.over = True
        self.lines.clear()
        self.current.clear()
        self.forgetful.update(self.sent)
        for name, sent in self.sent.items():  # a message of QoS 1 may go out before it is safe
            self.sent[name] = {number: packet for number, packet in sent.items() if packet.qos == 2}
        self.truth.crashed(self.now)
        self.truth.settled()
        self.broker = self._boot()

    def _boot(self) -> Broker:
        broker = Broker(self.settings, ALLOW_ALL, Random(self.seed), sorted(self.rows.items()), self.now)
        self.broker = broker
        self.act(broker.start(self.now))
        return broker

    # -- what the broker wants

    def act(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._sent(effect)
            elif isinstance(effect, Hangup):
                if effect.link in self.lines:
                    self._over(self.lines[effect.link])
            elif isinstance(effect, Keep):
                self.waiting.append(effect)
            elif isinstance(effect, Authenticate):
                self.act(self.broker.authenticated(effect.link, Verdict(0), self.now))
            elif isinstance(effect, Note):
                self.notes.append(effect)
            else:
                assert not isinstance(effect, Rejected) or "in time" in effect.reason, f"a good client gets {effect}"

    def _sent(self, effect: Send) -> None:
        line = self.lines.get(effect.link)
        assert line is not None, f"something is sent to link {effect.link}, which is over"
        data = b"".join(effect.chunks)
        for packet in seen(data, line.client.version):
            self._check(line, packet)
        line.air += data

    def _check(self, line: Line, packet: Seen) -> None:
        truth, name = self.truth, line.client.name
        if packet.kind == "CONNACK":
            assert packet.reason == 0, f"{name} is refused with {packet.reason:#x}"
            truth.connected(name, packet.session_present)
            if not packet.session_present:
                self.sent[name] = {}
                self.forgetful.discard(name)
            line.incarnation = truth.of(name).incarnation
        elif packet.kind in {"SUBACK", "UNSUBACK"}:
            line.asked.pop(packet.packet_id)(packet.codes)
        elif packet.kind in {"PUBACK", "PUBREC"}:
            assert packet.reason < 0x80, f"{name}'s message is refused with {packet.reason:#x}"
            truth.acknowledged(line.published[packet.packet_id])
        elif packet.kind == "PUBREL":
            line.released.add(packet.packet_id)
        elif packet.kind == "PUBLISH" and packet.qos:
            self._check_flight(line, packet)

    def _check_flight(self, line: Line, packet: Seen) -> None:
        name, number = line.client.name, packet.packet_id
        assert number not in line.in_flight | line.released, f"{name} gets packet id {number} twice [MQTT-2.2.1-4]"
        line.in_flight.add(number)
        assert len(line.in_flight) <= line.quota, f"{name} takes {line.quota} at a time [MQTT-3.3.4-9]"
        sent = self.sent.setdefault(name, {})
        if number in sent:
            assert sent[number].payload == packet.payload, f"{name} gets another message under packet id {number}"
        if name not in self.forgetful:
            assert packet.dup == (number in sent), f"DUP is {packet.dup} for {packet.payload!r} [MQTT-3.3.1-1]"
        sent[number] = packet

    def answered(self, line: Line, number: int) -> None:
        """A PUBACK or PUBCOMP reached the broker."""
        line.in_flight.discard(number)
        line.released.discard(number)
        self.sent.get(line.client.name, {}).pop(number, None)
