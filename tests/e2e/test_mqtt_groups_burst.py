"""Bursts at the door of a group: everybody waits a little, and nobody's message is refused or lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.loops import run
from tests.mqtt_wire import Wire, wire

from roost.broker.insertion import MAX_WAITING
from roost.cli import main
from roost.host.mqtt.config import read_config
from roost.host.mqtt.running import Running, running_broker
from roost.naming import Name

GROUP = "/BigCompany/Building1/Electricity"
LIMIT_S = 240  # only against hanging


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ROOST_PASSPHRASE", raising=False)
    assert main(["init", "--company", "BigCompany", "--building", "Building1", "--repo", "Repo1"]) == 0
    assert main(["keys", "make", f"{GROUP}/Gate1"]) == 0
    return tmp_path


@asynccontextmanager
async def node(folder: Path, **tree: Any) -> AsyncIterator[Running]:  # noqa: ANN401  as YAML has it
    said: dict[str, Any] = {
        "listeners": [{"tcp": "127.0.0.1:0"}],
        "store": str(folder / "node"),
        "trees": [{"filter": "#", "group": GROUP} | tree],
        "groups": [{"name": GROUP, "panel": "Gate1", "repo": "Repo1"}],
        "node": {"unix": str(folder / "node.sock")},
    }
    async with running_broker(read_config(said, folder, folder)) as running:
        yield running


def kept(running: Running, topic: str) -> int:
    """How many readings of a topic are in the repo, all of them from the first one on."""
    assert running.repo is not None
    held = running.repo.repos[0].shelf.holdings.of(Name.parse(f"{GROUP}/Gate1/{topic}")).held
    return held[0][1] if len(held) == 1 and held[0][0] == 1 else 0


def refused(counts: dict[str, int]) -> int:
    return counts["groups/messages/refused"]


@pytest.mark.parametrize(
    ("clients", "count", "qos", "version"),
    [(1, 12_000, 0, 4), (8, 5_000, 0, 4), (8, 3_000, 1, 4), (24, 1_000, 1, 5)],
)
def test_a_burst_is_taken_as_fast_as_the_group_can_and_all_of_it(
    home: Path, clients: int, count: int, qos: int, version: int
) -> None:
    async def burst(device: Wire, topic: str) -> None:
        for number in range(count):
            device.publish(topic, f"{number}", qos=qos)
        await device.acknowledged()
        await device.settle()  # the server has read all of it

    async def test() -> None:
        async with AsyncExitStack() as stack:
            running = await stack.enter_async_context(node(home))
            port = int(running.uris[0].rpartition(":")[2])
            devices = [await stack.enter_async_context(wire(port, version)) for _ in range(clients)]
            await asyncio.gather(*[burst(device, f"b/{number}") for number, device in enumerate(devices)])
            stream = [f"b/{number}" for number in range(clients)]
            counts = running.server.count_groups
            await until(lambda: all(kept(running, each) == count for each in stream) or refused(counts()) > 0)
            assert (refused(counts()), running.server.is_behind) == (0, False)

    run(test, LIMIT_S)


def test_what_waits_for_copies_that_nobody_makes_is_bounded_and_the_log_says_what_is_refused(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with node(home, durability={"replicated": 2}) as running:
            count = running.server.count_groups
            async with wire(int(running.uris[0].rpartition(":")[2])) as device:
                for number in range(MAX_WAITING + 1):
                    device.publish("b/1", f"{number}")
                await until(lambda: count()["groups/messages/uncopied"] > MAX_WAITING)
                for number in range(3000):
                    device.publish("b/1", f"{number}")
                await device.settle()  # who is not to wait is heard
                await until(lambda: count()["groups/messages/refused/full"] == 3000)
            why = "10000 messages wait for another repo of the group, which is the limit; try again later"
            said = [record.message for record in caplog.records if "messages refused" in record.message]
            assert said == [f"{GROUP}: messages refused: {why}"]

    run(test)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that nobody tells."""
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110  it is looked at, because nobody sets an event for a test
            await asyncio.sleep(0.02)
