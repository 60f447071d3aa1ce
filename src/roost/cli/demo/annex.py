"""The annex: twelve rooms whose modules speak MQTT to two gates, and a dashboard that subscribes to the whole campus.

A gate acknowledges a message when two repos have it. One gate is killed on the way: half of the devices and the
dashboard go to the other one, with their sessions. At QoS 1 something may come twice, and nothing may be missing.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from roost.broker.announcement import RESERVED
from roost.cli.demo.clients import V3, V5, Device, GateClient, Said, Subscriber
from roost.cli.demo.processes import GateProcess
from roost.naming.topic import topic_of_name
from roost.sim import deployment

if TYPE_CHECKING:
    from roost.host.streams import StreamGroup

Say = Callable[[str, str], None]

LOOK_S: Final = 0.05
READY_S: Final = 30.0
CATCH_UP_S: Final = 60.0
AGO: Final = "1h"
_ANNEX: Final = "annex/"
_SESSIONS: Final = RESERVED.decode().rstrip("/")  # below it a gate tells the others of its sessions
_HALL: Final = topic_of_name(deployment.GROUP.name) + "/"
_MIDDLE: Final = {"temp": 21.5, "hum": 44.0}
SHOWN: Final = ("annex/floor1/room3/temp", topic_of_name(deployment.streams("pi1")[0]))


class Annex:
    """Its gates, its devices and the dashboard."""

    def __init__(self, gates: Sequence[GateProcess], say: Say) -> None:
        self._gates: Final = gates
        self._say: Final = say
        ports = [gate.port for gate in gates]
        self.devices: Final[list[Device]] = []
        for number, topic in enumerate(deployment.annex_topics()):
            turn = number % len(ports)
            name, version = topic.replace("/", "-"), V5 if number % 4 < 2 else V3
            self.devices.append(Device(name, ports[turn:] + ports[:turn], version))
        self.dashboard: Final = Subscriber("dashboard", ports, "#")
        self._moving: list[GateClient] = []

    async def open(self) -> None:
        """Connect the dashboard, then the devices."""
        self.dashboard.open()
        await self._until(lambda: bool(self.dashboard.welcomes), READY_S)
        for device in self.devices:
            device.open()
        await self._until(lambda: all(device.welcomes for device in self.devices), READY_S)
        first, other = (gate.name for gate in self._gates)
        self._say(
            "devices", f"{len(self.devices)} rooms, 36 topics, half at {first}, half at {other}; MQTT 3.1.1 and 5"
        )
        self._say("mqtt", f"a dashboard subscribes to # at {first}: the annex by its topics, the hall by its streams")
        self.invite()

    def invite(self) -> None:
        """Say how to look on, at the gate that stays."""
        port = self._gates[-1].port
        self._say("join in", f"mosquitto_sub -p {port} -t '#' -v   or   roost sub -p {port} -t '#' -v")

    async def settle(self, group: StreamGroup) -> None:
        """Wait until the gates know each other's sessions, so that one can do without the other."""
        for here, other in (self._gates, self._gates[::-1]):
            clients = [client for client in (self.dashboard, *self.devices) if client.port == here.port]
            sessions = deployment.ANNEX.panel(here.name).name / _SESSIONS
            async with asyncio.timeout(CATCH_UP_S):
                while len(await group.streams(sessions, repo=other.name)) < len(clients):  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_S)
            self._say("session", f"{other.name} knows the sessions of the {len(clients)} clients of {here.name}")

    def close(self) -> None:
        """Disconnect all."""
        for client in (self.dashboard, *self.devices):
            client.close()

    def publish(self, number: int) -> None:
        """One message on each of the thirty-six topics, as modules might send them."""
        for device, room in zip(self.devices, deployment.annex_topics(), strict=True):
            for metric, unit in deployment.ANNEX_UNITS.items():
                topic = f"{room}/{metric}"
                said = {"value": _value(topic, number), "unit": unit, "n": number}
                device.publish(topic, json.dumps(said))

    def show(self) -> None:
        """Show the last message of a topic of each building, as the dashboard got it."""
        last = {each.topic: each for each in self.dashboard.arrived.copy()}
        for topic in SHOWN:
            if topic in last:
                self._say("mqtt", f"{topic} {last[topic].payload}")

    def tell(self) -> None:
        """Say how far everything is, and once that all are back who lost their gate."""
        arrived = len(self._arrived(_ANNEX))
        self._say(
            "annex", f"{len(self._sent())} published, {len(self._safe())} acknowledged, {arrived} at the dashboard"
        )
        if self._moving and all(len(client.welcomes) > 1 for client in self._moving):
            kept = sum(client.welcomes[-1] for client in self._moving)
            self._say("moved", f"{len(self._moving)} clients are at {self._gates[-1].name}, {kept} with their session")
            self._moving = []
            self.show()

    async def lose_gate(self) -> None:
        """Kill the gate that the dashboard and half of the devices use, with messages on their way."""
        gate = self._gates[0]
        self._moving = [client for client in (self.dashboard, *self.devices) if client.port == gate.port]
        self._say("KILL", f"kill -9 {gate.pid}: {gate.name}, which the dashboard and half of the devices use, is gone")
        await gate.kill()

    async def ending(self, hall: int) -> bool:
        """Wait for all that was promised, and say what there is; `hall` is how many readings the hall published."""
        topic = SHOWN[0]
        wanted = {said for said in self._sent() if said.topic == topic}
        late = Subscriber("latecomer", [self._gates[-1].port], topic, AGO)
        late.open()
        try:
            await self._until(lambda: self._is_whole(hall) and wanted <= set(late.arrived.copy()), CATCH_UP_S)
        finally:
            late.close()
        self.tell()
        sent, safe, annex, seen = self._sent(), self._safe(), self._arrived(_ANNEX), self._arrived(_HALL)
        self._say(
            "annex",
            f"{len(safe)} of {len(sent)} messages acknowledged, each when two repos had it; {len(safe & annex.keys())} "
            f"of these reached the dashboard, {annex.total() - len(annex)} of them twice",
        )
        twice = seen.total() - len(seen)
        self._say("mqtt", f"{len(seen)} of {hall} readings of the hall reached the dashboard, {twice} of them twice")
        found = wanted & set(late.arrived)
        self._say("since", f"{AGO} ago, {topic}: {len(found)} of {len(wanted)} messages, for a client that came late")
        refusals = [refusal for client in (self.dashboard, late, *self.devices) for refusal in client.refusals]
        for refusal in refusals:
            self._say("REFUSED", refusal)
        kept = len(self.dashboard.welcomes) > 1 and self.dashboard.welcomes[-1]
        return not refusals and kept and found == wanted and self._is_whole(hall)

    def _is_whole(self, hall: int) -> bool:
        sent = self._sent()
        arrived = self._arrived(_ANNEX).keys()  # and what others publish, who joined in
        return self._safe() == sent and sent <= arrived and len(self._arrived(_HALL)) == hall

    def _sent(self) -> set[Said]:
        return {said for device in self.devices for said in device.sent}

    def _safe(self) -> set[Said]:
        return {said for device in self.devices for said in device.acknowledged}

    def _arrived(self, below: str) -> Counter[Said]:
        return Counter(said for said in self.dashboard.arrived.copy() if said.topic.startswith(below))

    async def _until(self, done: Callable[[], bool], limit_s: float) -> None:
        """Wait for something that threads of clients bring about, or until there was time enough."""
        try:
            async with asyncio.timeout(limit_s):
                while not done():  # noqa: ASYNC110  no event of this loop tells
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            pass  # what is missing then, is told


def _value(topic: str, number: int) -> float | int:
    room, _, metric = topic.rpartition("/")
    wave = math.sin(number / 4 + sum(room.encode()))
    return round(2 + 2 * wave) if metric == "occupancy" else round(_MIDDLE[metric] * (1 + 0.05 * wave), 2)
