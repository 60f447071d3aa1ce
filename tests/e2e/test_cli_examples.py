"""The examples in the help of the verbs, run as they stand: a repo that runs, a home of its own, files that they name.

What is left out is named with its reason: it serves until it is stopped, or needs what other tests have. That all of
them parse is tested in tests/unit/test_cli_help.py.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.verbs import background, environment_of, here

from roost.cli import main
from roost.cli._reference import Verb, reference

GROUP = "/BigCompany/Building1/Electricity"
LISTEN = ("--no-tcp", "--no-udp", "--no-ws")
THEIRS = {"up", "demo", "mqtt", "init", "invite", "enroll", "doctor", "check-config", "replay", "bridge"}  # own tests
LEFT_OUT = {
    "serves until it is stopped": (
        "roost node",
        "roost repo",
        "roost hicn",
        "roost serve",
        "roost flips",
        "roost mule",
        'roost sub /BigCompany/Building1/Electricity "+/Heater/#"',
        'roost archive run /BigCompany/Building1/Electricity "+/Heater/#"',
    ),
    "asks a node over HTTP, as tests/e2e/test_http.py does": (
        "roost role list",
        "roost role show",
        "roost role add",
        "roost role update",
        "roost role delete",
        "roost macro list",
        "roost macro show",
        "roost macro add",
        "roost macro update",
        "roost macro trace",
        "roost macro delete",
    ),
    "speaks to an MQTT server, as tests/interop does": ("roost pub -t", "roost sub -t"),
    "takes Spark, as tests/spark does": (
        "roost macro spark",
        "roost pipeline run",
        "roost pipeline backfill",
        "roost pipeline status",
        "roost pipeline stop",
    ),
    "measures": ("roost bench",),
}
FAILS = {"roost macro diff old.js new.js --on readings.csv": 1}  # where they differ
ONCE = (
    "roost help pub --man",  # a page of the manual is no JSON
    "roost key make",  # there is such a key by then
    "roost users add sensor7",  # there is such a user by then
    "roost users add alice",
    "roost users remove",  # and this one is gone
    "roost sql 'select *",  # Parquet is no JSON
    "roost sim forwarding --runs 20",  # as the one with five runs, which has --json
    "roost sub",  # goes on behind what was shown
)
QUIET = ("roost macro test celsius.js --group", "roost sync")  # may have nothing to tell: nobody says anything there
FILES = {
    "manual.txt": "how to reset the heater\n",
    "readings.txt": "Heater/Voltage 229.5\nHeater/State on\nHeater/Voltage 231\n",
    "passphrase": "correct horse battery staple\n",
    "password.txt": "a password of mine\n",
    "celsius.js": "(Noctua.topic('home/temp') - 32) / 1.8",
    "old.js": "Noctua.topic('home/temp') * 2",
    "new.js": "Noctua.topic('home/temp') * 3",
    "readings.csv": "topic,time,value\nhome/temp,2026-05-01T08:00:00Z,162.5\n",
    "rbps.yaml": "- topic: home/+\n  roles: {customer: {streams: [raw]}}\n",
    "roles.yaml": "bob: customer\n",
    "roost.yaml": "roles: {documents: rbps.yaml, users: roles.yaml}\n",
    "floor.yaml": "pipeline: floor\nstages:\n  rooms:\n"
    f"    read: {{group: {GROUP}, subscribe: +/Heater/Voltage, window: 1m, key: device}}\n"
    "    aggregate: {outputs: {mean: mean}}\n"
    f"    publish: {{group: {GROUP}, panel: Panel1}}\n",
}


def is_left_out(command: str) -> bool:
    return any(command.startswith(begin) for begins in LEFT_OUT.values() for begin in begins)


def examples() -> list[str]:
    """What can be run, once each, in the order of the help; who makes something comes before who needs it."""
    verbs: list[Verb] = [verb for verb in reference() if verb.words[1] not in THEIRS]
    found = dict.fromkeys(command for verb in verbs for command, _ in verb.page.examples)
    return [command for command in found if not is_left_out(command)]


def run(command: str) -> tuple[int, str, str]:
    """Run a command as a shell would: with its output into a file, and its input from one."""
    words = shlex.split(command)[1:]
    target = source = None
    if words[-2:-1] == [">"]:
        words, target = words[:-2], Path(words[-1]).expanduser()
    if words[-2:-1] == ["<"]:
        words, source = words[:-2], Path(words[-1])
    done = here(*words, given=source)
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(done.stdout)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the files, and a repo that runs and has readings."""
    folder = tmp_path_factory.mktemp("examples")
    environment = environment_of(folder)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
        patch.setenv("ROOST_HOME", str(folder / "roost"))
        patch.setenv("HOME", str(folder))
        assert main(["init", "--company", "BigCompany", "--building", "Building1"]) == 0
        ask_from_elsewhere(folder, patch)
        with (
            background(environment, "repo", "Repo1", *LISTEN, until="ready"),
            background(environment, "serve", f"{GROUP}/Panel1/manual", "manual.txt", until="serving"),
        ):
            assert run(f"roost pub {GROUP} Panel1 Heater/Voltage 228")[0] == 0
            yield folder


def ask_from_elsewhere(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """A request for a certificate, made where the issuer's key is not."""
    assert run("roost key certificate /BigCompany/BMS anchor.cert")[0] == 0
    schema = folder / "roost" / "schema.lvs"
    patch.setenv("ROOST_HOME", str(folder / "else"))
    assert main(["init", "--join", "anchor.cert", "--schema", str(schema)]) == 0
    assert main(["key", "make", f"{GROUP}/Panel3", "--request", "panel3.request"]) == 0
    patch.setenv("ROOST_HOME", str(folder / "roost"))


def test_the_examples_of_the_help_work_as_they_stand_and_once_more_for_programs(world: Path) -> None:
    """One test and in order: what one example makes, another one needs."""
    assert Path.cwd() == world
    assert [wrong for command in [*examples(), *again_as_json()] if (wrong := trouble_with(command))] == []


def trouble_with(command: str) -> str:
    """Run it; nothing if it does what it says."""
    status, out, err = run(command)
    if status != FAILS.get(command.replace(" --json", ""), 0):
        return f"{command}: status {status}: {err}"
    if " --json" in command and not documents(out) and not command.startswith(QUIET):
        return f"{command}: nothing is told"
    return ""


def again_as_json() -> list[str]:
    """Those that can be run once more, with `--json`."""
    known = [command for command in examples() if " --json" not in command and not command.startswith(ONCE)]
    return [re.sub(r"( [<>] |$)", r" --json\1", command, count=1) for command in known]


def documents(out: str) -> list[object]:
    """One document, or one a line."""
    try:
        return [json.loads(out)]
    except ValueError:
        return [json.loads(line) for line in out.splitlines()]


def test_what_is_left_out_is_there(world: Path) -> None:
    every = [command for verb in reference() for command, _ in verb.page.examples]
    for begins in LEFT_OUT.values():
        for begin in begins:
            assert any(command.startswith(begin) for command in every), begin
    assert world.is_dir()
    assert os.environ["ROOST_HOME"] == str(world / "roost")
