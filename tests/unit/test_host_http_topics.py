"""Topics over HTTP: the past as JSON and as lines, and the present as events."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.http_world import World, open_door
from tests.loops import run

from roost.broker.since import Since
from roost.host.http import connection, following, pages, topics
from roost.machine import SECOND

HEAD = "GET /topics/{} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"


def reading(number: int, stream: str = "/g/a") -> dict[str, object]:
    return {"topic": "a", "time": number * SECOND, "value": number, "stream": stream, "number": number}


class Events:
    """A client that follows."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.head = b""

    async def next(self) -> tuple[str, Any]:
        """The next event: what it is called, and its data."""
        name, data = "", None
        while True:
            line = (await self.reader.readuntil(b"\n")).rstrip(b"\r\n")
            if line.startswith(b"event: "):
                name = line[7:].decode()
            elif line.startswith(b"data: "):
                data = json.loads(line[6:])
            elif not line and data is not None:
                return name, data

    async def values(self, count: int) -> list[object]:
        return [(await self.next())[1]["value"] for _ in range(count)]


async def follow(world: World, path: str) -> Events:
    reader, writer = await world.connect()
    writer.write(HEAD.format(path).encode())
    events = Events(reader, writer)
    events.head = await reader.readuntil(b"\r\n\r\n")
    return events


def test_the_past_is_an_array_from_a_time_or_a_number_on() -> None:
    async def test() -> None:
        async with open_door() as world:
            world.topics.readings = [reading(number) for number in (1, 2, 3)]
            past = await world.ask("GET", "/topics/a/%2B/%23?since=1970-01-01T00:00:02&limit=2")
            assert (past.status, past.json) == (200, [reading(2), reading(3)])
            await world.ask("GET", "/topics/a?since=17")
            await world.ask("GET", "/topics/a%20b")
            assert world.topics.asked == [
                (b"alice", b"a/+/#", Since(time=2 * SECOND), 2),
                (b"alice", b"a", Since(number=17), pages.LIMIT),
                (b"alice", b"a b", Since(), pages.LIMIT),
            ]

    run(test)


def test_the_past_is_a_line_for_each_reading_for_who_asks_for_lines() -> None:
    async def test() -> None:
        async with open_door() as world:
            world.topics.readings = [reading(1), {**reading(2), "value": "two\nlines"}]
            past = await world.ask("GET", "/topics/a?since=1", Accept="application/x-ndjson")
            assert past.headers["Content-Type"] == "application/x-ndjson"
            assert [json.loads(line) for line in past.body.splitlines()] == world.topics.readings

    run(test)


