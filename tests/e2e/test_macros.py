"""Macros of a real node: long histories after a crash, definitions from files and packages, and results to verify."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import yaml
from tests.live_nodes import GROUP, Home, LiveNode
from tests.loops import run
from tests.mqtt_wire import wire
from tests.verbs import roost

from roost.host.client import connect

LONG = 10_000


def test_ten_thousand_readings_are_there_right_after_a_crash(tmp_path: Path) -> None:
    code = f"""function() {{
      var seen = Noctua.topic('hall/count', {{required: {LONG}}})
      return [seen.length, seen[0], seen[seen.length - 1], seen.reduce((a, b) => a + b, 0)]
    }}()"""

    async def fill(port: int) -> None:
        async with wire(port) as device:
            for number in range(1, LONG + 1):
                await device.say("hall/count", str(number))
            await device.acknowledged()

    async def test(port: int) -> None:
        async with wire(port) as device, wire(port) as display:
            await display.subscribe("Noctua/sum", qos=1)
            await device.say("hall/count", str(LONG + 1))
            newest = f"[{LONG},{LONG + 1},"  # the one before may come too, if the crash was before it left
            await display.until(lambda: any(each.startswith(newest) for each in display.payloads))
            assert json.loads(display.payloads[-1]) == [LONG, LONG + 1, 2, sum(range(2, LONG + 2))]

    with Home(tmp_path, "Gate1").node().running() as node:
        node.put("sum", code, limits={"time_ms": 1000})
        run(lambda: fill(node.port))
        node.end(signal.SIGKILL)
        node.start()
        run(lambda: test(node.port))
        _, shown = node.ask("GET", "/macros/sum")
        stream = f"{GROUP}/Gate1/hall/count"
        assert (shown["position"], shown["counters"]["failures"]) == ({stream: LONG + 1}, 0)


MODULE = """
MACROS = [{
    "name": "hall/kelvin",
    "language": "python",
    "code": "return round(Noctua.topic('hall/temp') + 273.15, 2)",
}]
"""


def said(node: LiveNode, reading: str) -> dict[str, str]:
    """What macros make of a reading."""
    found: dict[str, str] = {}

    async def test() -> None:
        async with wire(node.port) as device, wire(node.port) as display:
            await display.subscribe("Noctua/#", qos=1)
            await device.say("hall/temp", reading)
            await display.until(lambda: len(display.got) >= 2)
            found.update({each.topic.decode(): each.payload.decode() for each in display.got})

    run(test)
    return found


def test_macros_of_files_and_packages_are_there_from_the_first_start_and_stay(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (tmp_path / "house_macros.py").write_text(MODULE)
    home.environment["PYTHONPATH"] = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    node = home.node(macros={"files": ["macros.yaml"], "python": ["house_macros"]})
    fahrenheit = {"name": "hall/fahrenheit", "code": "Noctua.topic('hall/temp') * 9/5 + 32"}
    (node.folder / "macros.yaml").write_text(yaml.safe_dump([fahrenheit]))
    expected = {"Noctua/hall/fahrenheit": "68", "Noctua/hall/kelvin": "293.15"}
    with node.running():
        assert said(node, "20") == expected
        status, refused = node.ask("PUT", "/macros/spy", {"code": "return Noctua.topic('a/b')", "language": "python"})
        assert (status, refused["error"]) == (
            400,
            "macros in Python are for operators: put it into a file that the configuration names",
        )
        assert node.ask("GET", "/macros")[1] == ["hall/fahrenheit", "hall/kelvin"]
        node.signal(signal.SIGHUP)
        assert said(node, "20") == expected
        node.end(signal.SIGKILL)
        node.start()
        assert said(node, "20") == expected
        assert {node.ask("GET", f"/macros/{name}")[1]["version"] for name in ("hall/fahrenheit", "hall/kelvin")} == {1}
        assert node.end() == 0
        (node.folder / "macros.yaml").write_text(yaml.safe_dump(fahrenheit | {"code": "-Noctua.topic('hall/temp')"}))
        node.start()
        assert said(node, "20") == expected | {"Noctua/hall/fahrenheit": "-20"}
        assert node.ask("GET", "/macros/hall/fahrenheit")[1]["version"] == 2


def test_a_reload_reads_macro_files_again_and_keeps_what_runs_if_one_is_wrong(tmp_path: Path) -> None:
    home = Home(tmp_path)
    node = home.node(macros={"files": ["macros.yaml", "hall.js"]})
    listed, code = node.folder / "macros.yaml", node.folder / "hall.js"
    listed.write_text("{name: twice, code: 2 * Noctua.topic('hall/temp')}")
    code.write_text("Noctua.topic('hall/temp') + 1")

    def reload() -> tuple[int, str]:
        done = roost(home.environment, "mqtt", "reload", "-c", str(node.folder / "mqtt.yaml"))
        return done.returncode, (done.stdout + done.stderr).decode()

    with node.running():
        assert said(node, "20") == {"Noctua/twice": "40", "Noctua/hall": "21"}
        listed.write_text("{name: twice, code: -2 * Noctua.topic('hall/temp')}")
        code.write_text("Noctua.topic('hall/temp') + 3")
        status, told = reload()
        assert (status, "reloaded macros and limits" in told) == (0, True), told
        assert said(node, "20") == {"Noctua/twice": "-40", "Noctua/hall": "23"}
        listed.write_text("{name: twice, kode: '1'}")
        code.write_text("Noctua.topic('hall/temp') + 4")
        status, told = reload()
        assert (status, "macros.yaml: a macro has no 'kode'" in told) == (1, True), told
        assert said(node, "20") == {"Noctua/twice": "-40", "Noctua/hall": "23"}
        listed.write_text("{name: twice, code: -3 * Noctua.topic('hall/temp')}")
        code.write_text("Noctua.topic('hall/temp'\n  * 4")
        status, told = reload()
        assert (status, "hall.js, line 2: hall: line 2, column" in told) == (1, True), told
        assert said(node, "20") == {"Noctua/twice": "-40", "Noctua/hall": "23"}
        assert roost(home.environment, "mqtt", "check", "-c", str(node.folder / "mqtt.yaml")).returncode == 1


def test_results_are_signed_readings_that_anybody_verifies_back_to_the_raw_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path, "Gate1")
    for name in ("HOME", "ROOST_HOME"):
        monkeypatch.setenv(name, home.environment[name])
    code = "Noctua.topic('hall/temp', {required: 2}).reduce((a, b) => a + b) / 2"

    async def test() -> None:
        async with wire(node.port) as device, connect([home.uri()]) as face:
            for value in ("20", "21", "23"):
                await device.say("hall/temp", value)
            group, found = face.group(GROUP), []
            async for reading in group.subscribe("Gate1/Noctua/#", since=1):
                found.append((str(reading.stream), reading.number, reading.value, str(reading.signer)))
                if len(found) == 4:
                    break
            panel = f"{GROUP}/Gate1"
            assert sorted(found) == [
                (f"{panel}/Noctua/hall/lab/mean", 1, 20.5, panel),
                (f"{panel}/Noctua/hall/lab/mean", 2, 22, panel),
                (f"{panel}/Noctua/twice", 1, 41, panel),
                (f"{panel}/Noctua/twice", 2, 44, panel),
            ]
            (second,) = await group.read(f"{panel}/Noctua/hall/lab/mean", 2, 2)
            assert second.reading is not None
            assert second.reading.lineage is not None
            lineage = second.reading.lineage
            assert str(lineage.cause) == f"{panel}/hall/temp/seq=3"
            (used,) = lineage.ranges
            assert (str(used.stream), used.low, used.high) == (f"{panel}/hall/temp", 2, 3)
            assert lineage.program.hex() == digest

    with home.node().running() as node:
        digest = node.put("hall/lab/mean", code)["digest"]
        node.put("twice", "2 * Noctua.topic('Noctua/hall/lab/mean')")
        run(test)
        panel = f"{GROUP}/Gate1"
        told = home.verb("lineage", f"{panel}/Noctua/twice/seq=2", "--at", home.uri()).splitlines()
        assert [line.partition(",")[0] for line in told if not line.startswith(" ")] == [
            f"0  {panel}/Noctua/twice 2: 1 of 1 verified",
            f"1  {panel}/Noctua/hall/lab/mean 2: 1 of 1 verified",
            f"2  {panel}/hall/temp 2–3: 2 of 2 verified",
            "it leads back to 2 raw readings",
        ]
        assert f"   made by Noctua/hall/lab/mean@1, SHA-256 {digest}" in told
        absent = roost(home.environment, "lineage", f"{panel}/Noctua/hall/lab/mean/seq=9", "--at", home.uri())
        there = f"there is no reading 9 of {panel}/Noctua/hall/lab/mean: its readings are 1 to 2"
        assert (absent.returncode, there in absent.stderr.decode()) == (1, True)
