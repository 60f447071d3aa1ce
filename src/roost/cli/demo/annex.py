"""The annex: twelve rooms whose modules speak MQTT to two gates, and a dashboard in the centre that sees all of it.

A module publishes at QoS 1, and a gate acknowledges when two repos have the message: those of the two gates will do, so
the annex goes on while it is cut off. The dashboard is a client of the centre, on the far side of the line, with a
session that lasts. At QoS 1 something may come twice, and nothing may be missing.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Final

from roost.cli.demo.clients import V3, V5, Device, GateClient, Subscriber
from roost.cli.demo.processes import GateProcess
from roost.cli.demo.promises import Measured
from roost.cli.demo.tally import Debt
from roost.sim import deployment
from roost.sim.physics import Badge, Climate

LOOK_S: Final = 0.05
READY_S: Final = 120.0
REMEMBERED: Final = 50_000  # rounds that may be on their way
BADGE: Final = "annex/person/rssi"
_DIGITS: Final = {"temp": 2, "hum": 1, "co2": 0, "occupancy": 0}


class Annex:
    """Its devices and the dashboard."""

    def __init__(self, gates: Sequence[GateProcess], climate: Climate, badge: Badge) -> None:
        self.rounds = 0
        self._climate: Final = climate
        self._badge: Final = badge
        self._debt: Final = Debt()
        ports = [gate.port for gate in gates]
        self.devices: Final[list[Device]] = []
        for number, topic in enumerate(deployment.annex_topics()):
            turn = number % len(ports)
            name, version = topic.replace("/", "-"), V5 if number % 4 < 2 else V3
            self.devices.append(Device(name, ports[turn:] + ports[:turn], version))
        self._worn: Final = GateClient("badge", ports)
        self._numbers: Final[dict[int, int]] = {}  # of rounds, by their times; bound: REMEMBERED
        self.dashboard: Subscriber

    async def open(self, port: int, login: tuple[str, str], stack: AsyncExitStack) -> None:
        """Connect the dashboard to the centre, then the devices to their gates."""
        self.dashboard = Subscriber("dashboard", port, "annex/#", login, self._numbers.get)
        await self._connect([self.dashboard], lambda: self.dashboard.is_subscribed, stack)
        modules = [*self.devices, self._worn]
        await self._connect(modules, lambda: all(device.welcomes for device in modules), stack)

    async def _connect(self, clients: Sequence[GateClient], done: Callable[[], bool], stack: AsyncExitStack) -> None:
        for client in clients:
            client.open()
            stack.callback(client.close)
        await _until(done, READY_S)

    def publish(self) -> None:
        """One message on each topic, as modules send them; what the badge receives is for a macro, and not counted."""
        self.rounds += 1
        now = max(time.time_ns() // 1_000_000, next(reversed(self._numbers), 0) + 1)
        self._numbers[now] = self.rounds
        if len(self._numbers) > REMEMBERED:
            del self._numbers[next(iter(self._numbers))]
        for device, room in zip(self.devices, deployment.annex_topics(), strict=True):
            conditions = self._climate.of(room)
            for metric, unit in deployment.ANNEX_UNITS.items():
                value = round(getattr(conditions, metric), _DIGITS[metric] or None)
                device.publish(f"{room}/{metric}", json.dumps({"value": value, "unit": unit, "time": now}))
        self._worn.paho.publish(BADGE, json.dumps(self._badge.strengths()), qos=1)

    def measured(self) -> Measured:
        """What the dashboard lacks of what modules were told is safe."""
        arrived = self.dashboard.arrived
        owed = sent = safe = 0
        for device in self.devices:
            for topic, upto in device.safe_upto().items():
                owed += arrived.lacks(topic, upto)
            sent += device.sent
            safe += device.safe
        self._debt.look(owed, time.monotonic())
        refused = [refusal for client in (self.dashboard, *self.devices) for refusal in client.refusals]
        detail = f"{sent} sent, {safe} acknowledged when two repos had them, {arrived.count} at the dashboard"
        detail += f" ({arrived.twice} came twice, which QoS 1 allows), {self._debt.missing} on their way"
        detail += f", refused: {refused[-1]}" if refused else ""
        return Measured(len(refused), self._debt.missing, self._debt.stuck_s(time.monotonic()), detail)

    @property
    def unsafe(self) -> int:
        """How many messages are not acknowledged."""
        return sum(device.sent - device.safe for device in self.devices)


async def _until(done: Callable[[], bool], limit_s: float) -> None:
    """Wait for something that threads of clients bring about."""
    async with asyncio.timeout(limit_s):
        while not done():  # noqa: ASYNC110  no event of this loop tells
            await asyncio.sleep(LOOK_S)
