"""What the demo counts, what it promises, and that a promise can be broken: what is told is measured."""

from __future__ import annotations

import asyncio
import io
import json
import os
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roost.cli.demo import campus, harm, processes
from roost.cli.demo.breaks import ACTIVE, READY, Break, Breaks, Unready
from roost.cli.demo.centre import definitions
from roost.cli.demo.hall import Hall
from roost.cli.demo.journal import KEPT, Journal
from roost.cli.demo.levels import Levels, PipelineProcess
from roost.cli.demo.playing import _break_all, judged
from roost.cli.demo.processes import NodeProcess, all_started, given_up
from roost.cli.demo.promises import PATIENCE_S, Measured, Promise
from roost.cli.demo.tally import Debt, Tally
from roost.errors import Disconnected, Refused, RoostError
from roost.process.definition import definition_of
from roost.sim import deployment
from roost.sim.physics import Climate

STREAM = deployment.streams("pi1")[0]


# -- counting


def test_a_tally_tells_new_from_twice_and_what_is_missing() -> None:
    tally: Tally[str] = Tally()
    assert [tally.take("a", number) for number in (1, 2, 4, 4, 2)] == [True, True, True, False, False]
    assert (tally.upto("a"), tally.count, tally.twice, tally.gaps) == (2, 3, 2, 1)
    assert (tally.lacks("a", 2), tally.lacks("a", 4), tally.lacks("a", 5), tally.lacks("b", 3)) == (0, 1, 2, 3)
    assert tally.take("a", 3)
    assert (tally.upto("a"), tally.count, tally.gaps, tally.upto("b")) == (4, 4, 0, 0)


def test_a_debt_is_stuck_only_while_nothing_of_it_comes() -> None:
    debt = Debt()
    debt.look(10, 100.0)
    assert debt.stuck_s(105.0) == 5.0
    debt.look(9, 106.0)
    assert debt.stuck_s(107.0) == 1.0
    debt.look(0, 108.0)
    assert (debt.missing, debt.stuck_s(200.0)) == (0, 0.0)


# -- processes


def test_who_is_stopped_while_it_starts_is_stopped_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "VERB", "print('starts', flush=True); import time; time.sleep(600)")

    class Slow(NodeProcess):
        async def start(self) -> None:
            await self._run()

    async def main() -> None:
        node = Slow("slow", tmp_path, 1)
        start = asyncio.create_task(all_started([node.start()]))
        async with asyncio.timeout(60):
            while not node.pid:  # noqa: ASYNC110  nobody tells
                await asyncio.sleep(0)
            pid = node.pid
            await given_up(start)
            await node.stop()
        assert start.cancelled()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    asyncio.run(main())


# -- promises


@pytest.mark.parametrize(
    ("found", "is_calm", "kept"),
    [
        (Measured(0, 0, 0.0, ""), True, True),
        (Measured(1, 0, 0.0, ""), True, False),
        (Measured(0, 5, PATIENCE_S / 2, ""), True, True),
        (Measured(0, 5, PATIENCE_S + 1, ""), True, False),
        (Measured(0, 5, PATIENCE_S + 1, ""), False, True),
    ],
)
def test_a_promise_is_broken_by_what_is_wrong_and_by_what_does_not_come(
    found: Measured, is_calm: bool, kept: bool
) -> None:
    assert Promise("p", "text", lambda: found).told(is_calm=is_calm)["kept"] is kept


def test_at_the_end_nothing_may_be_missing() -> None:
    assert Promise("p", "text", lambda: Measured(0, 0, 0.0, "all")).verdict() == (True, "all")
    assert Promise("p", "text", lambda: Measured(0, 1, 0.0, "one")).verdict() == (False, "one")


# -- what is told


