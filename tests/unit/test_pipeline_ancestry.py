"""Lineage checked back to raw readings, with repos in this process: what is there, missing, dropped and refused."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

import pytest
from tests.loops import run

from roost.cli import main
from roost.errors import InvalidInput, Unreachable
from roost.host import Face, Listen, connect
from roost.host.keystore import KeyStore
from roost.host.paths import home, node_socket
from roost.host.repo import RunningRepo, duty_of, running_repo
from roost.machine import Effect
from roost.naming import Name
from roost.naming.building import Group, numbered
from roost.pipeline.ancestry import trace
from roost.pipeline.ancestry_report import Ancestry, Maker
from roost.pipeline.virtual import VirtualPanel
from roost.pipeline.virtual_rows import VirtualRow
from roost.pubsub.orders import Outcome
from roost.pubsub.repos.repo import RepoSettings
from roost.repo.cause import REPLICATION
from roost.trust import KeyChain
from roost.wire import Data, Interest, make_data
from roost.wire.digest import DigestSigner
from roost.wire.lineage import InputRange
from roost.wire.reading import TEXT, Reading

ELECTRICITY, ENERGY = (Name.parse(f"/BigCompany/Building1/{system}") for system in ("Electricity", "Energy"))
VOLTAGE, CURRENT = (ELECTRICITY / "Panel1" / "Heater" / metric for metric in ("Voltage", "Current"))
MINUTES, HOURS = (ENERGY / "Meter" / "Heater" / metric for metric in ("Minute", "Hour"))
STAGES = {"Minute": Maker("energy/minute@1", b"\1" * 32), "Hour": Maker("energy/hour@2", b"\2" * 32)}


@pytest.fixture(scope="module")
def made_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with keys, made once: what is published stays in memory."""
    folder = tmp_path_factory.mktemp("building")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setenv("ROOST_HOME", str(folder / "roost"))
        assert main(["init", "--company", "BigCompany", "--building", "Building1"]) == 0
        for key in (ENERGY, ENERGY / "Repo" / "Repo1", ENERGY / "Meter"):
            assert main(["keys", "make", str(key)]) == 0
    return folder


@pytest.fixture(autouse=True)
def building(monkeypatch: pytest.MonkeyPatch, made_home: Path) -> None:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(made_home))
    monkeypatch.setenv("ROOST_HOME", str(made_home / "roost"))


@cache
def keys_at(folder: Path) -> KeyChain:
    return KeyStore(folder).keychain()


@contextlib.asynccontextmanager
async def repo() -> AsyncIterator[tuple[RunningRepo, Face]]:
    keys, now = KeyStore(home()), time.time_ns()
    places = [Group.at(group).repo("Repo1") for group in (ELECTRICITY, ENERGY)]
    duties = [duty_of(keys, place, None, RepoSettings(), now) for place in places]
    async with running_repo(duties, Listen(unix=node_socket()), keys.verifier(now)) as running, connect() as face:
        yield running, face


async def publish_raw(face: Face) -> None:
    async with face.group(ELECTRICITY).panel("Panel1", durable=False) as panel:
        await panel.publish_many([(stream, number) for number in range(1, 7) for stream in (VOLTAGE, CURRENT)])
        await panel.flush()


async def compute(face: Face, metric: str, *results: tuple[InputRange, ...]) -> None:
    """Publish what a stage makes of some inputs, as a pipeline does."""
    keys, now = keys_at(home()), time.time_ns()
    job, program = STAGES[metric]
    place = Group.at(ENERGY).panel("Meter")
    maker = VirtualPanel(place, lambda name: keys.signer_for(name, now), job=job, program=program)
    rows = [
        VirtualRow(f"Heater/{metric}", number, 10**18, number * 1.5, inputs)
        for number, inputs in enumerate(results, start=1)
    ]
    async with face.group(ENERGY).inserter("Meter") as inserter:
        assert await inserter.insert([maker.packet(row) for row in rows]) == Outcome(kept=len(rows))


