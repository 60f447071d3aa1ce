"""Faces beyond IPv4 on loopback: IPv6, WebSocket over TLS, and multicast between two nodes that opted in."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import ipaddress
import random
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

from roost.errors import Disconnected
from roost.forwarding.faces import Face
from roost.forwarding.requests import CommandWriter, read_response
from roost.host import ACCEPT_ANY, Connection, Listen, ListeningNode, connect, running
from roost.naming import Name
from roost.node import Node, NodeSettings
from roost.wire import Data, DigestSigner

CONTENT = random.Random(4).randbytes(100_000)


def node() -> Node:
    return Node(NodeSettings(), random.Random(1))


def anyone(uri: str) -> Connection:
    return connect(uri, verifier=ACCEPT_ANY, signer=DigestSigner())


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


# -- IPv6


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
@pytest.mark.parametrize("scheme", ["tcp6", "udp6", "ws"])
def test_data_and_objects_cross_the_node_over_ipv6(tmp_path: Path, scheme: str) -> None:
    loopback = (("::1", 0),)

    async def main() -> None:
        listen = Listen(tmp_path / "n.sock", loopback, loopback, loopback)
        async with asyncio.timeout(30), running(node(), listen) as listening:
            (uri,) = [uri for uri in listening.uris if uri.startswith(f"{scheme}://[::1]:")]
            async with anyone(uri) as there, anyone(uri) as here, there.publish_object("/six", CONTENT):
                assert await here.fetch_object("/six") == CONTENT
                specs = [face.spec for face in faces(listening).values() if "::1" in face.spec.remote_uri]
                assert len(specs) == 2
                assert all(spec.local for spec in specs)
                ours = here._session._transport
                assert ours is not None
                assert ours.spec.local_uri in {spec.remote_uri for spec in specs}  # both ends call it the same

    asyncio.run(main())


def faces(listening: ListeningNode) -> dict[int, Face]:
    return dict(listening.server.node.forwarder.faces)  # type: ignore[attr-defined]


# -- WebSocket over TLS


def certificate(folder: Path) -> ssl.SSLContext:
    """Make a self-signed certificate for 127.0.0.1, as `folder/tls.pem`, and the context of a server that shows it."""
    key = generate_private_key(SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a node under test")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    (folder / "tls.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "tls.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.pem", folder / "tls.key")
    return context


@contextlib.asynccontextmanager
async def tls_in_front_of(port: int, context: ssl.SSLContext) -> AsyncIterator[int]:
    """A front that ends TLS and hands on the bytes, as operators put before a node; yields its port."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while part := await reader.read(65536):
                writer.write(part)
                await writer.drain()
        writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, behind_writer), copy(behind_reader, writer))

    front = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    async with front:
        yield front.sockets[0].getsockname()[1]


def test_a_client_speaks_to_a_node_over_wss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "tls.pem"))  # what the system trusts, for this test

    async def main() -> None:
        async with (
            asyncio.timeout(30),
            running(node(), Listen(ws=(("127.0.0.1", 0),))) as listening,
            tls_in_front_of(int(listening.uris[0].rpartition(":")[2]), context) as port,
            anyone(f"wss://127.0.0.1:{port}") as there,
            anyone(f"wss://127.0.0.1:{port}/ndn") as here,
            there.publish_object("/secret/channel", CONTENT),
        ):
            assert here.where == f"wss://127.0.0.1:{port}/ndn"
            assert await here.fetch_object("/secret/channel") == CONTENT

    asyncio.run(main())


def test_a_wss_server_whose_certificate_nobody_vouches_for_is_refused_with_the_reason(tmp_path: Path) -> None:
    context = certificate(tmp_path)

    async def main() -> None:
        async with asyncio.timeout(30), tls_in_front_of(1, context) as port:
            with pytest.raises(Disconnected, match=rf"wss://127.0.0.1:{port}: .*self-signed.*SSL_CERT_FILE"):
                await anyone(f"wss://127.0.0.1:{port}")

    asyncio.run(main())


# -- multicast


def loopback_multicast() -> bool:
    """Whether what is sent to a group over the loopback interface comes back."""
    group = "224.0.23.170"
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth,
    ):
        try:
            ear.bind((group, 0))
            ear.setsockopt(
                socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton("127.0.0.1")
            )
            mouth.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
            ear.settimeout(1)
            mouth.sendto(b"x", (group, ear.getsockname()[1]))
            return ear.recv(1) == b"x"
        except OSError:
            return False


@pytest.mark.skipif(not loopback_multicast(), reason="this kernel does not loop multicast back over 127.0.0.1")
def test_two_nodes_that_opted_in_reach_each_other_by_multicast(tmp_path: Path) -> None:
    prefix = Name.of("multicast", tmp_path.name, str(random.SystemRandom().getrandbits(64)))  # others may be listening

    async def main() -> None:
        async with (
            asyncio.timeout(30),
            running(node(), Listen(tmp_path / "a.sock", multicast=("127.0.0.1",))) as near,
            running(node(), Listen(tmp_path / "b.sock", multicast=("127.0.0.1",))) as far,
            anyone(near.uris[0]) as here,
            anyone(far.uris[0]) as there,
            there.serve(prefix, lambda interest: str(interest.name).encode()),
        ):
            await route_over_multicast(near, prefix)
            for number in ("1", "2"):
                data = await here.fetch(prefix / number)
                assert data.content == str(prefix / number).encode()
            (shared,) = [face for face in faces(near).values() if face.multi_access]
            assert (shared.local, shared.in_data >= 2, shared.out_interests >= 2) == (False, True, True)

    asyncio.run(main())


def test_without_opting_in_there_is_no_multicast_face(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(node(), Listen(tmp_path / "n.sock")) as listening:
            assert not [face for face in faces(listening).values() if face.multi_access]

    asyncio.run(main())


async def route_over_multicast(listening: ListeningNode, prefix: Name) -> None:
    """Register a prefix for the multicast face of a node, as its operator would."""
    (number,) = [number for number, face in faces(listening).items() if face.multi_access]
    command = CommandWriter(DigestSigner(), random.Random(2)).register(prefix, listening.server.clock(), face=number)
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(0)
        await loop.sock_connect(sock, listening.uris[0].removeprefix("unix://"))
        await loop.sock_sendall(sock, command)
        read_response(Data.decode(await loop.sock_recv(sock, 9000))).expect()
