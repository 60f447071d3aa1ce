"""Pruning: a repo drops what its rules say, from below, and raw readings only when an aggregate names them."""

from __future__ import annotations

from collections.abc import Iterator

from tests.trust_world import NOW

from roost.machine import MS, SECOND, Effect, Note
from roost.naming import Component, Name
from roost.naming.building import numbered
from roost.naming.component import SEQUENCE
from roost.naming.topic import TopicFilter
from roost.pubsub.repos.pruning import READINGS_PER_TICK, ROUND, STREAMS_PER_TICK, Pruning
from roost.repo.cause import INSERT
from roost.repo.memory import MemoryStore
from roost.repo.payloads import part_payload, parts_of
from roost.repo.retention import DAY_MS, Rule, Rules
from roost.repo.shelf import MAX_MARKS, Shelf
from roost.repo.shelf_effects import Dropped, Kept
from roost.repo.store import Batch, Damaged, Entry, Unwritten, Write, Written
from roost.wire import encode_data, make_data
from roost.wire.digest import DigestSigner
from roost.wire.lineage import InputRange, Lineage, lineage_of
from roost.wire.reading import OCTET_STREAM, TEXT, Reading

GROUP = Name.parse("/C/B/E")
RAW = GROUP / "Panel1" / "Heater" / "Voltage"
HOURLY = GROUP / "Mean" / "hourly" / "Voltage"
REPO = GROUP / "Repo" / "Repo1"


