"""Content keys of a producer: when they change, and what a reader makes of what comes."""

from __future__ import annotations

import random

import pytest

from roost.errors import BadPacket
from roost.machine import SECOND
from roost.naming import Name
from roost.pubsub.blobs.names import is_key
from roost.pubsub.blobs.sealing import CLOSED, WAITING, BlobOpening, BlobSealing
from roost.trust.generate import generate
from roost.trust.wrapping import Receiver, Recipient

HOME = Name.parse("/radar/campus/ops")
PACKET = HOME / "1"
NOW = 1_700_000_000 * SECOND
KEY = generate(Name.parse("/desk"), random.Random(1).randbytes)


def sealing(**how: int) -> BlobSealing:
    return BlobSealing(HOME, [Recipient(KEY.public.spki)], random.Random(2).randbytes, **how)


def test_a_key_is_published_once_and_again_after_so_many_publications_or_so_long() -> None:
    some = sealing(publications=3, period_ns=100 * SECOND)
    names = [None if due is None else due[0] for due in [some.key_due(NOW + number * SECOND) for number in range(8)]]
    assert [name is not None for name in names] == [True, False, False, True, False, False, True, False]
    assert all(is_key(name) for name in names if name is not None)
    assert len(set(names)) == 4
    assert some.key_due(NOW + 8 * SECOND) is None
    assert some.key_due(NOW + 200 * SECOND) is not None  # of three this was the first


def test_what_is_sealed_opens_under_its_name_once_the_key_is_here() -> None:
    some, reader = sealing(), BlobOpening([Receiver.of(KEY)])
    due = some.key_due(NOW)
    assert due is not None
    sealed = some.seal(PACKET, b"secret")
    assert len(sealed) - 6 <= some.overhead
    assert reader.open(PACKET, sealed) == WAITING
    reader.learn(*due)
    assert reader.open(PACKET, sealed) == b"secret"
    with pytest.raises(BadPacket, match="altered"):
        reader.open(HOME / "2", sealed)
    assert reader.open(PACKET, b"plain") == b"plain"
    assert reader.open(PACKET, sealed[:1] + b"\x00") == sealed[:1] + b"\x00"  # it only begins alike


def test_what_is_for_others_is_known_to_be() -> None:
    some = sealing()
    stranger = BlobOpening([Receiver.of(generate(Name.parse("/foe"), random.Random(3).randbytes))])
    due = some.key_due(NOW)
    assert due is not None
    stranger.learn(*due)
    assert stranger.open(PACKET, some.seal(PACKET, b"secret")) == CLOSED
    assert stranger.closed_to_us == 1


@pytest.mark.parametrize("blob", [b"\x08\x00", b"\x07\x00", HOME.wire + b"\x88\x00", b"\x07"])
def test_a_key_publication_that_cannot_be_one_is_refused(blob: bytes) -> None:
    with pytest.raises(BadPacket):
        BlobOpening([]).learn(HOME / "32=CK" / "v=1", blob)
