"""Replies in segments, kept for whoever asks again or for the rest."""

from __future__ import annotations

from random import Random

import pytest

from roost.errors import BadConfig, BadPacket
from roost.machine import MS, SECOND
from roost.naming import Component, Name
from roost.naming.component import VERSION
from roost.naming.conventions import segment, version
from roost.sync.compression import NONE
from roost.sync.dataset import Dataset
from roost.sync.entire_state import ROUND_MS, EntireState
from roost.sync.presets import CPP_FULL, FullPreset
from roost.sync.replies import KEEP_MS, Replies
from roost.sync.state_replies import StateReplies, within
from roost.sync.sync_state import decode_state, encode_state
from roost.wire import MAX_PACKET_BYTES, Data, DigestSigner
from roost.wire.segment import Joiner

NOW = 1_790_000_000_000 * MS
QUESTION = Name.parse("/S/question")
REPLY = QUESTION / "iblt"


def replies(segment_bytes: int = 10, max_packets: int = 10, max_kept: int = 10, seed: int = 1) -> Replies:
    return Replies(DigestSigner(), Random(seed), segment_bytes, max_packets, max_kept)


def versioned(packet: bytes) -> Name:
    return Data.decode(packet).name.prefix(-1)


# -- segments


def test_a_reply_of_one_segment_is_named_by_its_milliseconds() -> None:
    data = Data.decode(replies().add(QUESTION, REPLY, b"content", 1000, NOW))
    assert data.name == REPLY / version(1_790_000_000_000) / segment(0)
    assert data.content == b"content"
    assert data.freshness_ms == 1000
    assert data.final_block == segment(0)


def test_an_empty_reply_has_one_segment() -> None:
    data = Data.decode(replies().add(QUESTION, REPLY, b"", 1000, NOW))
    assert data.content == b""
    assert data.final_block == segment(0)


def test_all_segments_say_which_is_the_last_and_give_the_content_together() -> None:
    kept = replies(segment_bytes=4)
    joiner = Joiner(versioned(kept.add(QUESTION, REPLY, b"0123456789", 1000, NOW)))
    for number in range(3):
        packet = kept.find(joiner.prefix / segment(number), NOW)
        assert packet is not None
        assert Data.decode(packet).final_block == segment(2)
        joiner.add(Data.decode(packet))
    assert joiner.content() == b"0123456789"
    assert kept.find(joiner.prefix / segment(3), NOW) is None
    assert kept.find(joiner.prefix / Component(b"123", segment(0).type), NOW) is None, "no number"