class Store(MemoryStore):
    """One whose packets can be damaged."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: set[Name] = set()

    def get(self, name: Name) -> bytes | None:
        if name in self.broken:
            raise Damaged(name)
        return super().get(name)


class Warehouse:
    """A store and its shelf, whose writes are carried out when the test says so."""

    def __init__(self, *rules: Rule, store: Store | None = None, now: int = NOW) -> None:
        self.store = store or Store()
        self.shelf = Shelf("store", self.store)
        self.writes: list[Write] = []
        self.now = now
        self.told: list[Effect] = []
        self.pruning = Pruning(self.store, self.shelf, self.shelf.holdings, Rules(GROUP, rules))
        self.do(self.shelf.start(NOW))
        self.do(self.pruning.start(self.now))
        self.settle()

    def __iter__(self) -> Iterator[Name]:
        return iter([stream for stream, _ in self.shelf.holdings])

    def do(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Write):
                self.writes.append(effect)
            elif isinstance(effect, Kept):
                self.do(self.pruning.kept(effect.entries, self.now))
            elif not isinstance(effect, Dropped):
                self.told.append(effect)

    def carry_out(self, refusal: str = "") -> None:
        write = self.writes.pop(0)
        if refusal:
            self.do(self.shelf.receive(Unwritten("store", write.ticket, refusal), self.now))
            return
        self.store.write([write.batch])
        self.do(self.shelf.receive(Written("store", write.ticket), self.now))

    def settle(self) -> None:
        while self.writes:
            self.carry_out()

    def read(
        self,
        stream: Name,
        low: int,
        high: int,
        time: int = NOW,
        inputs: tuple[Name, ...] = (),
        ranges: tuple[InputRange, ...] = (),
    ) -> None:
        lineage = Lineage(inputs, bytes(32), ranges) if inputs or ranges else None
        content = Reading(time, TEXT, b"1", lineage).encode()
        packets = [make_data(numbered(stream, number), content, DigestSigner()) for number in range(low, high + 1)]
        self.do(self.shelf.put(packets, INSERT, lambda refusals, _: self.check(refusals), self.now))
        self.settle()

    def read_in_parts(self, stream: Name, number: int, parts: int, time: int = NOW) -> None:
        """A reading, and behind those before it the parts of its payload, which are larger than it is."""
        beside = parts_of(stream, len(GROUP) + 1)
        low = self.shelf.holdings.highest(beside) + 1
        for at in range(low, low + parts):
            content = Reading(time, OCTET_STREAM, part_payload(number, bytes(5000))).encode()
            self.do(self.shelf.put([make_data(numbered(beside, at), content, DigestSigner())], INSERT, self.put, NOW))
        self.read(stream, number, number, time)

    def put(self, refusals: list[str], _now: int) -> list[Effect]:
        return self.check(refusals)

    def check(self, refusals: list[str]) -> list[Effect]:
        assert not any(refusals)
        return []

    def tick(self) -> None:
        deadline = self.pruning.deadline()
        assert deadline is not None
        self.now = max(self.now, deadline)
        self.do(self.pruning.tick(self.now))

    def prune(self) -> None:
        """One whole round."""
        end = self.now + ROUND // 2
        while self.writes or (self.pruning.deadline() or end) < end:
            self.carry_out() if self.writes else self.tick()
        self.now += ROUND

    def numbers(self, stream: Name) -> list[int]:
        return [number for low, high in self.shelf.holdings.of(stream).held for number in range(low, high + 1)]


def test_a_stream_is_cut_from_below_to_its_count_over_several_drops() -> None:
    warehouse = Warehouse(Rule(TopicFilter("#"), max_count=10))
    high = 2 * READINGS_PER_TICK + 100
    warehouse.read(RAW, 1, high)
    warehouse.prune()
    assert warehouse.numbers(RAW) == list(range(high - 9, high + 1))
    assert warehouse.store.range(RAW, 1, high, 1)[0][0] == high - 9
    assert warehouse.pruning.dropped == high - 10


def test_streams_without_a_rule_or_without_bounds_are_kept() -> None:
    warehouse = Warehouse(Rule(TopicFilter("Panel1/#")), Rule(TopicFilter("Mean/hourly/+"), max_count=1))
    warehouse.read(RAW, 1, 5, time=1)
    warehouse.read(GROUP / "Panel2" / "x" / "y", 1, 5, time=1)
    warehouse.read(HOURLY, 1, 5, time=1)
    warehouse.prune()
    assert [len(warehouse.numbers(stream)) for stream in warehouse] == [5, 5, 1]


def test_what_is_too_old_goes_and_the_newest_stays() -> None:
    warehouse = Warehouse(Rule(TopicFilter("#"), max_age_ms=1000))
    warehouse.read(RAW, 1, 3, time=NOW - 5 * SECOND)
    warehouse.read(RAW, 4, 6, time=NOW + 5 * SECOND)
    warehouse.prune()
    assert warehouse.numbers(RAW) == [4, 5, 6]
    warehouse.prune()
    assert warehouse.numbers(RAW) == [6]


def test_bytes_are_counted() -> None:
    warehouse = Warehouse()
    warehouse.read(RAW, 1, 4)
    size = warehouse.shelf.holdings.of(RAW).size_bytes // 4
    warehouse = Warehouse(Rule(TopicFilter("#"), max_bytes=2 * size + 1))
    warehouse.read(RAW, 1, 4)
    warehouse.prune()
    assert warehouse.numbers(RAW) == [3, 4]


def test_parts_of_payloads_go_with_their_readings_and_not_by_a_rule_of_their_own() -> None:
    warehouse = Warehouse(Rule(TopicFilter("#"), max_count=2))
    parts = parts_of(RAW, len(GROUP) + 1)
    for number in range(1, 5):
        warehouse.read_in_parts(RAW, number, 3, NOW + number)
    warehouse.prune()
    warehouse.prune()
    assert warehouse.numbers(RAW) == [3, 4]
    assert warehouse.numbers(parts) == list(range(7, 13))
    warehouse.read(RAW, 5, 6)
    warehouse.prune()
    warehouse.prune()
    assert warehouse.numbers(RAW) == [5, 6]
    assert warehouse.numbers(parts) == [12], "the newest number is kept, as of all streams"


def test_parts_whose_reading_has_not_come_yet_are_kept() -> None:
    warehouse = Warehouse(Rule(TopicFilter("#"), max_age_ms=1000))
    warehouse.read_in_parts(RAW, 2, 3, time=NOW - 5 * SECOND)
    warehouse.prune()
    warehouse.prune()
    assert warehouse.numbers(parts_of(RAW, len(GROUP) + 1)) == [1, 2, 3]


def test_the_bytes_of_parts_count_as_those_of_their_reading() -> None:
    warehouse = Warehouse(Rule(TopicFilter("Panel1/#"), max_bytes=40_000))
    for number in range(1, 11):
        warehouse.read_in_parts(RAW, number, 3, NOW + number)
    warehouse.prune()
    assert warehouse.numbers(RAW) == [9, 10], "each is some 15,000 bytes"
    warehouse.prune()
    assert warehouse.numbers(RAW) == [9, 10]
    assert warehouse.numbers(parts_of(RAW, len(GROUP) + 1)) == list(range(25, 31))


def test_records_go_after_a_week_by_the_time_the_store_has_for_them() -> None:
    warehouse = Warehouse()
    week = 7 * DAY_MS * MS
    for number, time in ((1, NOW - 2 * week), (2, NOW - week - ROUND), (3, NOW - SECOND), (4, NOW)):
        name = numbered(REPO, number)
        wire = encode_data(name, b"a record", DigestSigner())
        warehouse.store.write([Batch((Entry(name, wire, time),))])
        warehouse.shelf.holdings.add(REPO, number, len(wire))
    warehouse.prune()
    assert warehouse.numbers(REPO) == [3, 4]


def replacing(*, max_count: int = 1) -> Warehouse:
    return Warehouse(Rule(TopicFilter("Panel1/#"), max_count=max_count, replaced_by=TopicFilter("Mean/hourly/+")))


def test_raw_readings_go_only_when_an_aggregate_that_is_kept_names_them() -> None:
    warehouse = replacing()
    warehouse.read(RAW, 1, 5)
    warehouse.prune()
    assert warehouse.numbers(RAW) == [1, 2, 3, 4, 5]
    assert warehouse.pruning.waiting == 1
    warehouse.read(HOURLY, 1, 1, inputs=tuple(numbered(RAW, number) for number in (1, 2, 4)))
    warehouse.prune()
    assert warehouse.numbers(RAW) == [3, 4, 5]
    warehouse.read(HOURLY, 2, 2, inputs=(numbered(RAW, 3), numbered(RAW, 5)))
    warehouse.prune()
    assert warehouse.numbers(RAW) == [5]
    assert warehouse.pruning.waiting == 0
    notes = [effect.facts for effect in warehouse.told if isinstance(effect, Note)]
    assert notes == [(("streams", 1),), (("streams", 0),)]
    assert [key[1:] for key, _ in warehouse.store.marks(b"r", b"", 10)] == [numbered(RAW, 5).value]


def test_an_aggregate_may_come_before_what_it_names() -> None:
    warehouse = replacing()
    warehouse.read(HOURLY, 1, 1, inputs=(numbered(RAW, 1),))
    warehouse.read(RAW, 1, 2)
    warehouse.prune()
    assert warehouse.numbers(RAW) == [2]


def test_an_aggregate_of_another_stream_does_not_count() -> None:
    warehouse = replacing()
    warehouse.read(RAW, 1, 2)
    warehouse.read(GROUP / "Panel2" / "hourly" / "Voltage", 1, 1, inputs=(numbered(RAW, 1),))
    warehouse.prune()
    assert warehouse.numbers(RAW) == [1, 2]


def test_an_aggregate_that_is_gone_or_damaged_does_not_count() -> None:
    for broken in (True, False):
        warehouse = replacing()
        warehouse.read(RAW, 1, 2)
        warehouse.read(HOURLY, 1, 1, inputs=(numbered(RAW, 1),))
        if broken:
            warehouse.store.broken.add(numbered(HOURLY, 1))
        else:
            warehouse.do(warehouse.shelf.drop([numbered(HOURLY, 1)], lambda _, __: [], warehouse.now))
            warehouse.settle()
        warehouse.prune()
        assert warehouse.numbers(RAW) == [1, 2]


def test_a_reading_that_is_not_due_does_not_wait_for_an_aggregate() -> None:
    warehouse = replacing(max_count=5)
    warehouse.read(RAW, 1, 5)
    warehouse.prune()
    assert warehouse.pruning.waiting == 0
    assert warehouse.told == []


def test_a_drop_that_fails_is_noted_and_tried_in_the_next_round() -> None:
    warehouse = Warehouse(Rule(TopicFilter("#"), max_count=1))
    warehouse.read(RAW, 1, 2)
    warehouse.tick()
    assert warehouse.pruning.deadline() is None
    warehouse.carry_out("the disk is full")
    assert [effect.event for effect in warehouse.told if isinstance(effect, Note)] == ["retention failed"]
    assert warehouse.numbers(RAW) == [1, 2]
    warehouse.prune()
    warehouse.prune()
    assert warehouse.numbers(RAW) == [2]


def test_unreadable_readings_go_with_those_around_them() -> None:
    warehouse = Warehouse(Rule(TopicFilter("#"), max_count=1))
    warehouse.read(RAW, 1, 4)
    warehouse.store.write([Batch((), (numbered(RAW, 2),))])  # what lists leave out, and the holdings still have
    warehouse.prune()
    assert warehouse.numbers(RAW) == [4]


def test_what_is_replaced_does_not_go_from_behind_a_gap() -> None:
    warehouse = replacing()
    warehouse.read(RAW, 1, 1)
    warehouse.read(RAW, 3, 5)
    warehouse.read(HOURLY, 1, 1, inputs=tuple(numbered(RAW, number) for number in (1, 3, 4)))
    warehouse.prune()
    assert warehouse.numbers(RAW) == [5]
    warehouse.read(RAW, 2, 2)  # late, and still welcome
    assert warehouse.numbers(RAW) == [2, 5]
    warehouse.prune()
    assert warehouse.numbers(RAW) == [2, 5]


def test_other_repos_are_not_told_what_went() -> None:
    warehouse = Warehouse(Rule(TopicFilter("#"), max_count=1))
    recorded: list[int] = []

    def record(_: list[Entry], cause: int) -> list[Entry]:
        recorded.append(cause)
        return []

    warehouse.shelf = Shelf("store", warehouse.store, record=record)
    rules = Rules(GROUP, [Rule(TopicFilter("#"), max_count=1)])
    warehouse.pruning = Pruning(warehouse.store, warehouse.shelf, warehouse.shelf.holdings, rules)
    warehouse.do(warehouse.pruning.start(NOW))
    warehouse.read(RAW, 1, 3)
    warehouse.prune()
    assert warehouse.numbers(RAW) == [3]
    assert recorded == [INSERT]


def test_marks_that_a_crash_lost_are_made_again() -> None:
    warehouse = replacing()
    warehouse.read(RAW, 1, 3)
    warehouse.read(HOURLY, 1, 1, inputs=(numbered(RAW, 1), numbered(RAW, 2)))
    marks = tuple((key, None) for key, _ in warehouse.store.marks(b"r", b"", 10))
    assert len(marks) == 2
    warehouse.store.write([Batch(marks=marks)])
    rules = warehouse.pruning._rules.rules
    again = Warehouse(*rules, store=warehouse.store)
    again.prune()
    assert again.numbers(RAW) == [3]


def test_marks_that_there_was_no_room_for_are_made_later() -> None:
    warehouse = replacing()
    each = 150
    count = MAX_MARKS // each + 2
    warehouse.read(RAW, 1, count * each + 1)
    packets = []
    for number in range(count):
        inputs = tuple(numbered(RAW, number * each + offset) for offset in range(1, each + 1))
        content = Reading(NOW, TEXT, b"1", Lineage(inputs, bytes(32))).encode()
        packets.append(make_data(numbered(HOURLY, number + 1), content, DigestSigner()))
    warehouse.prune()
    warehouse.do(warehouse.shelf.put(packets, INSERT, lambda refusals, _: warehouse.check(refusals), warehouse.now))
    warehouse.settle()
    assert warehouse.pruning.replacing.unmarked > 0
    warehouse.prune()
    warehouse.prune()
    assert warehouse.numbers(RAW) == [count * each + 1]


def test_a_range_replaces_all_that_is_in_it_also_what_comes_later_and_nothing_else() -> None:
    warehouse = replacing()
    other = GROUP / "Panel1" / "Heater"  # the name of RAW begins with it
    warehouse.read(RAW, 2, 9)
    warehouse.read(other, 1, 9)
    warehouse.read(HOURLY, 1, 1, ranges=(InputRange(RAW, 1, 4), InputRange(Name.parse("/other"), 1, 9)))
    assert len(warehouse.store.marks(b"R", b"", 10)) == 1
    warehouse.read(RAW, 1, 1)
    warehouse.prune()
    assert warehouse.numbers(RAW) == [5, 6, 7, 8, 9]
    assert warehouse.numbers(other) == list(range(1, 10))
    assert not warehouse.store.marks(b"R", b"", 10)  # they have done what they were for
    warehouse.read(HOURLY, 2, 2, ranges=(InputRange(RAW, 1, 4),))  # of what is gone nothing is marked
    assert not warehouse.store.marks(b"R", b"", 10)


def test_a_range_counts_only_while_the_reading_that_has_it_can_be_read() -> None:
    warehouse = replacing()
    warehouse.read(RAW, 1, 5)
    warehouse.read(HOURLY, 1, 1, ranges=(InputRange(RAW, 1, 5),))
    warehouse.store.broken.add(numbered(HOURLY, 1))
    warehouse.prune()
    assert warehouse.numbers(RAW) == [1, 2, 3, 4, 5]
    warehouse.read(HOURLY, 2, 2, ranges=(InputRange(RAW, 1, 5),))  # takes the place of the broken one
    warehouse.prune()
    assert warehouse.numbers(RAW) == [5]


def test_of_ranges_that_overlap_any_will_do() -> None:
    warehouse = replacing()
    warehouse.read(RAW, 1, 9)
    warehouse.read(HOURLY, 1, 1, ranges=(InputRange(RAW, 3, 4), InputRange(RAW, 6, 6)))
    warehouse.read(HOURLY, 2, 2, ranges=(InputRange(RAW, 1, 2**63),))
    warehouse.store.broken.add(numbered(HOURLY, 1))
    warehouse.prune()
    assert warehouse.numbers(RAW) == [9]


def test_inputs_that_only_a_digest_stands_for_are_not_replaced() -> None:
    warehouse = replacing()
    warehouse.read(RAW, 1, 600)
    ranges = [InputRange(RAW, number, number) for number in range(1, 600, 2)]
    content = Reading(NOW, TEXT, b"1", lineage_of(bytes(32), ranges=ranges)).encode()
    packet = make_data(numbered(HOURLY, 1), content, DigestSigner())
    warehouse.do(warehouse.shelf.put([packet], INSERT, lambda refusals, _: warehouse.check(refusals), warehouse.now))
    warehouse.settle()
    warehouse.prune()
    assert len(warehouse.numbers(RAW)) == 600


def test_lineage_that_names_no_reading_is_passed_over() -> None:
    warehouse = replacing()
    warehouse.read(RAW, 1, 2)
    odd = RAW / Component(b"\x00\x00\x01", SEQUENCE)
    warehouse.read(HOURLY, 1, 1, inputs=(RAW, odd, Name.parse("/other/seq=1"), numbered(RAW, 1)))
    warehouse.prune()
    assert warehouse.numbers(RAW) == [2]


def test_the_work_of_one_tick_is_bounded() -> None:
    warehouse = Warehouse(Rule(TopicFilter("#"), max_count=1))
    for number in range(STREAMS_PER_TICK + 1):
        warehouse.read(GROUP / "Panel1" / f"d{number}" / "x", 1, 1)
    warehouse.tick()
    first = warehouse.pruning.deadline()
    assert first is not None
    assert first < warehouse.now + SECOND
    warehouse.tick()
    assert warehouse.pruning.deadline() == warehouse.now + ROUND
