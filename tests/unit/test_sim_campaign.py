"""Campaigns, replays and `roost sim`: failures are found, counted, named with their seed, and told as a story."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from roost.cli import main
from roost.errors import BadConfig
from roost.sim import campaign
from roost.sim.campaign import MAX_FAILURES, Failure, Results
from roost.sim.families import built_in, find
from roost.sim.progress import Progress
from roost.sim.replay import Replay, how_to

FUSSY = "tests.sim.toys:fussy"
BROKEN = "tests.sim.toys:broken"
BUGGY = "tests.sim.toys:buggy"
DEADLY = "tests.sim.toys:deadly"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


# -- campaigns


def test_a_campaign_finds_the_seeds_that_fail() -> None:
    results = campaign.run([FUSSY], 1, 20)[FUSSY]
    assert results.runs == 20
    assert results.failures == [
        Failure(FUSSY, 7, "7 is divisible by 7"),
        Failure(FUSSY, 14, "14 is divisible by 7"),
    ]
    assert results.events > 18 * 20
    assert results.station_hours == pytest.approx(18 * 2 * 2 / 3600)


def test_a_campaign_over_two_processes_comes_to_the_same() -> None:
    assert campaign.run([FUSSY], 1, 20, jobs=2) == campaign.run([FUSSY], 1, 20)
    assert campaign.run([FUSSY], 1, 19)[FUSSY].checksum != campaign.run([FUSSY], 1, 20)[FUSSY].checksum


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_campaign_stops_when_enough_have_failed(jobs: int) -> None:
    results = campaign.run([BROKEN], 1, 5000, jobs)[BROKEN]
    assert len(results.failures) == MAX_FAILURES
    assert results.runs < 500
    assert results.failures[0].sentence.startswith("ZeroDivisionError: seed ")


def test_a_seed_that_kills_its_process_is_found() -> None:
    results = campaign.run([DEADLY], 1, 4, jobs=2)[DEADLY]
    assert results.runs == 4
    assert results.failures == [Failure(DEADLY, 3, "the process that ran it died")]
    assert results.checksum == campaign.run_seeds(DEADLY, [1, 2, 4]).checksum


def test_several_scenarios_follow_each_other() -> None:
    assert {name: len(each.failures) for name, each in campaign.run([FUSSY, BROKEN], 1, 7).items()} == {
        FUSSY: 1,
        BROKEN: 7,
    }


# -- progress


def test_a_terminal_gets_a_bar() -> None:
    terminal = Terminal()
    progress = Progress(terminal, 40, iter([0, 2, 5]).__next__)
    progress.show("x", Results(runs=20))
    progress.show("x", Results(runs=40, failures=[Failure("x", 3, "bad")]))
    bars = terminal.getvalue().split("\r\x1b[K")[1:]
    assert bars[0] == f"[{'█' * 15}{'·' * 15}] x 20/40, 2 s"
    assert bars[1] == f"[{'█' * 30}] x 40/40, 1 failed, 5 s\n"
    progress.end()
    assert terminal.getvalue().endswith("5 s\n"), "once is enough"


def test_a_bar_that_is_cut_short_stays_where_it_is() -> None:
    terminal = Terminal()
    progress = Progress(terminal, 40)
    progress.end()
    progress.show("x", Results(runs=20))
    progress.end()
    assert terminal.getvalue().count("\n") == 1
    assert terminal.getvalue().endswith("\n")


def test_a_file_gets_a_line_per_tenth_of_each_scenario() -> None:
    log = io.StringIO()
    progress = Progress(log, 100, lambda: 0.0)
    for runs in range(1, 101):
        progress.show("x", Results(runs=runs))
    progress.show("y", Results(runs=10))
    lines = log.getvalue().splitlines()
    assert lines == [*[f"x {runs}/100, 0 s" for runs in range(10, 101, 10)], "y 10/100, 0 s"]


# -- families


def test_families_are_found_by_themselves_and_ones_own_by_module_and_function() -> None:
    assert "forwarding" in built_in()
    assert [find(name).name for name in built_in()] == built_in()
    assert all(find(name).summary for name in built_in())
    assert find(FUSSY).summary == "Two stations that talk; every seventh seed is not good enough for it."


@pytest.mark.parametrize(
    "name", ["nothing", "tests.sim.toys:nothing", "no_such_module:x", ":x", "tests.sim.toys:START"]
)
def test_what_is_no_scenario_is_refused(name: str) -> None:
    with pytest.raises(BadConfig, match=name):
        find(name)


# -- replays


def test_a_replay_tells_what_happened_around_the_failure() -> None:
    replay = Replay(FUSSY, 7)
    assert replay.error is not None
    lines = list(replay.report(8))
    assert lines[0] == f"{FUSSY}, seed 7: Two stations that talk; every seventh seed is not good enough for it."
    assert lines[1].startswith("… ")
    assert [line for line in lines if '"ping 10"' in line] == ['     1.000000 s  a  "ping 10" (7 bytes) → b']
    assert not [line for line in lines if '"ping 12"' in line]
    assert lines[-3].endswith("lines after")
    assert lines[-1] == "violated: 7 is divisible by 7"


def test_a_replay_tells_what_the_seed_comes_to() -> None:
    family = find("sync")
    assert family.plan is not None
    assert next(Replay("sync", 10).report(1)) == f"sync, seed 10: {family.plan(10)}"


def test_a_replay_that_passes_tells_the_end_and_the_hash() -> None:
    replay = Replay(FUSSY, 8)
    assert replay.error is None
    lines = list(replay.report(8))
    assert '"ping 19"' in lines[-3]
    assert lines[-2] == f"2 stations, 2.000 s, 40 events, trace {find(FUSSY).run(8).trace.digest()}"
    assert lines[-1] == "every promise was kept"


def test_a_replay_shows_where_a_bug_is() -> None:
    for name, words in ((BUGGY, "b raised KeyError: 999"), (BROKEN, "ZeroDivisionError: seed 7")):
        lines = list(Replay(name, 7).report(8))
        assert any("toys.py" in line for line in lines)
        assert lines[-1] == f"violated: {words}"


def test_it_is_said_how_to_replay() -> None:
    assert how_to("forwarding", 7) == "replay with: make sim FAMILY=forwarding SEED=7"
    assert how_to(FUSSY, 7) == f"replay with: roost sim {FUSSY} --seed 7"


# -- the verb


def test_the_verb_runs_a_campaign_and_says_how_to_replay(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", FUSSY, "--runs", "10", "--jobs", "1"]) == 1
    said = capsys.readouterr()
    assert "seed 7: 7 is divisible by 7\n    replay with: roost sim tests.sim.toys:fussy --seed 7\n" in said.out
    assert "10 seeds from 1, " in said.out
    assert "\n  1 failed\n" in said.out
    assert "10/10, 1 failed, " in said.err


def test_the_verb_names_the_seeds_that_failed_before_it_was_interrupted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show = Progress.show

    def interrupted(progress: Progress, scenario: str, results: Results) -> None:
        show(progress, scenario, results)
        if results.runs == 9:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "show", interrupted)
    assert main(["sim", FUSSY, "--runs", "20", "--jobs", "1"]) == 130
    said = capsys.readouterr().out
    assert "9 of 20 seeds from 1, " in said
    assert "seed 7: 7 is divisible by 7" in said


def test_the_verb_is_content_when_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", FUSSY, "--runs", "6", "--jobs", "1"]) == 0
    assert "6 seeds from 1" in capsys.readouterr().out
    assert main(["sim", FUSSY, "--seed", "6", "--timeline", "3"]) == 0
    assert "every promise was kept" in capsys.readouterr().out


def test_the_verb_replays_one_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", FUSSY, "--seed", "7", "--timeline", "4"]) == 1
    assert "violated: 7 is divisible by 7" in capsys.readouterr().out


def test_the_verb_refuses_what_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "nothing"]) == 1
    assert main(["sim", FUSSY, "--runs", "0"]) == 1
    assert capsys.readouterr().err == (
        f"roost sim: nothing is no scenario; there are {', '.join(built_in())}, and module:function of your own\n"
        "roost sim: --runs and --jobs are 1 at least\n"
    )


def test_the_verb_finds_scenarios_where_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_own_scenario.py").write_text(
        "from roost import sim\n\n\ndef empty(seed: int) -> sim.World:\n    return sim.World(seed)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))  # what the verb adds to the path goes with the test
    assert main(["sim", "my_own_scenario:empty", "--runs", "3", "--jobs", "2"]) == 0
    assert "every promise was kept" in capsys.readouterr().out


def nothing(seed: int) -> None:
    """Forget to return the world."""


def test_a_scenario_that_returns_no_world_is_told_so() -> None:
    results = campaign.run_seeds(f"{__name__}:nothing", [5])
    assert [failure.seed for failure in results.failures] == [5]
    assert "a scenario returns its world" in results.failures[0].sentence
