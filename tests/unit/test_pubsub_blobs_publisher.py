"""The publishing side of SVS-PS: what is published can be had by its number, and by who asked before [SVS-PS §8]."""

from __future__ import annotations

from random import Random

import pytest

from roost.errors import Backpressure
from roost.forwarding.endpoint_effects import Asked
from roost.machine import MS, SECOND, Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.pubsub.blobs.blob_log import SPARE_BYTES, BlobLog
from roost.pubsub.blobs.encapsulation import application_name, segment_of, unwrap
from roost.pubsub.blobs.kept import OVERHEAD_BYTES
from roost.pubsub.blobs.mapped_sync import MappedSvs
from roost.pubsub.blobs.mapping import Entry, decode_mapping
from roost.pubsub.blobs.names import is_key
from roost.pubsub.blobs.publisher import MAX_AHEAD, MAX_KEPT_BYTES, MAX_WAITING, Layers, Published, Publisher
from roost.pubsub.blobs.sealing import BlobOpening, BlobSealing
from roost.pubsub.blobs.seat import Seat
from roost.sync.ledger import Ledger
from roost.sync.port import Reply
from roost.sync.svs_settings import SvsSettings
from roost.trust.acceptance import ACCEPT_ANY
from roost.trust.generate import generate
from roost.trust.wrapping import Receiver, Recipient
from roost.wire import Data, DigestSigner, Interest, encode_interest

NOW = 1_700_000_000 * SECOND
GROUP = Name.parse("/campus/ops")
NODE = Name.parse("/radar")
POSITION = Name.parse("/position/radar/1")
DIGEST = DigestSigner()


def publisher(version: int = 3, max_kept_bytes: int = MAX_KEPT_BYTES) -> Publisher:
    sync = MappedSvs(GROUP, SvsSettings(version=version), DIGEST, Random(1), Ledger("sync", b""))
    made = Publisher(Seat(sync, ACCEPT_ANY), NODE, Layers.by(DIGEST), max_kept_bytes=max_kept_bytes)
    made.start(NOW)
    return made


def saved(machine: Publisher, effects: list[Effect], now: int = NOW) -> list[Effect]:
    """Let the disk do what it was asked to, until nothing is left to save."""
    told = list(effects)
    saves = [effect for effect in effects if isinstance(effect, Save)]
    while saves:
        save = saves.pop(0)
        more = machine.receive(Saved(save.file, save.ticket), now)
        told += more
        saves += [effect for effect in more if isinstance(effect, Save)]
    return told


def ask(machine: Publisher, name: Name, now: int = NOW, *, prefix: bool = False, lifetime_ms: int = 4000) -> list[Data]:
    wire = encode_interest(name, can_be_prefix=prefix, lifetime_ms=lifetime_ms)
    effects = machine.receive(Asked(NODE + GROUP, Interest.decode(wire), b"t"), now)
    return replies(effects)


def replies(effects: list[Effect]) -> list[Data]:
    return [Data.decode(effect.packet) for effect in effects if isinstance(effect, Reply)]


def name_of(machine: Publisher, number: int) -> Name:
    assert machine.stream is not None
    return machine.naming.publication(machine.stream, number)


@pytest.mark.parametrize("version", [2, 3])
def test_a_publication_is_served_once_its_number_is_on_the_disk(version: int) -> None:
    machine = publisher(version)
    effects = machine.publish(POSITION, b"here", NOW)
    assert not [effect for effect in effects if isinstance(effect, Published)]
    told = saved(machine, effects)
    assert [(each.number, each.name) for each in told if isinstance(each, Published)] == [(1, POSITION)]
    for prefix in (False, True):
        (outer,) = ask(machine, name_of(machine, 1), prefix=prefix)
        assert (outer.name, unwrap(outer).name, unwrap(outer).content) == (name_of(machine, 1), POSITION, b"here")


def test_a_large_blob_is_served_by_segments() -> None:
    machine = publisher()
    blob = bytes(range(250)) * 800
    saved(machine, machine.publish(POSITION, blob, NOW))
    assert ask(machine, name_of(machine, 1)) == []  # a longer name answers only who lets it
    (first,) = ask(machine, name_of(machine, 1), prefix=True)
    assert segment_of(first) == 0
    base = first.name.prefix(-1)
    pieces = [ask(machine, base + Name.parse(f"/seg={number}"))[0] for number in range(25)]
    assert b"".join([unwrap(piece).content for piece in pieces]) == blob
    assert ask(machine, base + Name.parse("/seg=25")) == []


