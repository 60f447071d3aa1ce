"""Topics and groups: contents become readings that say where they come from, and a stream becomes a topic."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.hall import GROUP, Hall, RepoProcess

import roost
from roost.host import Face, connect
from roost.host.keystore import KeyStore
from roost.host.topics import Content, Topics
from roost.host.topics.bridge import content_name, into_group, out_of_group
from roost.naming import Name
from roost.pubsub.flips.settings import FlipsSettings, Following
from roost.trust.verdict import Accepted
from roost.wire import Data, DigestSigner

QUICK = FlipsSettings(probe_lifetime_ms=20, probe_timeout_ms=60, lifetime_ms=200, lead_ms=50)
TOPIC = "cellar/boiler"
STREAM = "room1/temp"
WHOLE = Name.parse(f"{GROUP.name}/pi1/{STREAM}")


@contextlib.asynccontextmanager
async def face_of(hall: Hall, who: str, repo: RepoProcess) -> AsyncIterator[Face]:
    keys = KeyStore(hall.home(who))
    signer = keys.keychain() if who != "reader" else DigestSigner()
    async with connect(repo.uri, verifier=keys.verifier(time.time_ns()), signer=signer) as face:
        yield face


@contextlib.asynccontextmanager
async def bridging(hall: Hall, repo: RepoProcess, topics: Topics) -> AsyncIterator[None]:
    """The gateway, in the block."""
    async with face_of(hall, "pi1", repo) as face, face.group(GROUP.name).panel("pi1", folder=hall.folder) as panel:
        task = asyncio.ensure_future(into_group(topics, TOPIC, face.group(GROUP.name), panel, STREAM, unit="Cel"))
        try:
            yield
            await panel.flush()
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RepoProcess:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "nobody"))
    return RepoProcess(Hall(tmp_path), "repo1")


def test_a_topic_in_a_group_and_out_again(repo: RepoProcess, tmp_path: Path) -> None:
    hall = repo.hall

    async def main() -> None:
        async with (
            asyncio.timeout(60),
            roost.flips(settings=QUICK, folder=tmp_path / "kept") as boiler,
            roost.flips(settings=QUICK, folder=tmp_path / "out") as gateway,
            roost.flips(settings=QUICK, durable=False) as display,
            face_of(hall, "reader", repo) as reader,
            reader.group(GROUP.name).subscribe(WHOLE) as readings,
        ):
            await boiler.register(TOPIC)
            first = await boiler.publish(TOPIC, b"61.5")
            async with bridging(hall, repo, gateway):
                arrival = await anext(readings)
            assert (arrival.value, arrival.unit) == (61.5, "Cel")
            assert str(arrival.signer) == f"{GROUP.name}/pi1"
            assert arrival.reading is not None
            assert arrival.reading.lineage is not None
            assert arrival.reading.lineage.inputs == (content_name(TOPIC, first),)
            assert arrival.reading.lineage.job == "flips, not verified"
            for content in (b"62", b"out of order"):  # while the gateway is away
                await boiler.publish(TOPIC, content)
            async with bridging(hall, repo, gateway):
                assert [(await anext(readings)).value for _ in range(2)] == [62, "out of order"]
            assert (await reader.group(GROUP.name).latest(WHOLE)).number == 3  # type: ignore[union-attr]

            for whole, topic in ((False, "floor 1"), (True, "floor 2")):
                feed = reader.group(GROUP.name).subscribe(WHOLE, since=1)
                async with feed as past:
                    task = asyncio.ensure_future(out_of_group(past, gateway, topic, whole=whole))
                    shown = display.subscribe(topic, following=Following(after=99, patient=True))
                    contents: list[bytes] = []
                    while len(contents) < 3:
                        item = await anext(shown)
                        assert isinstance(item, Content)
                        contents.append(item.content)
                    task.cancel()
                if whole:
                    verifier = KeyStore(hall.home("reader")).verifier(time.time_ns())
                    assert [Data.decode(each).name.at(-1).number() for each in contents] == [1, 2, 3]
                    for certificate in KeyStore(hall.home("pi1")).certificates():
                        verifier.learn(certificate.data, time.time_ns())
                    assert all(
                        isinstance(verifier.check(Data.decode(each), time.time_ns()), Accepted) for each in contents
                    )
                else:
                    assert contents == [b"61.5", b"62", b"out of order"]

    repo.start()
    try:
        asyncio.run(main())
    finally:
        repo.close()


def test_a_publisher_that_is_overdue_is_seen_in_the_group(repo: RepoProcess, tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            asyncio.timeout(60),
            roost.flips(settings=QUICK, folder=tmp_path / "kept") as boiler,
            roost.flips(settings=QUICK, durable=False) as gateway,
            face_of(repo.hall, "reader", repo) as reader,
            reader.group(GROUP.name).subscribe(f"{WHOLE}/Overdue") as overdue,
        ):
            await boiler.register(TOPIC, interval_ms=50)
            await boiler.publish(TOPIC, b"61.5")
            async with bridging(repo.hall, repo, gateway):
                assert (await anext(overdue)).value == 1
                await boiler.publish(TOPIC, b"61.6")
                assert (await anext(overdue)).value == 0

    repo.start()
    try:
        asyncio.run(main())
    finally:
        repo.close()