def test_programs_are_told_each_step_and_the_verdict_as_fields() -> None:
    out = io.StringIO()
    journal = Journal(out, as_json=True)
    journal.say("page", "http://127.0.0.1:8080  (the whole campus)")
    journal.conclude(kept=True)  # nothing was judged, so there is no verdict
    journal.say("kept", "mqtt: every acknowledged MQTT message reaches the dashboard: 5 sent")
    journal.say("BROKEN", "disks: repo1 lacks 1")
    journal.say("unchecked", "windows, lineage: NOT CHECKED, there was no pipeline: no Java")
    journal.conclude(kept=False)
    page, *told, verdict = [json.loads(line) for line in out.getvalue().splitlines()]
    assert (page["what"], page["text"]) == ("page", "http://127.0.0.1:8080  (the whole campus)")
    assert [(each["promises"], each["kept"]) for each in told] == [
        (["mqtt"], True),
        (["disks"], False),
        (["windows", "lineage"], None),
    ]
    promises = {"mqtt": True, "disks": False, "windows": None, "lineage": None}
    assert verdict == {"what": "verdict", "kept": False, "promises": promises}
    assert [step["what"] for step in journal.steps] == ["page", "kept", "BROKEN", "unchecked"]


# -- a consumer that misses something


class World:
    """A hall whose panels published five rounds, of which a consumer gets what a test says."""

    def __init__(self) -> None:
        self.hall = Hall(Climate(["room1"], 1))
        self.journal = Journal(io.StringIO())
        for said in self.hall._said.values():
            said.update({number: float(number) for number in range(1, 6)})
        self.hall.rounds = 5
        self.hall.safe.update(dict.fromkeys(deployment.all_streams(), 5))

    def give(self, *, without: int = 0, twice: int = 0, altered: int = 0) -> None:
        for stream in deployment.all_streams():
            for number in range(1, 6):
                if stream == STREAM and number == without:
                    continue
                value = 99.0 if stream == STREAM and number == altered else float(number)
                arrival: Any = SimpleNamespace(stream=stream, number=number, value=value, lateness_ns=1)
                for _ in range(2 if stream == STREAM and number == twice else 1):
                    self.hall.take(arrival)

    def judge(self, *, disks: bool = True) -> tuple[bool, str]:
        async def settle() -> None:
            return None

        async def looked() -> tuple[bool, str]:
            return disks, "disks"

        campus: Any = SimpleNamespace(
            journal=self.journal,
            levels=None,
            unchecked="no Java",
            settle=settle,
            disks=looked,
            breaks=SimpleNamespace(all={}),
            promises=[Promise("once-in-order", "exactly once and in order", self.hall.measured)],
        )
        kept = asyncio.run(judged(campus))
        return kept, " ".join(str(step["what"]) for step in self.journal.steps)


def test_a_run_in_which_everything_came_is_judged_well() -> None:
    world = World()
    world.give()
    assert world.judge() == (True, "kept kept unchecked done")


def test_what_was_consumed_before_it_was_acknowledged_is_counted_apart() -> None:
    world = World()
    world.give()
    whole = 5 * len(world.hall.safe)
    assert f"{whole} readings consumed of {whole} acknowledged by a repo, 0 out" in world.hall.measured().detail
    assert "not acknowledged" not in world.hall.measured().detail
    world.hall.safe[STREAM] = 2
    detail = world.hall.measured().detail
    assert f"{whole - 3} readings consumed of {whole - 3} acknowledged by a repo, 0 out" in detail
    assert detail.endswith("0 on their way, and 3 more consumed that are not acknowledged yet")


@pytest.mark.parametrize("fault", [{"without": 3}, {"without": 5}, {"twice": 2}, {"altered": 4}])
def test_a_consumer_that_misses_one_reading_or_gets_it_twice_or_altered_fails_the_run(fault: dict[str, int]) -> None:
    world = World()
    world.give(**fault)
    assert world.judge() == (False, "BROKEN kept unchecked FAILED")


def test_a_disk_that_lacks_a_reading_fails_the_run() -> None:
    world = World()
    world.give()
    assert world.judge(disks=False) == (False, "kept BROKEN unchecked FAILED")


