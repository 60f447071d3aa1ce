"""A well-behaved MQTT client of either version, which remembers across links what the specification wants remembered.

It does nothing by itself: it connects, publishes, reads and answers when it is told to, so that a test decides what is
late. What it reads is checked, and told to `Truth` when it is a message that it did not have.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from tests.broker_packets import (
    Seen,
    connect,
    disconnect,
    pingreq,
    props,
    puback,
    pubcomp,
    publish,
    pubrec,
    pubrel,
    seen,
    subscribe,
    unsubscribe,
)
from tests.mqtt_house import House, Line, Meaning
from tests.mqtt_truth import FOR_EVER, Told

MAX_OUTGOING = 4  # less than any queue here: who is hung up on for his own messages would send them again for ever


def nothing() -> None:
    """A packet that changes nothing that is promised."""


class Client:
    """One client, and the session as it knows it."""

    def __init__(self, house: House, name: str, version: int, receive_maximum: int = 65_535, aliases: int = 0) -> None:
        self.house = house
        self.name = name
        self.version = version
        self.receive_maximum = receive_maximum
        self.aliases = aliases
        self.line: Line | None = None
        self.connected = False
        self.outgoing: dict[int, tuple[int, bool]] = {}  # packet id → message, and whether PUBREC came
        self.incoming: dict[int, int] = {}  # packet id → message of QoS 2, until PUBREL
        self.answers: deque[tuple[bytes, int]] = deque()  # not sent yet, and the packet id that it ends or 0
        self._topics: dict[int, bytes] = {}
        self._next_id = 0
        self._incarnation = -1
        self._insists = False

    # -- what it does

    def connect(self, *, clean: bool, expiry_s: int = FOR_EVER, keep_alive: int = 0) -> None:
        """Come with a new line, whatever became of the old one; who began to start clean does it to the end."""
        self._insists = clean = clean or self._insists
        quota = min(self.receive_maximum, self.house.settings.max_inflight)
        line = self.line = self.house.open(self, quota)
        self.connected = False
        self.answers.clear()
        self._topics.clear()
        properties = b""
        if self.version == 5:
            properties = props(receive_maximum=self.receive_maximum, topic_alias_maximum=self.aliases)
            properties += props(session_expiry=expiry_s)
        else:
            expiry_s = 0 if clean else FOR_EVER
        house = self.house

        def meaning() -> None:
            house.truth.connecting(self.name, clean, expiry_s, house.now)
            house.current[self.name] = line

        name = self.name.encode()
        packet = connect(name, version=self.version, clean=clean, keep_alive=keep_alive, properties=properties)
        line.up.append((packet, meaning))

    def publish(self, topic: bytes, qos: int) -> int:
        """Publish the next number, which is returned; 0 if too much is unacknowledged."""
        if qos and len(self.outgoing) >= MAX_OUTGOING:
            return 0
        number = self.house.next_number
        self.house.next_number += 1
        self.house.truth.messages[number] = Told(number, self.name, topic, qos)
        packet_id = self._packet_id() if qos else 0
        if qos:
            self.outgoing[packet_id] = (number, False)
        self._publish(packet_id, number, dup=False)
        return number

    def subscribe(self, filter_: bytes, qos: int) -> None:
        truth, line = self.house.truth, self._line()
        packet_id = self._packet_id()

        def confirmed(codes: list[int]) -> None:
            truth.subscribed(self.name, filter_, qos, *codes)

        def meaning() -> None:
            line.asked[packet_id] = confirmed
            truth.subscribing(self.name, filter_)

        line.up.append((subscribe(packet_id, (filter_, qos), version=self.version), meaning))

    def unsubscribe(self, filter_: bytes) -> None:
        truth, line = self.house.truth, self._line()
        packet_id = self._packet_id()

        def meaning() -> None:
            line.asked[packet_id] = lambda _: truth.unsubscribed(self.name, filter_)
            truth.unsubscribing(self.name, filter_)

        line.up.append((unsubscribe(packet_id, filter_, version=self.version), meaning))

    def disconnect(self, expiry_s: int | None = None) -> None:
        """Say good-bye; a client of version 5 may change its mind about how long the session lasts."""
        line = self._line()
        held = self.house.truth.of(self.name)
        if self.version != 5 or held.shortest_s == 0:  # it cannot begin to last [MQTT 5.0, 3.14.2.2.2]
            expiry_s = None

        def meaning() -> None:
            line.leaving_s = expiry_s

        packet = disconnect() if expiry_s is None else disconnect(0, props(session_expiry=expiry_s))
        line.up.append((packet, meaning))
        self.connected = False

    def abandon(self) -> None:
        """Be gone, without the broker hearing of it."""
        self.line = Line(0, self, 0, over=True)
        self.connected = False

    def ping(self) -> None:
        self._line().up.append((pingreq(), nothing))

    def read(self, count: int = 1_000_000) -> int:
        """Take in what has come, so many packets at most; returns how many there were."""
        line, done = self._line(), 0
        while done < count and (packet := self._next(line)) is not None:
            done += 1
            self._take(line, packet)
        return done

    def answer(self, count: int = 1_000_000) -> int:
        """Send the next answers; returns how many there were."""
        line, done = self._line(), 0
        while self.answers and done < count:
            done += 1
            packet, ended = self.answers.popleft()
            line.up.append((packet, self._answered(line, ended) if ended else nothing))
        return done

    # -- how

    def _line(self) -> Line:
        assert self.line is not None, f"{self.name} has never connected"
        return self.line

    def _forget(self) -> None:
        self.outgoing.clear()
        self.incoming.clear()

    def _packet_id(self) -> int:
        while True:
            self._next_id = self._next_id % 65_535 + 1
            if self._next_id not in self.outgoing:
                return self._next_id

    def _publish(self, packet_id: int, number: int, *, dup: bool) -> None:
        truth, line = self.house.truth, self._line()
        told = truth.messages[number]

        def meaning() -> None:
            line.published[packet_id] = number
            truth.published(number)

        payload = b"%d" % number
        packet = publish(told.topic, payload, qos=told.qos, packet_id=packet_id, dup=dup, version=self.version)
        line.up.append((packet, meaning))

    def _answered(self, line: Line, packet_id: int) -> Meaning:
        def meaning() -> None:
            self.house.answered(line, packet_id)

        return meaning

    def _next(self, line: Line) -> Seen | None:
        """The next packet that has come whole; these are never longer than two bytes of length."""
        down = line.down
        if len(down) < 3 or (down[1] & 0x80 and len(down) < 4):
            size = 2 if len(down) >= 2 and down[1] == 0 else 1_000_000
        else:
            size = 2 + down[1] if down[1] < 0x80 else 3 + (down[1] & 0x7F) + 128 * down[2]
        if len(down) < size:
            return None
        packet = bytes(down[:size])
        del down[:size]
        return seen(packet, self.version)[0]

    def _take(self, line: Line, packet: Seen) -> None:
        number = packet.packet_id
        if packet.kind == "CONNACK":
            self._let_in(line)
        elif packet.kind == "PUBLISH":
            self._arrived(line, packet)
        elif packet.kind == "PUBREL":
            self.incoming.pop(number, None)
            self.answers.append((pubcomp(number), number))
        elif packet.kind in {"PUBACK", "PUBREC", "PUBCOMP"}:
            message, released = self.outgoing.pop(number)
            qos = self.house.truth.messages[message].qos
            assert qos == (1 if packet.kind == "PUBACK" else 2), f"{packet.kind} answers a message of QoS {qos}"
            if packet.kind == "PUBREC":
                self.outgoing[number] = (message, True)
                self.answers.append((pubrel(number), 0))
            else:
                assert released == (packet.kind == "PUBCOMP"), f"{packet.kind} before its time"

    def _let_in(self, line: Line) -> None:
        """Forget what belongs to another session [MQTT-3.2.2-5].

        A CONNACK that never arrived may have said so. MQTT has no remedy for that; a line knows it all the same.
        """
        self.connected = True
        self._insists = False
        if line.incarnation != self._incarnation:
            self._forget()
        self._incarnation = line.incarnation
        for packet_id, (number, released) in self.outgoing.items():  # [MQTT-4.4.0-1]
            if released:
                self.answers.append((pubrel(packet_id), 0))
            else:
                self._publish(packet_id, number, dup=True)

    def _arrived(self, line: Line, packet: Seen) -> None:
        alias = packet.properties.get("topic_alias", 0)
        assert alias <= self.aliases, f"{self.name} takes {self.aliases} aliases and gets {alias} [MQTT-3.1.2-26]"
        topic = packet.topic or self._topics[alias]
        if alias:
            self._topics[alias] = topic
        number, packet_id = int(packet.payload), packet.packet_id
        new = True
        if packet.qos == 2:
            new = packet_id not in self.incoming
            assert self.incoming.setdefault(packet_id, number) == number, f"packet id {packet_id} has another message"
            self.answers.append((pubrec(packet_id), 0))
        elif packet.qos == 1:
            self.answers.append((puback(packet_id), packet_id))
        if new:
            self.house.truth.arrived(self.name, line.incarnation, number, topic, packet.qos)


def settle(house: House, clients: Sequence[Client]) -> None:
    """Everybody does what there is to do, and the disk too, until there is nothing."""
    for _ in range(1_000):
        busy = len(house.waiting)
        house.write()
        for client in clients:
            line = client.line
            if line is not None:
                busy += len(line.up) + len(line.air)
                house.push(line)
                house.pull(line)
                busy += client.read() + client.answer()
                house.push(line)
        if not busy:
            return
    raise AssertionError("the broker and its clients never come to rest")


def heal(house: House, clients: Sequence[Client], topics: Sequence[bytes]) -> None:
    """Faults are over; everybody comes back for what is due, and it still works."""
    _come_back(house, clients)
    for client in clients:
        for topic in topics if client.connected else ():
            client.publish(topic, 2)
            settle(house, clients)
    _come_back(house, clients)
    for client in clients:
        if client.line is not None:
            assert client.connected, f"{client.name} is not let in"
            assert not client.outgoing, f"{client.name} waits for answers to {client.outgoing}"


def _come_back(house: House, clients: Sequence[Client]) -> None:
    """Come one by one, as often as the broker hangs up, which it may do with somebody whose queue is full."""
    for _ in range(100):
        settle(house, clients)
        away = [each for each in clients if each.line is not None and (each.line.over or not each.connected)]
        if not away:
            return
        away[0].connect(clean=False)
    raise AssertionError("the broker hangs up again and again")
