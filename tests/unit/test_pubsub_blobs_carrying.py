"""What a member answers with for others."""

from __future__ import annotations

import pytest

from roost.forwarding.endpoint_effects import Asked
from roost.naming import Name
from roost.naming.conventions import segment
from roost.pubsub.blobs.cargo import incomplete
from roost.pubsub.blobs.carrying import Carrying
from roost.pubsub.blobs.directory import Directory
from roost.pubsub.blobs.encapsulation import Packets, final_segment, segment_of
from roost.pubsub.blobs.mapping import Entry, decode_mapping
from roost.pubsub.blobs.names import VERSION_0, Naming
from roost.sync.port import Reply, Stream
from roost.wire import Data, DigestSigner, encode_interest
from roost.wire.data import decode_data
from roost.wire.interest import decode_interest

HOME = Name.parse("/ndn")
STREAM = Stream(Name.parse("/ndn/unit1"), 7)
INNER = Name.parse("/position/1")
DIGEST = DigestSigner()


@pytest.fixture(params=[2, 3])
def naming(request: pytest.FixtureRequest) -> Naming:
    return Naming(Name.parse("/ndn/svs"), request.param)


def packets(naming: Naming, number: int, size: int) -> list[Data]:
    made = Packets(naming.publication(STREAM, number), INNER, bytes(size), DIGEST, DIGEST)
    return [decode_data(made.outer(each)) for each in range(made.count)]


def asked(name: Name, *, prefix: bool = False) -> Asked:
    return Asked(HOME, decode_interest(encode_interest(name, can_be_prefix=prefix, nonce=b"\0\0\0\1")), b"token")


def carrier(naming: Naming, *publications: list[Data], max_bytes: int = 100_000) -> Carrying:
    made = Carrying(DIGEST, (HOME,), max_bytes=max_bytes)
    made.know(naming, STREAM)
    for number, publication in enumerate(publications, 1):
        for data in publication:
            made.keep(STREAM, number, segment_of(data), data.wire)
    return made


def test_packets_are_given_out_as_they_came(naming: Naming) -> None:
    small, large = packets(naming, 1, 10), packets(naming, 2, 20_000)
    carrying = carrier(naming, small, large)
    for data in small + large:
        assert carrying.answer(asked(data.name), naming, Directory()) == [Reply(data.wire, b"token")]
    first = carrying.answer(asked(naming.publication(STREAM, 2), prefix=True), naming, Directory())
    assert first == [Reply(large[0].wire, b"token")]
    assert carrying.answered == 1 + len(small) + len(large)


def test_what_is_not_here_is_not_answered(naming: Naming) -> None:
    carrying = carrier(naming, packets(naming, 1, 20_000))
    home = naming.home(STREAM)
    for name in (
        naming.publication(STREAM, 1),
        naming.publication(STREAM, 2),
        home / "odd",
        Name.parse("/ndn/other/1"),
    ):
        assert carrying.answer(asked(name), naming, Directory()) == []
    assert carrying.answer(asked(naming.query(STREAM, 1, 2)), naming, Directory()) == []


def test_queries_are_answered_with_what_is_known(naming: Naming) -> None:
    directory = Directory()
    directory.learn(STREAM, [Entry(2, INNER, 1000, 10)])
    (reply,) = carrier(naming).answer(asked(naming.query(STREAM, 1, 3)), naming, directory)
    assert isinstance(reply, Reply)
    mapping = decode_mapping(decode_data(reply.packet).content)
    assert (mapping.node, mapping.entries) == (STREAM.name, (Entry(2, INNER, 1000, 10),))


def test_the_oldest_is_forgotten_first_and_nothing_is_kept_twice(naming: Naming) -> None:
    first, second = packets(naming, 1, 1000), packets(naming, 2, 1000)
    carrying = carrier(naming, first, second, max_bytes=len(second[0].wire) + 100)
    carrying.keep(STREAM, 2, -1, second[0].wire)
    assert (len(carrying), carrying.size_bytes, carrying.forgotten) == (1, len(second[0].wire), 1)
    assert carrying.answer(asked(first[0].name), naming, Directory()) == []


def test_what_is_forgotten_is_forgotten_whole(naming: Naming) -> None:
    publications = [packets(naming, number, 20_000) for number in (1, 2, 3)]
    size = sum(len(data.wire) for data in publications[0])
    carrying = Carrying(DIGEST, max_bytes=2 * size + 100)
    first, second, third = publications
    for number, publication in ((1, first[:2]), (2, second), (1, first[2:]), (3, third)):  # as they may come
        for data in publication:
            carrying.keep(STREAM, number, segment_of(data), data.wire, INNER / str(number), final_segment(data))
    assert incomplete(carrying.packets) == []
    assert {number for _, number, _ in carrying.packets} == {2, 3}
    assert carrying.size_bytes == sum(map(len, carrying.packets.values()))
    for number in (2, 3):
        assert carrying.by_name(INNER / str(number) / VERSION_0 / segment(0)) is not None
    assert carrying.by_name(INNER / "1" / VERSION_0 / segment(0)) is None


def test_of_a_blob_whose_size_is_not_told_no_more_is_kept_than_there_is_room(naming: Naming) -> None:
    carrying = Carrying(DIGEST, max_bytes=20_000)
    for data in packets(naming, 1, 50_000):
        carrying.keep(STREAM, 1, segment_of(data), data.wire)
    assert carrying.size_bytes == sum(map(len, carrying.packets.values())) <= 20_000


def test_of_a_blob_that_is_larger_than_all_the_room_only_the_first_packet_is_kept(naming: Naming) -> None:
    carrying = Carrying(DIGEST, max_bytes=20_000)
    (small,) = packets(naming, 1, 500)
    carrying.keep(STREAM, 1, -1, small.wire)
    for data in packets(naming, 2, 50_000):
        carrying.keep(STREAM, 2, segment_of(data), data.wire, INNER, final_segment(data))
    assert list(carrying.packets) == [(STREAM, 1, -1), (STREAM, 2, 0)]
    assert (carrying.overflowed, incomplete(carrying.packets)) == (6, [(STREAM, 2)])


def test_content_keys_outlive_what_they_open(naming: Naming) -> None:
    carrying = Carrying(DIGEST, max_bytes=20_000)
    key = Name.parse("/ndn/unit1/ndn/svs/32=CK/v=1")
    for number in range(1, 101):
        (data,) = packets(naming, number, 500)
        carrying.keep(STREAM, number, -1, data.wire, key if number == 3 else INNER / str(number))
    assert (STREAM, 3, -1) in carrying.packets
    assert (STREAM, 4, -1) not in carrying.packets
    assert carrying.size_bytes == sum(map(len, carrying.packets.values())) <= 20_000
    for number in range(101, 201):  # but they are not all there is
        (data,) = packets(naming, number, 500)
        carrying.keep(STREAM, number, -1, data.wire, key)
    assert carrying.size_bytes == sum(map(len, carrying.packets.values())) <= 20_000
