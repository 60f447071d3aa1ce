"""Places of subscriptions on the disk: they never go back, whatever is on its way there."""

from __future__ import annotations

from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.pubsub.blobs.places import Places
from roost.pubsub.blobs.wanted import Wanted
from roost.sync.ledger import Ledger
from roost.sync.port import Stream

STREAM = Stream(Name.parse("/radar"), 7)
WHO = Wanted(topic=Name.parse("/position")).identity(0)


def test_a_place_never_becomes_less_whatever_is_on_its_way_to_the_disk() -> None:
    places = Places(Ledger("places", b""))
    (first,) = places.keep(WHO, STREAM, 5)
    assert isinstance(first, Save)
    assert places.keep(WHO, STREAM, 3) == []
    assert places.keep(WHO, STREAM, 9) == []  # goes into the next save
    assert places.keep(WHO, STREAM, 7) == []
    assert places.get(WHO, STREAM) == 9
    (second,) = places.saved(Saved("places", first.ticket))
    assert isinstance(second, Save)
    places.saved(Saved("places", second.ticket))
    again = Places(Ledger("places", first.data + second.data))
    assert again.get(WHO, STREAM) == 9


def test_those_that_want_the_same_have_a_place_each() -> None:
    identities = [Wanted(topic=Name.parse("/position")).identity(ordinal) for ordinal in range(3)]
    assert len(set(identities)) == 3
    assert identities == [Wanted(topic=Name.parse("/position"), since_us=1).identity(ordinal) for ordinal in range(3)]
