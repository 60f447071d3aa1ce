"""What `roost doctor` finds: ports and who holds them, clock, disk, trust, configuration; and how it is told."""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from pathlib import Path

import pytest

from roost.cli import _doctor_machine, main
from roost.cli._doctor_finding import FINE, HINT, WRONG, Finding
from roost.cli._doctor_machine import clock, disk, stepped
from roost.cli._doctor_node import Place, configuration, holder_of, places_of, port, ports
from roost.cli._doctor_trust import SOON_NS, trust
from roost.cli._up_config import find_source
from roost.host.keystore import KeyStore
from roost.host.mqtt.config import read_config

LOCAL = "127.0.0.1"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def levels(found: list[Finding]) -> list[str]:
    return [each.level for each in found]


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_who_holds_a_port_is_found(kind: socket.SocketKind) -> None:
    with socket.socket(socket.AF_INET, kind) as sock:
        sock.bind((LOCAL, 0))
        if kind == socket.SOCK_STREAM:
            sock.listen(1)
        place = Place("http", LOCAL, sock.getsockname()[1], kind)
        assert holder_of(place) == os.getpid()
        held = port(place, None)
        assert (held.level, held.remedy) == (WRONG, "stop that, or write another port in http")
        assert f"is held by process {os.getpid()} (" in held.text
        assert port(place, os.getpid()) == Finding(
            "ports", FINE, f"{LOCAL}:{place.port} (http) is held by the node that runs, process {os.getpid()}"
        )
    assert port(place, None).text == f"{LOCAL}:{place.port} (http) is free"
    assert holder_of(place) is None


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.EACCES, "is for administrators only"), (errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))],
)
def test_an_address_that_cannot_be_had_says_why(monkeypatch: pytest.MonkeyPatch, number: int, said: str) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(socket.socket, "bind", refuse)
    found = port(Place("listeners[0]", LOCAL, 443), None)
    assert (found.level, said in found.text, bool(found.remedy)) == (WRONG, True, True)


def test_a_host_that_is_not_known_is_said() -> None:
    found = port(Place("http", "no.such.host.invalid", 80), None)
    assert (found.level, found.remedy) == (WRONG, "write an address of this machine in http")


def test_every_address_of_a_configuration_is_looked_at(tmp_path: Path) -> None:
    addresses = {scheme: [f"{LOCAL}:{at}"] for at, scheme in enumerate(("tcp", "ws", "udp"), 3)}
    said = {"listeners": [{"tcp": f"{LOCAL}:1"}], "http": f"{LOCAL}:2", "node": addresses}
    config = read_config(said | {"flips": {"listen": [f"{LOCAL}:6"]}}, tmp_path, tmp_path)
    found = {each.key: (each.port, each.kind) for each in places_of(config)}
    assert found == {
        "listeners[0]": (1, socket.SOCK_STREAM),
        "http": (2, socket.SOCK_STREAM),
        "node.tcp": (3, socket.SOCK_STREAM),
        "node.ws": (4, socket.SOCK_STREAM),
        "node.udp": (5, socket.SOCK_DGRAM),
        "flips.listen": (6, socket.SOCK_DGRAM),
    }


def test_the_socket_of_the_node_may_be_free_held_left_behind_or_none(tmp_path: Path) -> None:
    path = tmp_path / "node.sock"
    said = {"listeners": [{"tcp": f"{LOCAL}:0"}], "store": "memory", "node": {"unix": str(path)}}
    config = read_config(said, tmp_path, tmp_path)

    def told() -> Finding:
        return ports(config)[-1]

    assert told().text == f"{path} (node.unix) is free"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.bind(str(path))
        sock.listen(1)
        assert told().text.endswith("is held by the node that runs")
    assert "was left behind" in told().text
    path.unlink()
    path.touch()
    assert (told().level, told().remedy) == (WRONG, "move it away")


def test_a_clock_before_roost_was_installed_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    assert levels(clock())[0] == FINE
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert levels(clock()) == [WRONG]


