"""How long until all know, and what it costs: SVS v3, SVS v2 and PSync in simulation, on the same seeds.

Everything is the same for the three but the protocol: a star of nodes, each with its own forwarder and one member (the
hub too), wires of 5 ms that lose packets, one publication a second in the whole group by a member drawn at random, for
a minute. A star lets forwarders do what they do for each protocol: Sync Interests are sent on to everybody, equal
questions of PSync are asked once and its replies come from the nearest. On a bus without forwarders all who know more
would answer a question of PSync at once, which no network of nodes does.

Convergence is from the announcement until the last member has learned it; bytes are all that was sent on all wires
while publications went on, by the number of publications, so what a protocol sends while nothing happens is in it. It
is simulation: the same seeds give the same numbers on every run and every machine.
"""

import statistics
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from bench.figure import Figure, progress
from bench.sync._plot import Chart, Series, write_charts
from roost.machine import SECOND, Effect
from roost.naming import Name
from roost.sim import Wire, World, workload
from roost.sim.members import NodeMember, behind_node
from roost.sim.topology import names, star
from roost.sync.choice import PROTOCOLS
from roost.sync.port import Announced, Learned, Member, Ready, Stream

SPOKEN = ("svs3", "svs2", "psync")
LOSSES = (0, 5, 10, 20, 35, 50)  # per cent of the packets on each wire
MEMBERS = (2, 5, 10, 20, 40, 60)
USUAL_MEMBERS = 10
USUAL_LOSS = 5
SEEDS = (1, 2)
BUSY_S = 60
GIVE_UP_S = 1800
PLOT = Path("build/bench/sync-convergence.svg")
GROUP = Name.parse("/g")


class Case(NamedTuple):
    """One setting of one protocol."""

    protocol: str
    members: int
    loss: int


class Outcome(NamedTuple):
    """What came of it, over all seeds."""

    p50_ms: float
    p95_ms: float
    bytes_each: float


def run() -> Iterator[Figure]:
    cases = [Case(protocol, USUAL_MEMBERS, loss) for protocol in SPOKEN for loss in LOSSES]
    cases += [Case(protocol, members, USUAL_LOSS) for protocol in SPOKEN for members in MEMBERS]
    cases = list(dict.fromkeys(cases))
    outcomes: dict[Case, Outcome] = {}
    with ProcessPoolExecutor(2) as pool:
        longest_first = sorted(cases, key=lambda case: -case.members)
        for case, outcome in zip(longest_first, pool.map(measure, longest_first), strict=True):
            outcomes[case] = outcome
            progress(f"sync.convergence {len(outcomes)}/{len(cases)}: {case.protocol}, {case.members} members")
    _table(outcomes)
    write_charts(PLOT, "Sync in simulation: a star of nodes, one publication a second", list(_charts(outcomes)))
    progress(f"the plot is in {PLOT}")
    for protocol in SPOKEN:
        for loss in LOSSES:
            yield from _figures(f"loss_{loss}", Case(protocol, USUAL_MEMBERS, loss), outcomes)
        for members in MEMBERS:
            yield from _figures(f"members_{members}", Case(protocol, members, USUAL_LOSS), outcomes)


def measure(case: Case) -> Outcome:
    """Play one case with all seeds."""
    delays: list[float] = []
    sent = 0
    for seed in SEEDS:
        more, size = play(case, seed)
        delays += more
        sent += size
    cuts = statistics.quantiles(delays, n=20, method="inclusive")
    return Outcome(statistics.median(delays), cuts[-1], sent / len(delays))


def play(case: Case, seed: int) -> tuple[list[float], int]:
    """Play one case with one seed: how long each publication took in ms, and the bytes of all."""
    world = World(seed)
    members = names(case.members)
    for name in members:
        world.add(name, behind_node(GROUP, PROTOCOLS[case.protocol], [Name.parse(f"/{name}")]))
    world.wires(star(members), Wire(delay_ms=5, loss=case.loss / 100))
    draw = world.draws("who")
    world.run(for_=5 * SECOND)
    end = world.now + BUSY_S * SECOND
    before = _sent(world)
    workload.poisson(world, lambda: _publish(world, draw.choice(members)), 1000, until=end, name="publications")
    world.run(until=end)
    size = _sent(world) - before
    while (pending := _pending(world, members)) and world.now < end + GIVE_UP_S * SECOND:
        world.run(for_=SECOND)
    if pending:
        raise AssertionError(f"{case} with seed {seed}: {pending} publications are not known to all at the end")
    return _delays(world, members), size


