"""What a repo puts into its store: in batches, once, and told when it is on the disk."""

from __future__ import annotations

from functools import partial

import pytest

from roost.errors import Backpressure
from roost.machine import Effect, Note
from roost.naming import Name
from roost.naming.conventions import segment, sequence
from roost.repo import shelf as module
from roost.repo.cause import BULK, DELETE, INSERT, REPLICATION
from roost.repo.memory import MemoryStore
from roost.repo.recount import highest, missing
from roost.repo.shelf import Shelf
from roost.repo.shelf_effects import Dropped, Kept
from roost.repo.shelving import CONFLICT, STREAM_MARK
from roost.repo.store import Batch, Damaged, Entry, Unwritten, Write, Written
from roost.wire import Data, make_data
from roost.wire.digest import DigestSigner
from roost.wire.reading import TEXT, Reading

GROUP = Name.parse("/B/Electricity")
STREAM = GROUP / "Panel1" / "Heater" / "Voltage"
OTHER = GROUP / "Panel2" / "Heater" / "Voltage"
REPO = GROUP / "Repo" / "1"


def reading(number: int, stream: Name = STREAM, text: str = "230", time: int = 0) -> Data:
    content = Reading(time or number * 1000, TEXT, text.encode()).encode()
    return make_data(stream / sequence(number), content, DigestSigner())


class Desk:
    """A shelf, its store, and a disk that is slow until told otherwise."""

    def __init__(self, store: MemoryStore | None = None, **settings: int) -> None:
        self.store = store or MemoryStore()
        self.recorded: list[tuple[int, int]] = []
        self.answers: list[tuple[str, list[str]]] = []
        self.told: list[Effect] = []
        self.writes: list[Write] = []
        self.shelf = Shelf("data", self.store, record=self._record, **settings)
        self._do(self.shelf.start(0))

    def _record(self, entries: list[Entry], cause: int) -> list[Entry]:
        self.recorded.append((len(entries), cause))
        return [Entry(REPO / sequence(self.shelf.holdings.highest(REPO) + 1), b"record")]

    def _do(self, effects: list[Effect]) -> None:
        for effect in effects:
            (self.writes if isinstance(effect, Write) else self.told).append(effect)  # type: ignore[arg-type]

    def _then(self, label: str, outcome: list[str], _now: int) -> list[Effect]:
        self.answers.append((label, outcome))
        return []

    def put(self, *packets: Data, cause: int = INSERT, label: str = "") -> None:
        self._do(self.shelf.put(packets, cause, partial(self._then, label), 0))

    def replace(self, packet: Data) -> None:
        self._do(self.shelf.replace(packet, partial(self._then, "replaced"), 0))

    def drop(self, *names: Name, cause: int = DELETE) -> None:
        self._do(self.shelf.drop(names, partial(self._then, "dropped"), 0, cause=cause))

    def flush(self) -> None:
        self._do(self.shelf.flush())

    def write(self) -> Batch:
        """Let the disk do what it was given last."""
        write = self.writes[-1]
        self.store.write([write.batch])
        self._do(self.shelf.receive(Written("data", write.ticket), 0))
        return write.batch

    def fail(self) -> None:
        self._do(self.shelf.receive(Unwritten("data", self.writes[-1].ticket, "the disk is full"), 0))

    def kept(self) -> list[tuple[int, list[int]]]:
        return [
            (told.cause, [entry.name.at(-1).number() for entry in told.entries])
            for told in self.told
            if isinstance(told, Kept)
        ]


class Rotten(MemoryStore):
    """A store in which one packet is damaged."""

    def __init__(self) -> None:
        super().__init__()
        self.damaged: Name | None = None

    def get(self, name: Name) -> bytes | None:
        if name == self.damaged:
            raise Damaged(name)
        return super().get(name)

    def write(self, batches: list[Batch]) -> None:  # type: ignore[override]  # the desk hands in lists
        super().write(batches)
        if any(entry.name == self.damaged for batch in batches for entry in batch.puts):
            self.damaged = None


