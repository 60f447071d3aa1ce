"""A repo's answers: questions about streams, bundles, and plain Interests for what is stored."""

from __future__ import annotations

import pytest
from tests.subscription_world import GROUP, START, FakeHoldings, FakeRepo, reading, stream

from roost.forwarding.endpoint_effects import Asked
from roost.machine import MS, Effect, Rejected
from roost.naming import Component, Name
from roost.naming.building import numbered
from roost.naming.conventions import segment, version
from roost.pubsub.repos.data_interface import DataInterface
from roost.pubsub.repos.questions import CHANGING_MS, COMPLETE_MS, Questions
from roost.repo import question as wire
from roost.repo.gaps import decode_gapped
from roost.repo.holdings import Holdings
from roost.repo.memory import MemoryStore
from roost.repo.question import ASK, Bundle, Gaps, Latest, Since, decode_bundle, decode_streams, encode_question
from roost.repo.store import Batch, Damaged, Entry
from roost.sync.port import Reply
from roost.wire import Data, DigestSigner, Interest, encode_data, encode_interest

VOLTAGE = stream()
CURRENT = stream(metric="Current")


def filled(count: int = 10, store: MemoryStore | None = None) -> FakeRepo:
    repo = FakeRepo(1, store=store)
    put(repo, VOLTAGE, range(1, count + 1))
    return repo


def put(repo: FakeRepo, name: Name, numbers: range) -> None:
    entries = [(name, number, reading(numbered(name, number), START + number), START + number) for number in numbers]
    repo.put(entries, START)


def interest_for(name: Name, *, can_be_prefix: bool = True, must_be_fresh: bool = False) -> Asked:
    encoded = encode_interest(name, can_be_prefix=can_be_prefix, must_be_fresh=must_be_fresh)
    return Asked(GROUP.service, Interest.decode(encoded), b"token")


def answer(repo: FakeRepo, question: wire.Asked, prefix: Name = GROUP.service) -> Data:
    effects = repo.questions.asked(interest_for(prefix / ASK / encode_question(question)), START)
    assert effects is not None
    (reply,) = [effect for effect in effects if isinstance(effect, Reply)]
    assert reply.token == b"token"
    return Data.decode(reply.packet)


# -- streams