def _publish(world: World, name: str) -> None:
    def announce(machine: NodeMember[Member], now: int) -> list[Effect]:
        stream = Name.parse(f"/{name}")
        effects = machine.act(machine.member.produce(stream, now), now)
        number = next(effect.number for effect in effects if isinstance(effect, Ready))
        return effects + machine.act(machine.member.announce(stream, number, now), now)

    world.tell(name, announce, "announce")


def _sent(world: World) -> int:
    return sum(medium.tally.sent_bytes for medium in world.media.values())


def _pending(world: World, members: list[str]) -> int:
    known = [world.machine(name).latest() for name in members]
    told = {each.what.stream: each.what.high for each in world.history if isinstance(each.what, Announced)}
    return sum(any(one.get(stream, 0) < high for one in known) for stream, high in told.items())


def _delays(world: World, members: list[str]) -> list[float]:
    began: dict[tuple[Stream, int], int] = {}
    ended: dict[tuple[Stream, int], int] = {}
    heard: dict[tuple[Stream, int], int] = {}
    for time, _, _, what in world.history:
        if isinstance(what, Announced):
            began[what.stream, what.high] = time
        elif isinstance(what, Learned):
            for number in range(what.low, what.high + 1):
                key = (what.stream, number)
                heard[key] = heard.get(key, 0) + 1
                ended[key] = time
    missing = [key for key in began if heard.get(key, 0) != len(members) - 1]
    if missing:
        raise AssertionError(f"{missing[0]} was learned by {heard.get(missing[0], 0)} of {len(members) - 1}")
    return [(ended[key] - time) / 1e6 for key, time in began.items()]


def _figures(setting: str, case: Case, outcomes: dict[Case, Outcome]) -> Iterator[Figure]:
    ours, base = outcomes[case], outcomes[Case("svs3", case.members, case.loss)]
    for name, unit, value, peer in (
        ("p50", "ms", ours.p50_ms, base.p50_ms),
        ("p95", "ms", ours.p95_ms, base.p95_ms),
        ("bytes", "bytes/publication", ours.bytes_each, base.bytes_each),
    ):
        figure = f"convergence.{case.protocol}_{setting}_{name}"
        yield Figure(figure, value, unit) if case.protocol == "svs3" else Figure(figure, value, unit, "svs3", peer)


def _table(outcomes: dict[Case, Outcome]) -> None:
    """Show everything on one screen, on standard error: standard output is for figures."""
    for title, settings in (
        (f"{USUAL_MEMBERS} members, loss", [(f"{loss} %", USUAL_MEMBERS, loss) for loss in LOSSES]),
        (f"loss {USUAL_LOSS} %, members", [(str(members), members, USUAL_LOSS) for members in MEMBERS]),
    ):
        lines = [f"\n{title:>22} " + "".join(f"{protocol + ' p50/p95 ms, kB':>30}" for protocol in SPOKEN)]
        for label, members, loss in settings:
            cells = [outcomes[Case(protocol, members, loss)] for protocol in SPOKEN]
            texts = [f"{one.p50_ms:.0f} / {one.p95_ms:.0f}, {one.bytes_each / 1000:.1f}" for one in cells]
            lines.append(f"{label:>22} " + "".join(f"{text:>30}" for text in texts))
        print("\n".join(lines), file=sys.stderr)


def _charts(outcomes: dict[Case, Outcome]) -> Iterator[Chart]:
    by_loss = {loss: (USUAL_MEMBERS, loss) for loss in LOSSES}
    by_members = {members: (members, USUAL_LOSS) for members in MEMBERS}
    for across, label, points in (
        (f"{USUAL_MEMBERS} members", "packets lost on each wire, %", by_loss),
        (f"{USUAL_LOSS} % loss", "members", by_members),
    ):
        for title, unit, index in (
            ("until all know, 95 % of publications", "ms", 1),
            ("sent per publication", "bytes", 2),
        ):
            series = [
                Series(protocol, [(x, outcomes[Case(protocol, *setting)][index]) for x, setting in points.items()])
                for protocol in SPOKEN
            ]
            yield Chart(f"{title} ({across})", label, unit, series)
