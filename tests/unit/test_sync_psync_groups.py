"""Groups of PSync full-sync members on a lossy medium: they converge, and then they are calm."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from struct import iter_unpack, pack

import pytest
from tests.psync_bus import Bus, Seat
from tests.psync_world import GROUP, asked, full, reply_to

from roost.machine import MS, SECOND, Effect, Rejected
from roost.naming import Name
from roost.naming.conventions import segment
from roost.sync.compression import compress, decompress
from roost.sync.dataset import Dataset
from roost.sync.iblt import cells_for, decode_iblt
from roost.sync.ledger import Ledger
from roost.sync.murmur import murmur3_key
from roost.sync.port import (
    Answered,
    Asked,
    Collect,
    Collected,
    Event,
    Express,
    Forget,
    Ready,
    Reply,
    Stream,
)
from roost.sync.presets import CPP_FULL, NDNTS_FULL, ROOST_FULL, FullPreset
from roost.sync.psync_full import PSyncFull
from roost.sync.psync_names import full_question, parse_full
from roost.sync.sync_state import decode_state
from roost.wire import Data, DigestSigner, Interest

# -- groups


def group_of(bus: Bus, count: int, preset: FullPreset, streams: int = 1) -> list[Seat]:
    """Members with disjoint streams, who have not heard of each other yet."""
    loss, bus.loss = bus.loss, 1.0
    seats = [
        bus.add(PSyncFull(GROUP, preset, DigestSigner(), Random(number), Ledger("numbers", b"")))
        for number in range(count)
    ]
    for number, seat in enumerate(seats):
        for stream in range(streams):
            bus.produce(seat, f"/m{number}/s{stream}")
            bus.announce(seat, f"/m{number}/s{stream}", number + 1)
    bus.run(SECOND)
    bus.loss = loss
    return seats


def converged(seats: list[Seat]) -> bool:
    first = seats[0].member.latest()
    return all(seat.member.latest() == first for seat in seats) and len(first) >= len(seats)


def settled(seats: list[Seat], streams: int) -> bool:
    return converged(seats) and len(seats[0].member.latest()) == streams


def check_calm(bus: Bus, seats: list[Seat], seconds: int = 8) -> None:
    """A converged group sends its Interests, about one per member and second, and nothing else."""
    bus.run(2 * SECOND)
    before = [(seat.interests, seat.replies) for seat in seats]
    bus.run(seconds * SECOND)
    for seat, (interests, replies) in zip(seats, before, strict=True):
        assert seat.replies == replies
        assert 0.9 * seconds <= seat.interests - interests <= 1.8 * seconds


@pytest.mark.parametrize("preset", [CPP_FULL, ROOST_FULL], ids=["fixed", "adaptive"])
@pytest.mark.parametrize(("count", "loss"), [(2, 0.0), (2, 0.5), (5, 0.2), (10, 0.1)])
def test_a_group_converges_and_then_is_calm(count: int, loss: float, preset: FullPreset) -> None:
    bus = Bus(seed=count, loss=loss)
    seats = group_of(bus, count, preset)
    assert bus.run(60 * SECOND, lambda: settled(seats, count))
    check_calm(bus, seats)


@pytest.mark.parametrize(
    "preset",
    [FullPreset(expected=10), FullPreset(expected=10, min_expected=10, max_expected=80, adaptive=True), NDNTS_FULL],
    ids=["fixed", "adaptive", "uncompressed"],
)
@pytest.mark.parametrize(("count", "streams", "loss"), [(2, 300, 0.0), (2, 300, 0.3), (5, 60, 0.1)])
def test_sets_far_larger_than_what_the_iblt_decodes_converge(
    count: int, streams: int, loss: float, preset: FullPreset
) -> None:
    bus = Bus(seed=7, loss=loss)
    seats = group_of(bus, count, preset, streams)
    assert bus.run(60 * SECOND, lambda: settled(seats, count * streams))
    check_calm(bus, seats)


def test_states_larger_than_a_reply_converge_in_rounds() -> None:
    bus = Bus(seed=3, loss=0.1)
    seats = group_of(bus, 2, FullPreset(expected=10, segment_bytes=500, max_reply_packets=4), 100)
    assert bus.run(120 * SECOND, lambda: settled(seats, 200))
    assert any(seat.member.entire.truncated for seat in seats if isinstance(seat.member, PSyncFull))


def test_every_number_is_learnt_once_and_without_gaps() -> None:
    bus = Bus(seed=2, loss=0.3)
    seats = group_of(bus, 3, CPP_FULL)
    for high in range(2, 30):
        bus.announce(seats[0], "/m0/s0", high)
        bus.run(100 * MS)
    assert bus.run(60 * SECOND, lambda: converged(seats))
    for seat in seats[1:]:
        heard = [(low, high) for stream, low, high in seat.learned() if stream == "/m0/s0"]
        assert heard[0][0] == 1
        assert heard[-1][1] == 29
        assert all(low == before[1] + 1 for before, (low, _) in pairwise(heard))


def test_publications_reach_a_converged_group_at_once() -> None:
    bus = Bus(seed=2)
    seats = group_of(bus, 5, CPP_FULL)
    assert bus.run(60 * SECOND, lambda: settled(seats, 5))
    bus.run(5 * SECOND)
    bus.announce(seats[2], "/m2/s0", 100)
    assert bus.run(20 * MS, lambda: all(seat.member.latest()[Stream(Name.parse("/m2/s0"))] == 100 for seat in seats))


def test_a_late_joiner_catches_up() -> None:
    bus = Bus(seed=4, loss=0.1)
    seats = group_of(bus, 3, CPP_FULL, 100)
    assert bus.run(60 * SECOND, lambda: settled(seats, 300))
    late = bus.add(full(CPP_FULL, seed=99))
    assert bus.run(20 * SECOND, lambda: settled([*seats, late], 300))


def test_a_member_that_crashes_never_gives_a_number_twice() -> None:
    bus = Bus(seed=5, loss=0.1)
    seats = group_of(bus, 3, CPP_FULL)
    assert bus.run(60 * SECOND, lambda: settled(seats, 3))
    bus.announce(seats[0], "/m0/s0", 50)
    bus.run(5 * SECOND)
    bus.crash(seats[0])
    file = bytearray(seats[0].files["numbers"])
    file[-1] ^= 1
    again = bus.add(full(CPP_FULL, saved=bytes(file), seed=77))
    bus.produce(again, "/m0/s0")
    assert bus.run(20 * SECOND, lambda: any(isinstance(effect, Ready) for effect in again.told))
    assert [effect.number for effect in again.told if isinstance(effect, Ready)] == [51]


def test_an_adaptive_group_grows_its_tables_and_shrinks_them_again() -> None:
    preset = FullPreset(expected=20, max_expected=160, adaptive=True)
    bus = Bus(seed=6)
    seats = group_of(bus, 3, preset, 60)
    members = [seat.member for seat in seats if isinstance(seat.member, PSyncFull)]
    sizes: set[int] = set()

    def watch() -> bool:
        sizes.update(member.sizing.expected for member in members)
        return settled(seats, 180)

    assert bus.run(60 * SECOND, watch)
    assert max(sizes) > 20
    bus.run(150 * SECOND)
    assert {member.sizing.expected for member in members} == {20}


def test_without_adaptation_other_sizes_are_rejected() -> None:
    bus = Bus(seed=6)
    one_size, other = [bus.add(full(FullPreset(expected=expected), seed=expected)) for expected in (40, 80)]
    bus.run(3 * SECOND)
    for seat in (one_size, other):
        assert any(isinstance(effect, Rejected) and "limit" in effect.reason for effect in seat.told) == (
            seat is one_size
        )
        assert any(isinstance(effect, Rejected) for effect in seat.told)


def test_the_same_seed_gives_the_same_history() -> None:
    def history() -> list[str]:
        bus = Bus(seed=11, loss=0.3)
        seats = group_of(bus, 4, ROOST_FULL, 5)
        bus.run(10 * SECOND)
        return [f"{seat.interests} {seat.replies} {seat.learned()}" for seat in seats]

    assert history() == history()


# -- a peer of another make


class OnePass:
    """Such as NDNts: one pass over the cells, no waiting list, partial answers below the threshold [PSync §5]."""

    group = GROUP
    prefix = GROUP
    route = GROUP
    multicast = GROUP

    def __init__(self, preset: FullPreset, seed: int) -> None:
        self.failures = 0
        self._preset = preset
        self._random = Random(seed)
        self._data = Dataset(1000)
        self._ticket = 0
        self._due: int | None = None
        self._pending: dict[Name, int] = {}

    def evidence(self, interest: Interest) -> Interest | Data | None:  # noqa: ARG002
        return None

    def latest(self) -> dict[Stream, int]:
        return {Stream(name): number for name, number in self._data.items()}

    def put(self, stream: str, number: int) -> None:
        self._data.set(Name.parse(stream), number)

    def publish(self, stream: str, number: int, now: int) -> list[Effect]:
        self.put(stream, number)
        asked_before = [name for name, until in self._pending.items() if until > now]
        self._pending.clear()
        return [effect for name in asked_before for effect in self._asked(name, now)]

    def start(self, now: int) -> list[Effect]:
        return self.tick(now)

    def deadline(self) -> int | None:
        return self._due

    def tick(self, now: int) -> list[Effect]:
        self._ticket += 1
        self._due = now + self._random.randint(600, 1000) * MS
        iblt = compress(self._data.iblt(self._preset.expected).encode(), self._preset.iblt_compression)
        wire = asked(full_question(GROUP, iblt, self._data.total)).interest.wire
        return [Forget(self._ticket - 1), Express(self._ticket, wire)]

    def receive(self, event: Event, now: int) -> list[Effect]:
        if isinstance(event, Asked):
            return self._asked(event.interest.name, now)
        if isinstance(event, Answered) and event.data.final_block != segment(0):
            return [Collect(event.ticket, event.data.name.prefix(-1))]
        if isinstance(event, (Answered, Collected)):
            content = event.data.content if isinstance(event, Answered) else event.content
            raw = decompress(content, self._preset.content_compression, 1 << 20)
            news = [self._data.set(stream, number) for stream, number in decode_state(raw, 1000)]
            return self.tick(now) if any(news) else []
        return []

    def _asked(self, name: Name, now: int) -> list[Effect]:
        found = parse_full(GROUP, name)
        if found is None:
            return []
        theirs = decompress(found.iblt, self._preset.iblt_compression, 1 << 16)
        ours = self._data.iblt(self._preset.expected).encode()
        positive, negative, complete = one_pass(ours, theirs)
        total = len(positive) + len(negative)
        if not complete and (total >= self._preset.expected // 2 or total == 0):
            self.failures += 1
            entries = [entry for entry in self._data.items() if entry[1]]
        else:
            entries = [
                e for e in self._data.elements_of(positive) if self._data.number_in(e[0], set(negative), 1) <= e[1]
            ]
        if not entries:
            self._pending[name] = now + SECOND
            return []
        state = [(str(stream), number) for stream, number in entries]
        return [Reply(reply_to(name, state, self._preset, now).wire, b"")]


def one_pass(ours: bytes, theirs: bytes) -> tuple[list[int], list[int], bool]:
    cells = [
        [a - d, b ^ e, c ^ f]
        for (a, b, c), (d, e, f) in zip(iter_unpack(">iII", ours), iter_unpack(">iII", theirs), strict=True)
    ]
    part = len(cells) // 3
    positive: list[int] = []
    negative: list[int] = []
    for at in range(len(cells)):
        count, key, check = cells[at]
        if abs(count) != 1 or check != murmur3_key(key, 11):
            continue
        (positive if count == 1 else negative).append(key)
        for number in range(3):
            cell = cells[number * part + murmur3_key(key, number) % part]
            cell[:] = [cell[0] - count, cell[1] ^ key, cell[2] ^ check]
    return positive, negative, not any(any(cell) for cell in cells)


def test_the_one_pass_peer_fails_where_we_decode() -> None:
    data = Dataset(100)
    failed = 0
    for number in range(60):
        data.set(Name.parse(f"/s/{number}"), 1)
        empty = pack(">iII", 0, 0, 0) * cells_for(80)
        complete = data.iblt(80).difference(decode_iblt(empty)).complete
        failed += complete and not one_pass(data.iblt(80).encode(), empty)[2]
    assert failed > 10


@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_a_group_with_such_peers_converges(loss: float) -> None:
    bus = Bus(seed=8, loss=1.0)
    ours = [bus.add(full(CPP_FULL, seed=number)) for number in range(2)]
    peers = [OnePass(CPP_FULL, seed) for seed in range(2)]
    theirs = [bus.add(peer) for peer in peers]
    for number, seat in enumerate(ours):
        for stream in range(30):
            bus.produce(seat, f"/ours{number}/{stream}")
            bus.announce(seat, f"/ours{number}/{stream}", 1)
    for number, peer in enumerate(peers):
        for stream in range(30):
            peer.put(f"/theirs{number}/{stream}", 2)
    bus.run(SECOND)
    bus.loss = loss
    seats = [*ours, *theirs]
    assert bus.run(60 * SECOND, lambda: settled(seats, 120))
    assert sum(peer.failures for peer in peers), "or the test shows nothing"
    bus.do(theirs[0], peers[0].publish("/theirs0/0", 3, bus.now))
    bus.announce(ours[0], "/ours0/0", 2)
    newest = Stream(Name.parse("/theirs0/0"))
    assert bus.run(30 * SECOND, lambda: converged(seats) and ours[0].member.latest()[newest] == 3)
    before = [seat.interests for seat in ours]
    bus.run(8 * SECOND)
    assert all(seat.interests - count <= 16 for seat, count in zip(ours, before, strict=True))
