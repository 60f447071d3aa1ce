"""Groups of streams as people use them, with a repo in this process that keeps everything in memory."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import pytest
from tests.loops import run

from roost.cli import main
from roost.errors import Backpressure, BadConfig, BadName, BadTopic, InvalidInput, NoKey, Refused, Unreachable
from roost.host import Listen, connect, connect_sync
from roost.host.keystore import KeyStore
from roost.host.paths import home
from roost.host.repo import Duty, RunningRepo, duty_of, running_repo
from roost.host.streams import StreamGroup, chosen_policy
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import Group, numbered
from roost.naming.topic import TopicFilter
from roost.pubsub.consumers.policy import sample, sequential
from roost.pubsub.panels.panel import PanelSettings
from roost.pubsub.repos.repo import RepoSettings
from roost.repo.retention import Rule
from roost.sync.subscriptions import NameRange
from roost.wire import Signer
from roost.wire.lineage import InputRange, Lineage
from roost.wire.reading import TEXT, Reading
from roost.wire.senml import Quality

GROUP = "/BigCompany/Building1/Electricity"
STREAM = Name.parse(f"{GROUP}/Panel1/Heater/Voltage")


@pytest.fixture(autouse=True)
def building(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    assert main(["init", "--company", "BigCompany", "--building", "Building1"]) == 0


def duty(settings: RepoSettings | None = None) -> Duty:
    place = Group.at(Name.parse(GROUP)).repo("Repo1")
    return duty_of(KeyStore(home()), place, None, settings or RepoSettings(), time.time_ns())


@contextlib.asynccontextmanager
async def repo(settings: RepoSettings | None = None) -> AsyncIterator[RunningRepo]:
    """A repo on the socket where `connect` looks for a node."""
    now = time.time_ns()
    async with running_repo([duty(settings)], Listen(unix=home() / "node.sock"), KeyStore(home()).verifier(now)) as one:
        yield one


@contextlib.asynccontextmanager
async def reached() -> AsyncIterator[tuple[StreamGroup, StreamGroup]]:
    """The group as a panel and as a reader see it, over faces of their own."""
    async with repo(), connect() as one, connect() as other:
        yield one.group(GROUP), other.group(GROUP)


def test_who_asks_right_after_publishing_finds_it_whatever_caches_have() -> None:
    async def test() -> None:
        async with reached() as (ours, theirs), ours.panel("Panel1") as panel:
            for number in range(1, 6):
                await panel.publish("Heater/Voltage", 229.5 + number)
                await panel.flush()
                assert (await theirs.streams())[STREAM] == number
                assert [each.number for each in await theirs.read(STREAM)] == list(range(1, number + 1))

    run(test)


def test_what_a_panel_publishes_comes_verified_with_unit_quality_signer_and_lateness() -> None:
    async def test() -> None:
        async with reached() as (ours, theirs), ours.panel("Panel1") as panel, theirs.subscribe("+/Heater/#") as taking:
            await taking.subscribed()
            before = time.time_ns() - SECOND
            assert await panel.publish("Heater/Voltage", 229.5, unit="V", quality=Quality.BAD, time_ns=before) == 1
            assert await panel.publish("Boiler/State", "on") == 1
            assert await panel.publish("Heater/Voltage", 230) == 2
            first, second = await anext(taking), await anext(taking)
            assert (first.stream, first.number, first.value, first.unit) == (STREAM, 1, 229.5, "V")
            assert first.quality == Quality.BAD
            assert first.signer == panel.name
            assert first.event_time == before
            assert first.lateness_ns >= SECOND
            assert (second.number, second.value, second.unit) == (2, 230, "")
            await panel.flush()
            assert panel.waiting == 0

    run(test)


def test_a_subscription_can_be_iterated_over_as_it_is_and_looks_back() -> None:
    async def test() -> None:
        async with reached() as (ours, theirs), ours.panel("Panel1") as panel:
            assert await panel.publish_many([(STREAM, number) for number in range(1, 201)]) == list(range(1, 201))
            await panel.flush()
            taken: list[int] = []
            async for reading in theirs.subscribe("Panel1/Heater", since=1, room=7):  # all below it
                taken.append(reading.number)
                if len(taken) == 200:
                    break
            assert taken == list(range(1, 201))
            wanted = NameRange(STREAM, STREAM)
            async for reading in theirs.subscribe(wanted, since=timedelta(hours=1), policy="sample(50)"):
                assert 1 <= reading.number <= 50
                break
            async for reading in theirs.subscribe(STREAM, policy="latest"):
                assert reading.number == 200
                break

    run(test)


def test_a_named_subscription_goes_on_behind_what_was_dealt_with() -> None:
    async def test() -> None:
        async with reached() as (ours, theirs), ours.panel("Panel1") as panel:
            async with theirs.subscribe(name="display") as first:
                await first.subscribed()
                await panel.publish_many([(STREAM, number) for number in range(1, 7)])
                assert [(await anext(first)).number for _ in range(3)] == [1, 2, 3]
            with contextlib.suppress(KeyError):
                async with theirs.subscribe(name="display") as second:
                    assert [(await anext(second)).number for _ in range(2)] == [4, 5]
                    raise KeyError
            async for reading in theirs.subscribe(name="display"):  # 5 was in hand when something failed
                assert reading.number == 5
                break

    run(test)


def test_the_place_of_a_subscription_belongs_to_one_at_a_time() -> None:
    async def test() -> None:
        async with reached() as (_, theirs), theirs.subscribe(name="display"):
            with pytest.raises(BadConfig, match="in use"):
                await theirs.subscribe(name="display")

    run(test)


def test_the_past_can_be_read_and_the_catalogue_says_what_streams_are() -> None:
    async def test() -> None:
        async with reached() as (ours, theirs), ours.panel("Panel1") as panel:
            assert await theirs.latest("Panel1/Heater/Current") is None
            await panel.describe("Heater/Voltage", unit="V", brick="Voltage_Sensor", interval_ms=1000)
            await panel.publish_many([("Heater/Voltage", 200 + number) for number in range(1, 101)])
            large = Reading(time.time_ns(), TEXT, b"x" * 6000)
            assert await panel.publish("Heater/Log", large) == 1
            await panel.flush()
            newest = await theirs.latest(STREAM)
            assert newest is not None
            assert newest.value == 300
            assert [reading.number for reading in await theirs.read("Panel1/Heater/Voltage", 20, 90)] == [
                *range(20, 91)
            ]
            (log,) = await theirs.read("Panel1/Heater/Log", repo="Repo1")
            assert log.reading == large
            streams: dict[Name, int] = {}
            while STREAM not in streams:  # the panel asked the same when it began, and caches still know the answer
                streams = await theirs.streams("Panel1")
            assert streams[STREAM] == 100
            description = (await theirs.catalogue()).get(STREAM)
            assert description is not None
            assert (description.unit, description.brick) == ("V", "Voltage_Sensor")

    run(test)


def test_readings_that_were_dropped_on_purpose_are_told_and_passed_over() -> None:
    async def test() -> None:
        settings = RepoSettings(retention=(Rule(TopicFilter("#"), max_count=10),))
        async with repo(settings) as running, connect() as face:
            group = face.group(GROUP)
            async with group.panel("Panel1") as panel:
                await panel.publish_many([(STREAM, number) for number in range(1, 31)])
                await panel.flush()
            while not running.repos[0].shelf.holdings.dropped(STREAM, 1, 1):  # noqa: ASYNC110  it has no event
                await asyncio.sleep(0)
            missing: list[tuple[int, int]] = []
            async with group.subscribe(
                STREAM, since=1, on_missing=lambda run: missing.append((run.low, run.high))
            ) as taking:
                first = (await anext(taking)).number
            assert missing[0][0] == 1
            assert missing[-1][1] == first - 1
            assert (await group.read(STREAM))[0].number == first

    run(test)


def test_who_publishes_waits_while_the_outbox_is_full() -> None:
    async def test() -> None:
        async with reached() as (ours, theirs):
            settings = PanelSettings(max_entries=5)
            async with ours.panel("Panel1", durable=False, settings=settings) as panel:
                numbers = await asyncio.gather(*[panel.publish(STREAM, number) for number in range(1, 41)])
                assert numbers == list(range(1, 41))
                await panel.flush()
            values = [reading.value for reading in await theirs.read(STREAM)]
            assert values == list(range(1, 41))

    run(test)


def test_a_panel_goes_on_with_its_numbers_and_with_what_waits_after_a_restart() -> None:
    async def test() -> None:
        async with connect() as alone, alone.group(GROUP).panel("Panel1") as panel:
            panel.part.outbox.settle({})  # as if it had asked the repos before
            assert await panel.publish(STREAM, 1) == 1
            assert panel.waiting == 1
        async with reached() as (ours, theirs), ours.panel("Panel1") as panel:
            await panel.flush()
            assert await panel.publish(STREAM, 2) == 2
            await panel.flush()
            assert [reading.value for reading in await theirs.read(STREAM)] == [1, 2]

    run(test)


def test_what_repos_confirmed_is_not_sent_again_by_the_next_run() -> None:
    async def test() -> None:
        async with reached() as (ours, _):
            async with ours.panel("Panel1") as panel:
                await panel.publish(STREAM, 1)
                await panel.flush()
            async with ours.panel("Panel1") as panel:
                assert panel.waiting == 0
                assert panel.part.dispatch.sent == 0

    run(test)


def test_more_readings_than_a_panel_has_room_for_are_refused_at_once() -> None:
    async def test() -> None:
        settings = PanelSettings(max_entries=5)
        async with reached() as (ours, _), ours.panel("Panel1", durable=False, settings=settings) as panel:
            with pytest.raises(Backpressure, match="5 readings are the limit"):
                await panel.publish_many([(STREAM, number) for number in range(6)])

    run(test)


def test_a_panel_whose_clock_is_wrong_is_told_so(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with repo(), connect() as face:
            async with face.group(GROUP).panel("Panel1") as panel:
                await panel.publish(STREAM, 1)
                await panel.flush()
                panel._session.clock._offset += 90 * SECOND
                await panel.publish(STREAM, 2)
                while "ahead of our clock" not in caplog.text:  # noqa: ASYNC110  a log has no event
                    await asyncio.sleep(0.02)
            assert "set the clocks of both sides (NTP)" in caplog.text

    run(test)


def test_who_subscribes_where_no_repo_answers_is_told_so(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with connect() as alone, alone.group(GROUP).subscribe() as taking:
            while "is one running" not in caplog.text:  # noqa: ASYNC110  a log has no event
                await asyncio.sleep(0.02)
            assert taking.waiting == 0

    run(test)


def test_lineage_names_the_inputs_and_the_program() -> None:
    async def test() -> None:
        async with reached() as (ours, theirs), ours.panel("Panel1") as panel:
            await panel.publish_many([(STREAM, 220), (STREAM, 240)])
            await panel.flush()
            inputs = await theirs.read(STREAM)
            program = sha256(b"mean").digest()
            await panel.publish("Heater/Mean", 230.0, unit="V", inputs=inputs, program=program)
            await panel.flush()
            mean = await theirs.latest("Panel1/Heater/Mean")
            assert mean is not None
            assert mean.reading is not None
            assert mean.reading.lineage is not None
            assert mean.reading.lineage.inputs == tuple(reading.data.name for reading in inputs)
            both = InputRange(STREAM, 1, 2)
            await panel.publish("Heater/Both", 230.0, inputs=[both, inputs[0]], program=program, job="mean@1")
            await panel.flush()
            mean = await theirs.latest("Panel1/Heater/Both")
            assert mean is not None
            assert mean.reading is not None
            assert mean.reading.lineage == Lineage((inputs[0].data.name,), program, (both,), "mean@1")

    run(test)


def test_what_a_repo_refuses_is_told_with_the_rule(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roost.pubsub.panels.dispatch.REFUSALS", 1)
    keys = KeyStore(home()).keychain()

    def wrong_key(name: Name, now: int) -> Signer:
        """A repo's key for what a panel measures."""
        return keys.signer_for(Name.parse(f"{GROUP}/Repo/Repo1/seq=1") if name.starts_with(STREAM) else name, now)

    async def test() -> None:
        async with repo(), connect(signer=wrong_key) as face, face.group(GROUP).panel("Panel1") as panel:
            assert await panel.publish(STREAM, 230) == 1
            with pytest.raises(Refused, match=r"may not sign .*/Voltage/seq=1 \[rule #reading\]"):
                await panel.flush()
            ((name, reason),) = panel.refused()
            assert name == numbered(STREAM, 1)
            assert reason in caplog.text

    run(test)


