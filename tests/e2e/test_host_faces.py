"""A real node over real sockets on loopback: every transport, as consumer and as producer, and what goes wrong."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest
from websockets.asyncio.client import connect as connect_websocket

from roost.errors import BadConfig, Nacked, TimedOut
from roost.forwarding.requests import CommandWriter, read_response
from roost.forwarding.settings import ForwarderSettings
from roost.host import ACCEPT_ANY, Connection, Face, FetchSettings, Listen, ListeningNode, connect, running
from roost.host.datagram import UdpChannel
from roost.host.listen import listen_udp
from roost.host.stream import StreamTransport
from roost.machine import MS
from roost.naming import Name
from roost.node import Node, NodeSettings
from roost.wire import Data, DigestSigner, Interest, LpPacket, encode_interest, make_data

ANY = (("127.0.0.1", 0),)
SCHEMES = ["unix", "tcp4", "udp4", "ws"]


def node() -> Node:
    return Node(NodeSettings(), random.Random(1))


def everywhere(path: Path) -> Listen:
    return Listen(path / "node.sock", ANY, ANY, ANY)


def run_with_node(path: Path, test: Callable[[ListeningNode], Coroutine[None, None, None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(30), running(node(), everywhere(path)) as listening:
            await test(listening)

    asyncio.run(main())


def uri_of(listening: ListeningNode, scheme: str) -> str:
    return next(uri for uri in listening.uris if uri.startswith(scheme + ":"))


def face_to(listening: ListeningNode, scheme: str) -> Connection:
    return connect(uri_of(listening, scheme), verifier=ACCEPT_ANY, signer=DigestSigner())


async def route(listening: ListeningNode, face: Face, prefix: str) -> None:
    """Register for a face that may not do so itself (UDP is not local): find its id, and name it in the command."""
    with pytest.raises((TimedOut, Nacked)):
        await face.fetch("/make/me/known", lifetime_ms=500, tries=1)
    local = str(face._session._transport.spec.local_uri)  # type: ignore[union-attr]
    forwarder = listening.server.node.forwarder  # type: ignore[attr-defined]
    (number,) = [number for number, held in forwarder.faces.items() if held.spec.remote_uri == local]
    writer = CommandWriter(DigestSigner(), random.Random(2))
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(0)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(sock, uri_of(listening, "unix").removeprefix("unix://"))
        command = writer.register(Name.parse(prefix), listening.server.clock(), face=number)
        await loop.sock_sendall(sock, command)
        answer = await loop.sock_recv(sock, 9000)
        read_response(Data.decode(answer)).expect()


@pytest.mark.parametrize("consumer", SCHEMES)
@pytest.mark.parametrize("producer", SCHEMES)
def test_data_crosses_the_node_from_every_transport_to_every_other(
    tmp_path: Path, producer: str, consumer: str
) -> None:
    async def test(listening: ListeningNode) -> None:
        async with face_to(listening, producer) as there, face_to(listening, consumer) as here:
            local = producer != "udp4"
            serving = there.serve("/p", lambda interest: str(interest.name).encode(), register=local)
            if local:
                await serving
            else:
                await route(listening, there, "/p")
            answers = await asyncio.gather(*[here.fetch(f"/p/{number}") for number in range(300)])
            assert [answer.content for answer in answers] == [f"/p/{number}".encode() for number in range(300)]

    run_with_node(tmp_path, test)


def test_a_tcp_peer_that_vanishes_without_a_word_is_noticed(tmp_path: Path) -> None:
    async def test(listening: ListeningNode) -> None:
        async with face_to(listening, "tcp4") as face:
            server = listening.server
            ours = face._session._transport
            theirs = next(server.transport_of(number) for number in server._faces)
            for transport in (ours, theirs):
                assert isinstance(transport, StreamTransport)
                assert transport._sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
                assert transport._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000

    run_with_node(tmp_path, test)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("discovery", ["auto", "prefix", "metadata"])
def test_a_segmented_object_arrives_whole_over_every_transport(tmp_path: Path, scheme: str, discovery: str) -> None:
    content = random.Random(3).randbytes(1_000_000)

    async def test(listening: ListeningNode) -> None:
        async with (
            face_to(listening, "unix") as there,
            face_to(listening, scheme) as here,
            there.publish_object("/big/object", content),
        ):
            assert await here.fetch_object("/big/object", FetchSettings(discovery)) == content

    run_with_node(tmp_path, test)


def test_a_udp_peer_gets_a_face_and_loses_it_when_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        server_closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        async with running(node(), Listen()) as listening:
            server = listening.server
            channel = UdpChannel(listen_udp("127.0.0.1", 0), server, idle_s=0.02)
            monkeypatch.setattr(server.journal, "say", lambda _, *facts: server_closed.set_result(str(facts)))
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
                peer.settimeout(0)
                peer.connect(channel.local)
                peer.send(encode_interest(Name.parse("/nowhere"), nonce=b"1234"))
                loop = asyncio.get_running_loop()
                answer = await asyncio.wait_for(loop.sock_recv(peer, 9000), 10)
                assert answer[0] == 100  # a Nack
                assert server.faces == 1
                assert "idle" in await asyncio.wait_for(server_closed, 10)
                assert server.faces == 0
            channel.close()

    asyncio.run(main())


def test_too_many_udp_peers_cost_the_one_idle_longest() -> None:
    async def main() -> None:
        async with running(node(), Listen()) as listening:
            channel = UdpChannel(listen_udp("127.0.0.1", 0), listening.server, max_peers=2)
            loop = asyncio.get_running_loop()
            peers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
            for peer in peers:
                peer.settimeout(0)
                peer.connect(channel.local)
                peer.send(encode_interest(Name.parse("/nowhere"), nonce=b"1234"))
                await asyncio.wait_for(loop.sock_recv(peer, 9000), 10)
            assert channel.evicted == 2
            assert listening.server.faces == 2
            for peer in peers:
                peer.close()
            channel.close()

    asyncio.run(main())


def test_a_face_too_many_is_turned_away_and_the_others_go_on(tmp_path: Path) -> None:
    async def main() -> None:
        small = NodeSettings(forwarder=ForwarderSettings(face_limit=2))  # the internal one is the first
        async with (
            asyncio.timeout(30),
            running(Node(small, random.Random(1)), everywhere(tmp_path)) as listening,
            face_to(listening, "unix") as first,
        ):
            await first.fetch("/localhost/nfd/status/general", can_be_prefix=True)
            loop = asyncio.get_running_loop()
            for scheme in ("tcp4", "ws"):
                port = int(uri_of(listening, scheme).rpartition(":")[2])
                with socket.create_connection(("127.0.0.1", port)) as second:
                    second.settimeout(0)
                    if scheme == "ws":
                        second.send(
                            b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n\r\n"
                        )
                        assert b"101" in await loop.sock_recv(second, 4096)
                        await loop.sock_recv(second, 4096)  # the closing frame
                    else:
                        assert await loop.sock_recv(second, 1) == b""
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as third:
                port = int(uri_of(listening, "udp4").rpartition(":")[2])
                third.sendto(encode_interest(Name.parse("/x"), nonce=b"1234"), ("127.0.0.1", port))
                forwarder = listening.server.node.forwarder  # type: ignore[attr-defined]
                while forwarder.dropped.get("face limit", 0) < 3:  # noqa: ASYNC110  it has no event of its own
                    await asyncio.sleep(0)
            await first.fetch("/localhost/nfd/status/general", can_be_prefix=True, must_be_fresh=True)
            assert listening.server.faces == 1

    asyncio.run(main())


def test_garbage_over_udp_costs_the_packet_and_is_counted_with_its_peer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(listening: ListeningNode) -> None:
        port = int(uri_of(listening, "udp4").rpartition(":")[2])
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            peer.settimeout(0)
            peer.connect(("127.0.0.1", port))
            for _ in range(50):
                peer.send(b"\x05\xffgarbage")
            peer.send(encode_interest(Name.parse("/nowhere"), nonce=b"1234"))
            assert (await asyncio.wait_for(loop.sock_recv(peer, 9000), 10))[0] == 100
            assert listening.server.journal.rejected == 50
            (line,) = [record.getMessage() for record in caplog.records if "refused a packet" in record.message]
            assert f"udp4://127.0.0.1:{peer.getsockname()[1]}" in line

    run_with_node(tmp_path, test)


def test_a_page_in_a_browser_is_not_local(tmp_path: Path) -> None:
    async def test(listening: ListeningNode) -> None:
        uri = uri_of(listening, "ws")
        specs: dict[str, bool] = {}
        for origin in (None, "https://example.com"):
            async with connect_websocket(uri, origin=origin, proxy=None) as connection:  # type: ignore[arg-type]
                await connection.send(encode_interest(Name.parse("/localhost/nfd/status/general"), nonce=b"1234"))
                await connection.send(encode_interest(Name.parse("/nowhere"), nonce=b"1234"))
                await asyncio.wait_for(connection.recv(), 10)
                faces = listening.server.node.forwarder.faces  # type: ignore[attr-defined]
                specs[str(origin)] = max(faces.items())[1].spec.local
        assert specs == {"None": True, "https://example.com": False}

    run_with_node(tmp_path, test)


def test_text_over_websocket_ends_the_face(tmp_path: Path) -> None:
    async def test(listening: ListeningNode) -> None:
        async with connect_websocket(uri_of(listening, "ws"), proxy=None) as connection:
            await connection.send("hello")
            await asyncio.wait_for(connection.wait_closed(), 10)

    run_with_node(tmp_path, test)


def test_faces_create_opens_a_udp_face_over_the_listener(tmp_path: Path) -> None:
    """Two nodes: one creates a face to the other and routes a prefix over it."""

    async def main() -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()
        async with (
            asyncio.timeout(30),
            running(node(), everywhere(tmp_path / "a")) as one,
            running(node(), everywhere(tmp_path / "b")) as other,
        ):
            writer = CommandWriter(DigestSigner(), random.Random(2))
            loop = asyncio.get_running_loop()
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(0)
                await loop.sock_connect(sock, uri_of(one, "unix").removeprefix("unix://"))

                async def command(wire: bytes) -> int:
                    await loop.sock_sendall(sock, wire)
                    found = read_response(Data.decode(await loop.sock_recv(sock, 9000))).expect()
                    return found.face or 0

                clock = one.server.clock
                for scheme in ("udp4", "tcp4"):
                    face = await command(writer.create_face(uri_of(other, scheme), clock()))
                    await command(writer.register(Name.of(scheme), clock() + MS, face=face))
            created = one.server.node.forwarder.faces.values()  # type: ignore[attr-defined]
            assert uri_of(one, "udp4") in {face.spec.local_uri for face in created}  # the port others know us by
            async with face_to(other, "unix") as there, face_to(one, "unix") as here:
                for scheme in ("udp4", "tcp4"):
                    async with there.serve(Name.of(scheme), lambda _: b"from the other node"):
                        assert (await here.fetch(f"/{scheme}/x")).content == b"from the other node"

    asyncio.run(main())


def test_fragments_from_a_udp_peer_are_put_together(tmp_path: Path) -> None:
    async def test(listening: ListeningNode) -> None:
        async with face_to(listening, "unix") as there, face_to(listening, "udp4") as here:
            asked: list[Interest] = []

            def answer(interest: Interest) -> bytes:
                asked.append(interest)
                return bytes(8000)

            async with there.serve("/big", answer):
                port = int(uri_of(listening, "udp4").rpartition(":")[2])
                whole = encode_interest(Name.parse("/big/x"), nonce=b"1234")
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
                    peer.settimeout(0)
                    peer.connect(("127.0.0.1", port))
                    for index, part in enumerate((whole[:7], whole[7:])):
                        lp = LpPacket(part)
                        lp.sequence, lp.frag_index, lp.frag_count = 5 + index, index, 2
                        peer.send(lp.encode())
                    answered = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(peer, 9000), 10)
                assert Data.decode(answered).content == bytes(8000)
            assert [str(interest.name) for interest in asked] == ["/big/x"]
            assert here.is_up

    run_with_node(tmp_path, test)


def test_an_address_in_use_says_what_to_do(tmp_path: Path) -> None:
    async def test(listening: ListeningNode) -> None:
        for scheme, field in (("tcp4", "tcp"), ("udp4", "udp"), ("ws", "ws")):
            port = int(uri_of(listening, scheme).rpartition(":")[2])
            taken: tuple[tuple[str, int], ...] = (("127.0.0.1", port),)
            listen = Listen(**{field: taken})  # type: ignore[arg-type]
            with pytest.raises(BadConfig, match=rf"127.0.0.1:{port} \({field}\).*--{field} HOST:PORT.*--no-{field}"):
                async with running(node(), listen):
                    raise AssertionError("it listens")
        with pytest.raises(BadConfig, match="a node already listens on"):
            async with running(node(), Listen(tmp_path / "node.sock")):
                raise AssertionError("it listens")

    run_with_node(tmp_path, test)


def test_a_stale_unix_socket_is_replaced_and_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "node.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))

    async def main() -> None:
        async with running(node(), Listen(path)):
            assert path.stat().st_mode & 0o777 == 0o600
            async with connect(f"unix://{path}", verifier=ACCEPT_ANY, signer=DigestSigner()) as face:
                assert face.is_up
        assert not path.exists()

    asyncio.run(main())


def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "node.sock"
    path.write_text("precious")

    async def main() -> None:
        with pytest.raises(BadConfig, match="is not a socket"):
            async with running(node(), Listen(path)):
                raise AssertionError("it listens")

    asyncio.run(main())
    assert path.read_text() == "precious"


def test_multicast_faces_hear_each_other_and_not_themselves() -> None:
    from roost.host.multicast import MulticastTransport
    from roost.host.transport import Batch, Transport

    packet = make_data(Name.parse("/m"), b"x", DigestSigner()).wire

    class Ear:
        def __init__(self) -> None:
            self.heard: asyncio.Queue[bytes] = asyncio.Queue()

        def accepted(self, transport: Transport) -> None:
            raise AssertionError(transport)

        def arrived(self, batch: Batch) -> None:
            for _, packets in batch:
                for each in packets:
                    self.heard.put_nowait(each)

        def closed(self, transport: Transport, reason: str) -> None:
            raise AssertionError(transport, reason)

    async def main() -> None:
        mine, theirs = Ear(), Ear()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        one = MulticastTransport("127.0.0.1", mine, port=port)
        other = MulticastTransport("127.0.0.1", theirs, port=port)
        one.start()
        other.start()
        one.send([packet])
        assert await asyncio.wait_for(theirs.heard.get(), 10) == packet
        other.send([packet + b""])
        assert await asyncio.wait_for(mine.heard.get(), 10) == packet
        assert mine.heard.empty()  # its own packet came earlier, if at all, and was passed over
        one.close()
        other.close()

    asyncio.run(main())