def test_a_mapping_query_is_answered_with_time_and_size() -> None:
    machine = publisher()
    assert machine.stream is not None
    for blob in (b"a", b"bc"):
        saved(machine, machine.publish(POSITION, blob, NOW))
    (answer,) = ask(machine, machine.naming.query(machine.stream, 1, 10))
    expected = tuple([Entry(number, POSITION, NOW // 1000, number) for number in (1, 2)])
    assert decode_mapping(answer.content).entries == expected
    assert ask(machine, machine.naming.query(machine.stream, 3, 9)) == []


def test_who_asked_before_is_answered_when_it_is_published() -> None:
    machine = publisher()
    assert ask(machine, name_of(machine, 1), prefix=True) == []
    assert ask(machine, name_of(machine, 2), prefix=True) == []
    (first,) = replies(saved(machine, machine.publish(POSITION, b"1", NOW)))
    assert first.name == name_of(machine, 1)
    (second,) = replies(saved(machine, machine.publish(POSITION, b"2", NOW)))
    assert second.name == name_of(machine, 2)


def test_an_interest_waits_no_longer_than_it_lives_and_only_so_many_wait() -> None:
    machine = publisher()
    ask(machine, name_of(machine, 1), prefix=True, lifetime_ms=100)
    machine.tick(NOW + 100 * MS)
    assert machine.sizes()["waiting"][0] == 0
    for _ in range(MAX_WAITING + 3):
        ask(machine, name_of(machine, 1), prefix=True)
    assert machine.sizes()["waiting"] == (MAX_WAITING, MAX_WAITING)
    assert machine.overflowed == 3


def test_nobody_waits_for_what_is_far_ahead_or_not_ours() -> None:
    machine = publisher()
    ask(machine, name_of(machine, 1 + MAX_AHEAD), prefix=True)
    ask(machine, NODE + GROUP + Name.parse("/t=1/seq=1"), prefix=True)
    ask(machine, NODE + GROUP + Name.parse("/x"), prefix=True)
    assert machine.sizes()["waiting"][0] == 0


def test_too_many_that_wait_for_the_disk_are_refused() -> None:
    machine = publisher()
    for _ in range(MAX_AHEAD - 1):
        machine.publish(POSITION, b"", NOW)
    with pytest.raises(Backpressure, match="wait for the disk"):
        machine.publish(POSITION, b"", NOW)


def test_the_oldest_publications_are_forgotten_at_the_bound() -> None:
    machine = publisher(max_kept_bytes=2 * OVERHEAD_BYTES + 200)
    for _ in range(3):
        saved(machine, machine.publish(POSITION, bytes(50), NOW))
    assert machine.kept.forgotten == 1
    assert [len(ask(machine, name_of(machine, number))) for number in (1, 2, 3)] == [0, 1, 1]


def test_before_it_has_joined_nothing_can_be_published() -> None:
    sync = MappedSvs(GROUP, SvsSettings(), DIGEST, Random(1), Ledger("sync", b""))
    machine = Publisher(Seat(sync, ACCEPT_ANY), NODE, Layers.by(DIGEST))
    with pytest.raises(Backpressure, match="has not joined"):
        machine.publish(POSITION, b"", NOW)


def test_a_restarted_publisher_gives_no_number_twice() -> None:
    machine = publisher()
    effects = machine.publish(POSITION, b"", NOW)
    (save,) = [effect for effect in effects if isinstance(effect, Save)]
    sync = MappedSvs(GROUP, SvsSettings(), DIGEST, Random(2), Ledger("sync", save.data))
    again = Publisher(Seat(sync, ACCEPT_ANY), NODE, Layers.by(DIGEST))
    again.start(NOW + SECOND)
    told = saved(again, again.publish(POSITION, b"", NOW + SECOND), NOW + SECOND)
    assert [each.number for each in told if isinstance(each, Published)] == [2]
    assert again.stream == machine.stream


def test_publications_without_content_are_forgotten_at_the_bound_too() -> None:
    machine = publisher(max_kept_bytes=20 * OVERHEAD_BYTES)
    for number in range(100):
        saved(machine, machine.publish(POSITION / str(number), b"", NOW))
    assert 10 < len(machine.kept) < 20
    assert machine.kept.oldest == 101 - len(machine.kept)


def test_queries_for_what_is_kept_are_answered_whatever_the_group_has_forgotten() -> None:
    machine = publisher()
    assert machine.stream is not None
    saved(machine, machine.publish(POSITION, b"a", NOW))
    others = [Entry(number, POSITION) for number in range(1000, 1001 + machine.directory.max_entries)]
    machine.directory.learn(machine.stream, others)
    assert machine.directory.get(machine.stream, 1) is None
    (answer,) = ask(machine, machine.naming.query(machine.stream, 1, 10))
    assert [each.name for each in decode_mapping(answer.content).entries] == [POSITION]


def test_small_publications_are_appended_to_the_log_and_nothing_is_written_again() -> None:
    sync = MappedSvs(GROUP, SvsSettings(), DIGEST, Random(1), Ledger("sync", b""))
    machine = Publisher(Seat(sync, ACCEPT_ANY), NODE, Layers.by(DIGEST), log=BlobLog("log", b""))
    machine.start(NOW)
    name = POSITION / ("x" * 1000)
    told: list[Effect] = []
    for _ in range(2 * SPARE_BYTES // 1000):
        told += saved(machine, machine.publish(name, b"", NOW))
    assert not [each for each in told if isinstance(each, Save) and each.file == "log" and each.replace]


def test_the_content_key_in_use_stays_to_be_had() -> None:
    key = generate(Name.parse("/desk"), Random(3).randbytes)
    sealing = BlobSealing(NODE + GROUP, [Recipient(key.public.spki)], Random(2).randbytes)
    sync = MappedSvs(GROUP, SvsSettings(), DIGEST, Random(1), Ledger("sync", b""))
    machine = Publisher(Seat(sync, ACCEPT_ANY), NODE, Layers.by(DIGEST), sealing=sealing, max_kept_bytes=10_000)
    machine.start(NOW)
    for size in (500, 20_000, 500) * 10:
        effects = saved(machine, machine.publish(POSITION, bytes(size), NOW))
        opening = BlobOpening([Receiver.of(key)])
        numbers = range(machine.kept.oldest, machine.kept.oldest + 50)
        found = [ask(machine, name_of(machine, number), prefix=True) for number in numbers]
        inner = [unwrap(data) for (data,) in filter(None, found)]
        for each in inner:
            if is_key(each.name):
                opening.learn(each.name, each.content)
        assert any(isinstance(each, Published) and each.name == POSITION for each in effects)
        (last,) = [data for (data,) in filter(None, found) if application_name(unwrap(data)) == POSITION][-1:]
        assert isinstance(opening.open(last.name, unwrap(last).content), bytes)
