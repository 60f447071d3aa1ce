"""One suite for every sync protocol that NDNts speaks: its members and ours in one group, through our node."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.interop.processes import Node, Peer
from tests.interop.sync_members import Ours, Theirs, ends, ndnts_program, new_group

from roost.sync.choice import PSYNC, SVS2, SVS3, Protocol
from roost.sync.presets import NDNTS_FULL


@dataclass(frozen=True)
class Spoken:
    """A protocol as we and as NDNts call it."""

    protocol: Protocol
    program: str
    options: dict[str, object]


SVS = "ndnts/svs.mjs"
FULL = "ndnts-2024/psync.mjs"
SPOKEN = {
    "svs2": Spoken(SVS2, SVS, {"version": 2, "period_ms": 300}),
    "svs3": Spoken(SVS3, SVS, {"version": 3, "period_ms": 300}),
    "psync, zlib": Spoken(PSYNC, FULL, {"expected": 80, "compressed": True}),
    "psync, plain": Spoken(NDNTS_FULL, FULL, {"expected": 80, "compressed": False}),
}


@pytest.fixture(scope="module")
def programs(folder: Path) -> Iterator[dict[str, Peer]]:
    with ndnts_program(SVS, folder) as svs, ndnts_program(FULL, folder) as psync:
        yield {SVS: svs, FULL: psync}


class Place:
    """Where they meet: our node and a group, in one protocol."""

    def __init__(self, node: Node, programs: dict[str, Peer], spoken: Spoken) -> None:
        self._uris = node.uris
        self._program = programs[spoken.program]
        self._spoken = spoken
        self.group = new_group()

    def theirs(self) -> AbstractAsyncContextManager[Theirs]:
        return Theirs.join(self._program, self._uris["unix"], self.group, **self._spoken.options)

    def ours(self, transport: str = "unix", folder: Path | None = None) -> AbstractAsyncContextManager[Ours]:
        return Ours.join(self._uris[transport], self.group, self._spoken.protocol, folder=folder)


@pytest.fixture(params=list(SPOKEN.values()), ids=list(SPOKEN))
def place(node: Node, programs: dict[str, Peer], request: pytest.FixtureRequest) -> Place:
    return Place(node, programs, request.param)


async def test_members_of_ndnts_meet_through_our_node(place: Place) -> None:
    place.group = new_group(under="/ndn/broadcast")  # multicast from the start: there is no member of ours to set it
    async with place.theirs() as first, place.theirs() as second:
        voltage, power = await first.publish("/first/voltage", 3), await second.publish("/second/power", 1)
        assert ends(await first.learned({voltage: 3, power: 1})) == {power: 1}
        assert ends(await second.learned({voltage: 3, power: 1})) == {voltage: 3}


async def test_ndnts_learns_what_we_publish_before_and_after_it_joins(place: Place) -> None:
    async with place.ours() as ours:
        voltage = await ours.publish("/our/voltage", 3)
        async with place.theirs() as theirs:
            power = await theirs.publish("/their/power", 1)
            assert ends(await theirs.learned({voltage: 3, power: 1})) == {voltage: 3}
            await ours.publish("/our/voltage", 4)
            current = await ours.publish("/our/current", 2)
            learned = await theirs.learned({voltage: 4, current: 2, power: 1})
            assert ends(learned) == {voltage: 4, current: 2}


async def test_we_learn_what_ndnts_publishes_before_and_after_we_join(place: Place) -> None:
    async with place.theirs() as theirs:
        voltage = await theirs.publish("/their/voltage", 3)
        current = await theirs.publish("/their/current", 300)
        async with place.ours() as ours:
            await ours.learned({voltage: 3, current: 300})
            await theirs.publish("/their/voltage", 5)
            power = await theirs.publish("/their/power", 1)
            learned = await ours.learned({voltage: 5, current: 300, power: 1})
            assert ends(learned) == {voltage: 5, current: 300, power: 1}


async def test_all_publish_at_once_and_come_to_know_the_same(place: Place) -> None:
    async with place.ours() as a, place.ours("tcp") as b, place.theirs() as c, place.theirs() as d:
        members: tuple[Ours | Theirs, ...] = (a, b, c, d)
        highs = (1, 7, 1000)
        streams = await asyncio.gather(
            *(
                member.publish(f"/member{number}/stream{high}", high)
                for number, member in enumerate(members)
                for high in highs
            )
        )
        known = dict(zip(streams, highs * len(members), strict=True))
        for number, member in enumerate(members):
            own = set(streams[number * len(highs) : (number + 1) * len(highs)])
            others = {stream: high for stream, high in known.items() if stream not in own}
            assert ends(await member.learned(known)) == others


async def test_what_ndnts_published_stays_known_after_it_has_left(place: Place) -> None:
    async with place.ours() as ours:
        async with place.theirs() as author:
            voltage = await author.publish("/author/voltage", 3)
            await ours.learned({voltage: 3})
        async with place.theirs() as reader:
            power = await reader.publish("/reader/power", 1)
            assert ends(await reader.learned({voltage: 3, power: 1})) == {voltage: 3}
            await ours.learned({voltage: 3, power: 1})


async def test_after_a_restart_we_go_on_with_our_numbers(place: Place, tmp_path: Path) -> None:
    async with place.theirs() as theirs:
        async with place.ours(folder=tmp_path) as ours:
            before = await ours.publish("/our/voltage", 3)
            await theirs.learned({before: 3})
        async with place.ours(folder=tmp_path) as ours:
            assert await ours.produce("/our/voltage") == 4
            assert await ours.publish("/our/voltage", 4) == before
            assert ends(await theirs.learned({before: 4})) == {before: 4}


async def test_a_number_that_our_disk_has_lost_is_not_given_twice(place: Place, tmp_path: Path) -> None:
    async with place.theirs() as theirs:
        async with place.ours(folder=tmp_path) as ours:
            before = await ours.publish("/our/voltage", 3)
            await theirs.learned({before: 3})
        flip_last_bit(tmp_path)
        async with place.ours(folder=tmp_path) as ours:
            number = await ours.produce("/our/voltage")
            after = await ours.publish("/our/voltage", number)
            assert (number, after) == (4, before) or (number == 1 and after.boot > before.boot)
            await theirs.learned({before: 3} | {after: number})


def flip_last_bit(folder: Path) -> None:
    (file,) = [path for path in folder.iterdir() if path.suffix != ".lock"]
    kept = file.read_bytes()
    file.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
