"""From `roost init` to a file fetched and verified elsewhere, with real processes and nothing but the defaults."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.verbs import RUN, background, environment_of, roost

PANEL = "/BigCompany/Building1/Electricity/Panel1"
CONTENT = b"how to reset the heater\n" * 2000


class Machine:
    """A home of its own, as another machine or user has."""

    def __init__(self, home: Path) -> None:
        self.home = home / "roost"
        self._environment = environment_of(home)
        home.mkdir()

    def roost(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return roost(self._environment, *arguments)

    def running(self, *arguments: str, until: str) -> AbstractContextManager[list[str]]:
        """Run a verb until the block ends."""
        return background(self._environment, *arguments, until=until)

    def trusts(self, other: Machine) -> None:
        """Know the anchor and the policy of another machine, and no certificate."""
        self.home.mkdir(mode=0o700)
        for part in ("keys", "certificates"):
            (self.home / part).mkdir(mode=0o700)
        shutil.copytree(other.home / "anchors", self.home / "anchors")
        shutil.copy(other.home / "schema.lvs", self.home)


@pytest.fixture
def producer(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "producer")


@pytest.fixture
def consumer(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "consumer")


@pytest.mark.parametrize("name", [f"{PANEL}/manual", f"{PANEL}/Heater/manual"])
def test_init_node_serve_and_a_verified_fetch_here_and_elsewhere(
    producer: Machine, consumer: Machine, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "manual"
    file.write_bytes(CONTENT)
    made = producer.roost("init", "--company", "BigCompany", "--building", "Building1")
    assert made.returncode == 0, made.stderr
    assert f"roost serve {PANEL}/hello FILE".encode() in made.stdout
    consumer.trusts(producer)
    with producer.running("node", "--tcp", ":0", "--udp", ":0", "--ws", ":0", until="ready") as said:
        uris = [line.removeprefix("listening on ") for line in said if line.startswith("listening on ")]
        with producer.running("serve", name, str(file), until="serving"):
            here = producer.roost("fetch", "--segments", name)
            assert here.stdout == CONTENT, here.stderr
            for uri in uris:
                away = consumer.roost("fetch", "--segments", "--uri", uri, name)
                assert away.stdout == CONTENT, (uri, away.stderr)
            found = consumer.roost("fetch", "--prefix", "--fresh", "--pretty", "--uri", uris[1], f"{name}/32=metadata")
            assert f"name       {name}/32=metadata/v=".encode() in found.stdout, found.stderr
            assert PANEL.encode() in found.stdout.partition(b"signature")[2]


def test_what_the_policy_has_no_rule_for_is_neither_served_nor_believed(
    producer: Machine, consumer: Machine, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_bytes(CONTENT)
    assert producer.roost("init", "--company", "BigCompany", "--building", "Building1").returncode == 0
    consumer.trusts(producer)
    deep = f"{PANEL}/a/b/c"
    with producer.running("node", "--tcp", ":0", "--no-udp", "--no-ws", until="ready") as said:
        refused = producer.roost("serve", deep, str(file))
        assert refused.returncode == 1
        assert b"cannot be signed by anyone" in refused.stderr
        other = PANEL.replace("Panel1", "Panel9")
        foreign = producer.roost("serve", f"{other}/manual", str(file))
        assert f"wants a key of {other}".encode() in foreign.stderr
        assert f"to make a key: roost key make {other}".encode() in foreign.stderr
        uri = said[-2].removeprefix("listening on ")
        with producer.running("serve", "--digest", f"{PANEL}/manual", str(file), until="serving"):
            digest = consumer.roost("fetch", "--segments", "--uri", uri, f"{PANEL}/manual")
            assert (digest.returncode, digest.stdout) == (1, b"")
            assert b"carries only a SHA-256 digest" in digest.stderr
            looked = consumer.roost("fetch", "--tries", "1", "--lifetime-ms", "500", "--at", uri, f"{PANEL}/manual")
            assert b"carries only a SHA-256 digest" in looked.stderr
            assert (
                consumer.roost("fetch", "--segments", "--accept-any", "--uri", uri, f"{PANEL}/manual").stdout == CONTENT
            )


def test_an_init_that_is_killed_can_be_run_again(producer: Machine) -> None:
    process = subprocess.Popen([*RUN, "init", "--kind", "rsa"], env=producer._environment, stdout=subprocess.DEVNULL)
    keys = producer.home / ".init" / "keys"
    while not (keys.exists() and any(keys.iterdir())):
        assert process.poll() is None, "it was to be killed half-way"
    process.kill()
    process.wait()
    assert b"roost init" in producer.roost("keys", "list").stderr
    assert producer.roost("init").returncode == 0
    assert sorted(path.name for path in producer.home.iterdir()) == [
        *("anchors", "certificates", "keys", "roost.yaml", "schema.lvs"),
    ]
    assert len(producer.roost("keys", "list").stdout.splitlines()) == 5


def test_a_second_machine_joins_signs_and_is_believed(producer: Machine, consumer: Machine, tmp_path: Path) -> None:
    first, second, files = consumer, producer, tmp_path / "carried"
    files.mkdir()
    panel = PANEL.replace("Panel1", "Panel2")
    carried = {name: str(files / name) for name in ("anchor.cert", "panel.request", "panel.cert", "manual")}
    (files / "manual").write_bytes(CONTENT)
    for machine, command in (
        (first, ["init", "--company", "BigCompany", "--building", "Building1"]),
        (first, ["keys", "certificate", "/BigCompany/BMS", carried["anchor.cert"]]),
        (second, ["init", "--join", carried["anchor.cert"], "--schema", str(first.home / "schema.lvs")]),
        (second, ["keys", "make", panel, "--request", carried["panel.request"]]),
        (first, ["keys", "certify", carried["panel.request"], carried["panel.cert"]]),
        (second, ["keys", "import", carried["panel.cert"]]),
    ):
        done = machine.roost(*command)
        assert done.returncode == 0, (command, done.stderr)
    with (
        second.running("node", "--tcp", ":0", "--no-udp", "--no-ws", until="ready") as said,
        second.running("serve", f"{panel}/manual", carried["manual"], until="serving"),
    ):
        fetched = first.roost("fetch", "--at", said[-2].removeprefix("listening on "), f"{panel}/manual")
        assert fetched.stdout == CONTENT, fetched.stderr
