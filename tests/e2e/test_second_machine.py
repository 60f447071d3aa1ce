"""A group on two machines: the second has its keys as docs/second-machine.md says, and what is published arrives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.verbs import background, environment_of, roost

GROUP = "/BigCompany/Building1/Electricity"
LISTEN = ("--no-tcp", "--no-udp", "--no-ws")


class Machines:
    """The first, which has the keys of the company, and one that has joined it; files are carried between them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.first, self.second = (environment_of(folder / name) for name in ("first", "second"))
        anchor, schema = str(folder / "anchor.cert"), str(folder / "first" / "roost" / "schema.lvs")
        self.done(self.first, "init", "--company", "BigCompany", "--building", "Building1")
        self.done(self.first, "keys", "certificate", "/BigCompany/BMS", anchor)
        self.done(self.second, "init", "--join", anchor, "--schema", schema)

    def done(self, environment: dict[str, str], *arguments: str) -> bytes:
        done = roost(environment, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def certify(self, name: str, *, alone: bool = False) -> None:
        """Have a key of the second machine certified by the first; `alone`: without the certificates above it."""
        request, certificate = str(self.folder / "request"), str(self.folder / "certificate")
        self.done(self.second, "keys", "make", name, "--request", request)
        self.done(self.first, "keys", "certify", request, certificate)
        if alone:
            self.done(self.first, "keys", "certificate", name, certificate)
        self.done(self.second, "keys", "import", certificate)

    def gate(self, name: str, panel: str, repo: str, *uplinks: str) -> str:
        """The configuration of `roost mqtt`, in a file."""
        said = {
            "listeners": [{"tcp": "127.0.0.1:0"}],
            "store": str(self.folder / name / "mqtt"),
            "trees": [{"filter": "#", "group": GROUP, "durability": {"replicated": 2}}],
            "groups": [{"name": GROUP, "panel": panel, "repo": repo}],
            "node": {"unix": str(self.folder / f"{name}.sock"), "uplinks": list(uplinks)},
        }
        file = self.folder / f"{name}.yaml"
        file.write_text(json.dumps(said), encoding="utf-8")
        return str(file)


@pytest.fixture
def machines(tmp_path: Path) -> Machines:
    return Machines(tmp_path)


@pytest.mark.parametrize("alone", [False, True], ids=["with those above", "alone"])
def test_a_repo_on_a_second_machine_needs_its_own_certificate_only(machines: Machines, *, alone: bool) -> None:
    machines.certify(f"{GROUP}/Repo/Repo3", alone=alone)
    one, three = (f"unix://{machines.folder}/{name}.sock" for name in ("1", "3"))
    near = ("repo", "Repo1", *LISTEN, "--unix", one.removeprefix("unix://"))
    far = ("repo", "Repo3", *LISTEN, "--unix", three.removeprefix("unix://"), "--uplink", one)
    with background(machines.first, *near, until="ready"), background(machines.second, *far, until="ready"):
        publish = ("pub", GROUP, "Panel1", "Heater/Voltage", "229.5", "--at", one, "--copies", "2")
        machines.done(machines.first, *publish)
        shown = machines.done(machines.second, "sub", GROUP, "--since", "1", "--count", "1", "--json", "--at", three)
        assert json.loads(shown)["value"] == 229.5


def test_what_is_published_at_a_broker_of_either_machine_is_delivered_at_the_other(machines: Machines) -> None:
    machines.done(machines.first, "keys", "make", f"{GROUP}/Gate1")
    machines.certify(f"{GROUP}/Gate3")
    machines.certify(f"{GROUP}/Repo/Repo3")
    near, far = (
        machines.gate("first", "Gate1", "Repo1"),
        machines.gate("second", "Gate3", "Repo3", f"unix://{machines.folder}/first.sock"),
    )
    with (
        background(machines.first, "mqtt", "-c", near, until="ready") as said_near,
        background(machines.second, "mqtt", "-c", far, until="ready") as said_far,
    ):
        ports = [next(line.rpartition(":")[2] for line in said if "mqtt://" in line) for said in (said_near, said_far)]
        for here, there, topic in ((*ports, "hall/room1/temp"), (*ports[::-1], "hall/room3/temp")):
            machines.done(machines.first, "pub", "-p", here, "-t", topic, "-m", "21.5", "-q", "1")
            seen = machines.done(
                machines.second, "sub", "-p", there, "-t", topic, "--since", "1h", "-C", "1", "-W", "30"
            )
            assert seen == b"21.5\n"
