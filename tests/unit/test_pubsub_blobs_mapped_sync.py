"""Mapping that rides on Sync Interests: told before what is learnt, within its cap, never without trust [SVS-PS §8]."""

from __future__ import annotations

from random import Random

import pytest

from roost.machine import SECOND, Effect, Rejected
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.pubsub.blobs.mapped_sync import MAX_RIDING_BYTES, MappedSvs
from roost.pubsub.blobs.mapping import Entry, Mapped, encode_mapping
from roost.sync.ledger import Ledger
from roost.sync.port import Asked, Express, Learned, Ready, Stream
from roost.sync.svs_interest import build, open_interest
from roost.sync.svs_settings import SvsSettings
from roost.sync.vector_format import encode_vector, key_of
from roost.wire import MAX_PACKET_BYTES, DigestSigner, Interest

NOW = 1_700_000_000 * SECOND
GROUP = Name.parse("/g")
NODE = Name.parse("/radar")
SIGNER = DigestSigner()


def member(version: int) -> MappedSvs:
    made = MappedSvs(GROUP, SvsSettings(version=version), SIGNER, Random(1), Ledger("sync", b""))
    made.start(NOW)
    return made


def announce(sync: MappedSvs, *entries: Entry) -> Interest:
    """Announce publications, and return the Sync Interest that says so."""
    (stream,) = [effect.stream for effect in sync.produce(NODE, NOW) if isinstance(effect, Ready)]
    for entry in entries:
        sync.ride(stream, entry)
    effects = sync.announce(NODE, entries[-1].number, NOW)
    (save,) = [effect for effect in effects if isinstance(effect, Save)]
    told = sync.receive(Saved(save.file, save.ticket), NOW)
    (sent,) = [effect.interest for effect in told if isinstance(effect, Express)]
    return Interest.decode(sent)


def heard(sync: MappedSvs, interest: Interest) -> list[Effect]:
    return sync.receive(Asked(interest), NOW)


@pytest.mark.parametrize("version", [2, 3])
def test_who_hears_of_a_publication_knows_its_name_first(version: int) -> None:
    entry = Entry(1, Name.parse("/position/radar"), 5, 1024)
    mapped, learned = heard(member(version), announce(member(version), entry))
    stream = Stream(NODE, NOW // SECOND if version == 3 else 0)
    assert mapped == Mapped(stream, (entry,))
    assert learned == Learned(stream, 1, 1)


def test_what_was_told_once_does_not_ride_again() -> None:
    sync = member(3)
    announce(sync, Entry(1, Name.parse("/a")))
    mapped, _ = heard(member(3), announce(sync, Entry(2, Name.parse("/b"))))
    assert isinstance(mapped, Mapped)
    assert [entry.number for entry in mapped.entries] == [2]


def test_an_entry_waits_for_the_interest_that_announces_its_number() -> None:
    sync = member(2)
    sync.produce(NODE, NOW)
    sync.ride(Stream(NODE), Entry(2, Name.parse("/b")))
    first, _ = heard(member(2), announce(sync, Entry(1, Name.parse("/a"))))
    assert first == Mapped(Stream(NODE), (Entry(1, Name.parse("/a")),))
    second, _ = heard(member(2), announce(sync, Entry(3, Name.parse("/c"))))
    assert isinstance(second, Mapped)
    assert [entry.number for entry in second.entries] == [2, 3]


def test_a_burst_rides_up_to_the_cap_and_the_rest_is_left_to_queries() -> None:
    sync = member(3)
    interest = announce(sync, *[Entry(number, Name.parse(f"/p/{number}") / ("x" * 90)) for number in range(1, 201)])
    (wire,) = open_interest(interest, sync.prefix, 3).mappings
    assert MAX_RIDING_BYTES - 200 < len(wire) <= MAX_RIDING_BYTES
    assert len(interest.wire) <= MAX_PACKET_BYTES
    mapped, learned = heard(member(3), interest)
    assert isinstance(mapped, Mapped)
    assert sync.left_behind == 200 - len(mapped.entries) > 0
    assert isinstance(learned, Learned)
    assert learned.high == 200


def test_a_large_vector_leaves_less_room_and_no_packet_is_too_large() -> None:
    sync = member(2)
    others = {key_of(Stream(Name.parse(f"/other/{each:04}")), 2): 1 for each in range(330)}
    heard(sync, Interest.decode(build(sync.prefix, 2, encode_vector(sorted(others), others, 2), 1000, SIGNER)))
    interest = announce(sync, *[Entry(number, Name.parse("/p") / ("x" * 90)) for number in range(1, 40)])
    assert len(interest.wire) <= MAX_PACKET_BYTES
    assert sync.left_behind > 0


def test_entries_beyond_the_vector_or_of_a_node_that_is_not_in_it_are_passed_over() -> None:
    stream = Stream(NODE)
    vector = encode_vector([key_of(stream, 2)], {key_of(stream, 2): 2}, 2)
    strange = [Entry(2, Name.parse("/a")), Entry(3, Name.parse("/b"))]
    content = vector + encode_mapping(NODE, strange) + encode_mapping(Name.parse("/nobody"), strange)
    sync = member(2)
    interest = Interest.decode(build(sync.prefix, 2, content, 1000, SIGNER))
    effects = heard(sync, interest)
    assert [effect for effect in effects if isinstance(effect, Mapped)] == [Mapped(stream, (strange[0],))]


def test_of_two_boots_the_newest_is_meant() -> None:
    streams = [Stream(NODE, 5), Stream(NODE, 9)]
    keys = [key_of(stream, 3) for stream in streams]
    sync = member(3)
    content = encode_vector(keys, dict.fromkeys(keys, 1), 3) + encode_mapping(NODE, [Entry(1, Name.parse("/a"))])
    effects = heard(sync, Interest.decode(build(sync.prefix, 3, content, 1000, SIGNER)))
    assert effects[0] == Mapped(streams[1], (Entry(1, Name.parse("/a")),))


def test_a_mapping_that_cannot_be_read_costs_the_mapping_only() -> None:
    sync = member(2)
    key = key_of(Stream(NODE), 2)
    content = encode_vector([key], {key: 1}, 2) + b"\xcd\x02\x08\x00"
    refused, learned = heard(sync, Interest.decode(build(sync.prefix, 2, content, 1000, SIGNER)))
    assert isinstance(refused, Rejected)
    assert "mapping" in refused.reason
    assert learned == Learned(Stream(NODE), 1, 1)


def test_of_an_interest_that_is_refused_the_mapping_is_too() -> None:
    sync = member(3)
    key = key_of(Stream(NODE, NOW // SECOND + 100_000), 3)
    content = encode_vector([key], {key: 1}, 3) + encode_mapping(NODE, [Entry(1, Name.parse("/a"))])
    (refused,) = heard(sync, Interest.decode(build(sync.prefix, 3, content, 1000, SIGNER)))
    assert isinstance(refused, Rejected)


def test_a_member_goes_on_where_it_was() -> None:
    sync = member(3)
    announce(sync, Entry(1, Name.parse("/a")))
    assert [effect.number for effect in sync.produce(NODE, NOW) if isinstance(effect, Ready)] == [2]
