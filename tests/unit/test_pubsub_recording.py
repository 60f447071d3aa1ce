"""A repo's own records: numbered when full sync is ready, written with what they name, announced once per batch."""

from __future__ import annotations

from tests.replication_world import GROUP, STREAM, reading

from roost.machine import Effect, Rejected
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.repos import recording
from roost.pubsub.repos.recording import Recording
from roost.repo.cause import BULK, DELETE, INSERT, REPLICATION
from roost.repo.memory import MemoryStore
from roost.repo.record import Held, decode_record
from roost.repo.shelf import Shelf
from roost.repo.store import Entry, Unwritten, Write, Written
from roost.wire import Data, DigestSigner, make_data

NOW = 1_800_000_000_000_000_000
REPO = GROUP / "Repo" / "Repo1"


class Desk:
    """A shelf, its disk, and the recording under test."""

    def __init__(self, *, certain: bool = True) -> None:
        self.store = MemoryStore()
        self.shelf = Shelf("store", self.store, record=self._record)
        self.recording = Recording(REPO, DigestSigner(), self.shelf, self._announce, certain=certain)
        self.announced: list[int] = []
        self.disk_full = False

    def _record(self, entries: list[Entry], cause: int) -> list[Entry]:
        return self.recording.record(entries, cause)

    def _announce(self, stream: Name, high: int, now: int) -> list[Effect]:  # noqa: ARG002
        assert stream == REPO
        self.announced.append(high)
        return []

    def do(self, effects: list[Effect]) -> None:
        while effects:
            effect = effects.pop(0)
            if isinstance(effect, Write):
                if self.disk_full:
                    effects += self.shelf.receive(Unwritten("store", effect.ticket, "the disk is full"), NOW)
                    continue
                self.store.write([effect.batch])
                effects += self.shelf.receive(Written("store", effect.ticket), NOW)
                effects += self.recording.kept(NOW)

    def put(self, *numbers: int, cause: int = INSERT) -> None:
        packets = [reading(STREAM, number) for number in numbers]
        self.do(self.shelf.put(packets, cause, lambda *_: [], NOW))

    def ready(self, number: int) -> None:
        self.do(self.recording.ready(number, NOW))

    def records(self) -> list[tuple[int, tuple[Held, ...], int]]:
        found = [decode_record(Data.decode(wire).content) for _, wire in self.store.range(REPO, 1, 100, 100)]
        return [(record.cause, record.held, len(record.packets)) for record in found]


def test_a_repo_without_records_says_that_it_is_there() -> None:
    desk = Desk()
    desk.ready(1)
    assert desk.records() == [(INSERT, (), 0)]
    assert desk.announced == [1]
    desk.ready(1)
    assert desk.announced == [1], "once"


def test_what_is_put_together_is_recorded_and_announced_together() -> None:
    desk = Desk()
    desk.ready(1)
    desk.put(1, 2, 3)
    desk.put(4, cause=BULK)
    assert desk.records()[1:] == [(INSERT, (), 3), (BULK, (), 1)]
    assert desk.announced == [1, 2, 3]


def test_what_came_from_others_is_not_recorded() -> None:
    desk = Desk()
    desk.ready(1)
    desk.put(1, cause=REPLICATION)
    assert desk.announced == [1]


def test_what_was_kept_before_full_sync_was_ready_is_recorded_then() -> None:
    desk = Desk()
    desk.put(1, 2)
    desk.put(9)
    desk.put(3, cause=BULK)
    desk.do(desk.shelf.drop([numbered(STREAM, 9)], lambda *_: [], NOW))
    assert desk.announced == []
    desk.ready(51)
    assert desk.records() == [
        (INSERT, (), 0),
        (INSERT, (Held(STREAM, 1, 2),), 0),
        (BULK, (Held(STREAM, 3, 3),), 0),
        (DELETE, (Held(STREAM, 9, 9),), 0),
    ]
    assert desk.shelf.holdings.of(REPO).held == [(51, 54)]
    assert desk.announced == [54]


