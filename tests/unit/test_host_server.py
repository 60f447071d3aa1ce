"""The node's driver against a fake machine, over socket pairs: batches, one write per face, slow peers, drops."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path

import pytest

from roost.errors import BadConfig, InvalidInput, RoostError
from roost.forwarding.face import ON_DEMAND, Arrived, CloseFace, FaceSpec, OpenFace, Send
from roost.host.address import describe_stream
from roost.host.disk import Disk
from roost.host.inprocess import in_process_pair
from roost.host.server import Server, _merged
from roost.host.stream import StreamTransport
from roost.host.transport import Batch as Packets
from roost.host.transport import Transport
from roost.machine import Effect, Note
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.node.node import Application
from roost.pubsub.resident import DiskEvent
from roost.repo.store import Batch, Unwritten, Write

PACKET = b"\x05\x03abc"


class FakeNode:
    """Does what the test tells it to, and writes down what it is told."""

    def __init__(self) -> None:
        self.next_face = 256
        self.specs: dict[int, FaceSpec] = {}
        self.closed: list[int] = []
        self.arrived: list[Arrived] = []
        self.opened: list[tuple[int, int]] = []
        self.failed: list[tuple[int, int, str]] = []
        self.changes: list[tuple[str, int]] = []
        self.queues: list[tuple[int, int]] = []
        self.disk: list[DiskEvent] = []
        self.react: Callable[[Arrived], list[Effect]] = lambda _: []
        self.due: int | None = None
        self.ticks = 0
        self.heard = asyncio.Event()

    def start(self, now: int) -> list[Effect]:
        return [Note("started", (("now", now),))]

    def free_face_id(self) -> int:
        self.next_face += 1
        return self.next_face - 1

    def open_face(self, face_id: int, spec: FaceSpec, now: int) -> list[Effect]:
        self.specs[face_id] = spec
        self.heard.set()
        assert now
        return []

    def close_face(self, face_id: int, now: int) -> list[Effect]:
        self.closed.append(face_id)
        self.heard.set()
        assert now
        return []

    def face_down(self, face_id: int, now: int) -> list[Effect]:
        assert now
        self.changes.append(("down", face_id))
        return []

    def face_up(self, face_id: int, now: int) -> list[Effect]:
        assert now
        self.changes.append(("up", face_id))
        return []

    def attach(self, application: Application, now: int, spec: FaceSpec) -> list[Effect]:
        return application.open_face(self.free_face_id(), spec, now)

    def act(self, application: Application, effects: list[Effect], now: int) -> list[Effect]:
        assert application.deadline() is None
        assert now
        return effects

    def add_route(self, prefix: Name, face_id: int, cost: int, now: int, *, inherited: bool = True) -> list[Effect]:
        raise AssertionError(prefix, face_id, cost, now, inherited)

    def face_opened(self, request: int, face_id: int, now: int) -> list[Effect]:
        self.opened.append((request, face_id))
        self.heard.set()
        assert now
        return []

    def face_failed(self, request: int, code: int, reason: str, now: int) -> list[Effect]:
        self.failed.append((request, code, reason))
        self.heard.set()
        assert now
        return []

    def queue_reported(self, face_id: int, queued_bytes: int, now: int) -> None:
        assert now
        self.queues.append((face_id, queued_bytes))

    def receive(self, event: Arrived | DiskEvent, now: int) -> list[Effect]:
        assert now
        if not isinstance(event, Arrived):
            self.disk.append(event)
            self.heard.set()
            return []
        self.arrived.append(event)
        self.heard.set()
        return self.react(event)

    def tick(self, now: int) -> list[Effect]:
        self.ticks += 1
        assert self.due is not None
        assert now >= self.due
        self.due = None
        self.heard.set()
        return []

    def deadline(self) -> int | None:
        return self.due

    async def hears(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self.heard.clear()
                await self.heard.wait()


def drive(test: Callable[[FakeNode, Server], Coroutine[None, None, None]]) -> None:
    async def main() -> None:
        node = FakeNode()
        server = Server(node)
        server.start()
        try:
            await test(node, server)
        finally:
            await server.stop()

    asyncio.run(main())


def attach(server: Server, **options: int) -> tuple[int, socket.socket]:
    ours, theirs = socket.socketpair()
    theirs.settimeout(0)
    transport = StreamTransport(ours, describe_stream(ours), server, **options)
    face = server.attach(transport)
    transport.start()
    return face, theirs


def test_everything_one_read_brought_is_one_batch() -> None:
    async def test(node: FakeNode, server: Server) -> None:
        face, peer = attach(server)
        with peer:
            peer.send(PACKET * 100)
            await node.hears(lambda: bool(node.arrived))
            assert node.arrived == [Arrived(face, [PACKET] * 100)]

    drive(test)


def test_what_goes_to_a_face_goes_in_one_write() -> None:
    async def test(node: FakeNode, server: Server) -> None:
        one, asker = attach(server)
        other, answerer = attach(server)
        node.react = lambda event: [Send(other, event.packets)] if event.face == one else []
        with asker, answerer:
            asker.send(PACKET * 50)
            await node.hears(lambda: bool(node.arrived))
            assert answerer.recv(4096) == PACKET * 50

    drive(test)


def test_sends_of_several_peers_to_one_face_are_joined() -> None:
    effects: list[Effect] = [Send(1, [b"a"]), Note("x"), Send(2, [b"b"]), Send(1, [b"c", b"d"])]
    assert _merged(effects) == [Send(1, [b"a", b"c", b"d"]), Send(2, [b"b"]), Note("x")]


def test_a_peer_that_closes_ends_its_on_demand_face() -> None:
    async def test(node: FakeNode, server: Server) -> None:
        face, peer = attach(server)
        peer.close()
        await node.hears(lambda: node.closed == [face])
        assert server.faces == 0

    drive(test)


def test_garbage_costs_the_sender_its_face_but_not_what_came_before() -> None:
    async def test(node: FakeNode, server: Server) -> None:
        face, peer = attach(server)
        other, bystander = attach(server)
        with peer, bystander:
            peer.send(PACKET + b"GET / HTTP/1.1\r\n\r\n")
            await node.hears(lambda: node.closed == [face])
            assert node.arrived == [Arrived(face, [PACKET])]
            bystander.send(PACKET)
            await node.hears(lambda: node.arrived[-1].face == other)

    drive(test)


def test_a_peer_that_does_not_read_fills_its_own_queue_and_delays_nobody() -> None:
    async def test(node: FakeNode, server: Server) -> None:
        big = b"\x06\xfd\x1f\x40" + bytes(8000)
        slow, sleeper = attach(server, limit=100_000)
        quick, reader = attach(server)
        node.react = lambda event: [Send(slow, [big] * 200), Send(quick, event.packets)]
        with sleeper, reader:
            reader.send(PACKET)
            await node.hears(lambda: bool(node.arrived))
            assert reader.recv(100) == PACKET
            transport = server.transport_of(slow)
            assert transport is not None
            assert 0 < transport.queued_bytes <= 100_000 + len(big)
            assert transport.counters.dropped > 0
            assert node.queues[-1] == (slow, transport.queued_bytes)  # for congestion marking
            expected = transport.counters.out_packets
            got = 0
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(10):
                while got < expected * len(big):  # whole packets only: nothing half sent is dropped
                    got += len(await loop.sock_recv(sleeper, 1 << 16))
            assert got == expected * len(big)

    drive(test)


def test_the_machine_is_ticked_at_its_deadline() -> None:
    async def test(node: FakeNode, server: Server) -> None:
        face, peer = attach(server)

        def wait(event: Arrived) -> list[Effect]:
            assert event.face == face
            node.due = server.clock() + 3_000_000
            return []

        node.react = wait
        with peer:
            peer.send(PACKET)
            await node.hears(lambda: node.ticks == 1)

    drive(test)


def test_close_face_closes_the_transport() -> None:
    async def test(node: FakeNode, server: Server) -> None:
        face, peer = attach(server)
        node.react = lambda event: [CloseFace(event.face)]
        with peer:
            peer.send(PACKET)
            await node.hears(lambda: bool(node.arrived))
            assert server.transport_of(face) is None
            assert peer.recv(10) == b""
            assert node.closed == []  # the machine has forgotten it already

    drive(test)


@pytest.mark.parametrize(("uri", "code"), [("ether://[01:00:5e:00:17:aa]", 406), ("tcp4://127.0.0.1:1", 504)])
def test_a_face_that_cannot_be_opened_is_reported_with_nfds_code(uri: str, code: int) -> None:
    async def test(node: FakeNode, server: Server) -> None:
        face, peer = attach(server)
        node.react = lambda event: [OpenFace(event.face, uri, "", 0, 0, 0)]
        with peer:
            peer.send(PACKET)
            await node.hears(lambda: bool(node.failed))
            ((request, found, reason),) = node.failed
            assert (request, found) == (face, code)
            assert uri.partition("://")[2].partition(":")[0] in reason

    drive(test)


def test_a_persistent_face_is_dialled_again_and_the_node_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.host.attachment.FIRST_PAUSE_S", 0.001)

    async def test(node: FakeNode, server: Server) -> None:
        loop = asyncio.get_running_loop()
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            listener.settimeout(0)
            uri = f"tcp4://127.0.0.1:{listener.getsockname()[1]}"
            trigger, peer = attach(server)
            node.react = lambda event: [OpenFace(7, uri, "", 0, 0, 0)] if event.face == trigger else []
            with peer:
                peer.send(PACKET)
                first, _ = await asyncio.wait_for(loop.sock_accept(listener), 10)
                await node.hears(lambda: bool(node.opened))
                ((request, face),) = node.opened
                assert request == 7
                first.close()
                second, _ = await asyncio.wait_for(loop.sock_accept(listener), 10)
                with second:
                    second.send(PACKET)
                    await node.hears(lambda: node.arrived[-1] == Arrived(face, [PACKET]))
                assert node.closed == []
                assert node.changes == [("down", face), ("up", face)]

    drive(test)


class Writer:
    """A store on a disk that is full."""

    def __init__(self, said: Callable[[DiskEvent], None]) -> None:
        self.said = said

    def write(self, effect: Write) -> None:
        self.said(Unwritten(effect.store, effect.ticket, "the disk is full"))

    async def finish(self) -> None:
        pass

    async def close(self) -> None:
        self.said = _unheard


def test_what_is_to_be_saved_and_written_is_and_the_node_hears_of_it(tmp_path: Path) -> None:
    async def test(node: FakeNode, server: Server) -> None:
        assert server.disk.open("ledger", tmp_path / "ledger", _unexpected) == b""
        server.disk.add("readings", Writer(server.disk.said))
        _, peer = attach(server)
        node.react = lambda _: [Save("ledger", 1, b"one"), Save("ledger", 2, b"two"), Write("readings", 3, Batch())]
        with peer:
            peer.send(PACKET)
            await node.hears(lambda: len(node.disk) == 3)
        assert node.disk == [Unwritten("readings", 3, "the disk is full"), Saved("ledger", 1), Saved("ledger", 2)]
        assert (tmp_path / "ledger").read_bytes() == b"onetwo"

    drive(test)


def test_what_was_under_way_when_the_server_stops_is_on_the_disk_and_nothing_after_it(tmp_path: Path) -> None:
    async def main() -> None:
        node = FakeNode()
        server = Server(node)
        server.disk.open("ledger", tmp_path / "ledger", _unexpected)
        server.disk.save(Save("ledger", 1, b"one"))
        await server.stop()
        assert node.disk == [Saved("ledger", 1)]
        server.disk.save(Save("ledger", 2, b"two"))
        assert server.disk.unsaved == 1

    asyncio.run(main())
    assert (tmp_path / "ledger").read_bytes() == b"one"


def test_a_file_or_store_that_nobody_has_named_is_a_mistake_that_is_told() -> None:
    async def main() -> None:
        disk = Disk()
        with pytest.raises(BadConfig, match="save 'ledger', and nobody has said where"):
            disk.save(Save("ledger", 1, b""))
        with pytest.raises(BadConfig, match="write 'readings', and nobody has added it"):
            disk.write(Write("readings", 1, Batch()))
        disk.open("ledger", None, _unexpected)
        with pytest.raises(BadConfig, match="give one of them another name"):
            disk.open("ledger", None, _unexpected)

    asyncio.run(main())


def _unexpected(error: RoostError) -> None:
    raise error


def _unheard(event: DiskEvent) -> None:
    raise AssertionError(event)


class Talker:
    """An application that says what it is told to."""

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        assert spec.local
        assert now
        return [Send(face, []), Told(1)]

    def close_face(self, face: int, now: int) -> list[Effect]:
        raise AssertionError(face, now)

    def receive(self, event: Arrived | DiskEvent, now: int) -> list[Effect]:
        raise AssertionError(event, now)

    def tick(self, now: int) -> list[Effect]:
        raise AssertionError(now)

    def deadline(self) -> int | None:
        return None


@dataclass(frozen=True, slots=True)
class Told(Effect):
    number: int


def test_what_an_application_tells_is_heard_by_who_attached_it_and_nobody_else() -> None:
    async def test(_: FakeNode, server: Server) -> None:
        one, other = Talker(), Talker()
        heard: list[tuple[str, Effect]] = []

        def hear(effect: Effect, now: int) -> None:
            assert now
            heard.append(("one", effect))
            if effect == Told(2):
                server.act(one, [Told(3)])  # a command out of a callback

        server.attach_application(one, hear)
        server.attach_application(other, lambda effect, _: heard.append(("other", effect)))
        server.act(one, [Told(2), Note("noted")])
        assert heard == [("one", Told(1)), ("other", Told(1)), ("one", Told(2)), ("one", Told(3))]
        with pytest.raises(InvalidInput, match="attach it first"):
            server.act(Talker(), [])

    drive(test)


def test_a_listener_with_a_bug_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    async def test(_: FakeNode, server: Server) -> None:
        heard: list[Effect] = []

        def hear(effect: Effect, now: int) -> None:
            if effect == Told(2):
                raise ZeroDivisionError(now)
            heard.append(effect)

        talker = Talker()
        server.attach_application(talker, hear)
        server.act(talker, [Told(2), Told(3)])
        assert heard == [Told(1), Told(3)]

    drive(test)
    assert "nobody took Told: ZeroDivisionError" in caplog.text


def test_an_in_process_pair_delivers_in_the_next_turn_and_closes_both_ends() -> None:
    class Listener:
        def __init__(self) -> None:
            self.got: list[bytes] = []
            self.reason = asyncio.get_running_loop().create_future()

        def accepted(self, transport: Transport) -> None:
            raise AssertionError(transport)

        def arrived(self, batch: Packets) -> None:
            for _, packets in batch:
                self.got += packets

        def closed(self, transport: Transport, reason: str) -> None:
            self.reason.set_result((transport, reason))

    async def main() -> None:
        one, other = Listener(), Listener()
        left, right = in_process_pair(one, other)
        left.send([PACKET])
        left.send([PACKET, PACKET])
        assert other.got == []
        await asyncio.sleep(0)
        assert other.got == [PACKET] * 3
        assert left.queued_bytes == 0
        left.close()
        assert await other.reason == (right, "the other end closed it")
        right.send([PACKET])
        assert right.counters.dropped == 1

    asyncio.run(main())


def test_what_accepted_faces_are() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        spec = describe_stream(ours)
        assert (spec.local, spec.persistency, spec.mtu) == (True, ON_DEMAND, 0)