def test_replies_of_several_segments_made_at_once_by_two_members_have_different_names() -> None:
    names = [versioned(replies(4, seed=seed).add(QUESTION, REPLY, b"0123456789", 1000, NOW)) for seed in (1, 2)]
    assert names[0] != names[1]
    assert all(name.at(-1).type == VERSION and name.at(-1).number() >> 22 == NOW // MS for name in names)


def test_two_replies_of_one_name_in_one_millisecond_have_different_versions() -> None:
    kept = replies()
    assert versioned(kept.add(QUESTION, REPLY, b"a", 1, NOW)) != versioned(kept.add(QUESTION, REPLY, b"b", 1, NOW))


def test_a_segment_is_signed_when_it_is_asked_for() -> None:
    class Counting(DigestSigner):
        signed = 0

        def sign(self, portion: bytes) -> bytes:
            self.signed += 1
            return super().sign(portion)

    signer = Counting()
    kept = Replies(signer, Random(1), 4, 100, 100)
    name = versioned(kept.add(QUESTION, REPLY, bytes(100), 1000, NOW))
    assert signer.signed == 1
    assert kept.find(name / segment(7), NOW) == kept.find(name / segment(7), NOW)
    assert signer.signed == 2


# -- for how long


def test_a_question_is_answered_again_while_the_reply_is_fresh() -> None:
    kept = replies()
    packet = kept.add(QUESTION, REPLY, b"content", 10, NOW)
    assert kept.find(QUESTION, NOW + 10 * MS - 1) == packet
    assert kept.find(QUESTION, NOW + 10 * MS) is None
    assert kept.find(REPLY, NOW) is None, "nobody asks like that"


def test_segments_outlive_a_short_freshness() -> None:
    for later, found in ((KEEP_MS * MS - 1, True), (KEEP_MS * MS, False)):
        kept = replies(segment_bytes=4)
        name = versioned(kept.add(QUESTION, REPLY, b"0123456789", 10, NOW))
        assert (kept.find(name / segment(2), NOW + later) is not None) is found


def test_what_is_being_collected_is_kept_until_nobody_asks_for_more() -> None:
    kept = replies(segment_bytes=4)
    name = versioned(kept.add(QUESTION, REPLY, b"0123456789", 10, NOW))
    for number in range(3):
        assert kept.find(name / segment(number), NOW + (number + 1) * (KEEP_MS - 1) * MS) is not None
    kept.add(QUESTION / "other", REPLY / "other", b"other", 10, NOW + 3 * KEEP_MS * MS)
    assert kept.find(name / segment(0), NOW + 4 * KEEP_MS * MS) is None


def test_segments_live_as_long_as_a_long_freshness() -> None:
    kept = replies()
    name = versioned(kept.add(QUESTION, REPLY, b"content", 2 * KEEP_MS, NOW))
    assert kept.find(name / segment(0), NOW + 2 * KEEP_MS * MS - 1) is not None


def test_a_newer_reply_to_the_same_question_takes_its_place() -> None:
    kept = replies()
    old = versioned(kept.add(QUESTION, REPLY, b"old", 1000, NOW))
    new = kept.add(QUESTION, REPLY, b"new", 1000, NOW + MS)
    assert kept.find(QUESTION, NOW + MS) == new
    assert kept.find(old / segment(0), NOW + MS) is not None, "somebody may be collecting it"


# -- bounds


def test_what_has_expired_makes_room_without_being_counted() -> None:
    kept = replies(max_kept=2)
    kept.add(QUESTION, REPLY, b"a", 10, NOW)
    kept.add(QUESTION, REPLY, b"b", 10, NOW + KEEP_MS * MS)
    assert kept.packets == 1
    assert kept.evicted == 0


def test_the_oldest_reply_makes_room_for_the_newest() -> None:
    kept = replies(segment_bytes=4, max_packets=3, max_kept=4)
    first = versioned(kept.add(QUESTION, REPLY, b"0123456789", 1000, NOW))
    other = QUESTION / "other"
    kept.add(other, other, b"01234567", 1000, NOW + 1)
    assert kept.evicted == 1
    assert kept.packets == 2
    assert kept.find(first / segment(0), NOW + 1) is None
    assert kept.find(QUESTION, NOW + 1) is None
    assert kept.find(other, NOW + 1) is not None


def test_a_reply_larger_than_the_bound_is_refused() -> None:
    kept = replies(segment_bytes=4, max_packets=2)
    assert kept.room_bytes(REPLY) == 8
    kept.add(QUESTION, REPLY, bytes(8), 1000, NOW)
    with pytest.raises(BadPacket, match="9 bytes"):
        kept.add(QUESTION, REPLY, bytes(9), 1000, NOW)


def test_segments_beside_a_long_name_are_smaller() -> None:
    kept = Replies(DigestSigner(), Random(1), 4400, 100, 100)
    long = Name.of(Component(bytes(7000)))
    packet = kept.add(QUESTION, long, bytes(4400), 1000, NOW)
    assert len(packet) <= MAX_PACKET_BYTES
    final = Data.decode(packet).final_block
    assert final is not None
    assert final.number() >= 3
    assert kept.room_bytes(Name.of(Component(bytes(8700)))) == 0


# -- states


def state_replies(preset: FullPreset) -> StateReplies:
    return StateReplies(DigestSigner(), Random(1), preset, REPLY)


def entries(count: int, start: int = 0) -> list[tuple[Name, int]]:
    return [(Name.parse(f"/stream/{number:04}"), number + 1) for number in range(start, start + count)]


def test_a_state_is_cut_to_what_fits() -> None:
    preset = FullPreset(segment_bytes=500, max_reply_packets=2, content_compression=NONE)
    content = state_replies(preset).content(REPLY, entries(100))
    found = decode_state(content, 100)
    assert 0 < len(found) < 100
    assert found == entries(len(found)), "the first of them"
    assert len(content) <= 1000


def test_a_state_is_written_in_canonical_order() -> None:
    content = state_replies(FullPreset(content_compression=NONE)).content(REPLY, entries(9)[::-1])
    assert decode_state(content, 9) == entries(9)


def test_what_is_within_never_encodes_to_more() -> None:
    for limit in range(0, 400, 7):
        found = within(entries(20), limit)
        assert len(encode_state(found)) <= max(limit, 2)


def test_a_prefix_that_leaves_no_room_for_replies_is_refused_at_once() -> None:
    with pytest.raises(BadConfig, match="shorter prefix"):
        StateReplies(DigestSigner(), Random(1), FullPreset(), Name.of(Component(bytes(8700))))


# -- the entire state


def dataset(count: int) -> Dataset:
    made = Dataset(1000)
    for stream, number in entries(count):
        made.set(stream, number)
    return made


def entire_state(data: Dataset, preset: FullPreset = CPP_FULL, longest: Name = REPLY) -> EntireState:
    return EntireState(data, state_replies(preset), longest)


def test_the_entire_state_is_all_there_is_but_for_streams_without_a_number() -> None:
    data = dataset(5)
    data.set(Name.parse("/nothing/yet"), 0)
    assert decode_state(entire_state(data, FullPreset(content_compression=NONE)).content(NOW), 10) == entries(5)
    assert entire_state(Dataset(10)).content(NOW) == b""


def test_the_entire_state_is_written_once_while_nothing_changes() -> None:
    data = dataset(5)
    entire = entire_state(data)
    for later in range(10):
        entire.content(NOW + later * SECOND)
    assert entire.written == 1
    data.set(Name.parse("/stream/0000"), 9)
    assert entire.content(NOW + 10 * SECOND)
    assert entire.written == 2


def test_however_often_it_changes_the_entire_state_is_not_written_more_often_than_that() -> None:
    data = dataset(5)
    entire = entire_state(data, FullPreset(content_compression=NONE))
    stream = Name.parse("/stream/0000")
    for number in range(10, 10 + ROUND_MS):
        data.set(stream, number)
        assert (stream, 10) in decode_state(entire.content(NOW + number * MS), 5)
    assert entire.written == 1
    assert (stream, 9 + ROUND_MS) in decode_state(entire.content(NOW + (10 + ROUND_MS) * MS), 5)


def test_the_entire_state_fits_beside_the_longest_name_that_can_be_asked_with() -> None:
    longest = Name.of(Component(bytes(7000)))
    entire = entire_state(dataset(100), FullPreset(content_compression=NONE, max_reply_packets=1), longest)
    assert len(entire.content(NOW)) < 1500
    assert entire.truncated == 1


def test_an_entire_state_that_is_too_large_has_what_is_recent_and_goes_round_the_rest() -> None:
    data = dataset(100)
    preset = FullPreset(segment_bytes=500, max_reply_packets=2, content_compression=NONE)
    entire = entire_state(data, preset)
    seen: set[int] = set()
    for turn in range(10):
        content = entire.content(NOW + turn * ROUND_MS * MS)
        assert entire.content(NOW + turn * ROUND_MS * MS + 1) == content, "not more often"
        numbers = [number for _, number in decode_state(content, 100)]
        assert 100 in numbers
        assert 90 in numbers
        seen.update(numbers)
    assert seen == set(range(1, 101))
    assert entire.truncated == entire.written == 10


def test_a_stream_whose_name_never_fits_does_not_stop_the_round() -> None:
    data = dataset(3)
    data.set(Name.of(Component(bytes(900))), 1)
    for stream, number in entries(60, start=3):
        data.set(stream, number)
    preset = FullPreset(segment_bytes=500, max_reply_packets=2, content_compression=NONE)
    entire = entire_state(data, preset)
    seen: set[int] = set()
    for turn in range(20):
        seen.update(number for _, number in decode_state(entire.content(NOW + turn * SECOND), 100))
    assert seen == set(range(1, 64))