# -- a pipeline that dies, or says nothing after what was broken


class Pipeline:
    """What the campus of a run with a check has of one: its windows, and how it ended."""

    def __init__(self) -> None:
        self.journal = Journal(io.StringIO())
        self.levels = Levels(self.journal.say, self._check)
        self.dies_of = ""

    def window(self, begin_ns: int, received: int = 60, expected: int = 60) -> None:
        arrival: Any = SimpleNamespace(event_time=begin_ns, data=SimpleNamespace(name=f"seq={begin_ns}"))
        self.levels.take(arrival, received, expected)

    async def results(self, over_ns: int) -> tuple[bool, str]:
        keys: Any = None
        place: Any = SimpleNamespace(
            levels=self.levels, breaks=SimpleNamespace(over_ns=over_ns), _keys=keys, repos=[], journal=self.journal
        )
        return await campus.Campus.results(place)

    def _check(self) -> None:
        if self.dies_of:
            raise RoostError(self.dies_of)


def test_a_pipeline_that_died_breaks_its_promise_and_is_told_once() -> None:
    pipeline = Pipeline()
    promise = Promise("windows", "whole", pipeline.levels.measured)
    pipeline.window(1)
    assert promise.told()["kept"] is True
    assert promise.verdict()[0] is True
    pipeline.dies_of = "the pipeline has ended by itself, with status 137"
    assert promise.told()["kept"] is False
    assert promise.told(is_calm=False)["kept"] is False
    kept, detail = promise.verdict()
    assert not kept
    assert detail.endswith("0 not yet; the pipeline has ended by itself, with status 137")
    assert [(step["what"], step["text"]) for step in pipeline.journal.steps] == [("FAILED", pipeline.dies_of)]


def test_a_process_that_is_killed_is_found_to_have_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from roost.cli.demo import levels

    monkeypatch.setattr(
        levels, "VERB", "import signal, sys; print('runs', file=sys.stderr, flush=True); signal.pause()"
    )
    keys: Any = SimpleNamespace(save=lambda *_: None)

    async def story() -> None:
        heard = asyncio.Event()
        process = PipelineProcess(keys, tmp_path, tmp_path, [], lambda *_: heard.set())
        await process.start()
        await heard.wait()
        process.check()
        found = process._process
        assert found is not None
        found.kill()
        await found.wait()
        with pytest.raises(RoostError, match="ended by itself, with status -9"):
            process.check()
        await process.stop()
        process.check()  # who was stopped has not ended by itself

    asyncio.run(story())


def test_windows_from_before_the_last_break_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = Pipeline()
    for begin in (10, 20, 30):
        pipeline.window(begin)

    async def traced(_keys: object, newest: Any, _repos: object) -> tuple[bool, str]:  # noqa: ANN401  as above
        return True, str(newest.data.name)

    monkeypatch.setattr(campus, "traced", traced)

    async def story() -> None:
        assert await pipeline.results(over_ns=30) == (True, "seq=30")
        waiting = asyncio.create_task(pipeline.results(over_ns=31))
        pipeline.window(40, received=59)
        pipeline.window(25)  # one that was late
        await asyncio.sleep(0)  # in which it would end, for nothing here makes it wait
        await asyncio.sleep(0)
        assert not waiting.done()
        pipeline.window(40)
        assert await waiting == (True, "seq=40")
        pipeline.dies_of = "status 1"
        assert await pipeline.results(over_ns=41) == (False, "status 1")

    asyncio.run(story())


# -- breaking


def test_without_a_pipeline_the_verdict_says_what_was_not_checked() -> None:
    world = World()
    world.give()
    world.judge()
    *_, unchecked, done = [str(step["text"]) for step in world.journal.steps]
    assert unchecked == "windows, lineage: NOT CHECKED, there was no pipeline: no Java"
    assert done == "kept, but not checked: windows, lineage"


