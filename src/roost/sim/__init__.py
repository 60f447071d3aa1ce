"""The same machines under a virtual clock: links, loss, partitions, crashes, bit flips, checkers, replay from a seed.

Public, for the protocols of whoever uses Roost as well; docs/simulator.md shows how. `topology` and `workload` are the
vocabulary of scenarios, `checkers` that of promises. `campaign` runs many seeds; so does `roost sim`, which also
replays one.
"""

from roost.machine import MS, SECOND
from roost.sim import campaign, checkers, topology, workload
from roost.sim.driver import START
from roost.sim.families import Scenario
from roost.sim.happened import Crash, Crashed, Happened, Healed, Parted, Started, Violation
from roost.sim.medium import Medium
from roost.sim.station import Boot, Build, Command, Networked, Station
from roost.sim.story import timeline
from roost.sim.wire import Wire
from roost.sim.world import World

KEEP = Crash.KEEP
LOSE_UNSYNCED = Crash.LOSE_UNSYNCED
FLIP_BITS = Crash.FLIP_BITS
LOSE_ALL = Crash.LOSE_ALL

__all__ = [
    "FLIP_BITS",
    "KEEP",
    "LOSE_ALL",
    "LOSE_UNSYNCED",
    "MS",
    "SECOND",
    "START",
    "Boot",
    "Build",
    "Command",
    "Crash",
    "Crashed",
    "Happened",
    "Healed",
    "Medium",
    "Networked",
    "Parted",
    "Scenario",
    "Started",
    "Station",
    "Violation",
    "Wire",
    "World",
    "campaign",
    "checkers",
    "timeline",
    "topology",
    "workload",
]
