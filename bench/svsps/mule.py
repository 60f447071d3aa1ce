"""What the mule of the battlefield sends, for every kilobyte of positions that comes to a squad that wants it.

The battlefield is the paper's (`roost.sim.battlefield`): some 960 positions, 10 % loss, 630 s. The paper's mule sent
2.98 MB, 38 kbit/s, for as many deliveries. Epidemic routing is a baseline of ours in the same simulator (`_epidemic`),
not the product that the paper measured; it takes no images along. Packets count with 42 bytes of Ethernet, IP and UDP.
"""

from __future__ import annotations

from collections.abc import Iterable

from bench.figure import Figure, progress
from bench.svsps._epidemic import Epidemic, Switch, id_of
from roost.machine import SECOND
from roost.sim.battlefield import (
    PERIOD_S,
    PLATOONS,
    POSITION,
    PUBLISHING_S,
    SLOTS,
    SQUADS,
    STAY_S,
    Battlefield,
    unit,
)
from roost.sim.medium import Medium
from roost.sim.wire import Wire
from roost.sim.world import World

LOSS = 0.1
AROUND_BYTES = 42
PAPER_BYTES = 2_980_000
PAPER_DELIVERIES = 960 * 14
MULE = 100


def run() -> Iterable[Figure]:
    progress("battlefield, SVS-PS")
    field = Battlefield(0, LOSS)
    field.play()
    mule = field.world.machine("mule")
    sent = mule.sent_bytes + AROUND_BYTES * mule.sent_packets
    wanted = len(field.wanted())
    delivered = len(field.at_squads())
    progress("battlefield, epidemic routing")
    epidemic_sent, epidemic_delivered = epidemic()
    size = len(POSITION) * 7 / 1000
    ours = sent / (delivered * size)
    theirs = epidemic_sent / (epidemic_delivered * size)
    yield Figure("mule.bytes_per_kilobyte", ours, "bytes", "paper", PAPER_BYTES / PAPER_DELIVERIES / 1.024)
    yield Figure("mule.bytes_per_kilobyte_epidemic", ours, "bytes", "our-epidemic-baseline", theirs)
    yield Figure("mule.sent", sent / 1e6, "MB", "paper", PAPER_BYTES / 1e6)
    yield Figure("mule.sent_rate", sent * 8 / (SLOTS * STAY_S) / 1000, "kbit/s", "paper", 38.0)
    yield Figure("mule.delivered", delivered / wanted, "of_1", "our-epidemic-baseline", epidemic_delivered / wanted)


def epidemic() -> tuple[int, int]:
    """What the mule sent, and how many positions came to squads that want them."""
    world = World(0)
    links: list[Medium] = []
    squads: dict[int, str] = {}
    for platoon in range(PLATOONS):
        world.add(f"ap{platoon}", lambda _: Switch(), sync_ms=0)
        for squad in range(SQUADS):
            who = platoon * SQUADS + squad
            squads[who] = unit(platoon, squad)
            world.add(squads[who], lambda _, who=who: Epidemic(who, relays=False), sync_ms=0)  # type: ignore[misc]
            world.wire(f"ap{platoon}", squads[who], Wire(delay_ms=10, rate_bps=5_000_000))
        air = Wire(delay_ms=10, rate_bps=5_000_000, loss=LOSS)
        links.append(world.bus([f"ap{platoon}"], air, name=f"air{platoon}"))
    world.add("mule", lambda _: Epidemic(MULE, relays=True), sync_ms=0)
    published: list[tuple[int, bytes]] = []
    step = PERIOD_S * SECOND // 20
    for slot in range(SLOTS):
        if slot:
            world.detach(links[(slot - 1) % PLATOONS], "mule")
        world.attach(links[slot % PLATOONS], "mule")
        for _ in range(STAY_S * SECOND // step):
            world.run(for_=step)
            if slot * STAY_S < PUBLISHING_S:
                turn = len(published)
                who = turn % PLATOONS * SQUADS + turn // PLATOONS % SQUADS
                world.tell(squads[who], lambda machine, now, turn=turn: machine.publish(turn, POSITION * 7, now))  # type: ignore[misc]
                published.append((who, id_of(who, turn)))
    stores = {who: world.machine(name).store for who, name in squads.items()}
    delivered = sum(
        key in stores[other]
        for who, key in published
        for other in squads
        if other != who and (other // SQUADS - who // SQUADS) % PLATOONS in {0, 1, PLATOONS - 1}
    )
    return world.machine("mule").sent_bytes, delivered
