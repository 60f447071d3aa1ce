"""What a record says is done, all of it, before it counts as done."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests import trust_world
from tests.replication_world import GROUP, STREAM, reading
from tests.trust_street import Street
from tests.trust_street import reading as signed_reading

from roost.machine import Effect
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.asking import Asking
from roost.pubsub.repos.enactment import Enactment
from roost.pubsub.repos.peers import Peers
from roost.pubsub.repos.retrieval import Retrieval
from roost.pubsub.repos.stock import Kept
from roost.repo.cause import DELETE, INSERT
from roost.repo.holdings import Holdings
from roost.repo.memory import MemoryStore
from roost.repo.record import Held, Record
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import Data, DigestSigner, make_data
from roost.wire.reading import TEXT, Reading

NOW = 1_800_000_000_000_000_000
REPO1, REPO2 = GROUP / "Repo" / "Repo1", GROUP / "Repo" / "Repo2"
RECORD = make_data(numbered(REPO1, 1), b"", DigestSigner())


class Disk:
    """A shelf that keeps and drops what it is told, or has no room to."""

    def __init__(self) -> None:
        self.holdings = Holdings()
        self.full = ""
        self.kept: list[Name] = []
        self.dropped: list[Name] = []

    def put(self, packets: Sequence[Data], cause: int, then: Kept, now: int) -> list[Effect]:  # noqa: ARG002
        self.kept += [packet.name for packet in packets]
        return then([""] * len(packets), now)

    def drop(self, names: Sequence[Name], then: Kept, now: int, *, cause: int) -> list[Effect]:  # noqa: ARG002
        self.dropped += [] if self.full else names
        return then([self.full] * len(names), now)

    def replace(self, packet: Data, then: Kept, now: int) -> list[Effect]:
        raise NotImplementedError

    def set_mark(self, key: bytes, value: bytes | None) -> None:
        raise NotImplementedError


def enactment(disk: Disk, max_asked: int = 100) -> Enactment:
    asking = Asking(ACCEPT_ANY, REPO2, max_asked=max_asked)
    peers = Peers(REPO2, Random(1))
    peers.add(REPO1)
    return Enactment(asking, disk, MemoryStore(), peers, Retrieval(asking, disk, peers))


def enact(disk: Disk, record: Record, max_asked: int = 100) -> list[int]:
    """Have a record done; returns how much of it is missing, once that is known."""
    missing: list[int] = []

    def ended(count: int, now: int) -> list[Effect]:  # noqa: ARG001
        missing.append(count)
        return []

    enactment(disk, max_asked).enact(REPO1, RECORD, record, ended, NOW)
    return missing


def test_a_deletion_that_the_disk_did_not_take_is_not_done() -> None:
    disk = Disk()
    disk.full = "the disk is full"
    deleted = Record(DELETE, (Held(STREAM, 1, 3),))
    assert enact(disk, deleted) == [3]
    assert disk.kept == [], "or it would never be deleted here"
    disk.full = ""
    assert enact(disk, deleted) == [0]
    assert disk.dropped == [numbered(STREAM, number) for number in (1, 2, 3)]
    assert disk.kept == [RECORD.name]


def test_a_record_of_many_names_that_cannot_be_asked_for_is_no_deep_hole() -> None:
    names = tuple(GROUP / "Panel1" / str(number) for number in range(700))
    assert enact(Disk(), Record(INSERT, (), names), max_asked=0) == [700]


def test_what_is_carried_is_kept() -> None:
    disk = Disk()
    carried = reading(STREAM, 1)
    assert enact(disk, Record(INSERT, (), (), (carried,))) == [0]
    assert disk.kept == [carried.name, RECORD.name]


def test_what_cannot_be_verified_yet_is_had_again_when_it_can() -> None:
    keys = trust_world.World()
    street = Street(keys)
    one, two = street.repo("Repo1"), street.repo("Repo2")
    street.run(60)  # and the next comparison is minutes away
    panel1, panel2 = (keys[f"{GROUP}/{name}"] for name in ("Panel1", "Panel2"))
    other = GROUP / "Panel2" / "Heater" / "Voltage"
    street.hidden.add(panel2.name)
    unknown, known = signed_reading(other, 1, panel2), signed_reading(STREAM, 1, panel1)
    put = one.shelf.put([unknown, known], INSERT, lambda _, __: [], street.now)
    street.act("Repo1", one._settle(put, street.now))
    assert street.run(60, lambda: two.shelf.holdings.is_held(STREAM, 1))
    assert not two.shelf.holdings.is_held(other, 1)
    street.hidden.clear()
    compared = two.comparison.compared
    assert street.run(60, lambda: two.shelf.holdings.is_held(other, 1))
    assert two.comparison.compared == compared, "the record is not done before, and brought it"


def test_the_certificate_of_a_panel_that_sleeps_is_with_the_repo_that_took_its_readings_in() -> None:
    keys = trust_world.World()
    street = Street(keys)
    one = street.repo("Repo1")
    panel = street.panel("Panel1")
    street.run(10, lambda: panel.outbox.settled)
    street.act("Panel1", panel.publish(STREAM, Reading(street.now, TEXT, b"230"), street.now))
    assert one.shelf.holdings.is_held(STREAM, 1)
    street.leave("Panel1")
    street.hidden.add(panel.name)
    two = street.repo("Repo2")
    assert street.run(30, lambda: two.shelf.holdings.is_held(STREAM, 1))