def test_a_stream_that_the_schema_does_not_know_is_refused_before_it_has_a_number() -> None:
    async def test() -> None:
        async with reached() as (ours, _), ours.panel("Panel1") as panel:
            for stream in ("/".join(["Heater"] * 17), "Heater"):
                with pytest.raises(NoKey, match=r"2 to 16 parts below its panel here, .*cannot be signed by anyone"):
                    await panel.publish(stream, 1)
            assert panel.waiting == 0

    run(test)


@pytest.mark.parametrize("part", ["%2B", "a%23", "a%2Fb"])
def test_a_stream_that_no_filter_could_find_is_refused(part: str) -> None:
    async def test() -> None:
        async with reached() as (ours, _), ours.panel("Panel1") as panel:
            with pytest.raises(BadTopic, match="cannot be subscribed to by a filter"):
                await panel.publish(f"{GROUP}/Panel1/Heater/{part}", 1)
            assert panel.waiting == 0

    run(test)


def test_values_and_units_of_a_wrong_kind_are_refused_by_what_they_are() -> None:
    async def test() -> None:
        async with reached() as (ours, _), ours.panel("Panel1") as panel:
            for value, kind in (({}, "dict"), ([1], "list"), (None, "NoneType")):
                with pytest.raises(InvalidInput, match=f"a value is a number, text, bool or bytes, not {kind}"):
                    await panel.publish("Heater/Voltage", cast("Any", value))
            with pytest.raises(InvalidInput, match="a unit is text, not int"):
                await panel.publish("Heater/Voltage", 1, unit=cast("Any", 5))
            assert panel.waiting == 0

    run(test)


