"""`roost sync` as a process: what it says, how it stops, how it fails."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.verbs import RUN, background, environment_of, roost

from roost.cli import main
from roost.host import residence

NODE = ["node", "--no-tcp", "--no-udp", "--no-ws"]
BUILDING = "/BigCompany/Building1/Electricity"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return environment_of(tmp_path)


class Sync:
    """A `roost sync` that has joined."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.said = process.stdout
        self.noted = process.stderr
        self._process = process

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Stop it; its status, and what it said and noted since."""
        self._process.send_signal(number)
        said, noted = self._process.communicate(timeout=30)
        return self._process.returncode, said, noted


@contextmanager
def sync(environment: dict[str, str], *arguments: str, until: str = "joined") -> Iterator[Sync]:
    command = [*RUN, "sync", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        running = Sync(process)
        try:
            assert running.noted.readline().startswith(until)
            yield running
        finally:
            process.kill()


@pytest.mark.parametrize("protocol", ["svs3", "psync"])
def test_listeners_hear_one_who_announces_and_goes_on_after_a_restart(
    environment: dict[str, str], protocol: str
) -> None:
    group = ["/demo/group", "--accept-any", "--protocol", protocol]
    with (
        background(environment, *NODE, until="ready"),
        sync(environment, *group) as one,
        sync(environment, *group) as other,
    ):
        for first, number in ((1, 3), (4, 1)):
            announced = ["--produce", "/me", "--announce", str(number)]
            with sync(environment, *group, *announced) as announcing:
                last = first + number - 1
                assert announcing.said.readline() == f"announced /me {first} to {last}\n"
                for listening in (one, other):
                    words = listening.said.readline().split()
                    assert words[0] == "learned"
                    assert words[1].startswith("/me")
                    assert words[2:] == [str(first), "to", str(last)]
                assert announcing.stop() == (0, "", "")
        assert one.stop(signal.SIGINT) == (0, "", "")
        assert other.stop(signal.SIGTERM) == (0, "", "")


def test_it_leaves_when_its_time_is_over_and_says_where_a_stream_goes_on(environment: dict[str, str]) -> None:
    with background(environment, *NODE, until="ready"):
        done = roost(environment, "sync", "/g", "--accept-any", "--produce", "/me", "--seconds", "0.1")
        assert (done.returncode, done.stdout) == (0, b"")
        joined, goes_on = done.stderr.decode().splitlines()
        assert joined.startswith("joined /g by svs3 over unix://")
        assert goes_on == "/me goes on with 1"


def test_two_who_produce_need_two_folders(environment: dict[str, str], tmp_path: Path) -> None:
    producing = ["/g", "--accept-any", "--produce", "/me"]
    with background(environment, *NODE, until="ready"), sync(environment, *producing):
        refused = roost(environment, "sync", *producing)
        assert refused.returncode == 1
        assert b"is in use: another program" in refused.stderr
        with sync(environment, *producing, "--folder", str(tmp_path / "other")) as second:
            assert second.stop()[0] == 0
    assert list((tmp_path / "other").iterdir())


def test_who_is_not_believed_is_named_on_the_terminal(environment: dict[str, str]) -> None:
    assert roost(environment, "init", "--company", "BigCompany", "--building", "Building1").returncode == 0
    with background(environment, *NODE, until="ready"), sync(environment, BUILDING) as believing:
        stranger = [BUILDING, "--digest", "--accept-any", "--produce", "/me", "--announce", "1"]
        with sync(environment, *stranger):
            assert believing.noted.readline().startswith(f"refused a packet of {BUILDING}: ")
        assert believing.stop()[:2] == (0, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-slash", "--accept-any"], "a name starts with '/'"),
        (["/g", "--accept-any", "--produce", "me"], "a name starts with '/'"),
        (["/g", "--accept-any", "--protocol", "svs4"], "use one of svs3, svs2, psync, psync-adaptive, psync-partial"),
        (["/g", "--accept-any", "--protocol", "psync-partial"], "add --produce STREAM"),
        (["/g", "--accept-any", "--announce", "1"], "--announce needs --produce STREAM"),
        (["/g", "--accept-any", "--produce", "/me", "--announce", "0"], "--announce is at least 1"),
        (["/g", "--accept-any", "--seconds", "0"], "--seconds is more than 0"),
        (["/g", "--accept-any", "--seconds", "nan"], "--seconds is more than 0"),
        (["/g", "--accept-any", "--at", "carrier-pigeon://x"], "write unix:///path"),
        (["/g"], "no trust is configured in "),
        (["/g"], "run `roost init` or, for what another machine trusts, `roost init --join`, or add --accept-any"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environment_of(tmp_path).items():
        monkeypatch.setenv(name, value)
    assert main(["sync", *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("roost sync: ")
    assert said in err
    assert err.count("\n") == 1


def test_a_forwarder_that_does_not_answer_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment_of(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(residence, "REGISTER_S", 0.05)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "silent"))
        silent.listen()
        assert main(["sync", "/g", "--accept-any", "--seconds", "9", "--at", f"unix://{tmp_path / 'silent'}"]) == 1
    assert "/g is not registered with unix://" in capsys.readouterr().err


def test_without_a_node_it_says_how_to_start_one(environment: dict[str, str]) -> None:
    failed = roost(environment, "sync", "/g", "--accept-any")
    assert failed.returncode == 1
    waited, said = failed.stderr.decode().splitlines()
    assert waited.startswith("no node is running here yet; waiting 2 s for ")
    advice = (
        "start one with `roost up`, `roost repo` or `roost node`, or name a forwarder with --at or NDN_CLIENT_TRANSPORT"
    )
    assert said.endswith(advice)


def test_who_stops_waiting_for_a_node_gets_no_traceback(environment: dict[str, str]) -> None:
    with sync(environment, "/g", "--accept-any", until="no node is running here yet") as waiting:
        assert waiting.stop(signal.SIGINT) == (0, "", "")
