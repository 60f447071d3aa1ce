"""How fast the simulator is: a thousand members of one group for ten simulated minutes, real machines and all.

All members are SVS v3 on one bus; they start at once, as after a power failure, and the group publishes once a second.
An event is a call of a machine with what came for it at one instant. What a bare event loop costs in Python is measured
in the same run: the same number of events through a heap, each calling a method that does nothing. The rest is the
protocol.
"""

import heapq
import time
from collections.abc import Iterator
from random import Random

from bench.figure import Figure, progress
from roost.machine import SECOND, Effect
from roost.naming import Name
from roost.pubsub.participant import Participant
from roost.sim import Wire, World, workload
from roost.sim.members import on_bus
from roost.sim.topology import names
from roost.sync.choice import SVS3
from roost.sync.port import Member, Ready

MEMBERS = 1000
SIMULATED_S = 600


def run() -> Iterator[Figure]:
    progress(f"sync.simulator: {MEMBERS} members for {SIMULATED_S} simulated seconds")
    began = time.perf_counter()
    events = simulate()
    took = time.perf_counter() - began
    bare = _bare_loop(events)
    node_hours = MEMBERS * SIMULATED_S / 3600
    yield Figure("simulator.seconds", took, "s")
    yield Figure("simulator.events", events / took, "1/s", "bare-heap", events / bare)
    yield Figure("simulator.node_hours", node_hours / took, "h/s")


def simulate() -> int:
    """Run it; how many events there were."""
    world = World(1)
    members = names(MEMBERS)
    build = on_bus(Name.parse("/g"), SVS3)
    for name in members:
        world.add(name, build)
    world.bus(members, Wire(delay_ms=5))
    draw = world.draws("who")
    end = world.now + SIMULATED_S * SECOND
    workload.periodic(world, lambda: _publish(world, members, draw), 1000, until=end)
    world.run(until=end)
    return world.events


def _publish(world: World, members: list[str], draw: Random) -> None:
    name = draw.choice(members)

    def announce(machine: Participant[Member], now: int) -> list[Effect]:
        stream = Name.parse(f"/{name}")
        effects = machine.act(machine.member.produce(stream, now), now)
        number = next(effect.number for effect in effects if isinstance(effect, Ready))
        return effects + machine.act(machine.member.announce(stream, number, now), now)

    world.tell(name, announce, "announce")


class _Nothing:
    def receive(self, now: int) -> None:
        """Do nothing."""


def _bare_loop(events: int) -> float:
    """Seconds for so many events through a heap, each for one of as many machines as there are members."""
    draw = Random(1)
    machines = [_Nothing() for _ in range(MEMBERS)]
    heap = [(draw.random(), number, machine) for number, machine in enumerate(machines)]
    heapq.heapify(heap)
    order = MEMBERS
    began = time.perf_counter()
    for _ in range(events):
        now, _, machine = heapq.heappop(heap)
        machine.receive(order)
        order += 1
        heapq.heappush(heap, (now + draw.random(), order, machine))
    return time.perf_counter() - began