async def compute_all(face: Face) -> None:
    """Three minutes of two streams each, an hour of three minutes."""
    await publish_raw(face)
    minutes = [tuple(InputRange(each, low, low + 1) for each in (VOLTAGE, CURRENT)) for low in (1, 3, 5)]
    await compute(face, "Minute", *minutes)
    await compute(face, "Hour", (InputRange(MINUTES, 1, 3),))


def summary(ancestry: Ancestry) -> list[list[tuple[Name, int, int, int]]]:
    return [
        [(each.inputs.stream, each.inputs.low, each.inputs.high, each.verified) for each in level]
        for level in ancestry.levels
    ]


def test_an_hour_leads_back_over_its_minutes_to_raw_readings() -> None:
    async def test() -> None:
        async with repo() as (_, face):
            await compute_all(face)
            ancestry = await trace(face, numbered(HOURS, 1))
            assert summary(ancestry) == [
                [(HOURS, 1, 1, 1)],
                [(MINUTES, 1, 3, 3)],
                [(CURRENT, 1, 6, 6), (VOLTAGE, 1, 6, 6)],
            ]
            hour, minute, raw = (level[0] for level in ancestry.levels)
            assert (hour.makers, minute.makers, raw.makers) == ((STAGES["Hour"],), (STAGES["Minute"],), ())
            assert (minute.signers, raw.signers) == ((ENERGY / "Meter",), (ELECTRICITY / "Panel1",))
            assert (hour.raw, minute.raw, raw.raw, ancestry.raw) == (0, 0, 6, 12)
            assert ancestry.is_whole
            assert ancestry.is_sound
            assert "12 raw readings, and all that it comes from is there and verified" in ancestry.text()
            assert "made by energy/minute@1, SHA-256 0101" in ancestry.text()

    run(test)


def test_a_raw_reading_comes_from_nothing_and_what_is_no_reading_is_told() -> None:
    async def test() -> None:
        async with repo() as (_, face):
            await publish_raw(face)
            ancestry = await trace(face, numbered(VOLTAGE, 1))
            assert summary(ancestry) == [[(VOLTAGE, 1, 1, 1)]]
            assert ancestry.raw == 1
            assert ancestry.is_whole
            with pytest.raises(InvalidInput, match="seq="):
                await trace(face, VOLTAGE)

    run(test)


def test_what_is_missing_or_dropped_is_told() -> None:
    async def test() -> None:
        async with repo() as (running, face):
            await publish_raw(face)
            await compute(face, "Minute", (InputRange(VOLTAGE, 1, 8), InputRange(CURRENT, 1, 2)))
            machine = running.repos[0]
            gone = asyncio.Event()

            def then(_refusals: list[str], _now: int) -> list[Effect]:
                gone.set()
                return []

            drop = machine.shelf.drop([numbered(CURRENT, 1)], then, time.time_ns(), cause=REPLICATION)
            running.act(machine, drop)
            await gone.wait()
            ancestry = await trace(face, numbered(MINUTES, 1))
            current, voltage = ancestry.levels[1]
            assert (current.dropped, current.missing, current.verified) == (1, (), 1)
            assert (voltage.dropped, voltage.missing, voltage.verified) == (0, (7, 8), 6)
            assert not ancestry.is_whole
            assert not ancestry.is_sound
            assert "2 missing: 7 8" in ancestry.text()
            assert "1 dropped by retention" in ancestry.text()

    run(test)


def test_a_forged_input_is_refused_and_the_others_are_not() -> None:
    fake = Name.parse("/BigCompany/Building1/Fake/Panel1/Heater/Voltage")

    async def test() -> None:
        async with repo() as (_, face), connect() as forger:
            await publish_raw(face)
            forged = make_data(numbered(fake, 1), Reading(1, TEXT, b"1").encode(), DigestSigner())

            def answer(interest: Interest) -> Data | None:
                return forged if interest.name == forged.name else None

            async with forger.serve(fake, answer):
                await compute(face, "Minute", (InputRange(fake, 1, 1), InputRange(VOLTAGE, 1, 2)))
                ancestry = await trace(face, numbered(MINUTES, 1))
            lie, voltage = ancestry.levels[1]
            assert voltage.verified == 2
            assert lie.verified == 0
            ((number, reason),) = lie.refused
            assert number == 1
            assert "rule" in reason
            assert not ancestry.is_sound
            assert "1 refused: " in ancestry.text()

    run(test)


