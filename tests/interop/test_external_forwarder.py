"""Our client with a forwarder that is not ours, NDNts behind a socket, found as every NDN program finds its own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest
from tests.interop.processes import Peer, opened, until

from roost.host import ACCEPT_ANY, connect, connect_sync
from roost.wire import DigestSigner

numbers = count(1)


@contextlib.asynccontextmanager
async def forwarder(ndnts: Peer, uri: str) -> AsyncIterator[str]:
    name = f"forwarder{next(numbers)}"
    yield await ndnts.ask("listen", forwarder=name, uri=uri)
    await ndnts.ask("stop_listening", forwarder=name)


@pytest.fixture(params=["unix", "tcp"])
def wanted(request: pytest.FixtureRequest, folder: Path) -> str:
    return f"unix://{folder / 'ndnts.sock'}" if request.param == "unix" else "tcp4://127.0.0.1:0"


@pytest.fixture
def nobodys_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    return tmp_path


async def test_we_serve_and_fetch_through_it(ndnts: Peer, wanted: str) -> None:
    async with (
        forwarder(ndnts, wanted) as uri,
        connect(uri, verifier=ACCEPT_ANY, signer=DigestSigner()) as producer,
        connect(uri, verifier=ACCEPT_ANY) as consumer,
        producer.serve("/through", lambda interest: bytes(interest.name.at(-1).value) * 2),
    ):
        assert (await consumer.fetch("/through/ab")).content == b"abab"
        async with producer.publish_object("/object", bytes(50_000), segment_bytes=4000):
            assert await consumer.fetch_object("/object") == bytes(50_000)


async def test_ndnts_and_we_meet_there(ndnts: Peer, wanted: str) -> None:
    async with (
        forwarder(ndnts, wanted) as uri,
        connect(uri, verifier=ACCEPT_ANY, signer=DigestSigner()) as ours,
        ours.serve("/we/serve", lambda _: b"ours"),
    ):
        theirs = await opened(ndnts, uri)
        await ndnts.ask("produce", face=theirs, prefix="/they/serve", content=b"theirs".hex())
        assert (await ours.fetch("/they/serve/1")).content == b"theirs"
        assert bytes.fromhex((await ndnts.ask("consume", face=theirs, interest="/we/serve/1"))["content"]) == b"ours"
        await ndnts.ask("disconnect", face=theirs)


async def test_the_environment_names_it(
    ndnts: Peer, wanted: str, nobodys_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (nobodys_home / ".ndn").mkdir()
    (nobodys_home / ".ndn" / "client.conf").write_text("transport=unix:///nowhere/nfd.sock\n")
    async with forwarder(ndnts, wanted) as uri:
        monkeypatch.setenv("NDN_CLIENT_TRANSPORT", uri)
        async with connect(verifier=ACCEPT_ANY, signer=DigestSigner()) as face:
            assert face.where == uri
            async with face.serve("/named", lambda _: b"by the environment"):
                theirs = await opened(ndnts, uri)
                got = await ndnts.ask("consume", face=theirs, interest="/named/1")
                await ndnts.ask("disconnect", face=theirs)
    assert bytes.fromhex(got["content"]) == b"by the environment"


async def test_client_conf_names_it(ndnts: Peer, wanted: str, nobodys_home: Path) -> None:
    async with forwarder(ndnts, wanted) as uri:
        (nobodys_home / ".ndn").mkdir()
        (nobodys_home / ".ndn" / "client.conf").write_text(
            f"; as ndn-cxx writes it\npib=pib-sqlite3\ntransport={uri}\ntpm=tpm-file\n"
        )
        async with (
            connect(verifier=ACCEPT_ANY, signer=DigestSigner()) as face,
            face.serve("/written", lambda _: b"in a file"),
        ):
            assert face.where == uri
            theirs = await opened(ndnts, uri)
            got = await ndnts.ask("consume", face=theirs, interest="/written/1")
            await ndnts.ask("disconnect", face=theirs)
    assert bytes.fromhex(got["content"]) == b"in a file"


def test_the_synchronous_face_goes_there_too(
    ndnts: Peer, wanted: str, nobodys_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert nobodys_home.is_dir()
    uri = ndnts.call("listen", forwarder="sync", uri=wanted)
    monkeypatch.setenv("NDN_CLIENT_TRANSPORT", uri)
    ndnts.call("connect", face=uri, uri=uri)
    ndnts.call("produce", face=uri, prefix="/sync", content="0102")
    with connect_sync(verifier=ACCEPT_ANY) as face:
        assert face.fetch("/sync/1").content == b"\x01\x02"
    ndnts.call("disconnect", face=uri)
    ndnts.call("stop_listening", forwarder="sync")


async def test_after_a_drop_our_client_comes_back_and_registers_again(ndnts: Peer, wanted: str) -> None:
    uri = await ndnts.ask("listen", forwarder="before", uri=wanted)
    async with (
        connect(uri, verifier=ACCEPT_ANY, signer=DigestSigner()) as face,
        face.serve("/still/here", lambda _: b"yes") as serving,
    ):
        await ndnts.ask("stop_listening", forwarder="before")
        await until(lambda: not face.is_up)
        async with forwarder(ndnts, uri):
            await serving.ready()
            theirs = await opened(ndnts, uri)
            got = await ndnts.ask("consume", face=theirs, interest="/still/here/1")
            await ndnts.ask("disconnect", face=theirs)
    assert bytes.fromhex(got["content"]) == b"yes"
