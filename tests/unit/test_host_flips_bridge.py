"""Bridges between topics and groups: what a content is as a value, and what becomes of that which fits no reading."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import roost
from roost.errors import BadPacket, InvalidInput
from roost.host.topics import Content, bridge
from roost.host.topics.bridge import Skips, into_group, out_of_group, value_of
from roost.naming import Name
from roost.pubsub.flips.settings import FlipsSettings, Following

QUICK = FlipsSettings(probe_lifetime_ms=20, probe_timeout_ms=60, lifetime_ms=200, lead_ms=50)
LIMIT_S = 60


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"21", 21),
        (b"-0.5e3\n", -500.0),
        (b" 18446744073709551615 ", (1 << 64) - 1),
        (b"18446744073709551616", "18446744073709551616"),
        (b"0123", "0123"),
        (b"1_000", "1_000"),
        (b"+1", "+1"),
        (b".5", ".5"),
        (b"nan", "nan"),
        (b"1e999", "1e999"),
        ("٣".encode(), "٣"),
        (b"9" * 310, "9" * 310),
        (b"9" * 5000, "9" * 5000),
        (b"0." + b"1" * 500, "0." + "1" * 500),
        (b"\xff", b"\xff"),
        (b"", ""),
    ],
)
def test_only_what_json_calls_a_number_is_one(content: bytes, value: object) -> None:
    assert value_of(content) == value
    assert type(value_of(content)) is type(value)


class FakePanel:
    """A panel of `/A/p`, whose readings hold so much."""

    def __init__(self) -> None:
        self.values: asyncio.Queue[object] = asyncio.Queue()
        self.overdue: list[object] = []

    async def flush(self) -> None:
        """Nothing is left."""

    def stream(self, stream: str) -> Name:
        return Name.parse(f"/A/p/{stream}")

    async def publish(self, stream: object, value: object, **_: object) -> None:
        if str(stream).endswith("/Overdue"):
            self.overdue.append(value)
            return
        if len(str(value)) > 8000:
            raise BadPacket(f"{stream} is too large")
        self.values.put_nowait(value)


class FakeGroup:
    """Where nothing was published yet, or only that the publisher is overdue."""

    def __init__(self, overdue: int | None = None) -> None:
        self._overdue = overdue

    async def latest(self, stream: object) -> object:
        if self._overdue is None or not str(stream).endswith("/Overdue"):
            return None
        return SimpleNamespace(value=self._overdue)


def test_content_that_fits_no_reading_is_passed_over_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        panel, skips, taken = FakePanel(), Skips(), list[object]()
        async with asyncio.timeout(LIMIT_S), roost.flips(settings=QUICK, folder=tmp_path) as topics:
            await topics.register("a")
            work = into_group(topics, "a", FakeGroup(), panel, "s", skips=skips)  # type: ignore[arg-type]
            task = asyncio.ensure_future(work)
            for content in (b"1", b"x" * 9000, b"2", b"y" * 9000, b"9" * 400, b"3"):
                await topics.publish("a", content)
                if len(content) < 9000:
                    taken.append(await panel.values.get())
            task.cancel()
            assert taken == [1, 2, "9" * 400, 3]
            assert skips.count == 2

    asyncio.run(main())
    assert len([each for each in caplog.records if "is passed over" in each.message]) == 1


@pytest.mark.parametrize(("before", "told"), [(None, []), (0, []), (1, [0])])
def test_a_publisher_that_was_overdue_before_the_gateway_began_again_is_not_for_ever(
    tmp_path: Path, before: int | None, told: list[object]
) -> None:
    async def main() -> None:
        panel = FakePanel()
        async with asyncio.timeout(LIMIT_S), roost.flips(settings=QUICK, folder=tmp_path) as topics:
            await topics.register("a")
            work = into_group(topics, "a", FakeGroup(before), panel, "s")  # type: ignore[arg-type]
            task = asyncio.ensure_future(work)
            for content in (b"1", b"2"):
                await topics.publish("a", content)
                assert await panel.values.get() == int(content)
                assert panel.overdue == told
            task.cancel()

    asyncio.run(main())


def test_contents_that_left_the_store_while_a_bridge_was_away_are_said_and_the_others_come(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    few = FlipsSettings(
        probe_lifetime_ms=20, probe_timeout_ms=60, lifetime_ms=200, lead_ms=50, store_items=5, max_content_bytes=100
    )

    class Away(FakeGroup):
        async def latest(self, stream: object) -> object:
            if str(stream).endswith("/Overdue"):
                return None
            lineage = SimpleNamespace(inputs=(bridge.content_name("a", 102),))
            return SimpleNamespace(reading=SimpleNamespace(lineage=lineage))

    async def main() -> None:
        panel = FakePanel()
        async with asyncio.timeout(LIMIT_S), roost.flips(settings=few, folder=tmp_path) as topics:
            await topics.register("a")
            for number in range(20):
                await topics.publish("a", b"%d" % number)
            work = into_group(topics, "a", Away(), panel, "s")  # type: ignore[arg-type]
            task = asyncio.ensure_future(work)
            assert [await panel.values.get() for _ in range(5)] == list(range(15, 20))
            task.cancel()

    asyncio.run(main())
    assert [each.message for each in caplog.records] == ["a: contents 103 to 114 could not be had"]


class Readings:
    """A subscription whose readings cannot all be opened, and which ends with an error."""

    def __init__(self, *values: object) -> None:
        self._values = values

    async def __aiter__(self) -> AsyncIterator[object]:
        for value in self._values:
            yield FakeArrival(value)
        raise roost.RoostError("the repo is gone")


class FakeArrival:
    stream, number, reading, sealed = "/A/p/s", 1, None, False

    def __init__(self, value: object) -> None:
        self.value = value
        self.values = [value]
        self.sealed = value is None


def test_a_bridge_out_begins_again_after_an_error_and_passes_over_what_is_sealed(tmp_path: Path) -> None:
    async def main() -> None:
        skips = Skips()
        async with (
            asyncio.timeout(LIMIT_S),
            roost.flips(settings=QUICK, folder=tmp_path) as topics,
            roost.flips(settings=QUICK, durable=False) as display,
        ):
            for _ in range(2):
                readings: Any = Readings(1.5, None, 2)
                with pytest.raises(roost.RoostError, match="the repo is gone"):
                    await out_of_group(readings, topics, "hall", skips=skips)
            assert skips.count == 2
            await topics.register("hall")
            feed = display.subscribe("hall", following=Following(after=99))
            items = [await anext(feed) for _ in range(4)]
            assert [item.content for item in items if isinstance(item, Content)] == [b"1.5", b"2"] * 2

    asyncio.run(main())


def test_a_sealed_reading_is_no_text() -> None:
    sealed: Any = FakeArrival(None)
    with pytest.raises(InvalidInput, match="is sealed"):
        bridge.text_of(sealed)