@pytest.mark.parametrize(("synchronised", "said"), [(True, []), (None, []), (False, [HINT])])
def test_a_clock_that_nobody_keeps_is_a_hint(
    monkeypatch: pytest.MonkeyPatch, synchronised: bool | None, said: list[str]
) -> None:
    monkeypatch.setattr(_doctor_machine, "_is_synchronised", lambda: synchronised)
    monkeypatch.setattr(_doctor_machine, "stepped", lambda _: 0.0)
    assert levels(clock()) == [FINE, *said]


def test_a_clock_that_was_set_meanwhile_is_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((100.0, 103.0))
    monkeypatch.setattr(time, "time", lambda: next(times))
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    assert stepped(0) == 3.0
    monkeypatch.undo()
    monkeypatch.setattr(_doctor_machine, "_is_synchronised", lambda: True)
    monkeypatch.setattr(_doctor_machine, "stepped", lambda _: -0.5)
    assert "it was set by -0.50 s" in clock()[-1].text


def test_a_disk_is_written_to(tmp_path: Path) -> None:
    found = disk(tmp_path / "not" / "yet")
    assert WRONG not in levels(found)
    assert "fsync" in found[-1].text
    assert list(tmp_path.iterdir()) == []
    assert levels(disk(None)) == [HINT]
    assert (disk(Path("/proc/roost"))[-1].level, disk(Path("/proc/roost"))[-1].text[:5]) == (WRONG, "/proc")


@pytest.mark.parametrize(("free", "level"), [(1 << 20, WRONG), (500 << 20, HINT), (5 << 30, FINE)])
def test_a_disk_that_is_full_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: str) -> None:
    space = os.statvfs_result((4096, 4096, 0, free // 4096, free // 4096, 9, 9, 9, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: space)
    assert disk(tmp_path)[0].level == level


def test_keys_are_looked_at_now_and_in_a_month(home: Path) -> None:
    assert levels(trust(home)) == [HINT]
    assert main(["init"]) == 0
    assert levels(trust(home)) == [FINE, FINE]
    store = KeyStore(home)
    ends = min(each.not_after for each in (*store.anchors(), *store.certificates()))
    begin = max(each.not_before for each in (*store.anchors(), *store.certificates()))
    assert set(levels(trust(home, ends - SOON_NS + 1))[1:]) == {HINT}
    assert WRONG in levels(trust(home, ends + 1))
    assert WRONG in levels(trust(home, begin - 1))
    for anchor in (home / "anchors").iterdir():
        anchor.unlink()
    assert "there is no trust anchor, so nothing is believed" in [each.text for each in trust(home)]
    next((home / "keys").iterdir()).chmod(0o644)
    assert levels(trust(home)) == [WRONG]


def test_a_configuration_has_a_line_for_each_mistake(tmp_path: Path) -> None:
    (tmp_path / "roost.yaml").write_text("stor: 1\nlog: {level: loud}\n")
    found, config = configuration(find_source(None))
    assert (config, levels(found)) == (None, [WRONG, WRONG])
    assert found[1].text == "roost.yaml, line 2: log.level: 'loud' is none of error, warning, info, debug"
    (tmp_path / "roost.yaml").write_text("users: nobody\n")
    found, config = configuration(find_source(None))
    assert config is not None
    assert WRONG in levels(found)


def test_the_report_is_for_people_or_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "roost.yaml").write_text(f"listeners: [{{tcp: '{LOCAL}:0'}}]\nhttp: false\nstore: data\n")
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    for heading in ("configuration", "ports", "clock", "disk", "trust", "forwarders", "packages", "compiled"):
        assert f"\n\n{heading}\n  " in said
    assert "\nnothing wrong, " in said
    (tmp_path / "roost.yaml").write_text("stor: data\n")
    assert main(["doctor", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["healthy"] is False
    assert told["findings"][0] == {
        "area": "configuration",
        "level": "wrong",
        "text": "roost.yaml, line 1: stor: there is no such key; perhaps you mean store",
        "remedy": "correct it, and look again with: roost check-config",
    }
