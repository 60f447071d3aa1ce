"""The highest numbers of a group's streams, live, with repos in this process that keep everything in memory."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.loops import run

from roost.cli import main
from roost.errors import BadName, BadTopic, Disconnected, Unreachable
from roost.host import Face, Listen, connect, connect_sync
from roost.host.keystore import KeyStore
from roost.host.paths import home
from roost.host.repo import RunningRepo, duty_of, running_repo
from roost.host.watch import Selection, Watch
from roost.machine import SECOND, Effect
from roost.naming import Name
from roost.naming.building import Group, numbered
from roost.naming.topic import TopicFilter
from roost.pubsub.consumers.wishes import Wish
from roost.pubsub.repos.repo import RepoSettings
from roost.repo.catalogue import catalogue_of
from roost.repo.cause import INSERT
from roost.sync.subscriptions import NameRange
from roost.wire import Data
from roost.wire.reading import TEXT, Reading

GROUP = Name.parse("/BigCompany/Building1/Electricity")
PANEL = GROUP / "Panel1"
VOLTAGE = PANEL / "Heater" / "Voltage"
CURRENT = PANEL / "Heater" / "Current"
LIGHT = PANEL / "Lamp" / "Light"
BEGAN = 1_790_000_000 * SECOND


@pytest.fixture(autouse=True)
def building(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    assert main(["init", "--company", "BigCompany", "--building", "Building1"]) == 0


@contextlib.asynccontextmanager
async def repo(name: str = "Repo1", socket: str = "node.sock") -> AsyncIterator[RunningRepo]:
    """A repo by itself; it knows no others."""
    keys, now = KeyStore(home()), time.time_ns()
    duty = duty_of(keys, Group.at(GROUP).repo(name), None, RepoSettings(), now)
    async with running_repo([duty], Listen(unix=home() / socket), keys.verifier(now)) as running:
        yield running


async def insert(running: RunningRepo, face: Face, stream: Name, *numbers: int) -> None:
    """Have a repo keep readings, a second between two numbers; returns when they are kept."""
    for number in numbers:
        reading = Reading(BEGAN + number * SECOND, TEXT, b"1")
        await keep(running, face.sign(numbered(stream, number), reading.encode()))


async def keep(running: RunningRepo, packet: Data) -> None:
    """Have a repo keep a packet; returns when it is kept."""
    kept: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def then(refusal: str, now: int) -> list[Effect]:  # noqa: ARG001  its shape
        kept.set_result(refusal)
        return []

    machine = running.repos[0]
    running.act(machine, machine.insert(packet, INSERT, then, running.server.clock()))
    assert await kept == ""


async def risen(watch: Watch, stream: Name, number: int) -> dict[Name, int]:
    """The numbers, once a stream has this one."""
    while (numbers := watch.numbers()).get(stream, 0) < number:
        assert await watch.changed(20)
    return numbers


# -- which streams


@pytest.mark.parametrize(
    ("wishes", "covered"),
    [
        ((), (VOLTAGE, CURRENT, LIGHT)),
        ((TopicFilter("+/Heater/#"),), (VOLTAGE, CURRENT)),
        ((TopicFilter("+/+/Light"), VOLTAGE), (VOLTAGE, LIGHT)),
        ((PANEL / "Heater",), (VOLTAGE, CURRENT)),
        ((NameRange(CURRENT, VOLTAGE),), (VOLTAGE, CURRENT)),
        ((catalogue_of(PANEL), LIGHT), (LIGHT, catalogue_of(PANEL))),
        ((TopicFilter("Panel1/catalogue/#"),), (catalogue_of(PANEL),)),
        ((GROUP / "Repo",), (GROUP / "Repo" / "Repo1",)),
    ],
    ids=range(8),
)
def test_records_and_catalogues_are_watched_only_where_a_wish_begins_with_them(
    wishes: tuple[Wish, ...], covered: tuple[Name, ...]
) -> None:
    selection = Selection(GROUP, wishes)
    every = [VOLTAGE, CURRENT, LIGHT, catalogue_of(PANEL), GROUP / "Repo" / "Repo1"]
    assert {stream for stream in every if selection.covers(stream)} == set(covered)
    assert not selection.covers(Name.parse("/Elsewhere/Panel1/Heater/Voltage"))


# -- numbers


def test_numbers_are_live_and_new_streams_appear() -> None:
    async def test() -> None:
        async with repo() as running, connect() as face, face.group(GROUP).watch() as watch:
            assert await watch.ready()
            assert watch.numbers() == {}
            assert not await watch.changed(0)
            await insert(running, face, VOLTAGE, 1, 2, 3)
            assert await risen(watch, VOLTAGE, 3) == {VOLTAGE: 3}
            await insert(running, face, catalogue_of(PANEL), 1)
            await insert(running, face, LIGHT, 1)
            assert await risen(watch, LIGHT, 1) == {VOLTAGE: 3, LIGHT: 1}, "a catalogue is no measurement"
            await insert(running, face, VOLTAGE, 4)
            assert await watch.changed()
            assert await watch.changed(), "until they are looked at"
            assert watch.numbers() == {VOLTAGE: 4, LIGHT: 1}
            assert watch.part.member.hellos == 1
        with pytest.raises(Disconnected):
            await watch.changed()

    run(test)


def test_what_there_is_already_comes_with_the_first_answer_and_wishes_choose() -> None:
    async def test() -> None:
        async with repo() as running, connect() as face:
            for stream, number in ((VOLTAGE, 2), (CURRENT, 1), (LIGHT, 3), (catalogue_of(PANEL), 1)):
                await insert(running, face, stream, *range(1, number + 1))
            group = face.group(GROUP)
            for wishes, expected in (
                ((), {VOLTAGE: 2, CURRENT: 1, LIGHT: 3}),
                (("+/Heater/#",), {VOLTAGE: 2, CURRENT: 1}),
                (("Panel1/Lamp", str(VOLTAGE)), {VOLTAGE: 2, LIGHT: 3}),
                (("Panel1/catalogue",), {catalogue_of(PANEL): 1}),
            ):
                async with group.watch(*wishes) as watch:
                    assert await watch.ready(20)
                    assert watch.numbers() == expected
                    await insert(running, face, CURRENT, 1)  # is known
                    assert watch.turned_away == 0
            with pytest.raises(BadName, match="does not lie in the group"):
                await group.watch("/Elsewhere/Panel1")
            with pytest.raises(BadTopic):
                group.watch("/+/Heater")

    run(test)


def test_without_a_repo_nothing_is_ready(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.sync.psync_consumer.WORRY_HELLOS", 1)

    async def test() -> None:
        async with repo(), connect() as face, face.group("/Elsewhere/B/C").watch() as watch:
            assert not await watch.ready(0.01)
            while "no repo answers" not in caplog.text:
                assert not await watch.ready(0.05)

    run(test)


# -- holes and boundaries


def test_a_hole_is_there_until_it_is_filled() -> None:
    async def test() -> None:
        async with repo() as running, connect() as face, face.group(GROUP).watch("+/Heater/#") as watch:
            await insert(running, face, VOLTAGE, 1, 2, 5, 9)
            await insert(running, face, CURRENT, 1, 2)
            await insert(running, face, LIGHT, 3)
            await risen(watch, VOLTAGE, 9)
            await risen(watch, CURRENT, 2)
            assert await watch.holes() == {VOLTAGE: [(3, 4), (6, 8)]}
            await insert(running, face, VOLTAGE, 3, 4, 7)
            assert await watch.holes() == {VOLTAGE: [(6, 6), (8, 8)]}, "no cache has an old answer"
            await insert(running, face, VOLTAGE, 6, 8)
            assert await watch.holes() == {}
            assert watch.numbers() == watch.news() == {VOLTAGE: 9, CURRENT: 2}
            assert watch.news() == {}
            await insert(running, face, CURRENT, 3)
            await risen(watch, CURRENT, 3)
            assert watch.news() == {CURRENT: 3}

    run(test)


def test_boundaries_say_where_a_time_begins_in_every_watched_stream() -> None:
    async def test() -> None:
        async with repo() as running, connect() as face:
            await insert(running, face, VOLTAGE, 1, 2, 3)
            await insert(running, face, CURRENT, 1, 2)
            await insert(running, face, LIGHT, 1, 2, 3, 4)
            group = face.group(GROUP)
            async with group.watch() as watch:
                expected = {VOLTAGE: 3, CURRENT: 3, LIGHT: 3}
                assert await watch.boundaries(BEGAN + 3 * SECOND) == expected
            async with group.watch(NameRange(CURRENT, VOLTAGE)) as watch:
                assert await watch.boundaries(BEGAN + 2 * SECOND) == {VOLTAGE: 2, CURRENT: 2}
                assert await watch.holes() == {}
                assert await watch.boundaries(BEGAN + 9 * SECOND) == {VOLTAGE: 4, CURRENT: 3}

    run(test)


def test_pages_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.pubsub.repos.questions.MAX_LOOKED", 3)
    monkeypatch.setattr("roost.pubsub.repos.questions.PAGE", 3)

    async def test() -> None:
        async with repo() as running, connect() as face:
            streams = [PANEL / "Heater" / f"M{number}" for number in range(10)]
            for stream in streams:
                await insert(running, face, stream, 1, 3)
            async with face.group(GROUP).watch() as watch:
                assert await watch.ready()
                assert watch.numbers() == dict.fromkeys(streams, 3)
                assert await watch.holes() == {stream: [(2, 2)] for stream in streams}
                assert await watch.boundaries(BEGAN + SECOND) == dict.fromkeys(streams, 1)
            async with face.group(GROUP).watch(NameRange(streams[2], streams[6])) as watch:
                assert await watch.ready()
                assert list(await watch.holes()) == streams[2:7]
                assert list(await watch.boundaries(BEGAN)) == streams[2:7]

    run(test)


def test_times_of_a_long_run_take_few_questions_and_leave_out_what_is_not_there() -> None:
    async def test() -> None:
        async with repo() as running, connect() as face, face.group(GROUP).watch() as watch:
            there = [*range(1, 101), *range(301, 321)]
            await insert(running, face, VOLTAGE, *there)
            await insert(running, face, LIGHT, 1)
            await risen(watch, VOLTAGE, 320)
            questions = running.repos[0].questions
            before = questions.answered
            assert await watch.times(VOLTAGE, 3, 400) == {each: BEGAN + each * SECOND for each in there if each >= 3}
            assert questions.answered - before < 20
            assert await watch.times(VOLTAGE, 150, 250) == {}
            assert await watch.times(LIGHT, 2, 1) == {}

    run(test)


def test_a_reading_without_a_time_has_none_and_one_too_large_for_a_bundle_has() -> None:
    async def test() -> None:
        async with repo() as running, connect() as face, face.group(GROUP).watch() as watch:
            await insert(running, face, VOLTAGE, 1, 4)
            await keep(running, face.sign(numbered(VOLTAGE, 2), Reading(BEGAN, TEXT, b"x" * 7700).encode()))
            await keep(running, face.sign(numbered(VOLTAGE, 3), b"no reading"))
            await risen(watch, VOLTAGE, 4)
            expected = {1: BEGAN + SECOND, 2: BEGAN, 4: BEGAN + 4 * SECOND}
            assert await watch.times(VOLTAGE, 1, 4) == expected

    run(test)


def test_an_answer_that_cannot_be_read_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with repo() as running, connect() as face, face.group(GROUP).watch() as watch:
            await insert(running, face, VOLTAGE, 1, 3)
            await risen(watch, VOLTAGE, 3)
            with monkeypatch.context() as garbled:
                for encoder in ("encode_gapped", "encode_streams", "encode_bundle"):
                    garbled.setattr(f"roost.pubsub.repos.questions.{encoder}", lambda *_: b"\x01\x02garbled")
                for asking in (watch.holes(), watch.boundaries(BEGAN), watch.times(VOLTAGE, 1, 3)):
                    with pytest.raises(Unreachable, match="cannot be read"):
                        await asking
            assert await watch.holes() == {VOLTAGE: [(2, 2)]}

    run(test)


# -- fail-over


def test_numbers_stay_when_a_repo_that_knows_less_takes_over_and_what_it_lacks_is_a_hole() -> None:
    assert main(["keys", "make", f"{GROUP}/Repo/Repo2"]) == 0

    async def test() -> None:
        first, second = contextlib.AsyncExitStack(), contextlib.AsyncExitStack()
        async with first, second:
            one = await first.enter_async_context(repo("Repo1", "one.sock"))
            two = await second.enter_async_context(repo("Repo2", "two.sock"))
            uris = [f"unix://{home() / socket}" for socket in ("one.sock", "two.sock")]
            async with connect(uris) as face, face.group(GROUP).watch() as watch:
                await insert(one, face, VOLTAGE, 1, 2, 3, 4, 5)
                await insert(one, face, CURRENT, 1, 2)
                await insert(two, face, VOLTAGE, 1, 3)
                await insert(two, face, CURRENT, 1, 2)
                await risen(watch, VOLTAGE, 5)
                await risen(watch, CURRENT, 2)
                assert await watch.holes() == {}
                await first.aclose()
                await insert(two, face, LIGHT, 1)
                assert await risen(watch, LIGHT, 1) == {VOLTAGE: 5, CURRENT: 2, LIGHT: 1}
                assert await watch.holes() == {VOLTAGE: [(2, 2), (4, 5)]}
                await insert(two, face, VOLTAGE, 2, 4, 5)
                await insert(two, face, CURRENT, 3)
                assert await risen(watch, CURRENT, 3) == {VOLTAGE: 5, CURRENT: 3, LIGHT: 1}
                while await watch.holes():  # until its next answer says that it has caught up
                    assert watch.numbers()[VOLTAGE] == 5

    run(test)


# -- without await


def test_the_same_without_await() -> None:
    def driver() -> None:
        with connect_sync() as face, face.group(GROUP).watch("+/Heater/#") as watch:
            assert watch.ready(20)
            assert watch.numbers() == {VOLTAGE: 3}
            assert watch.holes() == {VOLTAGE: [(2, 2)]}
            assert watch.boundaries(BEGAN + 3 * SECOND) == {VOLTAGE: 2}, "what is missing may be of that time"
            assert watch.times(VOLTAGE, 1, 3) == {number: BEGAN + number * SECOND for number in (1, 3)}
            assert not watch.changed(0)
            with face.group(GROUP).panel("Panel1") as panel:
                panel.publish("Heater/Current", 1)
                panel.flush()
            while CURRENT not in watch.numbers():
                assert watch.changed(20)

    async def test() -> None:
        async with repo() as running, connect() as face:
            await insert(running, face, VOLTAGE, 1, 3)
            await asyncio.to_thread(driver)

    run(test)