class Asked(MemoryStore):
    """A store that notes what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Name] = []

    def get(self, name: Name) -> bytes | None:
        self.asked.append(name)
        return super().get(name)


class Hiding(MemoryStore):
    """A store that is damaged so that its lists do not have what it gives by name."""

    def range(self, stream: Name, low: int, high: int, limit: int) -> list[tuple[int, bytes]]:  # noqa: ARG002
        return []


def test_a_packet_is_told_when_it_is_on_the_disk_and_not_before() -> None:
    desk = Desk()
    desk.put(reading(1), reading(2))
    assert len(desk.writes) == 1
    assert desk.answers == []
    assert desk.told == []
    assert not desk.shelf.holdings.is_held(STREAM, 1)
    desk.write()
    assert desk.answers == [("", ["", ""])]
    assert desk.kept() == [(INSERT, [1, 2])]
    assert desk.shelf.holdings.of(STREAM).held == [(1, 2)]
    assert desk.shelf.holdings.of(STREAM).size_bytes == len(reading(1).wire) + len(reading(2).wire)
    assert desk.store.since(STREAM, 1500) == 2


def test_what_comes_meanwhile_goes_into_one_batch() -> None:
    desk = Desk()
    for number in range(1, 6):
        desk.put(reading(number), label=str(number))
    assert len(desk.writes) == 1
    desk.write()
    assert len(desk.writes) == 2
    assert len(desk.writes[-1].batch.puts) == 4 + 1  # and the record
    desk.write()
    assert [label for label, _ in desk.answers] == ["1", "2", "3", "4", "5"]
    assert len(desk.writes) == 2


def test_a_batch_has_a_bound_but_a_wish_is_not_torn() -> None:
    desk = Desk(max_batch=3)
    desk.put(reading(1))
    desk.put(reading(2), reading(3))
    desk.put(reading(4), reading(5))
    desk.put(*[reading(number) for number in range(6, 12)])
    assert [len(desk.write().puts) - 1 for _ in range(4)] == [1, 2, 2, 6]


def test_what_fails_is_answered_with_the_reason_and_is_not_held() -> None:
    desk = Desk()
    desk.put(reading(1))
    desk.put(reading(2))
    desk.fail()
    assert desk.answers == [("", ["the disk is full"])]
    assert desk.kept() == []
    assert len(desk.shelf.holdings) == 0
    desk.write()
    assert desk.shelf.holdings.of(STREAM).held == [(2, 2)]
    desk.put(reading(1))
    desk.write()
    assert desk.shelf.holdings.of(STREAM).held == [(1, 2)]
    assert desk.shelf.failed == 1


def test_what_is_on_the_disk_although_it_was_said_to_have_failed_is_told_when_it_comes_again() -> None:
    desk = Desk()
    desk.put(reading(1))
    desk.store.write([desk.writes[-1].batch])
    desk.fail()
    desk.put(reading(1))
    assert [entry.name for entry in desk.write().puts] == [REPO / sequence(1)]
    assert desk.kept() == [(INSERT, [1])]
    assert desk.shelf.holdings.of(STREAM).held == [(1, 1)]


def test_other_bytes_than_those_that_are_there_although_they_were_said_to_have_failed_are_refused() -> None:
    desk = Desk()
    desk.put(reading(1))
    desk.store.write([desk.writes[-1].batch])
    desk.fail()
    desk.put(reading(1, text="999"))
    assert desk.answers[-1] == ("", [CONFLICT])
    assert desk.store.get(STREAM / sequence(1)) == reading(1).wire


def test_a_store_whose_rows_were_wrong_is_asked_for_every_name() -> None:
    store = Hiding()
    store.write([Batch((Entry(STREAM / sequence(1), reading(1).wire),))])
    desk = Desk(store)  # counts it anew, and does not see it
    desk.write()
    desk.put(reading(1, text="999"))
    assert desk.answers == [("", [CONFLICT])]


def test_what_is_above_all_that_is_held_is_not_looked_for() -> None:
    store = Asked()
    desk = Desk(store)
    desk.put(reading(1), reading(2))
    desk.write()
    desk.put(reading(3), reading(2), reading(5))
    desk.write()
    desk.put(reading(4))
    assert store.asked == [STREAM / sequence(2), STREAM / sequence(4)]


def test_the_same_bytes_again_are_kept_at_once_and_told_once() -> None:
    desk = Desk()
    desk.put(reading(1))
    desk.put(reading(1), reading(1))
    desk.write()
    assert len(desk.writes) == 1
    assert desk.answers == [("", [""]), ("", ["", ""])]
    assert desk.kept() == [(INSERT, [1])]


def test_a_copy_of_what_waits_is_not_kept_if_the_batch_of_both_fails() -> None:
    desk = Desk()
    desk.put(reading(1))
    desk.put(reading(2), label="first")
    desk.put(reading(2), label="copy")
    desk.write()
    desk.fail()
    assert desk.answers[1:] == [("first", ["the disk is full"]), ("copy", ["the disk is full"])]


def test_other_bytes_under_the_same_name_are_refused_with_a_note() -> None:
    desk = Desk()
    desk.put(reading(1), reading(1, text="999"))
    desk.write()
    desk.put(reading(1, text="777"), cause=REPLICATION)
    assert [outcome[-1] for _, outcome in desk.answers] == [
        "another packet of this name is kept here, and packets do not change"
    ] * 2
    assert [told.event for told in desk.told if isinstance(told, Note)] == ["conflict", "conflict"]
    assert desk.shelf.conflicts == 2
    assert desk.store.get(STREAM / sequence(1)) == reading(1).wire


def test_a_bound_on_what_waits_turns_the_rest_away() -> None:
    desk = Desk(max_waiting=3)
    desk.put(reading(1))
    desk.put(reading(2), reading(3))
    desk.put(reading(4), reading(5))
    assert desk.answers[0][1][1].endswith("3 (67108864) is the limit, try again later")
    assert desk.shelf.overflowed == 2
    assert desk.shelf.sizes()["waiting"] == (2, 3)
    desk = Desk(max_waiting_bytes=len(reading(1).wire))
    desk.put(reading(1))
    desk.put(reading(2))
    desk.put(reading(3))
    assert "is the limit" in desk.answers[0][1][0]


def test_records_are_in_the_batch_of_what_they_record_with_the_next_number() -> None:
    desk = Desk()
    desk.put(reading(1), reading(2))
    batch = desk.write()
    assert [entry.name for entry in batch.puts][-1] == REPO / sequence(1)
    assert [told.records[0].name for told in desk.told if isinstance(told, Kept)] == [REPO / sequence(1)]
    desk.put(reading(3))
    desk.fail()
    desk.put(reading(3))
    assert desk.write().puts[-1].name == REPO / sequence(2)
    assert desk.recorded == [(2, INSERT), (1, INSERT), (1, INSERT)]
    assert desk.shelf.holdings.of(REPO).held == [(1, 2)]


def test_replication_is_not_recorded_and_goes_with_one_other_cause() -> None:
    desk = Desk()
    desk.put(reading(1), cause=REPLICATION)
    desk.put(reading(2), cause=REPLICATION)
    desk.put(reading(3), cause=INSERT)
    desk.put(reading(4), cause=REPLICATION)
    desk.put(reading(5), cause=BULK)
    for _ in range(3):
        desk.write()
    assert desk.kept() == [(REPLICATION, [1]), (REPLICATION, [2, 4]), (INSERT, [3]), (BULK, [5])]
    assert desk.recorded == [(1, INSERT), (1, BULK)]


def test_what_is_dropped_is_gone_and_is_not_had_again() -> None:
    desk = Desk()
    desk.put(reading(1), reading(2), reading(3))
    desk.write()
    desk.drop(STREAM / sequence(1), STREAM / sequence(9), STREAM / sequence(1))
    assert desk.write().puts[-1].name == REPO / sequence(2)
    assert desk.answers[-1] == ("dropped", ["", "", ""])
    assert desk.told[-1] == Dropped(
        (STREAM / sequence(1), STREAM / sequence(9)), DELETE, (Entry(REPO / sequence(2), b"record"),)
    )
    assert desk.store.get(STREAM / sequence(1)) is None
    row = desk.shelf.holdings.of(STREAM)
    assert (row.held, row.gone, row.holes(9)) == ([(2, 3)], [(1, 1), (9, 9)], [])
    assert row.size_bytes == len(reading(2).wire) + len(reading(3).wire)
    desk.put(reading(1), label="again")
    assert desk.answers[-1] == ("again", ["it was deleted here, or dropped when it was too old"])
    desk.put(reading(1), cause=REPLICATION, label="by a repo")
    assert desk.answers[-1] == ("by a repo", [""])
    assert desk.store.get(STREAM / sequence(1)) is None


def test_a_name_without_a_number_is_kept_dropped_and_remembered() -> None:
    desk = Desk()
    packet = make_data(GROUP / "file" / segment(0), b"content", DigestSigner())
    desk.put(packet)
    desk.write()
    assert len(desk.shelf.holdings) == 1  # the repo's own records
    desk.drop(packet.name)
    desk.write()
    desk.put(packet, label="again")
    assert desk.answers[-1][1][0].startswith("it was deleted here")
    desk.drop(packet.name)
    assert len(desk.writes) == 2


def test_packets_and_deletions_keep_their_order() -> None:
    desk = Desk()
    desk.put(reading(1), cause=REPLICATION)
    desk.put(reading(2), cause=REPLICATION)
    desk.drop(STREAM / sequence(2), cause=REPLICATION)
    desk.put(reading(2), cause=REPLICATION)
    for _ in range(3):
        desk.write()
    assert desk.store.get(STREAM / sequence(2)) is None
    assert desk.shelf.holdings.of(STREAM).gone == [(2, 2)]


def test_a_damaged_packet_is_written_again_and_not_told_again() -> None:
    store = Rotten()
    desk = Desk(store)
    desk.put(reading(1), reading(2))
    desk.write()
    desk.told.clear()
    store.damaged = STREAM / sequence(1)
    desk.replace(reading(1))
    desk.write()
    assert desk.answers[-1] == ("replaced", [""])
    assert [type(told) for told in desk.told] == [Note]
    assert store.get(STREAM / sequence(1)) == reading(1).wire
    assert desk.shelf.holdings.of(STREAM).held == [(1, 2)]


def test_what_is_lost_is_found_missing_and_replaced() -> None:
    desk = Desk()
    desk.put(*[reading(number) for number in range(1, 11)])
    desk.write()
    desk.store.write([Batch(deletes=(STREAM / sequence(4), STREAM / sequence(10)))])
    row = desk.shelf.holdings.of(STREAM)
    assert missing(desk.store, row, STREAM, 1, 5) == ([4], 6)
    assert missing(desk.store, row, STREAM, 6, 5) == ([10], 0)
    desk.replace(reading(4))
    desk.write()
    assert missing(desk.store, row, STREAM, 1, 100) == ([10], 0)


def test_marks_go_with_the_next_batch_or_when_they_are_flushed() -> None:
    desk = Desk()
    desk.shelf.set_mark(b"x", b"1")
    assert desk.writes == []
    desk.put(reading(1))
    assert (b"x", b"1") in desk.write().marks
    desk.shelf.set_mark(b"x", b"2")
    desk.flush()
    assert desk.write().marks == ((b"x", b"2"),)
    desk.put(reading(2))
    desk.shelf.set_mark(b"x", None)
    desk.flush()
    desk.write()
    assert desk.write().marks == ((b"x", None),)


def test_marks_that_were_not_written_wait_for_the_next_batch_and_a_newer_one_wins() -> None:
    desk = Desk()
    desk.shelf.set_mark(b"x", b"1")
    desk.shelf.set_mark(b"y", b"1")
    desk.flush()
    desk.shelf.set_mark(b"x", b"2")
    desk.fail()
    assert len(desk.writes) == 1
    desk.put(reading(1))
    desk.write()
    assert (desk.store.mark(b"x"), desk.store.mark(b"y")) == (b"2", b"1")


def test_marks_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_MARKS", 1)
    shelf = Shelf("data", MemoryStore())
    shelf.set_mark(b"x", b"1")
    shelf.set_mark(b"x", b"2")
    with pytest.raises(Backpressure, match="1 marks wait"):
        shelf.set_mark(b"y", b"1")


def test_streams_have_a_bound() -> None:
    desk = Desk(max_streams=2)
    desk.put(reading(1))  # and the repo's own
    desk.write()
    desk.put(reading(1, OTHER))
    assert desk.answers[-1][1] == ["2 streams are kept here, which is the limit"]
    assert desk.shelf.holdings.refused == 1


def test_gaps_of_a_stream_have_a_bound() -> None:
    desk = Desk()
    desk.put(*[reading(2 * number) for number in range(1, 1030)])
    desk.write()
    refusals = desk.answers[0][1]
    assert refusals[:1024] == [""] * 1024
    assert refusals[1024:] == ["its stream has 1024 gaps, which is the limit"] * 5
    desk.put(reading(3))
    desk.write()
    assert desk.answers[-1][1] == [""]


def test_what_is_held_is_there_after_a_restart() -> None:
    desk = Desk()
    desk.put(reading(1), reading(2), reading(4), reading(7, OTHER))
    desk.write()
    desk.drop(STREAM / sequence(1))
    desk.write()
    again = Desk(desk.store)
    assert again.writes == []
    assert [(str(name), row.held, row.gone) for name, row in again.shelf.holdings] == [
        (str(REPO), [(1, 2)], []),
        (str(STREAM), [(2, 2), (4, 4)], [(1, 1)]),
        (str(OTHER), [(7, 7)], []),
    ]
    assert again.shelf.holdings.size_bytes == desk.shelf.holdings.size_bytes
    assert again.shelf.holdings.count == 5


def test_rows_that_are_lost_damaged_or_wrong_are_counted_anew_and_written() -> None:
    desk = Desk()
    desk.put(*[reading(number) for number in range(1, 8)], reading(7, OTHER))
    desk.write()
    desk.drop(STREAM / sequence(1))
    desk.write()
    store = desk.store
    store.write([Batch(deletes=(STREAM / sequence(7),), marks=((b"s" + OTHER.value, b"?"), (b"s" + REPO.value, None)))])
    again = Desk(store)
    assert len(again.write().marks) == 3
    assert again.shelf.holdings.of(STREAM).held == [(2, 6)]
    assert again.shelf.holdings.of(STREAM).gone == [(1, 1)]
    assert again.shelf.holdings.of(OTHER).held == [(7, 7)]
    assert again.shelf.holdings.of(REPO).held == [(1, 2)]
    assert Desk(store).writes == []


def test_an_answer_may_put_more() -> None:
    desk = Desk()

    def then(_outcome: list[str], now: int) -> list[Effect]:
        return desk.shelf.put([reading(2)], INSERT, partial(desk._then, "second"), now)

    desk._do(desk.shelf.put([reading(1)], INSERT, then, 0))
    desk.write()
    desk.write()
    assert desk.answers == [("second", [""])]


def test_answers_to_other_stores_and_old_tickets_are_none_of_ours() -> None:
    desk = Desk()
    desk.put(reading(1))
    assert desk.shelf.receive(Written("other", 1), 0) == []
    assert desk.shelf.receive(Written("data", 99), 0) == []
    desk.write()
    assert desk.shelf.receive(Written("data", desk.writes[-1].ticket), 0) == []
    assert len(desk.kept()) == 1


def test_the_highest_number_is_known_by_its_row_although_its_packet_is_lost() -> None:
    desk = Desk()
    desk.put(reading(1), reading(2))
    desk.write()
    assert highest(desk.store, STREAM, STREAM_MARK) == (2, True)
    desk.store.write([Batch(deletes=(STREAM / sequence(2),))])
    assert highest(desk.store, STREAM, STREAM_MARK) == (2, False)
    assert highest(desk.store, OTHER, STREAM_MARK) == (0, True)
