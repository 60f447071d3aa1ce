"""A broker without sockets, disk or clock: links by number, a disk of rows that can be late, crashes and restarts.

    world = World(BrokerSettings(persistent=True, durability=DISK))
    ann = world.connect(b"ann", version=5)
    ann.send(subscribe(1, (b"a/#", 1), version=5))
    assert [packet.kind for packet in ann.seen()] == ["SUBACK"]

`late_disk` leaves every Keep unanswered until `write`; `crash` throws the broker away and starts another from the rows,
which hold what was written and, if asked, some of what was not yet answered: a disk may be ahead of its answers.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from tests import broker_packets as packets
from tests.broker_packets import Seen, seen

from roost.broker.access import ALLOW_ALL, Access
from roost.broker.broker import Broker
from roost.broker.effects import Authenticate, Hangup, Insert, Keep, Pause, Send, Verdict
from roost.broker.limits import Limits
from roost.broker.link import Peer
from roost.broker.macros.macros import Macros
from roost.broker.roles.keeper import RoleKeeper
from roost.broker.routes import Trees
from roost.broker.settings import BrokerSettings
from roost.machine import SECOND, Effect, Note, Rejected
from roost.process.roles.lookup_port import GiveUp, LookUp

START = 1_700_000_000 * SECOND


class Client:
    """One connection, as its client sees it."""

    def __init__(self, world: World, link: int, version: int) -> None:
        self.world = world
        self.link = link
        self.version = version
        self.arrived = b""  # not looked at yet
        self.closed = False  # by the broker, or with it

    def send(self, *frames: bytes) -> None:
        """Send packets, all in one piece."""
        self.world.run(self.world.broker.receive([(self.link, b"".join(frames))], self.world.now))

    def seen(self) -> list[Seen]:
        """Take what came since the last look."""
        data, self.arrived = self.arrived, b""
        return seen(data, self.version)

    def kinds(self) -> list[str]:
        """Take what came since the last look, by kind."""
        return [packet.kind for packet in self.seen()]

    def one(self, kind: str) -> Seen:
        """Take the only packet that came, which is of this kind."""
        found = self.seen()
        assert [packet.kind for packet in found] == [kind], found
        return found[0]

    def payloads(self) -> list[bytes]:
        """Take what came, and give the payloads of the messages."""
        return [packet.payload for packet in self.seen() if packet.kind == "PUBLISH"]

    def subscribe(self, *filters: bytes | tuple[bytes, int], packet_id: int = 1, properties: bytes = b"") -> list[int]:
        """Subscribe, and give the codes of the SUBACK; what else came stays to be seen."""
        self.send(packets.subscribe(packet_id, *filters, version=self.version, properties=properties))
        before = self.arrived
        found = seen(before, self.version)
        answer = next(packet for packet in found if packet.kind == "SUBACK")
        self.arrived = b"".join(packet.raw for packet in found if packet is not answer)
        return answer.codes

    def publish(self, topic: bytes, payload: bytes = b"", **options: Any) -> None:  # noqa: ANN401  as in the packet
        """Publish; the options are those of `tests.broker_packets.publish`."""
        self.send(packets.publish(topic, payload, version=self.version, **options))

    def disconnect(self) -> None:
        """Say goodbye."""
        self.send(packets.disconnect())

    def vanish(self) -> None:
        """Lose the connection without a word."""
        self.closed = True
        self.world.run(self.world.broker.closed(self.link, self.world.now))


class Disk:
    """Rows, and the Keeps that are not answered."""

    def __init__(self, *, late: bool) -> None:
        self.late = late
        self.rows: dict[bytes, bytes] = {}
        self.pending: deque[Keep] = deque()
        self.keeps = 0

    def write(self, keep: Keep) -> None:
        self.rows.update(keep.puts)
        for key in keep.deletes:
            self.rows.pop(key, None)


class World:
    """The broker, and everything that its driver does."""

    def __init__(
        self,
        settings: BrokerSettings | None = None,
        *,
        access: Access = ALLOW_ALL,
        late_disk: bool = False,
        gateway: Trees | None = None,
        limits: Limits | None = None,
        rows: dict[bytes, bytes] | None = None,
        roles: Callable[[], RoleKeeper] | None = None,
        macros: Callable[[], Macros] | None = None,
    ) -> None:
        self.settings = BrokerSettings(sys_interval_s=0) if settings is None else settings
        self.access = access
        self.gateway = gateway
        self.roles = roles
        self.macros = macros
        self.limits = Limits(connects_per_s=0) if limits is None else limits
        self.now = START
        self.disk = Disk(late=late_disk)
        self.disk.rows.update(rows or {})
        self.clients: dict[int, Client] = {}
        self.rejected: list[Rejected] = []
        self.notes: list[Note] = []
        self.paused: dict[int, int] = {}
        self.asked: list[Authenticate] = []
        self.inserts: list[Insert] = []
        self.looked_up: list[LookUp] = []  # not answered, but by `answer`
        self.judge: Callable[[Authenticate], Verdict | None] = lambda asked: Verdict(0, asked.user or b"")
        self.on_effect: Callable[[Effect], None] = lambda _: None
        self._next_link = 1
        self._start()

    def _start(self) -> None:
        self.broker = Broker(
            self.settings,
            self.access,
            random.Random(1),
            list(self.disk.rows.items()),
            self.now,
            self.gateway,
            self.limits,
            roles=None if self.roles is None else self.roles(),
            macros=None if self.macros is None else self.macros(),
        )
        self.run(self.broker.start(self.now))

    # -- clients

    def open(self, version: int = 4, peer: Peer | None = None) -> Client:
        """Open a connection, and send nothing."""
        client = Client(self, self._next_link, version)
        self._next_link += 1
        self.clients[client.link] = client
        self.run(self.broker.opened(client.link, Peer() if peer is None else peer, self.now))
        return client

    def connect(
        self,
        client_id: bytes = b"client",
        version: int = 4,
        *,
        peer: Peer | None = None,
        look: bool = True,
        **options: Any,  # noqa: ANN401  as in the packet
    ) -> Client:
        """Open a connection and send CONNECT; with `look` it has been welcomed, and only what came behind is left."""
        client = self.open(version, peer)
        client.send(packets.connect(client_id, version=version, **options))
        if look:
            if not client.arrived:
                self.write()  # a CONNACK may wait for a late disk
            found = client.seen()
            assert found, "no CONNACK came"
            assert found[0].kind == "CONNACK", found
            assert found[0].reason == 0, found
            client.arrived = b"".join(packet.raw for packet in found[1:])
        return client

    # -- the driver

    def run(self, effects: Sequence[Effect]) -> None:
        """Execute effects, and those that follow."""
        waiting = deque(effects)
        while waiting:
            effect = waiting.popleft()
            self.on_effect(effect)
            waiting.extend(self._execute(effect))

    def _execute(self, effect: Effect) -> Sequence[Effect]:
        if isinstance(effect, Send):
            client = self.clients[effect.link]
            assert not client.closed, f"the broker sends to link {effect.link}, which it hung up"
            client.arrived += b"".join(effect.chunks)
        elif isinstance(effect, Hangup):
            self.clients[effect.link].closed = True
        elif isinstance(effect, Keep):
            self.disk.keeps += 1
            if self.disk.late:
                self.disk.pending.append(effect)
            else:
                self.disk.write(effect)
                return self.broker.kept(effect.ticket, self.now)
        elif isinstance(effect, Authenticate):
            self.asked.append(effect)
            verdict = self.judge(effect)
            if verdict is not None:
                return self.broker.authenticated(effect.link, verdict, self.now)
        elif isinstance(effect, Insert):
            self.inserts.append(effect)
        elif isinstance(effect, Pause):
            self.paused[effect.link] = effect.until
        elif isinstance(effect, LookUp):
            self.looked_up.append(effect)
        elif isinstance(effect, GiveUp):
            self.looked_up = [each for each in self.looked_up if each.number != effect.number]
        elif isinstance(effect, Rejected):
            self.rejected.append(effect)
        elif isinstance(effect, Note):
            self.notes.append(effect)
        else:
            raise TypeError(f"nobody executes {effect!r}")
        return []

    def answer(self, *roles: str, why: str = "") -> None:
        """Answer the first look-up of roles, or (with a reason) say that there is no answer."""
        number = self.looked_up.pop(0).number
        if why:
            self.run(self.broker.roles_missed(number, why, self.now))
        else:
            self.run(self.broker.roles_found(number, frozenset(roles), self.now))

    def write(self, count: int | None = None) -> None:
        """Answer Keeps of a late disk: all, or so many."""
        while self.disk.pending and (count is None or count > 0):
            keep = self.disk.pending.popleft()
            self.disk.write(keep)
            self.run(self.broker.kept(keep.ticket, self.now))
            count = None if count is None else count - 1

    def fail(self, why: str = "no space left") -> None:
        """Answer all Keeps that a late disk has with a failure."""
        pending, self.disk.pending = self.disk.pending, deque()
        for keep in pending:
            self.run(self.broker.unkept(keep.ticket, why, self.now))

    def crash(self, ahead: int = 0) -> None:
        """Kill the broker, all connections with it, and start another from the rows.

        `ahead` Keeps that were not answered are on the disk all the same.
        """
        for keep in list(self.disk.pending)[:ahead]:
            self.disk.write(keep)
        self.disk.pending.clear()
        for client in self.clients.values():
            client.closed = True
        self.clients = {}
        self._start()

    def wait(self, seconds: float) -> None:
        """Let time pass, tick by tick."""
        end = self.now + int(seconds * SECOND)
        while True:
            due = self.broker.deadline()
            if due is None or due > end:
                break
            self.now = max(self.now, due)
            self.run(self.broker.tick(self.now))
        self.now = end

    def settle(self) -> None:
        """Do what is due now."""
        self.wait(0)
