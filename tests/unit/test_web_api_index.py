"""The index of streams: what repos keep is in it, in order, with intervals, rates and what is stale."""

from __future__ import annotations

import pytest
from tests.gateway_world import GROUP, START, Beside, bring, posted, replicate

from roost.machine import MS, SECOND
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.catalogue import Description, catalogue_of
from roost.repo.cause import REPLICATION
from roost.repo.shelf_effects import Kept
from roost.repo.store import Entry
from roost.web.index import MIN_STALE, Index
from roost.web.index_rows import StreamRow
from roost.wire import DigestSigner, make_data
from roost.wire.senml import Value

PANEL = GROUP.panel("Panel1").name
TEMP = PANEL + Name.parse("/room1/temp")


class World:
    """An index beside a repo, fed by hand."""

    def __init__(self, max_streams: int = 100) -> None:
        self.beside = Beside()
        self.index = Index(max_streams)
        self.group = self.index.add_group(self.beside.repo)
        self.now = START

    def keep(self, stream: Name, number: int, time: int | None = None) -> None:
        measured = self.now if time is None else time
        entry = Entry(numbered(stream, number), b"", measured)
        self.index.kept(self.beside.repo, Kept((entry,), REPLICATION), self.now)

    def row(self, stream: Name = TEMP) -> StreamRow:
        row = self.index.get(str(stream))
        assert row is not None
        return row

    def every(self, seconds: float, count: int, stream: Name = TEMP, first: int = 1) -> None:
        for number in range(first, first + count):
            self.keep(stream, number)
            self.now += round(seconds * SECOND)

    def tick(self) -> list[str]:
        self.index.tick(self.now)
        return [row.text for row in self.index.stale]


def test_streams_are_in_order_however_they_come_and_found_by_name() -> None:
    world = World()
    for part in ("c", "a", "b"):
        world.keep(PANEL + Name.parse(f"/room/{part}"), 1)
    assert [row.text[-1] for row in world.index.order] == ["a", "b", "c"]
    assert [row.text[-1] for row in world.index.came] == ["c", "a", "b"]
    assert world.row(PANEL + Name.parse("/room/a")).panel == "Panel1"
    assert world.index.get("/nothing") is None
    assert (world.group.label, world.group.building) == ("Mqtt", "Hall")
    assert world.group.panels["Panel1"].streams == 3


def test_the_newest_number_and_time_count_whatever_the_order_in_which_readings_come() -> None:
    world = World()
    world.keep(TEMP, 5, START + 50)
    world.keep(TEMP, 3, START + 30)
    assert (world.row().number, world.row().time) == (5, START + 50)
    world.keep(TEMP, 6, 0)
    assert (world.row().number, world.row().time) == (6, START + 50), "a sealed one tells no time"


def test_records_catalogues_and_what_nodes_tell_each_other_are_no_streams() -> None:
    world = World()
    world.keep(GROUP.repo("Repo2").name, 1)
    world.keep(PANEL + Name.parse("/$roost/sessions/x"), 1)
    world.keep(GROUP.name / "Panel1", 1)
    world.keep(Name.parse("/Other/Hall/Mqtt/P/a/b"), 1)
    assert len(world.index) == 0


def test_a_description_tells_interval_and_is_no_stream_itself() -> None:
    world = World()
    told = Description(TEMP, "Cel", "Temperature_Sensor", 60_000, "by the window")
    packet = make_data(numbered(catalogue_of(PANEL), 1), told.reading(START).encode(), DigestSigner())
    world.index.kept(world.beside.repo, Kept((Entry(packet.name, packet.wire, START),), REPLICATION), START)
    world.keep(TEMP, 1)
    assert len(world.index) == 1
    assert world.index.expected(world.row()) == 60_000 * MS


def test_what_calls_itself_a_description_and_is_none_is_passed_over() -> None:
    world = World()
    entry = Entry(numbered(catalogue_of(PANEL), 1), b"\x06\x03abc", START)
    world.index.kept(world.beside.repo, Kept((entry,), REPLICATION), START)
    assert len(world.group.catalogue) == 0


def test_what_a_repo_holds_already_is_filled_in() -> None:
    world = World()
    replicate(world.beside, "/Panel1/room1/temp", 1, Value(20.0, "Cel"))
    replicate(world.beside, "/Panel1/room1/temp", 2, Value(21.0, "Cel"))
    world.beside.insert(1, posted("hall/temp", "1"))
    world.beside.save()
    list(world.index.fill(world.group))
    list(world.index.fill(world.group))
    assert [(row.text, row.number) for row in world.index.order] == [
        ("/Campus/Hall/Mqtt/Gate1/hall/temp", 1),
        ("/Campus/Hall/Mqtt/Panel1/room1/temp", 2),
    ]


