"""Topics for other doors than MQTT: the past, for who may read it, and what comes live."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from tests.loops import run

from roost.broker.access import ALLOW_ALL, Access
from roost.broker.broker import Broker
from roost.broker.effects import Heard
from roost.broker.message import Message
from roost.broker.packets.properties import user_property
from roost.broker.patterns import matches
from roost.broker.permissions import Permissions
from roost.broker.settings import BrokerSettings
from roost.broker.since import Since
from roost.errors import Denied
from roost.host.clock import Clock
from roost.host.mqtt import topic_desk as module
from roost.host.mqtt.topic_desk import BrokerTopics, NoRoles
from roost.machine import SECOND, Effect
from roost.naming import Name


def message(topic: str, time: int, payload: bytes, stream: bytes = b"", number: int = 0, kept: bytes = b"") -> Message:
    origin = (0, stream, number) if stream else None
    return Message(topic.encode(), payload, 1, not stream, kept, 0, b"", time * SECOND, origin)


class Groups:
    """A history: by topic, a stream of readings at these times."""

    def __init__(self, **times: Sequence[int]) -> None:
        self.held = {Name.parse(f"/g/{topic}").value: (topic, times_) for topic, times_ in times.items()}

    def streams(self, filter_: bytes) -> list[bytes]:
        return [
            stream
            for stream, (topic, _) in self.held.items()
            if matches(filter_.split(b"/"), topic.encode().split(b"/"))
        ]

    def has(self, stream: bytes, filter_: bytes) -> bool:
        return stream in self.streams(filter_)

    def present(self, stream: bytes) -> int:
        return len(self.held[stream][1])

    def first(self, stream: bytes, since: Since) -> int:
        times = self.held[stream][1]
        later = [number for number, time in enumerate(times, 1) if time * SECOND >= since.time]
        return since.number or (later[0] if later else len(times) + 1)

    def read(self, stream: bytes, low: int, high: int, limit: int) -> list[tuple[int, Message | None]]:
        topic, times = self.held[stream]
        numbers = range(low, min(high, len(times)) + 1)
        found = [(at, message(topic, times[at - 1], b"%d" % times[at - 1], stream, at)) for at in numbers]
        return list(found[:limit])

    def outlines(self, stream: bytes, low: int, high: int, limit: int) -> list[tuple[int, Message | None, bool]]:
        return [(number, each, False) for number, each in self.read(stream, low, high, limit)]

    def at(self, stream: bytes, time: int, limit: int) -> list[int]:
        times = self.held[stream][1]
        return [number for number, each in enumerate(times, 1) if each * SECOND == time][:limit]


def desk(groups: Groups | None = None, access: Access = ALLOW_ALL) -> tuple[BrokerTopics, Broker]:
    broker = Broker(BrokerSettings(), access, random.Random(0), now=SECOND)
    if groups is not None:
        broker.join(groups, None, SECOND)
    return BrokerTopics(broker.core, Clock()), broker


def publish(broker: Broker, *messages: Message) -> None:
    for each in messages:
        broker.publish(each, SECOND)


def test_the_past_is_merged_by_time_from_then_on_with_what_plain_topics_retain() -> None:
    async def test() -> None:
        topics, broker = desk(Groups(a=[1, 4, 6], b=[2, 5]))
        publish(broker, message("c", 3, b"x"), message("d", 1, b"too old"))
        found = await topics.past(b"", b"+", Since(time=2 * SECOND), 100)
        assert [(each["topic"], each["time"]) for each in found] == [
            ("b", 2 * SECOND),
            ("c", 3 * SECOND),
            ("a", 4 * SECOND),
            ("b", 5 * SECOND),
            ("a", 6 * SECOND),
        ]
        assert found[0] == {
            "topic": "b",
            "time": 2 * SECOND,
            "value": 2,
            "unit": "",
            "quality": "good",
            "stream": "/g/b",
            "number": 1,
        }
        assert "stream" not in found[1]
        assert [each["value"] for each in await topics.past(b"", b"a", Since(number=2), 1)] == [4]

    run(test)


def test_without_a_time_it_is_the_last_reading_of_each_topic() -> None:
    async def test() -> None:
        topics, broker = desk(Groups(a=[1, 4], b=[2], empty=[]))
        publish(broker, message("c", 3, b"x"), message("c", 4, b"y"))
        assert [each["value"] for each in await topics.past(b"", b"#", Since(), 100)] == [4, 2, "y"]
        assert len(await topics.past(b"", b"#", Since(), 2)) == 2

    run(test)


def test_a_value_is_what_its_payload_says_with_its_unit_and_quality() -> None:
    async def test() -> None:
        topics, broker = desk()
        said = user_property(b"unit", b"W") + user_property(b"quality", b"bad")
        publish(
            broker,
            message("a", 1, b"21.5", kept=bytes((1, 1)) + said),
            message("b", 1, b'{"value": 3, "unit": "A"}'),
            message("c", 1, b"\xff\x00"),
        )
        found = {each["topic"]: each for each in await topics.past(b"", b"+", Since(), 100)}
        assert [found["a"][key] for key in ("value", "unit", "quality")] == [21.5, "W", "bad"]
        assert (found["b"]["value"], found["b"]["unit"]) == (3, "A")
        assert found["c"]["value"] == b"\xff\x00"

    run(test)


def test_everybody_gets_what_they_may_read_and_who_may_read_nothing_is_denied() -> None:
    async def test() -> None:
        topics, broker = desk(Groups(a=[1], b=[2]), Permissions.parse("user bob\n read b\n read d\n"))
        publish(broker, message("c", 3, b"x"), message("d", 4, b"y"))
        for since in (Since(), Since(number=1)):
            assert [each["topic"] for each in await topics.past(b"bob", b"#", since, 100)] == ["b", "d"]
        got: list[object] = []
        stop = await topics.follow(b"bob", b"#", lambda reading: got.append(reading["topic"]))
        for topic in ("a", "b", "c"):
            topics.hear([message(topic, 5, b"1")])
        stop()
        topics.hear([message("b", 6, b"1")])
        stop()
        assert got == ["b"]
        with pytest.raises(Denied, match="the permission to read a/#"):
            await topics.past(b"bob", b"a/#", Since(), 1)
        with pytest.raises(Denied):
            await topics.follow(b"bob", b"a/#", got.append)

    run(test)


def test_what_nodes_tell_each_other_is_nobodys_reading() -> None:
    async def test() -> None:
        topics, _ = desk()
        got: list[object] = []
        await topics.follow(b"", b"$roost/#", got.append)
        topics.hear([message("$roost/macros/1", 5, b"1")])
        assert got == []

    run(test)


def told(effects: list[Effect]) -> list[bytes]:
    return [each.payload for effect in effects if isinstance(effect, Heard) for each in effect.messages]


def test_the_broker_tells_of_its_messages_while_somebody_follows() -> None:
    async def test() -> None:
        topics, broker = desk()
        assert told(broker.publish(message("a", 1, b"1"), SECOND)) == []
        got: list[object] = []
        stops = [await topics.follow(b"", b"a", got.append) for _ in range(2)]
        for stop in stops:
            assert told(broker.publish(message("a", 2, b"2"), SECOND)) == [b"2"]
            stop()
            stop()
        assert told(broker.publish(message("a", 3, b"3"), SECOND)) == []
        assert got == []  # it is for the driver to hand on

    run(test)


def test_long_pasts_of_what_may_not_be_read_are_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SEEN", 150)

    async def test() -> None:
        topics, _ = desk(Groups(a=range(1, 200), b=[300]), Permissions.parse("user bob\n read b\n"))
        assert await topics.past(b"bob", b"+", Since(number=1), 10) == []
        assert topics.cut_short == 1

    run(test)


def test_an_answer_has_so_many_bytes_and_the_rest_is_asked_for_from_its_end_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 3 * 256)

    async def test() -> None:
        topics, _ = desk(Groups(a=range(1, 10)))
        found = await topics.past(b"", b"a", Since(number=1), 100)
        assert [each["value"] for each in found] == [1, 2, 3]
        assert topics.cut_short == 1

    run(test)


class Customers(NoRoles):
    """Who asks for `raw` gets `mean` in its place."""

    async def admit(self, user: bytes, wanted: str) -> None:
        if user == b"visitor":
            raise Denied(f"no role of yours gets anything of {wanted}")

    def candidates(self, wanted: str) -> Sequence[str]:
        return (wanted, "mean")

    def presented(self, user: bytes, wanted: str, message: Message) -> str | None:
        del user
        return wanted if message.topic == b"mean" else None


def test_roles_show_another_stream_in_the_place_of_a_topic() -> None:
    async def test() -> None:
        topics, _ = desk(Groups(raw=[1, 3], mean=[2, 4]), Permissions.parse("all\n read raw\n"))
        topics.judge = Customers()
        for since in (Since(), Since(number=1)):
            found = await topics.past(b"customer", b"raw", since, 100)
            assert [(each["topic"], each["value"]) for each in found][-1] == ("raw", 4)
            assert all(each["stream"] == "/g/mean" for each in found)
        got: list[dict[str, object]] = []
        await topics.follow(b"customer", b"raw", got.append)
        topics.hear([message("raw", 5, b"5")])
        topics.hear([message("mean", 6, b"6")])
        assert [(each["topic"], each["value"]) for each in got] == [("raw", 6)]
        with pytest.raises(Denied, match="no role"):
            await topics.past(b"visitor", b"raw", Since(), 1)
        with pytest.raises(Denied, match="no role"):
            await topics.follow(b"visitor", b"raw", got.append)

    run(test)


class Doubled(NoRoles):
    """As if streams stood for topics that the filter matches, too."""

    def candidates(self, wanted: str) -> Sequence[str]:
        return (wanted, "a", "c")


def test_what_several_filters_match_is_there_once() -> None:
    async def test() -> None:
        topics, broker = desk(Groups(a=[1, 4]))
        topics.judge = Doubled()
        publish(broker, message("c", 3, b"x"))
        assert [each["value"] for each in await topics.past(b"", b"+", Since(number=1), 100)] == [1, "x", 4]
        assert [each["value"] for each in await topics.past(b"", b"+", Since(), 100)] == [4, "x"]

    run(test)
