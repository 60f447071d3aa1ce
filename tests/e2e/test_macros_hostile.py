"""Hostile macros at a real node: whatever they do, others are served, and what they did is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.live_nodes import Home, LiveNode, asked
from tests.loops import run
from tests.mqtt_wire import Load, wire

READINGS = 5  # that each of them gets
POLL_S = 0.02
HOSTILE = {  # code, and what becomes of each run
    "loop": ("function() { Noctua.topic('bait/a'); for (;;); }()", "time"),
    "memory": (
        "function() { var all = [Noctua.topic('bait/a')]; for (;;) all.push(new Array(100000).fill(1)); }()",
        "memory",
    ),
    "text": ("function() { var t = 'x' + Noctua.topic('bait/a'); for (;;) t += t; }()", "error"),
    "recursion": ("function() { function f(n) { return f(n + 1) + 1 }; return f(Noctua.topic('bait/a')) }()", "error"),
    "giant": ("'x'.repeat(100000) + Noctua.topic('bait/a')", "output"),
    "state": ("Noctua.state.all = 'x'.repeat(100000) + Noctua.topic('bait/a')", "output"),
    "expression": ("/^(a+)+$/.test('a'.repeat(40) + Noctua.topic('bait/a') + '!')", "time"),
    "thrown": ("function() { throw {toString: function() { for (;;); }, n: Noctua.topic('bait/a')} }()", "error"),
}


async def processed(node: LiveNode, name: str, count: int) -> None:
    """Wait until a macro has had so many readings: what there is no time for waits."""
    while True:
        counters = (await asked(node, "GET", f"/macros/bad/{name}"))["counters"]
        if counters["runs"] + counters["limited"] >= count:
            return
        await asyncio.sleep(POLL_S)  # nobody tells a test


def test_hostile_macros_fail_alone_and_others_are_served_meanwhile(tmp_path: Path) -> None:
    async def test() -> None:
        async with wire(node.port) as device, wire(node.port) as display, wire(node.port) as enemy:
            await display.subscribe("hall/count", "Noctua/good", qos=1)
            load = Load(device, "hall/count")
            working = asyncio.create_task(load.run())
            for name, (code, _) in HOSTILE.items():
                await asked(node, "PUT", f"/macros/bad/{name}", {"code": code})
            await asked(node, "PUT", "/macros/good", {"code": "-Noctua.topic('bait/a')"})
            for number in range(READINGS):
                await enemy.say("bait/a", str(number))
                await enemy.acknowledged()
                for name in HOSTILE:
                    await processed(node, name, number + 1)
            for name, (_, kind) in HOSTILE.items():
                shown = await asked(node, "GET", f"/macros/bad/{name}")
                counters = shown["counters"]
                rested = counters["limited"] if kind == "time" else 0  # after a run that took too long it rests
                assert counters["runs"] >= 1, name
                assert counters["runs"] + rested == READINGS, name
                assert (counters["failures"], counters["results"]) == (counters["runs"], 0), name
                assert shown["last_failure"]["failure"]["kind"] == kind, name
                runs = await asked(node, "GET", f"/traces/bad/{name}")
                assert {each["failure"]["kind"] for each in runs} == {kind}, name
                causes = [each["cause"]["value"] for each in runs]
                assert causes == sorted(causes, reverse=True)
                assert kind == "time" or causes == list(range(READINGS))[::-1], name
            await load.more(100)
            load.stop()
            await working
            every = [str(number) for number in range(1, load.count + 1)]
            await display.until(lambda: len(display.got) >= load.count + READINGS)
            await display.settle()
            said = [(each.topic, each.payload.decode()) for each in display.got]
            assert [payload for topic, payload in said if topic == b"hall/count"] == every
            results = [str(-number) for number in range(READINGS)]
            assert [payload for topic, payload in said if topic == b"Noctua/good"] == results

    with Home(tmp_path).node().running() as node:
        run(test)
        assert node.ask("GET", "/health") == (200, {"status": "ok"})
