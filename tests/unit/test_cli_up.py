"""Which configuration `roost up` runs, what holds without one, what a reload leaves alone, and what is shipped."""

from __future__ import annotations

import argparse
import configparser
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from roost.cli import _parser, main
from roost.cli._serving import for_the_next_start, told_of_reload
from roost.cli._up_config import find_file, find_source, groups_of, starter, with_defaults
from roost.cli.mqtt import sample
from roost.cli.up import builders_of
from roost.host.mqtt.config import Config, read_config
from roost.naming import Name

ROOT = Path(__file__).parents[2]
GROUP = "/MyCompany/Building1/Electricity"
NAMES = [Name.parse(f"{GROUP}{end}") for end in ("", "/Panel1", "/Panel2", "/Repo/Repo1", "/Repo/Repo2")]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    return tmp_path


def config(**said: object) -> Config:
    return read_config(said, Path("/here"), Path("/home"))


def test_a_file_here_comes_before_that_at_home(place: Path) -> None:
    assert find_file() is None
    (place / "home").mkdir()
    (place / "home" / "roost.yaml").touch()
    assert find_file() == place / "home" / "roost.yaml"
    (place / "roost.yaml").touch()
    assert find_file() == Path("roost.yaml")
    assert find_source(place / "other.yaml").path == place / "other.yaml"


def test_without_a_file_a_node_is_on_this_machine_only(place: Path) -> None:
    found = find_source(None).read()
    assert [str(each) for each in found.listeners] == ["tcp 127.0.0.1:1883"]
    assert str(found.http) == "http 127.0.0.1:8080"
    assert found.node.listen.unix == place / "home" / "node.sock"
    assert (found.groups, found.trees, len(builders_of(found))) == ((), (), 1)


def test_without_a_file_it_keeps_the_group_that_init_made_keys_for(place: Path) -> None:
    assert main(["init"]) == 0
    (place / "home" / "roost.yaml").unlink()
    found = find_source(None).read()
    assert [(str(each.group.name), each.panel.panel, each.repo.repo) for each in found.groups] == [
        (GROUP, "Panel1", "Repo1")
    ]
    assert [(tree.pattern, tree.group) for tree in found.trees] == [("Noctua/#", GROUP), ("+/+/#", GROUP)]


def test_what_init_wrote_is_what_holds_without_it(place: Path) -> None:
    assert main(["init"]) == 0
    written = find_source(None).read()
    (place / "home" / "roost.yaml").unlink()
    assert for_the_next_start(written, find_source(None).read()) == []


def test_init_leaves_a_configuration_alone(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "home").mkdir(mode=0o700)
    (place / "home" / "roost.yaml").write_text("name: mine\n")
    assert main(["init"]) == 0
    assert "which was there and stays as it is" in capsys.readouterr().out
    assert (place / "home" / "roost.yaml").read_text() == "name: mine\n"


def test_defaults_give_way_to_what_a_file_says() -> None:
    said = with_defaults({"http": False, "node": {"unix": False, "tcp": ["127.0.0.1:6363"]}, "page": False})
    found = config(**said)
    assert (found.http, found.node.listen.unix, builders_of(found)) == (None, None, [])
    assert len(builders_of(config(http="127.0.0.1:0", page=False))) == 1  # the API is there without the page
    assert with_defaults({"node": 5})["node"] == 5  # which is told of where it is read


def test_a_group_needs_a_panel_and_a_repo() -> None:
    assert groups_of(NAMES[::-1]) == [{"name": GROUP, "panel": "Panel1", "repo": "Repo1"}]
    assert groups_of(NAMES[:3]) == []
    assert groups_of([NAMES[0], *NAMES[3:]]) == []
    other = Name.parse("/MyCompany/Water")
    assert len(groups_of([*NAMES, other / "P", other / "Repo" / "R"])) == 2


def test_a_starter_without_groups_can_run() -> None:
    said = yaml.safe_load(starter([]))
    assert (said["groups"], said["trees"]) == ([], [])
    assert config(**said).groups == ()
    assert "`users: mqtt-users` and `permissions: permissions`" in starter([])