def test_latest_lists_the_streams_below_a_prefix_with_their_numbers() -> None:
    repo = filled()
    put(repo, CURRENT, range(1, 4))
    put(repo, stream("Panel2"), range(1, 2))
    data = answer(repo, Latest(GROUP.name / "Panel1"))
    assert decode_streams(data.content).entries == ((CURRENT, 3), (VOLTAGE, 10))
    assert data.name.at(-2) == version(START // MS)
    assert data.name.at(-1) == segment(0) == data.final_block
    assert data.freshness_ms == CHANGING_MS


def test_latest_counts_numbers_that_were_dropped() -> None:
    repo = filled()
    repo.drop(VOLTAGE, 1, 10)
    repo.holdings.numbers[VOLTAGE] = 0
    assert decode_streams(answer(repo, Latest(VOLTAGE)).content).entries == ((VOLTAGE, 10),)


def test_many_streams_are_paged() -> None:
    repo = FakeRepo(1)
    many = sorted(stream(f"Panel{number}") for number in range(700))
    for each in many:
        repo.holdings.numbers[each] = 1
    found: list[Name] = []
    after: Name | None = None
    pages = 0
    while True:
        page = decode_streams(answer(repo, Latest(GROUP.name, after)).content)
        found += [name for name, _ in page.entries]
        pages += 1
        if not page.more:
            break
        after = found[-1]
    assert found == many
    assert 3 <= pages <= 12


def test_since_says_where_a_time_begins() -> None:
    repo = filled()
    put(repo, CURRENT, range(1, 4))
    assert decode_streams(answer(repo, Since(GROUP.name, START + 5)).content).entries == ((CURRENT, 4), (VOLTAGE, 5))


def test_since_begins_with_what_is_missing_before_a_time_because_it_may_belong_to_it() -> None:
    repo = FakeRepo(1)
    put(repo, VOLTAGE, range(4, 8))
    repo.holdings.missing[VOLTAGE] = [(1, 3)]
    assert decode_streams(answer(repo, Since(GROUP.name, START)).content).entries == ((VOLTAGE, 1),)
    assert decode_streams(answer(repo, Since(GROUP.name, START + 6)).content).entries == ((VOLTAGE, 6),)


# -- gaps


def asking(holdings: Holdings) -> FakeRepo:
    """A repo with a real table."""
    repo = FakeRepo(1)
    repo.questions = Questions(repo.store, holdings, DigestSigner(), (GROUP.service,), lambda _name, _now: [])
    return repo


def all_gaps(repo: FakeRepo, prefix: Name) -> tuple[dict[Name, list[tuple[int, int]]], int]:
    """What is missing, and in how many answers that was."""
    found: dict[Name, list[tuple[int, int]]] = {}
    question, pages = Gaps(prefix), 1
    while True:
        page = decode_gapped(answer(repo, question).content, question)
        for name, runs in page.entries:
            found.setdefault(name, []).extend(runs)
        if page.after is None:
            return found, pages
        question, pages = Gaps(prefix, page.after, page.low), pages + 1


def test_what_is_neither_held_nor_dropped_below_the_highest_number_is_a_gap_and_never_fresh() -> None:
    holdings = Holdings()
    for number in (1, 2, 5, 6, 9):
        holdings.add(VOLTAGE, number, 100)
    holdings.drop(VOLTAGE, 8, 8, 0)
    for number in (1, 2):
        holdings.add(CURRENT, number, 100)
    holdings.drop(stream("Panel2"), 4, 6, 0)
    repo = asking(holdings)
    data = answer(repo, Gaps(GROUP.name))
    gapped = decode_gapped(data.content, Gaps(GROUP.name))
    assert gapped.entries == ((VOLTAGE, ((3, 4), (7, 7))), (stream("Panel2"), ((1, 3),)))
    assert gapped.after is None
    assert data.freshness_ms == 0
    assert all_gaps(repo, GROUP.name / "Panel2") == ({stream("Panel2"): [(1, 3)]}, 1)
    holdings.add(VOLTAGE, 7, 100)
    assert all_gaps(repo, VOLTAGE) == ({VOLTAGE: [(3, 4)]}, 1)


def test_what_is_missing_behind_all_that_is_held_is_a_gap_if_a_later_number_was_dropped() -> None:
    holdings = Holdings()
    holdings.add(VOLTAGE, 1, 100)
    holdings.drop(VOLTAGE, 5, 5, 0)
    holdings.drop(VOLTAGE, 2, 2, 0)
    assert all_gaps(asking(holdings), GROUP.name) == ({VOLTAGE: [(3, 4)]}, 1)


def test_a_stream_that_lacks_more_than_fits_goes_on_in_the_next_answers() -> None:
    holdings = Holdings()
    for number in range(1, 2001, 2):
        holdings.add(VOLTAGE, number, 100)
        holdings.add(CURRENT, number, 100)
    found, pages = all_gaps(asking(holdings), GROUP.name)
    assert found == {name: [(number, number) for number in range(2, 1999, 2)] for name in (CURRENT, VOLTAGE)}
    assert 2 < pages < 12


def test_streams_that_may_lack_something_are_looked_at_in_portions_and_the_others_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("roost.pubsub.repos.questions.MAX_LOOKED", 10)
    holdings = Holdings()
    for number in range(35):
        holdings.add(stream(f"Panel{number:02}"), 1, 100)
    holdings.add(stream("Panel33"), 3, 100)
    assert all_gaps(asking(holdings), GROUP.name) == ({stream("Panel33"): [(2, 2)]}, 1)
    for number in range(33):
        holdings.add(stream(f"Panel{number:02}"), 3, 100)
        holdings.drop(stream(f"Panel{number:02}"), 2, 2, 0)
    assert all_gaps(asking(holdings), GROUP.name) == ({stream("Panel33"): [(2, 2)]}, 4)


def test_a_time_before_all_readings_begins_each_stream_where_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.pubsub.repos.questions.AT_ONCE", 1)
    repo = filled()
    since = [decode_streams(answer(repo, Since(GROUP.name, time)).content) for time in (0, 1)]
    assert since[0] == since[1]
    assert {number for _, number in since[0].entries} == {1}


# -- bundles


def test_a_bundle_has_the_readings_and_a_complete_one_is_fresh_for_long() -> None:
    repo = filled()
    asked = Bundle(VOLTAGE, 3, 6)
    data = answer(repo, asked, GROUP.repo("Repo1").name)
    assert [number for number, _ in decode_bundle(data.content, asked).readings] == [3, 4, 5, 6]
    assert data.freshness_ms == COMPLETE_MS


def test_a_bundle_that_ends_early_is_not() -> None:
    asked = Bundle(VOLTAGE, 8, 12)
    data = answer(filled(), asked)
    assert [number for number, _ in decode_bundle(data.content, asked).readings] == [8, 9, 10]
    assert data.freshness_ms == CHANGING_MS


def test_a_bundle_stays_within_a_packet() -> None:
    asked = Bundle(VOLTAGE, 1, 100)
    data = answer(filled(100), asked)
    assert len(data.content) <= wire.MAX_CONTENT_BYTES
    assert 30 < len(decode_bundle(data.content, asked).readings) < 100


def test_a_bundle_says_what_was_dropped_as_far_as_that_goes() -> None:
    repo = filled(100)
    repo.drop(VOLTAGE, 1, 80)
    asked = Bundle(VOLTAGE, 5, 20)
    data = answer(repo, asked)
    assert decode_bundle(data.content, asked).dropped == ((5, 80),)
    assert data.freshness_ms == COMPLETE_MS


def test_questions_are_answered_from_the_table_of_a_repo() -> None:
    repo = filled(100)
    holdings = Holdings()
    for number in range(1, 101):
        holdings.add(VOLTAGE, number, 100)
    holdings.drop(VOLTAGE, 1, 80, 8000)
    repo.drop(VOLTAGE, 1, 80)
    repo.questions = Questions(repo.store, holdings, DigestSigner(), (GROUP.service,), lambda _name, _now: [])
    asked = Bundle(VOLTAGE, 70, 90)
    data = answer(repo, asked)
    bundle = decode_bundle(data.content, asked)
    assert bundle.dropped == ((70, 80),)
    assert [number for number, _ in bundle.readings] == list(range(81, 91))
    assert data.freshness_ms == COMPLETE_MS
    assert decode_streams(answer(repo, Latest(GROUP.name)).content).entries == ((VOLTAGE, 100),)


class _Damaged(MemoryStore):
    """One reading is damaged, as a store on a disk has it."""

    def get(self, name: Name) -> bytes | None:
        if name == numbered(VOLTAGE, 4):
            raise Damaged(name)
        return super().get(name)

    def range(self, stream: Name, low: int, high: int, limit: int) -> list[tuple[int, bytes]]:
        return [found for found in super().range(stream, low, high, limit) if found[0] != 4]


def test_a_damaged_reading_is_left_out_and_told() -> None:
    repo = filled(store=_Damaged())
    asked = Bundle(VOLTAGE, 1, 10)
    assert 4 not in [number for number, _ in decode_bundle(answer(repo, asked).content, asked).readings]
    assert repo.damaged == [numbered(VOLTAGE, 4)]
    assert repo.interface.asked(interest_for(numbered(VOLTAGE, 4)), START) == []
    assert repo.interface.damaged == 1


def test_of_a_stretch_that_a_mended_store_has_lost_each_reading_is_told() -> None:
    class Mended(MemoryStore):
        """It lost a block, and where nothing is, nothing can be damaged any more."""

        def get(self, name: Name) -> bytes | None:
            return None if name in lost else super().get(name)

        def range(self, stream: Name, low: int, high: int, limit: int) -> list[tuple[int, bytes]]:
            return [
                found for found in super().range(stream, low, high, limit) if numbered(stream, found[0]) not in lost
            ]

    lost = [numbered(VOLTAGE, number) for number in (4, 5, 6)]
    repo = filled(store=Mended())
    answer(repo, Bundle(VOLTAGE, 4, 6))
    assert repo.damaged == lost
    answer(repo, Bundle(VOLTAGE, 95, 105))
    assert repo.damaged == lost, "what is not held yet is not lost"


# -- what is no question


def test_what_is_not_below_ask_is_left_to_others() -> None:
    assert filled().questions.asked(interest_for(numbered(VOLTAGE, 1)), START) is None


def test_a_question_that_cannot_be_read_is_refused() -> None:
    effects = filled().questions.asked(interest_for(GROUP.service / ASK / "nonsense"), START)
    assert effects is not None
    assert [type(effect) for effect in effects] == [Rejected]


def test_a_question_that_leaves_no_room_for_an_answer_is_refused() -> None:
    long = Name.of(*["x" * 200] * 9)
    place = Name.of(*["y" * 250] * 20)
    questions = Questions(MemoryStore(), FakeHoldings(), DigestSigner(), (place,), lambda _name, _now: [])
    effects = questions.asked(interest_for(place / ASK / encode_question(Latest(long, long))), START)
    assert effects is not None
    assert [type(effect) for effect in effects] == [Rejected]


def test_answers_are_not_asked_for_by_their_own_names() -> None:
    name = GROUP.service / ASK / encode_question(Latest(VOLTAGE))
    assert filled().questions.asked(interest_for(name / version(1) / segment(0)), START) == []
    assert filled().questions.asked(interest_for(name, can_be_prefix=False), START) == []


# -- plain Interests


def packet(effects: list[Effect] | None) -> bytes:
    assert effects is not None
    (reply,) = effects
    assert isinstance(reply, Reply)
    return reply.packet


def test_a_reading_is_found_by_its_name() -> None:
    repo = filled()
    wanted = repo.store.get(numbered(VOLTAGE, 3))
    for fresh in (False, True):
        asked = interest_for(numbered(VOLTAGE, 3), can_be_prefix=False, must_be_fresh=fresh)
        assert packet(repo.interface.asked(asked, START)) == wanted
    assert repo.interface.asked(interest_for(numbered(VOLTAGE, 11), can_be_prefix=False), START) is None


def test_a_prefix_finds_the_newest_reading() -> None:
    repo = filled(300)
    found = Data.decode(packet(repo.interface.asked(interest_for(VOLTAGE, must_be_fresh=True), START)))
    assert found.name == numbered(VOLTAGE, 300)
    assert repo.interface.asked(interest_for(VOLTAGE, can_be_prefix=False), START) is None


def test_a_digest_finds_that_packet_only() -> None:
    repo = filled()
    data = Data.decode(repo.store.get(numbered(VOLTAGE, 3)) or b"")
    assert packet(repo.interface.asked(interest_for(data.full_name, can_be_prefix=False), START)) == data.wire
    other = data.name / Component(bytes(32), 1)
    assert repo.interface.asked(interest_for(other, can_be_prefix=False), START) is None


def test_other_packets_are_left_to_their_producers_when_freshness_is_asked_for() -> None:
    store = MemoryStore()
    name = GROUP.name / "Panel1" / "plan" / version(1) / segment(0)
    wire = encode_data(name, b"plan", DigestSigner(), freshness_ms=1000)
    store.write([Batch((Entry(name, wire),))])
    interface = DataInterface(store, lambda _name, _now: [])
    assert packet(interface.asked(interest_for(GROUP.name / "Panel1" / "plan"), START)) == wire
    assert interface.asked(interest_for(GROUP.name / "Panel1" / "plan", must_be_fresh=True), START) is None
