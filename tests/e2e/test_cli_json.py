"""With `--json` every verb prints JSON and nothing else: here those whose examples test_cli_examples.py does not run.

What asks a node over HTTP asks one that answers as it is told; what runs on Spark is stopped before Spark starts; the
demo plays a play of two lines. The rest are real.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from tests.e2e import test_cli_examples, test_cli_mule
from tests.macro_world import fake_node
from tests.verbs import RUN, background, environment_of, here, roost

from roost.cli import _spark, _supervised
from roost.cli._reference import reference
from roost.cli.demo import playing
from roost.cli.demo.journal import Journal
from roost.pipeline.running import Running
from roost.pipeline.supervisor import Supervisor

GROUP: Final = test_cli_examples.GROUP
READY: Final = '{"event": "ready"'
BARE: Final = "--no-tcp --no-udp --no-ws"
MACRO: Final = {"definition": {"name": "m", "code": "1"}, "topic": "Noctua/m", "version": 1, "digest": "ab"}
ROLES: Final = {"topic": "home/+", "roles": {"customer": {"streams": ["raw"]}}}
ENDS: Final = (  # by themselves; URL is a node's
    "up sample",
    "mqtt sample",
    "mqtt check -c broker.yaml",
    "check-config",
    "check-config --sample",
    "doctor",
    "init --company Elsewhere",
    "key make /BigCompany/Building1/Electricity/Panel7",
    "users add sensor7 --generate",
    "users remove sensor7",
    "macro list --url URL",
    "macro show m --url URL",
    "macro add new.yaml --url URL",
    "macro update m.yaml --url URL",
    "macro trace m --url URL",
    "macro delete m --url URL",
    "role list --url URL",
    "role show home/+ --url URL",
    "role add new-roles.yaml --url URL",
    "role update rbps.yaml --url URL",
    "role delete home/+ --url URL",
    "pipeline status floor.yaml",
    "pipeline stop floor.yaml",
    "pipeline backfill floor.yaml --since 24h",
    "pipeline run floor.yaml",
    f"macro spark --group {GROUP} --panel Panel1 --url URL",
    f"replay readings.csv --group {GROUP} --panel Panel1",
    "demo status --url URL",
    "demo break forge --url URL",
    "demo --check --http-port 0 --mqtt-port 0",
    "bench --list",
)
STAY: Final = {  # until they are stopped; the line they are ready with
    "up -c broker.yaml": '{"ready": true',
    "mqtt --listen 127.0.0.1:0 --store memory": '{"ready": true',
    f"node --unix other.sock {BARE}": READY,
    f"repo Repo2 --unix repo2.sock {BARE} --store store2": READY,
    "hicn --udp 127.0.0.1:0": READY,
    f"serve {GROUP}/Panel1/manual manual.txt": '{"event": "serving"',
    "bridge --from mqtt://127.0.0.1:9 --to mqtt://localhost:9 --topics #": '{"ready": true',
    "mule keep kept.mule /campus/ops --accept-any": '{"event": "keeping"',
}
PAIRS: Final = ("flips pub", "flips sub", "flips into", "flips out", "invite", "enroll")  # below
MULES: Final = ("mule export", "mule import", "mule show")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with files, a home with keys, and its repo."""
    folder = tmp_path_factory.mktemp("json")
    files = test_cli_examples.FILES | {
        "broker.yaml": "listeners: [{tcp: 127.0.0.1:0}]\nhttp: 127.0.0.1:0\nstore: memory\nnode: {unix: up.sock}\n",
        "m.yaml": "{name: m, code: \"Noctua.topic('t')\"}\n",
        "new.yaml": "{name: new, code: \"Noctua.topic('t')\"}\n",
        "new-roles.yaml": "- topic: new\n  roles: {customer: {streams: [raw]}}\n",
        "readings.csv": "time,topic,value\n2026-05-01T08:00:00Z,Heater/Voltage,229.5\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    environment = environment_of(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
        for name in ("HOME", "ROOST_HOME"):
            patch.setenv(name, environment[name])
        made = here("init", "--company", "BigCompany", "--building", "Building1", "--repo", "Repo1", "--repo", "Repo2")
        assert made.returncode == 0, made.stderr
        status = folder / "roost" / "pipelines" / "floor.status.json"
        status.parent.mkdir()
        status.write_text(json.dumps({"pid": 7, "queries": {"floor": {"state": "running", "stages": {}}}}))
        listen = ("--tcp", "127.0.0.1:0", "--no-udp", "--no-ws")
        with background(environment, "repo", "Repo1", *listen, "--json", until=READY) as lines:
            yield folder
        documents(lines)


def documents(lines: list[str]) -> list[Any]:
    """Each line as JSON."""
    return [json.loads(line) for line in lines]


def answer(method: str, path: str, _body: object) -> tuple[int, object]:
    """As a node would that has a macro, a document of roles, and a demo."""
    if path.startswith("/demo"):
        forge = {"id": "forge", "title": "Forge", "state": "ready", "does": "", "text": "forges"}
        return 200, forge | {"running_s": 1, "breaks": [forge], "promises": []}
    if path in {"/macros/new", "/rbps/new"} and method == "GET":
        return 404, {"error": "there is no such thing"}
    if path.startswith("/traces"):
        return 200, []
    if path in {"/macros?engine=spark", "/macros", "/rbps"} and method == "GET":
        return 200, ["m"] if path == "/macros" else [] if "?" in path else ["home/+"]
    return 200, MACRO if path.startswith("/macros") else ROLES


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark that is never started, and a supervisor that looks once."""

    @contextmanager
    def no_session(*_: object) -> Iterator[Callable[[], None]]:
        yield lambda: None

    stage = {"rows": 1, "rows_per_s": 1.0, "results_per_s": 1.0, "lag_s": 0.5, "expected": 1, "received": 1}
    told = {"stages": {"rooms": stage | {"completeness": 1.0}}, "before": 0}
    monkeypatch.setattr(_spark, "spark_for", no_session)
    monkeypatch.setattr(_supervised, "EVERY_S", 0)
    monkeypatch.setattr(Supervisor, "run", lambda _, wait, first: wait(first() or 0))
    monkeypatch.setattr(Running, "backfill", lambda *_, **__: told)


@pytest.fixture
def short_play(monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo that only judges."""

    async def play(_settings: object, journal: Journal, *_: object, **__: object) -> int:
        journal.say("kept", "once-in-order: all came: 5 of 5")
        journal.say("done", "every promise was kept")
        return 0

    monkeypatch.setattr(playing, "play", play)


@pytest.mark.usefixtures("without_spark", "short_play")
@pytest.mark.parametrize("command", ENDS)
def test_what_ends_by_itself_prints_json(command: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if command.startswith("init"):
        monkeypatch.setenv("ROOST_HOME", str(world / "elsewhere"))
    if command.startswith("bench"):
        monkeypatch.chdir(Path(__file__).parents[2])
    with fake_node(answer) as node:
        done = here(*shlex.split(command.replace("URL", node.url)), "--json")
    assert done.returncode == 0 or (command == "doctor" and done.returncode == 1), done.stderr
    assert test_cli_examples.documents(done.stdout), command


@pytest.mark.parametrize("command", STAY)
def test_what_stays_prints_lines_of_json(command: str, world: Path) -> None:
    with background(environment_of(world), *command.split(), "--json", until=STAY[command]) as lines:
        pass
    assert documents(lines)


def test_a_topic_goes_into_a_group_and_out_again_and_each_verb_says_so_in_json(world: Path) -> None:
    environment = environment_of(world)
    stream = "Panel1/Boiler/Temp"
    with background(environment, "hicn", "--udp", "127.0.0.1:0", "--json", until=READY) as told:
        at = ("--at", documents(told)[0]["uri"].rpartition("/")[2], "--json")
        publish = ("pub", "boiler", "61.5", "--every", "0.3")
        with (
            background(environment, "flips", *publish, *at, until='{"topic"') as published,
            background(
                environment, "flips", "into", "boiler", GROUP, "Panel1", "Boiler/Temp", *at, until=READY
            ) as into,
            background(environment, "flips", "out", GROUP, stream, "out/boiler", *at, until=READY) as out,
        ):
            shown = roost(environment, "flips", "sub", "out/boiler", "-C", "1", "--patient", *at)
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["content"] == "61.5"
    assert {each["topic"] for each in documents(published)} == {"boiler"}
    assert documents(into) == [{"event": "ready", "topic": "boiler", "stream": f"{GROUP}/{stream}"}]
    assert documents(out) == [{"event": "ready", "topic": "out/boiler", "stream": f"{GROUP}/{stream}"}]


def test_who_invites_and_who_enrols_are_told_in_json(world: Path) -> None:
    with background(environment_of(world), "invite", "panel", "Panel8", "--json", until='{"event"') as invited:
        done = subprocess.run(
            [*RUN, "enroll", "--json"],
            env=environment_of(world / "panel8"),
            input=documents(invited)[0]["code"].encode(),
            capture_output=True,
            timeout=60,
            check=True,
        )
    assert json.loads(done.stdout)["name"] == f"{GROUP}/Panel8"
    assert [each["event"] for each in documents(invited)] == ["invited", "let in"]


def test_what_a_mule_carries_is_told_in_json(tmp_path: Path) -> None:
    environment, file = environment_of(tmp_path), tmp_path / "ops.mule"
    with background(environment, *test_cli_mule.NODE, until="ready") as said:
        asyncio.run(test_cli_mule.published(test_cli_mule.address(said), environment, file))
        ways = ("/campus/ops", "/position", "--accept-any", "--wait", "0.1", "--json")
        carried = roost(environment, "mule", "export", str(file), *ways).stdout
        bring = ("mule", "import", str(file), "--accept-any", "--for", "0.1", "--json")
        brought = roost(environment, *bring).stdout.decode().splitlines()
    assert json.loads(carried)["packets"] == documents(brought)[0]["packets"] == 3
    assert json.loads(roost(environment, "mule", "show", str(file), "--json").stdout)["group"] == "/campus/ops"


def test_every_verb_that_prints_json_is_run_with_it() -> None:
    ran = [*test_cli_examples.examples(), *test_cli_examples.again_as_json()]
    with_json = [command.removeprefix("roost ") for command in ran if " --json" in command] + [
        *ENDS,
        *STAY,
        *PAIRS,
        *MULES,
    ]
    leaves = [" ".join(each.words[1:]) for verb in reference() for each in verb.all() if not each.actions]
    assert [leaf for leaf in leaves if not any(f"{each} ".startswith(f"{leaf} ") for each in with_json)] == []