def test_more_copies_than_there_are_repos_are_waited_for_with_the_words_of_the_repo(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        async with reached() as (ours, _), ours.panel("Panel1", copies=5) as panel:
            await panel.publish("Heater/Voltage", 1)
            while "5 copies were asked for, 0 other repos" not in caplog.text:  # noqa: ASYNC110  a log has no event
                await asyncio.sleep(0.02)
            assert panel.waiting == 1

    caplog.set_level("WARNING")
    run(test)


def test_one_stream_is_read_at_a_time() -> None:
    async def test() -> None:
        async with reached() as (_, theirs):
            with pytest.raises(BadName, match="wildcards are for `subscribe`"):
                await theirs.latest("+/Heater/Voltage")
            with pytest.raises(BadName, match="wildcards are for `subscribe`"):
                await theirs.read("Panel1/#")

    run(test)


def test_who_asks_where_no_repo_is_hears_what_to_check() -> None:
    async def test() -> None:
        async with repo(), connect() as face:
            with pytest.raises(Unreachable, match=f"no repo of /Elsewhere/B/C can be reached over {face.where}: check"):
                await face.group("/Elsewhere/B/C").streams()

    run(test)


def test_a_panel_without_its_key_is_refused_with_what_to_do() -> None:
    async def test() -> None:
        async with repo(), connect() as face:
            with pytest.raises(NoKey, match="roost key make"):
                await face.group(GROUP).panel("Panel2")

    run(test)


def test_a_panel_publishes_its_own_streams_only() -> None:
    async def test() -> None:
        async with reached() as (ours, _), ours.panel("Panel1") as panel:
            with pytest.raises(InvalidInput, match="not a stream of"):
                await panel.publish(f"{GROUP}/Panel2/Heater/Voltage", 1)

    run(test)


def test_a_collector_publishes_for_a_module_that_only_answers() -> None:
    async def test() -> None:
        async with repo(), connect() as face, connect() as module:
            prefix = f"{GROUP}/Panel1/module"
            async with (
                module.serve(prefix, lambda interest: module.sign(numbered(interest.name, 1), b"21.5")),
                face.group(GROUP).panel("Panel1") as panel,
                face.group(GROUP).subscribe("Panel1/room1/#") as taking,
            ):
                await taking.subscribed()
                panel.collect(prefix, "room1", ["temp"], 100)
                reading = await anext(taking)
                assert reading.stream == panel.stream("room1/temp")
                assert reading.reading is not None
                assert reading.reading.payload == b"21.5"

    run(test)


def test_a_packet_that_comes_in_bulk_is_verified_and_kept() -> None:
    async def test() -> None:
        now = time.time_ns()
        listen, verifier = Listen(unix=home() / "node.sock"), KeyStore(home()).verifier(now)
        async with running_repo([duty()], listen, verifier, bulk=("127.0.0.1", 0)) as running, connect() as face:
            good = face.sign(numbered(STREAM, 1), Reading(now, TEXT, b"1").encode())
            _, writer = await asyncio.open_connection("127.0.0.1", running.bulk_port)
            writer.write(good.wire[:10])
            await writer.drain()
            writer.write(good.wire[10:] + good.wire.replace(b"Panel1", b"Panel2"))
            writer.write_eof()
            writer.close()
            group = face.group(GROUP)
            while not await group.streams():  # noqa: ASYNC110  nothing is answered
                await asyncio.sleep(0)
            assert list(await group.streams()) == [STREAM]
            assert [reading.number for reading in await group.read(STREAM)] == [1]

    run(test)


def test_the_same_without_await() -> None:
    def notebook() -> None:
        with connect_sync() as face:
            group = face.group(GROUP)
            with group.panel("Panel1") as panel:
                panel.describe("Heater/Voltage", unit="V")
                assert panel.publish("Heater/Voltage", 229.5, unit="V") == 1
                assert panel.publish_many([("Heater/Voltage", 230), ("Heater/Voltage", 231)]) == [2, 3]
                panel.flush()
            with group.panel("Panel1") as panel:
                assert panel.waiting == 0, "what was confirmed is not sent again"
            assert [reading.value for reading in group.read(STREAM, 2)] == [230, 231]
            newest = group.latest(STREAM)
            assert newest is not None
            assert newest.number == group.streams()[STREAM] == 3
            assert [description.unit for description in group.catalogue()] == ["V"]
            with group.subscribe(STREAM, since=1, name="notebook") as readings:
                assert [next(readings).number, next(readings).number] == [1, 2]
            with group.subscribe(STREAM, since=1, name="notebook") as readings:
                assert next(readings).number == 3
                assert readings.take(timeout_s=0.01) is None

    async def test() -> None:
        async with repo():
            await asyncio.to_thread(notebook)

    run(test)


def test_a_face_to_several_repos_is_asked_by_all_and_asks_the_first_that_answers(tmp_path: Path) -> None:
    async def test() -> None:
        verifier = KeyStore(home()).verifier(time.time_ns())
        gone = f"unix://{tmp_path / 'gone.sock'}"
        async with running_repo([duty()], Listen(unix=tmp_path / "there.sock"), verifier) as there:
            uris = [gone, *there.listening.uris]
            async with connect(uris) as face, connect(there.listening.uris[0]) as other:
                assert face.where == uris[1]
                async with face.group(GROUP).panel("Panel1") as panel:
                    await panel.publish(STREAM, 1)
                    await panel.flush()
                hello = f"{GROUP}/Panel1/hello/Panel/v=1/seg=0"
                async with face.serve(hello, lambda _: b"hello"):
                    assert (await other.fetch(hello)).content == b"hello"
                async for reading in face.group(GROUP).subscribe(since=1):
                    assert reading.number == 1
                    break

    run(test)


@pytest.mark.parametrize(
    ("since", "meant"),
    [
        (7, sequential().since(number=7)),
        ("90s", sequential().since(time_ns=1000 * SECOND - 90 * SECOND)),
        (timedelta(minutes=2), sequential().since(time_ns=880 * SECOND)),
        (datetime(2026, 5, 1, tzinfo=UTC), sequential().since(time_ns=1_777_593_600 * SECOND)),
        ("2026-05-01", sequential().since(time_ns=1_777_593_600 * SECOND)),
        ("2026-05-01T02:00:00+02:00", sequential().since(time_ns=1_777_593_600 * SECOND)),
        (None, sequential()),
    ],
    ids=["number", "text ago", "ago", "time", "day in UTC", "text", "nothing"],
)
def test_the_past_can_be_said_in_several_ways(since: datetime | timedelta | str | int | None, meant: object) -> None:
    assert chosen_policy("sequential", since, 1000 * SECOND) == meant


def test_a_policy_is_a_word_or_a_value() -> None:
    assert chosen_policy("sample(3)", None, 0) == chosen_policy(sample(3), None, 0)
    with pytest.raises(BadConfig, match="use sequential, latest or sample"):
        chosen_policy("newest", None, 0)
    with pytest.raises(BadConfig, match="no time"):
        chosen_policy("latest", "yesterday", 0)
    with pytest.raises(BadConfig, match="time zone"):
        chosen_policy("latest", datetime(2026, 5, 1), 0)  # noqa: DTZ001  that is what is refused


@pytest.mark.parametrize(
    ("since", "reason"),
    [
        ("99999999999999999999d", "the number 1 is all there are"),
        ("200000w", "before 1970"),
        ("0001-01-01", "before 1970"),
        (datetime(9999, 1, 1, tzinfo=UTC), "too far ahead"),
        (0, "numbered from 1 on"),
        (-3, "numbered from 1 on"),
        (1.5, "use 24h"),
    ],
)
def test_a_past_that_cannot_be_is_told(since: datetime | str | int, reason: str) -> None:
    with pytest.raises(BadConfig, match=reason):
        chosen_policy("sequential", since, 1_777_593_600 * SECOND)


def test_a_filter_that_begins_with_a_slash_is_told_what_it_is_relative_to() -> None:
    async def test() -> None:
        async with reached() as (ours, _):
            with pytest.raises(BadTopic, match="filters are relative to"):
                ours.subscribe(f"{GROUP}/+/#")

    run(test)
