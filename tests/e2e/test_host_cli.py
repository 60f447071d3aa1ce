"""`roost node`, `serve`, `fetch` and `doctor` as processes: what they print, how they stop, how they fail."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.verbs import RUN, background, environment_of, roost

NODE = ["node", "--tcp", ":0", "--udp", ":0", "--ws", ":0"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return environment_of(tmp_path)


def test_a_node_serves_and_stops_cleanly(environment: dict[str, str], tmp_path: Path) -> None:
    content = b"twenty-one degrees\n" * 5000
    (tmp_path / "file").write_bytes(content)
    with background(environment, *NODE, until="ready") as lines:
        assert [line.split("://")[0] for line in lines[:-1]] == [
            f"listening on {s}" for s in ("unix", "tcp4", "udp4", "ws")
        ]
        with background(environment, "serve", "/room/temperature", str(tmp_path / "file"), until="serving") as said:
            assert "95000 bytes as /room/temperature over unix://" in said[0]
            fetched = roost(environment, "fetch", "--segments", "--accept-any", "/room/temperature")
            assert fetched.stdout == content
            out = tmp_path / "out"
            roost(environment, "fetch", "--segments", "--accept-any", "/room/temperature", "-o", str(out))
            assert out.read_bytes() == content
            nowhere = roost(
                environment, "fetch", "--segments", "--accept-any", "/room/temperature", "-o", str(tmp_path)
            )
            assert nowhere.stderr == f"roost fetch: {tmp_path} cannot be written: Is a directory\n".encode()
            one = roost(environment, "fetch", "--prefix", "--fresh", "--pretty", "--accept-any", "/room/temperature")
            assert one.stdout.decode().startswith("name       /room/temperature/v=")
            refused = roost(environment, "fetch", "--prefix", "/room/temperature")
            assert refused.returncode == 1
            assert b"run `roost init`" in refused.stderr
            assert b"add --accept-any" in refused.stderr
            assert b"verifier=" not in refused.stderr
            found = roost(environment, "fetch", "--accept-any", "/room/temperature")
            assert found.stdout == content
            lost = roost(environment, "fetch", "--accept-any", "/nobody")
            assert b"no route: nobody serves this name here, or its route is missing" in lost.stderr
            checked = roost(environment, "doctor")
            assert checked.returncode == 0
            assert b"node.sock answers" in checked.stdout
        second = roost(environment, *NODE)
        assert second.returncode == 1
        assert second.stderr.startswith(b"roost node: a node already listens on ")
    assert lines[-1].startswith("stopped; ")
    assert not (tmp_path / "roost" / "node.sock").exists()


def test_a_reader_that_has_enough_is_no_error(environment: dict[str, str]) -> None:
    with subprocess.Popen([*RUN, "doctor"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_a_node_without_keys_stays_on_this_machine(environment: dict[str, str]) -> None:
    refused = roost(environment, "node", "--tcp", "0.0.0.0:0")
    assert refused.returncode == 1
    assert b"run `roost init` first" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fetch", "no-slash"], b"a name starts with '/'"),
        (["fetch", "/x", "--uri", "carrier-pigeon://x"], b"write unix:///path"),
        (["fetch", "/x", "--accept-any", "--tries", "0"], b"--tries is at least 1"),
        (["fetch", "/x", "--segments", "--lifetime-ms", "0"], b"--lifetime-ms is at least 1"),
        (["serve", "/x", "/does/not/exist"], b"cannot read /does/not/exist"),
    ],
)
def test_errors_are_one_sentence(environment: dict[str, str], arguments: list[str], said: bytes) -> None:
    failed = roost(environment, *arguments)
    assert failed.returncode == 1
    assert said in failed.stderr
    assert failed.stderr.count(b"\n") == 1


@pytest.mark.parametrize("verb", [["fetch", "--accept-any", "/x"], ["status"], ["serve", "/x", __file__]])
def test_without_a_node_a_verb_says_how_to_start_one(environment: dict[str, str], verb: list[str]) -> None:
    failed = roost(environment, *verb)
    assert failed.returncode == 1
    waited, said = failed.stderr.decode().splitlines()
    assert waited.startswith("no node is running here yet; waiting 2 s for ")
    assert said.startswith(
        f"roost {verb[0]}: no node is running here (looked at NDN_CLIENT_TRANSPORT, client.conf and "
    )
    advice = (
        "start one with `roost up`, `roost repo` or `roost node`, or name a forwarder with --at or NDN_CLIENT_TRANSPORT"
    )
    assert said.endswith(advice)


def test_a_verb_waits_for_a_node_that_is_starting(environment: dict[str, str]) -> None:
    with subprocess.Popen([*RUN, "status"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as status:
        assert status.stderr is not None
        assert b"waiting" in status.stderr.readline()
        with background(environment, "node", "--no-tcp", "--no-udp", "--no-ws", until="ready"):
            shown, said = status.communicate(timeout=30)
    assert (status.returncode, said) == (0, b"")
    assert shown.startswith(b"forwarder unix://")


def test_a_fetch_that_asks_once_is_over_soon(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"21")
    with (
        background(environment, *NODE, until="ready"),
        background(environment, "serve", "/room", str(tmp_path / "file"), until="serving"),
    ):
        once = ["--accept-any", "--tries", "1", "--lifetime-ms", "200", "/room/no/such"]
        segments = roost(environment, "fetch", "--segments", *once)
        assert b"was asked once as /room/no/such" in segments.stderr
        exact = roost(environment, "fetch", *once).stderr
        assert b"no answer in " in exact
        assert b"; sent once over " in exact


def test_a_home_that_cannot_be_is_one_sentence(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "roost").write_text("a file")
    for verb in (NODE, ["init"]):
        failed = roost(environment, *verb)
        assert failed.returncode == 1
        assert failed.stderr.count(b"\n") == 1
        assert b"File exists; name another directory with ROOST_HOME" in failed.stderr