def test_the_way_back_ends_where_it_was_told_to() -> None:
    async def test() -> None:
        async with repo() as (_, face):
            await compute_all(face)
            shallow = await trace(face, numbered(HOURS, 1), max_depth=1)
            assert [len(level) for level in shallow.levels] == [1, 1]
            few = await trace(face, numbered(HOURS, 1), max_readings=6)
            assert summary(few) == [[(HOURS, 1, 1, 1)], [(MINUTES, 1, 3, 3)], [(CURRENT, 1, 2, 2)]]
            for ancestry in (shallow, few):
                assert ancestry.is_cut
                assert ancestry.is_sound
                assert not ancestry.is_whole
            assert "so far" in few.text()

    run(test)


def test_inputs_too_many_to_be_named_are_counted() -> None:
    async def test() -> None:
        async with repo() as (_, face):
            await compute(face, "Minute", tuple(InputRange(VOLTAGE, number, number) for number in range(1, 600, 2)))
            ancestry = await trace(face, numbered(MINUTES, 1))
            assert ancestry.levels[0][0].unnamed == 300
            assert not ancestry.is_whole
            assert "300 inputs are too many to be named" in ancestry.text()

    run(test)


def test_a_reading_that_is_made_from_itself_is_asked_for_once() -> None:
    async def test() -> None:
        async with repo() as (_, face):
            await compute(face, "Minute", (InputRange(MINUTES, 1, 2),), (InputRange(MINUTES, 1, 2),))
            ancestry = await trace(face, numbered(MINUTES, 1))
            assert summary(ancestry) == [[(MINUTES, 1, 1, 1)], [(MINUTES, 2, 2, 1)]]

    run(test)


def test_the_verb_shows_it_and_its_status_says_whether_something_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    async def test() -> None:
        async with repo() as (_, face):
            await publish_raw(face)
            await compute(face, "Minute", (InputRange(VOLTAGE, 1, 2),), (InputRange(VOLTAGE, 6, 7),))
            capsys.readouterr()
            assert await asyncio.to_thread(main, ["lineage", str(numbered(MINUTES, 1))]) == 0
            assert "leads back to 2 raw readings, and all" in capsys.readouterr().out
            assert await asyncio.to_thread(main, ["lineage", str(numbered(MINUTES, 2))]) == 1
            assert "1 missing: 7" in capsys.readouterr().out
            assert await asyncio.to_thread(main, ["lineage", str(numbered(MINUTES, 1)), "--max", "0"]) == 1
            assert "--max at least 1" in capsys.readouterr().err

    run(test)


def test_the_verb_says_what_there_is_instead_of_a_reading_that_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    async def test() -> None:
        async with repo() as (_, face):
            await publish_raw(face)
            capsys.readouterr()

            async def asked(name: Name) -> str:
                assert await asyncio.to_thread(main, ["lineage", str(name)]) == 1
                return capsys.readouterr().err

            assert f"there is no reading 300 of {VOLTAGE}: its readings are 1 to 6" in await asked(
                numbered(VOLTAGE, 300)
            )
            misspelt = ELECTRICITY / "Panel1" / "Heater" / "Volts"
            said = await asked(numbered(misspelt, 1))
            assert f"there is no stream {misspelt} in the group {ELECTRICITY}" in said
            assert f"such as {VOLTAGE}" in said
            assert f"no stream {HOURS} in the group {ENERGY}: it has none" in await asked(numbered(HOURS, 1))
            nowhere = Name.parse("/BigCompany/Building1/Enrgy/Meter/Heater/Hour")
            assert "no repo of /BigCompany/Building1/Enrgy can be reached" in await asked(numbered(nowhere, 1))

    run(test)


def test_a_reading_that_nobody_has_is_an_error() -> None:
    async def test() -> None:
        async with connect() as face:
            with pytest.raises(Unreachable):
                await trace(face, numbered(HOURS, 1))

    run(test)