def test_numbers_of_a_batch_that_was_not_written_are_given_again() -> None:
    desk = Desk()
    desk.ready(1)
    desk.disk_full = True
    desk.put(1)
    desk.disk_full = False
    desk.put(2)
    assert desk.shelf.holdings.of(REPO).held == [(1, 2)]


def test_what_could_not_be_written_when_ready_is_tried_with_the_next_ready() -> None:
    desk = Desk()
    desk.put(1)
    desk.disk_full = True
    desk.ready(1)
    desk.disk_full = False
    desk.ready(1)
    assert desk.records() == [(INSERT, (), 0), (INSERT, (Held(STREAM, 1, 1),), 0)]


def test_what_could_not_be_written_when_ready_is_tried_again_once_the_disk_takes_records() -> None:
    desk = Desk()
    desk.put(1)
    desk.disk_full = True
    desk.ready(1)
    desk.put(2)
    desk.disk_full = False
    desk.put(3)
    assert desk.records() == [(INSERT, (), 1), (INSERT, (Held(STREAM, 1, 1),), 0)]
    assert desk.announced == [1, 2]


def test_what_no_record_can_name_is_no_reason_to_stop() -> None:
    desk = Desk()
    desk.shelf.holdings.add(REPO, 1, 1)
    name = GROUP / "Panel1" / ("x" * 7600)
    desk.do(desk.shelf.put([make_data(name, b"", DigestSigner())], INSERT, lambda *_: [], NOW))
    desk.ready(2)
    desk.put(1)
    assert desk.announced == [1, 2]


def test_numbers_go_on_behind_what_the_group_knows() -> None:
    desk = Desk()
    desk.ready(1)
    desk.ready(10)
    desk.put(1)
    assert desk.shelf.holdings.of(REPO).held == [(1, 1), (10, 10)]


def test_a_repo_that_learns_of_records_it_never_gave_says_that_it_has_a_double() -> None:
    desk = Desk()
    desk.ready(5)  # what the group knows at the start may be ours, from a time that the disk has forgotten
    desk.put(1)
    assert not any(isinstance(effect, Rejected) for effect in desk.recording.ready(7, NOW)), "which are ours"
    told = [effect for effect in desk.recording.ready(9, NOW) if isinstance(effect, Rejected)]
    assert told == [Rejected(str(REPO), recording.DOUBLE)]


def test_a_repo_that_was_alone_has_no_double() -> None:
    desk = Desk(certain=False)
    desk.ready(1)
    assert not any(isinstance(effect, Rejected) for effect in desk.recording.ready(10, NOW))


def test_what_is_too_much_to_remember_is_counted() -> None:
    desk = Desk()
    room = recording.MAX_UNRECORDED
    desk.recording.record([Entry(numbered(STREAM, number), b"x") for number in range(1, room + 2)], INSERT)
    assert desk.recording.turned_away == 1
    assert desk.recording.sizes()["unrecorded"] == (room, room)


def test_what_was_recorded_alone_is_recorded_once_more_behind_what_those_know_whom_we_meet() -> None:
    desk = Desk(certain=False)
    desk.ready(1)
    desk.put(1, 2)
    desk.recording.meet(NOW)
    desk.ready(10)  # somebody knows nine records of ours
    desk.put(3)
    assert desk.recording.deadline() == NOW + recording.LISTENING
    desk.do(desk.recording.tick(NOW + recording.LISTENING))
    assert desk.records() == [(INSERT, (), 0), (INSERT, (), 2), (INSERT, (), 1), (INSERT, (Held(STREAM, 1, 3),), 0)]
    assert desk.shelf.holdings.of(REPO).held == [(1, 2), (10, 11)]
    assert desk.recording.deadline() is None
    desk.put(4)
    assert len(desk.records()) == 5, "we are not alone any more"
