"""Macros swapped under load at a real node: each reading has one result, of the version that the node says."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

from tests.live_nodes import GROUP, Home, asked
from tests.loops import run
from tests.mqtt_wire import Load, wire

SWAPS = 6
BETWEEN = 60  # readings, at least


def test_every_reading_has_one_result_of_the_version_that_was_in_effect(tmp_path: Path) -> None:
    stream = f"{GROUP}/Gate1/hall/count"

    def code(version: int) -> str:
        return f"[{version}, Noctua.topic('hall/count')]"

    async def test() -> None:
        async with wire(node.port) as device, wire(node.port) as display:
            await display.subscribe("Noctua/versions", qos=1)
            load = Load(device, "hall/count")
            working = asyncio.create_task(load.run())
            bounds: list[int] = []  # the last reading before each version, then before none
            for version in range(1, SWAPS + 1):
                await load.more(BETWEEN)
                shown = await asked(node, "PUT", "/macros/versions", {"code": code(version)})
                assert shown["version"] == version
                bounds.append(shown["effective"].get(stream, 0))
            await load.more(BETWEEN)
            deleted = await asked(node, "DELETE", "/macros/versions")
            bounds.append(deleted["position"][stream])
            await load.more(BETWEEN)
            load.stop()
            await working
            versions = range(1, SWAPS + 1)
            expected = [[version, number] for version in versions for number in range(*window(bounds, version))]
            await display.until(lambda: len(display.got) >= len(expected))
            await display.settle()
            assert [json.loads(each) for each in display.payloads] == expected
            assert min(Counter(version for version, _ in expected).values()) >= BETWEEN // 2
            past = await asked(node, "GET", "/topics/Noctua/versions?since=1&limit=10000")
            assert [each["number"] for each in past] == list(range(1, len(expected) + 1))
            assert [each["value"] for each in past] == expected

    with Home(tmp_path, "Gate1").node().running() as node:
        run(test)


def window(bounds: list[int], version: int) -> tuple[int, int]:
    """The first reading that a version processes, and the first that it does not."""
    return bounds[version - 1] + 1, bounds[version] + 1