@pytest.mark.parametrize(
    "path",
    [
        "a%23",
        "a/%23/b",
        "a%00",
        "%24share/g/a",
        "%24since/1h/a",
        "a?since=yesterday",
        "a?since=1h&since=2h",
        "a?limit=0",
        "a?limit=10001",
        "a?limit=-1",
        "a?limit=%D9%A1",
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_to_write(path: str) -> None:
    async def test() -> None:
        async with open_door() as world:
            for accept in ("*/*", "text/event-stream"):
                refused = await world.ask("GET", f"/topics/{path}", Accept=accept)
                assert refused.status == 400
                assert refused.error
            assert not world.topics.asked

    run(test)


def test_who_may_not_read_is_refused_before_any_event() -> None:
    async def test() -> None:
        async with open_door() as world:
            for accept in ("*/*", "text/event-stream"):
                refused = await world.ask("GET", "/topics/secret?since=1", Accept=accept)
                assert refused.status == 403
                assert "the permission to read secret" in refused.error
            assert world.door.counts()["http/following"] == 0

    run(test)


def test_readings_come_as_events_while_they_are_published() -> None:
    async def test() -> None:
        async with open_door() as world:
            events = await follow(world, "a")
            assert b"Content-Type: text/event-stream" in events.head
            assert world.door.counts()["http/following"] == 1
            for number in (1, 2):
                world.topics.send(reading(number))
                assert await events.next() == ("", reading(number))
            events.writer.close()

    run(test)


def test_the_past_comes_first_in_pieces_and_nothing_is_missed_or_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PIECE", 3)

    async def test() -> None:
        async with open_door() as world:
            world.topics.readings = [reading(number) for number in range(1, 9)]
            world.topics.meanwhile = [reading(8), reading(9), reading(1, "/g/b")]
            events = await follow(world, "a?since=1")
            assert await events.values(10) == [*range(1, 10), 1]
            world.topics.send({"topic": "plain", "time": 5, "value": "x"})
            world.topics.send({"topic": "plain", "time": 5, "value": "at once"})
            world.topics.send({"topic": "plain", "time": 6, "value": "y"})
            assert await events.values(3) == ["x", "at once", "y"]
            events.writer.close()

    run(test)


def test_what_a_plain_topic_retains_is_not_sent_again_and_what_came_before_it_is_not_missed() -> None:
    async def test() -> None:
        def plain(time: int, value: str) -> dict[str, object]:
            return {"topic": "plain", "time": time * SECOND, "value": value}

        async with open_door() as world:
            world.topics.readings = [plain(2, "retained")]
            world.topics.meanwhile = [plain(1, "before"), plain(2, "at once"), plain(2, "retained"), plain(3, "after")]
            events = await follow(world, "plain?since=1")
            assert await events.values(4) == ["retained", "before", "at once", "after"]
            for _ in range(2):
                world.topics.send(plain(4, "twice"))
            assert await events.values(2) == ["twice", "twice"]
            events.writer.close()

    run(test)


def test_a_past_of_which_more_than_a_piece_is_of_one_time_comes_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PIECE", 3)

    async def test() -> None:
        async with open_door() as world:
            at_once = [{**reading(5, f"/g/{each}"), "value": each} for each in range(10)]
            world.topics.readings = [reading(1), *at_once, {**reading(6), "value": "last"}]
            events = await follow(world, "a?since=1")
            assert await events.values(12) == [1, *range(10), "last"]
            events.writer.close()

    run(test)


def test_who_is_too_slow_misses_the_oldest_and_is_told_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MAX_WAITING", 3)

    async def test() -> None:
        async with open_door() as world:
            events = await follow(world, "a")
            for number in range(1, 6):
                world.topics.send(reading(number))
            assert await events.next() == ("dropped", {"dropped": 2})
            assert await events.values(3) == [3, 4, 5]
            assert world.door.counts()["http/readings/dropped"] == 2
            events.writer.close()

    run(test)


def test_large_readings_that_wait_have_a_bound_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MAX_WAITING_BYTES", 2_500)

    async def test() -> None:
        async with open_door() as world:
            events = await follow(world, "a")
            for number in range(1, 5):
                world.topics.send({**reading(number), "value": "x" * 1_000})
            world.topics.send({**reading(5), "value": "x" * 10_000})
            assert await events.next() == ("dropped", {"dropped": 4})
            assert (await events.next())[1]["number"] == 5
            events.writer.close()

    run(test)


def test_an_answer_that_cannot_go_on_is_cut_off() -> None:
    async def test() -> None:
        async with open_door() as world:
            world.topics.readings = [reading(1)]
            world.topics.denied_from = 2  # the second piece
            events = await follow(world, "a?since=1")
            assert await events.values(1) == [1]
            assert b"HTTP/1.1" not in await events.reader.read()
            events.writer.close()
            assert world.topics.followers == []

    run(test)


def test_a_value_that_is_nested_too_deeply_does_not_hide_the_others() -> None:
    async def test() -> None:
        async with open_door() as world:
            nested: object = 1
            for _ in range(5_000):
                nested = [nested]
            world.topics.readings = [reading(1), {**reading(2), "value": nested}]
            past = await world.ask("GET", "/topics/a?since=1")
            assert [each["value"] for each in past.json] == [1, None]
            assert past.json[1]["error"] == "the value is nested too deeply"
            while isinstance(nested, list):  # piece by piece: to forget it at once would take as deep a stack
                nested = nested.pop()

    run(test)


def test_a_client_that_went_is_followed_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "BEAT_S", 0.01)

    async def test() -> None:
        async with open_door() as world:
            events = await follow(world, "a")
            assert b": still here" in await events.reader.readuntil(b"still here\n\n")
            events.writer.transport.abort()
            await world.topics.left.wait()
            assert world.topics.followers == []

    run(test)


def test_a_client_that_takes_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "TAKEN_TIMEOUT_MS", 100)

    async def test() -> None:
        async with open_door() as world:
            _, writer = await world.connect()
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(HEAD.format("a").encode())
            await world.topics.followed.wait()
            number = 0
            while not world.topics.left.is_set():
                number += 1
                world.topics.send({**reading(number), "value": "x" * 10_000})
                await asyncio.sleep(0)
            assert world.topics.followers == []
            writer.close()

    run(test)


def test_clients_that_follow_have_a_bound_and_do_not_take_the_room_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "MAX_FOLLOWING", 2)

    async def test() -> None:
        async with open_door() as world:
            world.door.max_requests = 1
            held = [await follow(world, "a") for _ in range(2)]
            refused = await world.ask("GET", "/topics/a", Accept="text/event-stream")
            assert (refused.status, refused.headers["Retry-After"]) == (429, "10")
            assert (await world.ask("GET", "/health")).status == 200
            assert world.door.counts()["http/requests/refused/full"] == 1
            for each in held:
                each.writer.close()

    run(test)


def test_closing_the_door_ends_the_events() -> None:
    async def test() -> None:
        async with open_door() as world:
            events = await follow(world, "a")
            await world.door.stop()
            assert world.topics.followers == []
            await events.reader.read()
            events.writer.close()

    run(test)
