"""A virtual sensor: a stream with a name of its own, backed by one physical sensor today and by another tomorrow."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests import broker_packets as packets
from tests.live_nodes import GROUP, Home, asked
from tests.loops import run
from tests.mqtt_wire import Load, wire

from roost.host.client import connect

BETWEEN = 80  # readings of each sensor, at least
PANEL = f"{GROUP}/Gate1"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    home = Home(tmp_path, "Gate1")
    for name in ("HOME", "ROOST_HOME"):
        monkeypatch.setenv(name, home.environment[name])
    return home


def test_a_virtual_sensor_is_swapped_under_load_and_nobody_sees_a_seam(home: Home) -> None:
    sensors = ("ahu1", "ahu2")

    async def test() -> None:
        async with wire(node.port) as device, wire(node.port) as display, connect([home.uri()]) as face:
            await display.subscribe("Noctua/hall/temp", qos=1)
            load = Load(device, *[f"{each}/temp" for each in sensors])
            working = asyncio.create_task(load.run())
            seams: list[dict[str, int]] = []
            for at in (0, 1, 0, 1):
                code = f"'{sensors[at]} ' + Noctua.topic('{sensors[at]}/temp')"
                shown = await asked(node, "PUT", "/macros/hall/temp", {"code": code})
                seams.append(shown["effective"])
                await load.more(BETWEEN)
            seams.append((await asked(node, "DELETE", "/macros/hall/temp"))["position"])
            load.stop()
            await working
            expected = []
            for turn, at in enumerate((0, 1, 0, 1)):
                stream = f"{PANEL}/{sensors[at]}/temp"
                low, high = seams[turn].get(stream, 0) + 1, seams[turn + 1][stream]
                assert high - low >= BETWEEN // 2
                expected += [f"{sensors[at]} {number}" for number in range(low, high + 1)]
            await display.until(lambda: len(display.got) >= len(expected))
            await display.settle()
            assert display.payloads == expected
            numbers, values = [], []
            async for reading in face.group(GROUP).subscribe("Gate1/Noctua/hall/temp", since=1):
                numbers.append(reading.number)
                values.append(reading.value)
                if len(values) == len(expected):
                    break
            assert numbers == list(range(1, len(expected) + 1))
            assert values == expected

    with home.node().running() as node:
        run(test)


def test_unit_and_quality_of_the_physical_reading_are_those_of_the_virtual_one(home: Home) -> None:
    senml = json.dumps([{"n": "temp", "u": "Cel", "v": 22.5}])
    said = packets.props(user=[(b"unit", b"Cel"), (b"quality", b"uncertain")])

    async def test() -> None:
        async with wire(node.port, 5) as device, wire(node.port) as display, connect([home.uri()]) as face:
            await display.subscribe("Noctua/hall/temp", qos=1)
            await device.say("ahu1/temp", "21.5", properties=said)
            await device.say("ahu1/temp", senml)
            await display.until(lambda: len(display.got) == 2)
            got: list[dict[str, Any]] = [json.loads(each) for each in display.payloads]
            assert [(each["value"], each["unit"], each["quality"]) for each in got] == [
                (21.5, "Cel", "uncertain"),
                (22.5, "Cel", "good"),
            ]
            readings = await face.group(GROUP).read(f"{PANEL}/Noctua/hall/temp", 1, 2)
            assert [(each.value, each.unit, each.quality.name) for each in readings] == [
                (21.5, "Cel", "UNCERTAIN"),
                (22.5, "Cel", "GOOD"),
            ]

    with home.node().running() as node:
        node.put("hall/temp", "Noctua.topic('ahu1/temp', {detail: true})")
        run(test)


def test_a_value_with_its_unit_is_a_value_to_the_next_macro(home: Home) -> None:
    async def test() -> None:
        async with wire(node.port) as device, wire(node.port) as display:
            await display.subscribe("Noctua/hall/more", qos=1)
            await display.subscribe("Noctua/hall/again", qos=1)
            await device.say("ahu1/temp", json.dumps({"value": 22.5, "unit": "Cel", "quality": "uncertain"}))
            await display.until(lambda: len(display.got) == 2)
            again, more = sorted(map(json.loads, display.payloads), key=lambda each: isinstance(each, float))
            assert more == 23.5
            assert (again["value"], again["unit"], again["quality"]) == (22.5, "Cel", "uncertain")
            (shown,) = await asked(node, "GET", "/topics/Noctua/hall/temp")
            assert (shown["value"], shown["unit"], shown["quality"]) == (22.5, "Cel", "uncertain")

    with home.node().running() as node:
        node.put("hall/temp", "Noctua.topic('ahu1/temp', {detail: true})")
        node.put("hall/again", "Noctua.topic('Noctua/hall/temp', {detail: true})")
        node.put("hall/more", "Noctua.topic('Noctua/hall/temp') + 1")
        run(test)
