"""Bridges of FLIPS in a node are kept up; and neither it nor a node without groups is open before there are keys."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

import roost
from roost.errors import BadConfig, TimedOut
from roost.hicn.forwarder import HicnForwarder, HicnSettings
from roost.host import connect
from roost.host.hicn import HicnServer
from roost.host.journal import Journal
from roost.host.listening import Listen
from roost.host.mqtt import bridges
from roost.host.mqtt.bridges import Bridges, bridged, check_reach
from roost.host.mqtt.config import read_config
from roost.host.mqtt.config_flips import FlipsSettings, IntoGroup
from roost.host.mqtt.config_groups import NodeSettings
from roost.host.mqtt.lone_node import lone_node
from roost.host.topics.bridge import content_name
from roost.naming import Name
from roost.pubsub.flips import settings as flips_settings
from roost.trust.acceptance import ACCEPT_ANY

if TYPE_CHECKING:
    from roost.host.server import Server


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    return tmp_path


def test_a_bridge_that_fails_is_begun_again_and_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bridges, "FIRST_PAUSE_S", 0.0)

    async def main() -> None:
        async with HicnServer(HicnForwarder(HicnSettings(), random.Random(1))) as server:
            running = Bridges(server, [], Journal())
            third = asyncio.Event()

            async def bridge() -> None:
                if running.begun_again == 2:
                    third.set()
                    await asyncio.Event().wait()
                raise TimedOut("no repo answers") if not running.begun_again else OSError("no room")

            task = asyncio.create_task(running.keep_up("home/temp into /A/B", bridge))
            await asyncio.wait_for(third.wait(), 30)
            task.cancel()
            assert running.counts() == {
                "flips/faces": 0,
                "flips/refused": 0,
                "flips/cache/hits": 0,
                "flips/bridges/begun_again": 2,
                "flips/bridges/skipped": 0,
            }

    asyncio.run(main())
    assert [each.message for each in caplog.records] == [
        "home/temp into /A/B: no repo answers; begun again in 0 s",
        "home/temp into /A/B: OSError: no room; begun again in 0 s",
    ]


class FakeGroup:
    """A group with one panel, in which a stream or two have readings of content; it is its own face, and panel."""

    name = "p"

    def __init__(self, places: dict[str, int]) -> None:
        self.places = places
        self.values: dict[str, list[object]] = {"s1": [], "s2": []}
        self.changed = asyncio.Event()

    def group(self, _: str) -> FakeGroup:
        return self

    @asynccontextmanager
    async def panel(self, *_: object, **__: object) -> AsyncIterator[FakeGroup]:
        yield self

    @asynccontextmanager
    async def face(self, _: object) -> AsyncIterator[FakeGroup]:
        yield self

    async def flush(self) -> None:
        """Nothing is left."""

    def stream(self, stream: str) -> Name:
        return Name.parse(f"/A/p/{stream}")

    async def latest(self, stream: Name) -> object:
        place = self.places.get(str(stream))
        if place is None:
            return None
        lineage = SimpleNamespace(inputs=(content_name("boiler", place),))
        return SimpleNamespace(reading=SimpleNamespace(lineage=lineage))

    async def publish(self, stream: str, value: object, **_: object) -> None:
        self.values[stream].append(value)
        self.changed.set()


def test_two_bridges_of_one_topic_are_each_at_a_place_of_their_own(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = flips_settings.FlipsSettings(probe_lifetime_ms=20, probe_timeout_ms=60)
    both = FlipsSettings(into=tuple(IntoGroup("boiler", "/A", stream, panel="p") for stream in ("s1", "s2")))
    group = FakeGroup({"/A/p/s1": 104, "/A/p/s2": 101})
    monkeypatch.setattr(bridges, "_face", group.face)

    async def main() -> None:
        async with (
            asyncio.timeout(60),
            HicnServer(HicnForwarder(HicnSettings(), random.Random(1))) as server,
            roost.flips(server, settings=quick, folder=home / "kept") as boiler,
        ):
            await boiler.register("boiler")
            for number in range(100, 108):
                assert await boiler.publish("boiler", b"%d" % number) == number
            at = server.listen("127.0.0.1", 0).rpartition(":")[2]
            reaching = replace(both, peers=(("127.0.0.1", int(at)),))
            async with bridged(reaching, read_config({}, home, home), cast("Server", object()), Journal()):
                while len(group.values["s1"]) < 3 or len(group.values["s2"]) < 6:
                    group.changed.clear()
                    await group.changed.wait()
        assert group.values == {"s1": [105, 106, 107], "s2": [102, 103, 104, 105, 106, 107]}

    asyncio.run(main())


def test_a_forwarder_says_where_it_listens_and_needs_no_group(home: Path) -> None:
    settings = FlipsSettings(listen=(("127.0.0.1", 0),), peers=(("127.0.0.1", 9),))

    async def main() -> None:
        async with bridged(settings, read_config({}, home, home), None, Journal()) as running:
            (uri,) = running.uris
            assert uri.startswith("udp4://127.0.0.1:")
            assert running.counts()["flips/faces"] == 1

    asyncio.run(main())


def test_without_keys_nobody_else_is_let_in() -> None:
    with pytest.raises(BadConfig, match=r"flips.listen: 0\.0\.0\.0 is reachable .*: run `roost init` first"):
        check_reach(FlipsSettings(listen=(("127.0.0.1", 0), ("0.0.0.0", 0))))

    async def main() -> None:
        async with lone_node(NodeSettings(Listen(tcp=(("0.0.0.0", 0),))), "roost"):
            pass

    with pytest.raises(BadConfig, match=r"node: 0\.0\.0\.0 is reachable .*: run `roost init` first"):
        asyncio.run(main())


def test_a_node_without_groups_forwards(home: Path) -> None:
    path = home / "node.sock"

    async def main() -> bytes:
        async with lone_node(NodeSettings(Listen(unix=path)), "roost") as node:
            (uri,) = node.uris
            async with (
                connect(uri, verifier=ACCEPT_ANY) as one,
                connect(uri, verifier=ACCEPT_ANY) as other,
                one.serve("/hall/temp", lambda _: b"21.5"),
            ):
                return (await other.fetch("/hall/temp")).content

    assert asyncio.run(main()) == b"21.5"
    assert not path.exists()
