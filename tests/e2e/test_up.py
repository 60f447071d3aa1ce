"""`roost up` as a process: everything of a node, reloads that keep what was, ends that lose nothing."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.up_node import GROUP, PANEL, UpNode
from tests.verbs import roost

import roost as api
from roost.host.keystore import KeyStore
from roost.host.topics import Content
from roost.pubsub.flips.settings import FlipsSettings, Following

QUICK = FlipsSettings(probe_lifetime_ms=20, probe_timeout_ms=60, lifetime_ms=200, lead_ms=50)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[UpNode]:
    made = UpNode(tmp_path, watchdog_us=20_000_000)
    yield made
    made.close()


def test_what_is_published_is_a_signed_reading_on_the_page_and_no_end_loses_it(node: UpNode) -> None:
    assert "run this machine's node:  roost up" in node.made
    node.write()
    node.start()
    node.told("READY=1")
    node.told("WATCHDOG=1")
    assert node.lines[0].endswith(f": {node.file}")
    assert [line.partition(":")[0] for line in node.lines[1:-2]] == [
        f"group {GROUP}",
        "NDN",
        f"keeps sessions in {node.home / 'mqtt'}; sessions so far",
        "MQTT",
        "macros",
        "HTTP",
    ]
    assert node.lines[-2:] == ["ready; stop with Ctrl-C", f"the page is at {node.uri('HTTP: listening on ')}/"]
    node.publish("hall/temp", *range(100))
    node.publish("ping", 1)  # of one level, so no stream
    assert node.ask("/topics/hall/temp")[1][0]["stream"] == f"{PANEL}/hall/temp"
    subscribed = roost(node.environment, "sub", GROUP, "Panel1/hall/temp", "--since", "1", "-C", "100")
    assert len(subscribed.stdout.splitlines()) == 100, subscribed.stderr
    assert node.end(signal.SIGTERM) == 0
    node.told("STOPPING=1")
    assert node.lines[-1].startswith("stopped; ")
    node.start()
    node.publish("hall/temp", *range(50))
    assert node.counts() == {"hall/temp": 150}
    assert node.end(signal.SIGKILL) == -signal.SIGKILL
    node.start()
    assert node.counts() == {"hall/temp": 150}
    assert node.end() == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_an_end_in_the_middle_loses_nothing_that_was_acknowledged(node: UpNode, how: signal.Signals) -> None:
    node.write()
    node.start()
    acknowledged = node.publish_and("hall/load", 300, lambda: node.end(how))
    assert len(acknowledged) >= 300
    node.start()
    kept = node.values(f"{PANEL}/hall/load")
    assert acknowledged <= set(kept), sorted(acknowledged - set(kept))[:10]
    assert len(kept) == len(set(kept))
    assert node.end() == 0


def test_a_reload_of_a_wrong_file_keeps_everything_as_it_was(node: UpNode) -> None:
    node.write()
    node.start()
    node.told("READY=1")
    right = node.file.read_text(encoding="utf-8")
    node.file.write_text(f"{right}limits: {{conections: 5}}\n", encoding="utf-8")
    line = len(right.splitlines()) + 1
    node.hang_up()
    node.told("STATUS=ready")
    said = f"{node.file}, line {line}: limits.conections: there is no such key; perhaps you mean connections"
    assert f"nothing was reloaded, everything stays as it was: {said}" in node.log()
    node.publish("hall/temp", 1)
    checked = roost(node.environment, "check-config")
    assert (checked.returncode, said in checked.stderr.decode()) == (1, True)
    assert said in roost(node.environment, "up", "reload").stderr.decode()
    node.file.write_text(f"{right}limits: {{connections: 5}}\nname: other\n", encoding="utf-8")
    told = roost(node.environment, "up", "reload").stdout.decode()
    assert "reloaded macros and limits" in told
    assert told.rstrip().endswith("counts from the next start: name")
    node.publish("hall/temp", 2)
    assert node.counts() == {"hall/temp": 2}
    assert node.end() == 0
    node.file.write_text(f"{right}store: [1]\n", encoding="utf-8")
    refused = roost(node.environment, "up", "-c", str(node.file))
    assert (refused.returncode, f"line {line}: store: [1] is no text" in refused.stderr.decode()) == (1, True)


def test_topics_of_flips_go_into_the_group_and_streams_come_out(node: UpNode, tmp_path: Path) -> None:
    into = {"topic": "cellar/boiler", "group": GROUP, "stream": "Boiler/Temp", "unit": "Cel"}
    out = {"group": GROUP, "stream": "Panel1/hall/temp", "topic": "hall"}
    node.write(flips={"listen": ["127.0.0.1:0"], "into": [into], "out": [out]})
    node.start()
    address = node.uri("FLIPS: listening on ").partition("://")[2]
    shown = node.ask("/node")[1]
    assert shown["features"]["flips"]
    assert shown["listeners"] == [
        *(node.uri(f"{part}: listening on ") for part in ("MQTT", "HTTP", "NDN", "FLIPS")),
    ]
    node.publish("hall/temp", 21.5)

    keys = KeyStore(node.home)

    async def main() -> None:
        async with (
            asyncio.timeout(120),
            api.flips(address, settings=QUICK, durable=False) as display,
            api.flips(address, settings=QUICK, folder=tmp_path / "kept") as boiler,
            api.connect(f"unix://{node.home / 'node.sock'}", verifier=keys.verifier(time.time_ns())) as face,
            face.group(GROUP).subscribe("Panel1/Boiler/Temp", since=1) as readings,
        ):
            await boiler.register("cellar/boiler")
            await boiler.publish("cellar/boiler", b"61.5")
            reading = await anext(readings)
            assert (reading.value, reading.unit) == (61.5, "Cel")
            content = await anext(display.subscribe("hall", following=Following(patient=True)))
            assert isinstance(content, Content)
            assert content.content == b"21.5"

    asyncio.run(main())
    assert node.end() == 0
