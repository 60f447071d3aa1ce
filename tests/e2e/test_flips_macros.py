"""A FLIPS topic that `roost flips into` brings into a group: MQTT clients see it, and a macro when it is silent."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.live_nodes import GROUP, Home
from tests.loops import run
from tests.mqtt_wire import wire
from tests.verbs import RUN, background

import roost
from roost.pubsub.flips.settings import FlipsSettings

QUICK = FlipsSettings(probe_lifetime_ms=100, probe_timeout_ms=200)
STREAM = f"{GROUP[1:]}/Boiler/cellar/temp"
LIMIT_S = 60


def test_readings_and_the_silence_of_a_topic_reach_mqtt_clients_and_macros(tmp_path: Path) -> None:
    home = Home(tmp_path, "Gate1")
    home.verb("keys", "make", f"{GROUP}/Boiler")
    node = home.node()

    async def test(at: str) -> None:
        async with (
            wire(node.port) as display,
            roost.flips(at, settings=QUICK, durable=False) as boiler,
        ):
            await display.subscribe(STREAM, qos=1)
            await display.subscribe("Noctua/alarm", qos=1)

            def got(topic: str) -> list[str]:
                return [each.payload.decode() for each in display.got if each.topic.decode() == topic]

            await boiler.register("cellar/boiler", interval_ms=100)
            await boiler.publish("cellar/boiler", b"61.5")
            await display.until(lambda: got(STREAM) == ["61.5"])
            await display.until(lambda: got("Noctua/alarm") == ["silent"])
            await boiler.publish("cellar/boiler", b"61.6")
            await display.until(lambda: got("Noctua/alarm")[:2] == ["silent", "speaks"])
            await display.until(lambda: got(STREAM) == ["61.5", "61.6"])

    with node.running(), background(home.environment, "hicn", "--udp", "127.0.0.1:0", until="listening") as lines:
        node.put("alarm", f"Noctua.topic('{STREAM}/Overdue') ? 'silent' : 'speaks'")
        at = lines[0].rpartition("//")[2]
        bridge = ("flips", "into", "cellar/boiler", GROUP, "Boiler", "cellar/temp", "--unit", "Cel", "--at", at)
        environment = home.environment | {"NDN_CLIENT_TRANSPORT": home.uri()}
        with subprocess.Popen([*RUN, *bridge], env=environment) as bridging:
            try:
                run(lambda: test(at), LIMIT_S)
            finally:
                bridging.terminate()
            assert bridging.wait(timeout=90) == 0
