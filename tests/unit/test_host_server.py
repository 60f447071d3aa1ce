"""The node's driver against a fake machine, over socket pairs: batches, one write per face, slow peers, drops."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine

import pytest

from roost.forwarding.face import ON_DEMAND, Arrived, CloseFace, FaceSpec, OpenFace, Send
from roost.host.address import describe_stream
from roost.host.inprocess import in_process_pair
from roost.host.server import Server, _merged
from roost.host.stream import StreamTransport
from roost.host.transport import Batch, Transport
from roost.machine import Effect, Note

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
        self.queues: list[tuple[int, int]] = []
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

    def receive(self, event: Arrived, now: int) -> list[Effect]:
        assert now
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


def test_a_persistent_face_is_dialled_again_and_the_node_does_not_notice(monkeypatch: pytest.MonkeyPatch) -> None:
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

    drive(test)


def test_an_in_process_pair_delivers_in_the_next_turn_and_closes_both_ends() -> None:
    class Listener:
        def __init__(self) -> None:
            self.got: list[bytes] = []
            self.reason = asyncio.get_running_loop().create_future()

        def accepted(self, transport: Transport) -> None:
            raise AssertionError(transport)

        def arrived(self, batch: Batch) -> None:
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
