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
            checked = roost(environment, "doctor")
            assert checked.returncode == 0
            assert b"node.sock    answers" in checked.stdout
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
        (["fetch", "/x", "--accept-any"], b"/x was refused by a Nack from internal://app: no route"),
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