def test_an_interval_is_learnt_from_many_regular_gaps_and_follows() -> None:
    world = World()
    world.every(10, 8)
    assert world.row().interval == 0, "seven gaps are too few"
    world.every(10, 1, first=9)
    assert world.row().interval == 10 * SECOND
    world.every(30, 3, first=10)
    assert world.row().interval == 10 * SECOND, "most are as they were"
    world.every(30, 12, first=13)
    assert world.row().interval == 30 * SECOND


def test_what_is_published_by_hand_or_when_something_changes_is_not_expected() -> None:
    world = World()
    world.every(0.116, 2)  # two `roost pub`, one after the other
    switch = PANEL + Name.parse("/door/open")
    for number, pause in enumerate([1, 300, 2, 40, 1, 7200, 15, 3, 600, 20, 1, 90], 1):
        world.keep(switch, number)
        world.now += pause * SECOND
    world.now += 7200 * SECOND
    assert (world.index.expected(world.row()), world.index.expected(world.row(switch))) == (0, 0)
    assert world.tick() == []


def test_what_is_replayed_is_not_expected() -> None:
    world = World()
    for number in range(1, 50):
        world.keep(TEMP, number, START - 86_400 * SECOND + number * SECOND)
    world.index.learn(world.row(), [START - (86_400 - number) * SECOND for number in range(36, 49)])
    world.now += 60 * SECOND
    assert (world.row().interval, world.tick()) == (SECOND, []), "it is shown how often it spoke"


def test_who_fell_silent_while_nobody_looked_is_missed_unless_that_was_long_ago() -> None:
    world = World()
    late = PANEL + Name.parse("/room1/hum")
    for stream, ago in ((TEMP, 600), (late, 86_400)):
        row = world.index._add(world.group, stream.value, 13)
        assert row is not None
        world.index.learn(row, [world.now - (ago + number) * SECOND for number in range(13, 0, -1)])
    assert world.tick() == [str(TEMP)]


def test_a_gap_in_the_numbers_says_nothing_of_the_interval() -> None:
    world = World()
    world.every(10, 9)
    world.now += 1000 * SECOND
    world.keep(TEMP, 100)
    assert world.row().interval == 10 * SECOND


def test_a_stream_is_stale_after_three_intervals_and_no_longer_when_it_speaks() -> None:
    world = World()
    world.every(10, 9)  # the last one was heard 10 s ago
    world.now += 19 * SECOND
    assert world.tick() == []
    world.now += 2 * SECOND
    assert world.tick() == [str(TEMP)]
    assert (world.group.stale, world.group.panels["Panel1"].health) == (1, "silent")
    world.keep(TEMP, 10)
    assert world.tick() == []
    assert (world.group.stale, world.group.panels["Panel1"].health) == (0, "ok")
    world.now += 100 * SECOND
    assert world.tick() == [str(TEMP)], "and stale again"


def test_a_quick_stream_has_some_seconds_and_one_of_unknown_interval_is_never_stale() -> None:
    world = World()
    world.every(0.1, 10)
    world.keep(PANEL + Name.parse("/door/open"), 1)
    world.now += MIN_STALE - SECOND
    assert world.tick() == []
    world.now += SECOND
    assert world.tick() == [str(TEMP)]
    world.now += 10**6 * SECOND
    assert world.tick() == [str(TEMP)]
    assert world.group.panels["Panel1"].health == "lagging"


def test_each_stream_waits_once_for_its_turn_however_often_it_speaks() -> None:
    world = World()
    world.every(1, 1000)
    assert len(world.index._due) == 1


def test_the_rate_is_that_of_the_last_ten_whole_seconds() -> None:
    world = World()
    world.every(0.5, 40)
    assert world.group.rate(world.now) == 2.0
    world.now += 5 * SECOND
    assert world.group.rate(world.now) == pytest.approx(1.0, abs=0.2)
    world.now += 3600 * SECOND
    assert world.group.rate(world.now) == 0.0


def test_streams_beyond_the_bound_are_refused_and_counted() -> None:
    world = World(max_streams=2)
    for part in "abc":
        world.keep(PANEL + Name.parse(f"/room/{part}"), 1)
    world.keep(PANEL + Name.parse("/room/c"), 2)
    assert (len(world.index), world.index.refused) == (2, 2)


def test_who_watches_hears_every_reading() -> None:
    world = World()
    heard: list[tuple[str, int]] = []
    world.index.watchers.append(lambda row, number: heard.append((row.text, number)))
    world.keep(TEMP, 1)
    world.keep(TEMP, 2)
    world.keep(GROUP.repo("Repo2").name, 1)
    assert heard == [(str(TEMP), 1), (str(TEMP), 2)]


def test_readings_of_groups_that_are_not_kept_here_are_nothing_to_it() -> None:
    world = World()
    other = Index()
    bring(world.beside)
    other.kept(world.beside.repo, Kept((Entry(numbered(TEMP, 1), b"", START),), REPLICATION), START)
    assert len(other) == 0
