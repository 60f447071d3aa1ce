"""Macros of a group with three real nodes: the one that runs them is killed under load, and comes back."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.live_nodes import GROUP, Home, LiveNode, asked
from tests.loops import run
from tests.mqtt_wire import Wire, wire

MACROS = {
    "each": "Noctua.topic('hall/count')",
    "counted": "[Noctua.topic('hall/count'), Noctua.state.n = (Noctua.state.n || 0) + 1]",
    "twice": "2 * Noctua.topic('Noctua/each')",
}
PART = 150  # readings
LAST = [str(3 * PART), f"[{3 * PART},{3 * PART}]", str(6 * PART)]  # results, before the dead node comes back
LIMIT_S = 100
POLL_S = 0.1


async def runner_of(nodes: list[LiveNode], name: str, among: set[str]) -> str:
    """Wait until all of these nodes know that a macro runs on one of these panels; which."""
    while True:
        answers = [await asyncio.to_thread(node.ask, "GET", f"/macros/{name}") for node in nodes]
        told = {said["runs_on"] if status == 200 else "nowhere" for status, said in answers} - {"here"}
        if len(told) == 1 and told <= among:
            return told.pop()
        await asyncio.sleep(POLL_S)  # nobody tells a test


async def speak(device: Wire, numbers: range) -> None:
    """Publish numbered readings, as fast as they are acknowledged."""
    for number in numbers:
        await device.say("hall/count", str(number))
    await device.acknowledged()


async def history(node: LiveNode, topic: str, count: int) -> dict[str, list[Any]]:
    """The values of a topic by stream, once there are so many: what a node that is back has comes in any order."""
    while True:
        found = await asked(node, "GET", f"/topics/{topic}?since=1&limit=10000")
        assert isinstance(found, list)
        streams: dict[str, dict[int, Any]] = {}
        for each in found:
            streams.setdefault(each["stream"], {})[each["number"]] = each["value"]
        assert sum(map(len, streams.values())) == len(found), "no reading is told twice"
        if len(found) == count:
            return {stream: list(values.values()) for stream, values in streams.items()}
        await asyncio.sleep(POLL_S)  # nobody tells a test


def test_macros_move_from_a_node_that_is_killed_and_every_reading_has_one_result(tmp_path: Path) -> None:
    home = Home(tmp_path, "Gate1", "Gate2", "Gate3")
    nodes = [home.node(1, 2, 3), home.node(2, 1, 3), home.node(3, 1, 2)]
    first, second, third = nodes

    async def test() -> None:
        async with wire(second.port) as device, wire(third.port) as display:
            await display.subscribe("Noctua/#", qos=1)
            for name in MACROS:
                await runner_of([second, third], name, {f"{GROUP}/Gate1"})
            working = asyncio.create_task(speak(device, range(1, 2 * PART + 1)))
            await display.until(lambda: len(display.got) > PART // 2)
            assert first.end(signal.SIGKILL) == -signal.SIGKILL
            await working
            for name in MACROS:
                await runner_of([second, third], name, {f"{GROUP}/Gate2", f"{GROUP}/Gate3"})
            await speak(device, range(2 * PART + 1, 3 * PART + 1))
            await display.until(lambda: all(last in display.payloads for last in LAST))
            await asyncio.to_thread(first.start)
            for name in MACROS:
                await runner_of(nodes, name, {f"{GROUP}/Gate2", f"{GROUP}/Gate3"})
            await speak(device, range(3 * PART + 1, 4 * PART + 1))
            await display.until(lambda: len(display.got) >= 4 * PART * len(MACROS))
            await display.settle()
            every = list(range(1, 4 * PART + 1))
            got: dict[str, list[Any]] = {name: [] for name in MACROS}
            for packet in display.got:
                got[packet.topic.decode().partition("/")[2]].append(json.loads(packet.payload))
            assert sorted(got["each"]) == every
            assert sorted(got["counted"]) == [[number, number] for number in every], "and the state went on"
            assert sorted(got["twice"]) == [2 * number for number in every]
            for name, values in got.items():
                await check(name, values)

    async def check(name: str, values: list[Any]) -> None:
        """What came is in the order of the streams it came from, and those have nothing else, and nothing twice."""
        streams = await history(third, f"Noctua/{name}", len(values))
        assert len(streams) == 2, "one of the node that died, one of the node that took over"
        came = [json.dumps(each) for each in values]
        made = [json.dumps(each) for entries in streams.values() for each in entries]
        assert sorted(made) == sorted(came), "what never left the dead node was made again, and is told once"
        for entries in streams.values():
            texts = [json.dumps(each) for each in entries]
            assert [each for each in came if each in set(texts)] == texts

    with ExitStack() as stack:
        for node in nodes:
            stack.enter_context(node.running())
        for name, code in MACROS.items():
            first.put(name, code)
        run(test, LIMIT_S)