def test_only_a_refusal_counts_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    async def judged(refusal: str) -> None:
        told.append(refusal)

    async def forge(error: RoostError) -> None:
        @asynccontextmanager
        async def connected(*_: object, **__: object) -> AsyncIterator[Any]:
            def group(_name: object) -> object:
                raise error

            yield SimpleNamespace(group=group)

        monkeypatch.setattr(harm, "connect", connected)
        keys: Any = SimpleNamespace(identities=defaultdict(lambda: SimpleNamespace(signer=None)), verifier=lambda: None)
        await harm.Forge(Journal(io.StringIO()), keys, [], judged).harm()

    asyncio.run(forge(Refused("rule 7", 403)))
    with pytest.raises(Disconnected):
        asyncio.run(forge(Disconnected("no repo is there")))
    assert told == ["rule 7"] * 3


class Cup(Break):
    """Something that breaks and can be mended."""

    id, title, text = "cup", "A cup", "falls"

    async def harm(self) -> str:
        return "in pieces"

    async def heal(self) -> str:
        return "glued"

    async def whole(self) -> str:
        return "holds water"


def test_what_is_broken_is_mended_on_demand_and_one_thing_at_a_time() -> None:
    async def story() -> list[str]:
        journal = Journal(io.StringIO())
        cup = Cup(journal, 60.0)
        breaks = Breaks([cup])
        with pytest.raises(Unready, match="nothing is broken"):
            cup.mend()
        task = breaks.begin("cup")
        assert not breaks.is_calm
        await asyncio.sleep(0)
        with pytest.raises(Unready, match="one thing at a time"):
            breaks.begin("cup")
        assert cup.told()["state"] == ACTIVE
        cup.mend()
        await task
        assert (cup.told()["state"], cup.done, cup.failed) == (READY, 1, 0)
        return [str(step["what"]) for step in journal.steps]

    assert asyncio.run(story()) == ["BREAK", "mend", "whole"]


def test_a_run_that_checks_waits_until_what_somebody_else_broke_is_whole() -> None:
    class Glass(Cup):
        id = "glass"

    async def story() -> None:
        journal = Journal(io.StringIO())
        cup, glass = Cup(journal, 60.0), Glass(journal, 0.0)
        breaks = Breaks([glass, cup])
        somebody = breaks.begin("cup")
        place: Any = SimpleNamespace(breaks=breaks)
        checking = asyncio.create_task(_break_all(place, 0.0))
        while cup.done < 2:
            await asyncio.sleep(0)
            if cup.state == ACTIVE and cup.does:
                assert (glass.done, checking.done()) == (cup.done, False)
                cup.mend()
        await asyncio.gather(somebody, checking)
        assert (glass.done, cup.done, breaks.is_calm) == (1, 2, True)
        assert breaks.over_ns == cup.over_ns >= glass.over_ns > 0

    asyncio.run(asyncio.wait_for(story(), 60))


def test_what_cannot_be_mended_is_told_and_counted() -> None:
    class Lost(Cup):
        async def heal(self) -> str:
            raise OSError("no glue")

    async def story() -> tuple[int, int, str]:
        cup = Lost(Journal(io.StringIO()), 0.0)
        await Breaks([cup]).begin("cup")
        return cup.done, cup.failed, cup.does

    assert asyncio.run(story()) == (0, 1, "A cup: no glue")


def test_the_journal_keeps_the_last_steps_and_prints_all() -> None:
    output = io.StringIO()
    journal = Journal(output)
    for number in range(KEPT + 5):
        journal.say("step", str(number))
    assert len(journal.steps) == KEPT
    assert output.getvalue().count("\n") == KEPT + 5


def test_each_macro_of_the_campus_loads_and_refers_to_what_there_is() -> None:
    from roost.cli._macro_file import check

    said = definitions()
    found = check([definition_of(each) for each in said])
    assert len(found) == len(said) == 3 + len(deployment.annex_topics())
    assert found["hall/rooms/average"] == [f"Campus/Hall/Env/pi1/room{number}/temp" for number in (1, 2, 3)]
