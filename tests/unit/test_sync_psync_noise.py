"""Whatever a stranger sends to a PSync machine costs the stranger a packet: no exception, bounded tables."""

from __future__ import annotations

from random import Random

import pytest
from tests.psync_world import NOW, asked, only

from roost.errors import BadPacket
from roost.machine import MS, Effect
from roost.naming import Component, Name
from roost.naming.conventions import segment, version
from roost.sync.compression import compress
from roost.sync.ledger import Ledger
from roost.sync.port import Answered, Collected, Event, Express, Listener, Unanswered
from roost.sync.presets import FullPreset, PartialPreset
from roost.sync.psync_consumer import PSyncConsumer
from roost.sync.psync_full import PSyncFull
from roost.sync.psync_names import SYNC, hello_question
from roost.sync.psync_producer import PSyncProducer
from roost.sync.subscriptions import NameList
from roost.sync.sync_state import encode_state
from roost.wire import DigestSigner, Interest, make_data

GROUP = Name.parse("/S")
STREAM = Name.parse("/A")
ROUNDS = 300


def machines() -> list[Listener]:
    full = FullPreset(expected=6, max_pending=5, max_waiting=5, max_streams=50)
    growing = FullPreset(expected=20, max_expected=40, adaptive=True, max_pending=5, max_waiting=5, max_streams=50)
    partial = PartialPreset(expected=6, max_pending=5, max_streams=50)
    signer = DigestSigner()
    members: list[PSyncFull | PSyncProducer] = [
        PSyncFull(GROUP, full, signer, Random(1), Ledger("numbers", b"")),
        PSyncFull(GROUP, growing, signer, Random(2), Ledger("numbers", b"\0" * 50)),
        PSyncProducer(GROUP, partial, signer, Random(3), Ledger("numbers", b"\0" * 50)),
    ]
    for member in members:
        member.produce(STREAM, NOW)
        member.dataset.set(Name.parse("/known"), 7)
    return [*members, PSyncConsumer(GROUP, partial, NameList([STREAM]), Random(4), b"", "place")]


def noise(random: Random) -> bytes:
    """Bytes that are wrong in several ways: at random, of the right size, compressed, almost a state."""
    size = random.choice([0, 1, 36, 107, 108, 360, 720, random.randint(0, 1500)])
    raw = random.choice([bytes(size), random.randbytes(size)])
    state = encode_state([(Name.parse(f"/{random.randint(0, 99)}"), random.getrandbits(random.choice([1, 8, 64])))])
    made = random.choice([raw, compress(raw, "zlib"), state, compress(state, "zlib")])
    if made and random.random() < 0.3:
        made = made[: random.randrange(len(made))] + random.randbytes(1) + made[random.randrange(len(made)) :]
    return made


def component(random: Random) -> Component:
    return random.choice(
        [
            Component(noise(random)),
            Component(noise(random), 32),
            Component(random.randbytes(random.choice([1, 2, 4, 8, 3]))),
            segment(random.getrandbits(4)),
            version(random.getrandbits(40)),
            SYNC,
            hello_question(Name()).at(0),
        ]
    )


def event(random: Random, ticket: int, last: Name) -> Event:
    which = random.random()
    if which < 0.5:
        tail = [component(random) for _ in range(random.randint(0, 6))]
        return asked(Name.of(*GROUP, *tail), lifetime_ms=random.choice([0, 1, 1000, 1 << 62]))
    if which < 0.6:
        return Collected(ticket, noise(random))
    if which < 0.65:
        return Unanswered(ticket, "lost")
    tail = [component(random) for _ in range(random.randint(0, 2))] + [version(1), segment(0)][random.randint(0, 2) :]
    final = random.choice([None, segment(0), segment(1)])
    name = Name.of(*last, *tail)
    return Answered(
        ticket, make_data(name, noise(random), DigestSigner(), content_type=random.choice([0, 0, 3]), final_block=final)
    )


@pytest.mark.parametrize("which", range(4), ids=["full", "adaptive", "producer", "consumer"])
@pytest.mark.parametrize("seed", range(3))
def test_noise_raises_nothing_and_fills_nothing(which: int, seed: int) -> None:
    member = machines()[which]
    random = Random(seed)
    now = NOW
    ticket, last = 0, GROUP

    def watch(effects: list[Effect]) -> None:
        nonlocal ticket, last
        for express in only(effects, Express):
            ticket, last = express.ticket, Interest.decode(express.interest).name

    watch(member.start(now))
    for _ in range(ROUNDS):
        try:
            heard = event(random, ticket, last)
        except BadPacket:
            continue  # it does not even fit a packet
        watch(member.receive(heard, now))
        now += random.randint(0, 200) * MS
        due = member.deadline()
        if due is not None and due <= now:
            watch(member.tick(now))
    assert len(member.latest()) <= 50
    if isinstance(member, (PSyncFull, PSyncProducer)):
        assert len(member.pending) <= 5
        assert member.replies.packets <= member.replies.max_kept
    if isinstance(member, PSyncFull):
        assert len(member.waiting) <= 5
