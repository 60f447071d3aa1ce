"""What a replay leaves out: what the group has already, wherever it stands in the stream."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from roost.cli._replay_rows import Row
from roost.cli._replay_sending import Replay
from roost.naming import Name

PANEL = Name.parse("/Campus/Hall/Env/pi1")
STREAM = "Heater/Power"
APRIL, MAY = 1_775_000_000 * 10**9, 1_777_600_000 * 10**9


class Group:
    """A group and a panel of it at once, which number what is published from 1 on."""

    name = PANEL

    def __init__(self) -> None:
        self.readings: list[Any] = []

    def stream(self, name: str) -> Name:
        return PANEL + Name.parse(f"/{name}")

    def reading(self, value: object, *, unit: str, time_ns: int) -> Any:  # noqa: ANN401  as few attributes as are read
        return SimpleNamespace(event_time=time_ns, value=value, unit=unit)

    async def publish_many(self, readings: list[tuple[Name, Any]]) -> None:
        self.readings.extend(reading for _, reading in readings)

    async def flush(self) -> None:
        return None

    async def streams(self, _prefix: Name) -> dict[Name, int]:
        return {self.stream(STREAM): len(self.readings)}

    async def read(self, _stream: Name, low: int, high: int) -> list[Any]:
        return self.readings[low - 1 : high]


def replay(group: Any, *rows: Row) -> tuple[int, int]:  # noqa: ANN401  it stands for two
    async def run() -> tuple[int, int]:
        replay = Replay(group, group, None)
        await replay.prepare({STREAM: min(row.time for row in rows)})
        await replay.send(rows, lambda _: None)
        return replay.sent, replay.skipped

    return asyncio.run(run())


def rows(begin: int, count: int) -> list[Row]:
    return [Row(begin + at, STREAM, at, "W") for at in range(count)]


def test_a_file_that_was_replayed_before_an_older_one_is_not_published_again() -> None:
    group = Group()
    may, april = rows(MAY, 30), rows(APRIL, 2_500)
    assert replay(group, *may) == (30, 0)
    assert replay(group, *april) == (2_500, 0)
    assert replay(group, *may) == (0, 30)
    assert replay(group, *april) == (0, 2_500)


def test_true_is_not_1_and_a_word_is_no_number_but_1_is_1_point_0() -> None:
    group = Group()
    said: list[Any] = [1, "1", 0, "true"]
    assert replay(group, *[Row(MAY, STREAM, value, "") for value in said]) == (4, 0)
    assert replay(group, Row(MAY, STREAM, True, ""), Row(MAY, STREAM, False, "")) == (2, 0)
    assert replay(group, Row(MAY, STREAM, 1.0, ""), Row(MAY, STREAM, "true", "")) == (0, 2)