def test_a_reload_says_what_it_leaves_for_the_next_start() -> None:
    before = config(http="127.0.0.1:1")
    assert for_the_next_start(before, config(http="127.0.0.1:1")) == []
    assert for_the_next_start(before, config(http="127.0.0.1:1", limits={"connections": 5}, macros={})) == []
    after = config(
        listeners=[{"tcp": "127.0.0.1:2"}],
        name="x",
        packets={"topic_levels": 5},
        buffers={"link_bytes": "70MiB"},
        log={},
    )
    assert for_the_next_start(before, after) == [
        "listeners",
        "durability, packets, sessions, queues, retained, memory, features or denied",
        "http",
        "name",
        "buffers",
        "macros",
    ]


def test_a_reload_names_only_what_there_is_and_was_read_again() -> None:
    plain = config(http="127.0.0.1:1", macros={})
    assert told_of_reload(config(), config(), is_tls=False) == "reloaded limits"
    assert told_of_reload(plain, plain, is_tls=True) == "reloaded certificates, macros and limits"
    guarded = {"users": "users", "permissions": "permissions", "http": "127.0.0.1:1", "macros": {}}
    assert told_of_reload(plain, config(**guarded, name="x"), is_tls=False) == (
        "reloaded users, permissions, macros and limits; what else changed counts from the next start: name"
    )
    governed = config(**guarded, roles={"documents": "documents", "users": "roles.yaml"})
    assert told_of_reload(plain, governed, is_tls=False) == (
        "reloaded users, permissions, macros and limits; roles: were not there at the start; start the node again, "
        "until then all permitted streams are given as they are"
    )
    assert told_of_reload(governed, governed, is_tls=False) == "reloaded users, permissions, roles, macros and limits"
    assert told_of_reload(governed, plain, is_tls=False) == (
        "reloaded users, permissions, macros and limits; what else changed counts from the next start: roles"
    )


def test_a_check_answers_in_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "roost.yaml").write_text("store: memory\nhttp: false\n")
    assert main(["check-config", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "file": "roost.yaml",
        "can_run": True,
        "parts": ["tcp 127.0.0.1:1883", "store in memory"],
        "warnings": [],
    }
    (place / "roost.yaml").write_text("stor: memory\n")
    assert main(["check-config", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["mistakes"] == [
        "roost.yaml, line 1: stor: there is no such key; perhaps you mean store"
    ]


@pytest.mark.parametrize("arguments", [["up", "sample"], ["check-config", "--sample"], ["mqtt", "sample"]])
def test_the_sample_is_printed_and_can_run(
    place: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    (place / "roost.yaml").write_text(capsys.readouterr().out)
    assert main(["check-config"]) == 0


@pytest.mark.parametrize("arguments", [["up", "sample"], ["check-config", "--sample"], ["mqtt", "sample"]])
def test_programs_get_what_the_sample_says(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == yaml.safe_load(sample())


def test_the_unit_runs_what_there_is_and_waits_for_what_is_told() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # as the parser documents it
    unit.read(ROOT / "packaging" / "roost.service")
    service = unit["Service"]
    command = service["ExecStart"].split()
    options = _parser().parse_args(command[1:])
    assert isinstance(options, argparse.Namespace)
    assert (options.verb, options.action, str(options.config)) == ("up", "run", "/etc/roost/roost.yaml")
    assert (service["Type"], service["ExecReload"].split()[1]) == ("notify", "-HUP")
    assert service["Environment"] == f"ROOST_HOME=/var/lib/{service['StateDirectory']}"
    assert (service["ProtectSystem"], service["NoNewPrivileges"], service["User"]) == ("strict", "true", "roost")


def test_systemd_takes_the_unit_as_it_is_and_finds_it_hardened(tmp_path: Path) -> None:
    """Where systemd is, it is asked; elsewhere each line is at least one that it could read."""
    text = (ROOT / "packaging" / "roost.service").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and line[0] not in "#["]
    assert all(re.match(r"[A-Z][A-Za-z]+=", line) for line in lines)
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        return
    program = tmp_path / "roost"  # what the unit starts has to be there
    program.symlink_to(sys.executable)
    unit = tmp_path / "roost.service"
    unit.write_text(text.replace("/opt/roost/bin/roost", str(program)), encoding="utf-8")
    for words in (["verify", "--man=no"], ["security", "--offline=yes", "--threshold=20", "--no-pager"]):
        done = subprocess.run([analyze, *words, unit], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_the_image_runs_what_there_is() -> None:
    text = (ROOT / "packaging" / "Containerfile").read_text(encoding="utf-8")
    command = json.loads(re.findall(r"^CMD (.*)$", text, re.MULTILINE)[0])
    assert _parser().parse_args(command).verb == "up"
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"docker.io/library/debian:12-slim"}
