"""Sealed readings at a face: opened, or handed on as sealed, and keys that cannot be had left alone for a while."""

from __future__ import annotations

import asyncio
import random

import pytest
from tests.loops import run

from roost.errors import NoKey, Untrusted
from roost.host import unsealing
from roost.host.sealed import SealedReader
from roost.host.unsealing import Unsealing
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.consumers.arrival import Arrival, arrival_of
from roost.trust import Sealer
from roost.wire import Data, DigestSigner, make_data
from roost.wire.reading import TEXT, Reading

STREAM = Name.parse("/Co/B1/Power/P1/Heater/Voltage")
CONTENT = Reading(7, TEXT, b"229.5").encode()
SEALER = Sealer(STREAM, random.Random(1).randbytes)


class Reader(SealedReader):
    """Opens everything, or says why not."""

    def __init__(self, *troubles: Exception) -> None:
        self.troubles = list(troubles)
        self.asked = 0

    async def open(self, data: Data) -> bytes:
        del data
        self.asked += 1
        if self.troubles:
            raise self.troubles.pop(0)
        return CONTENT


def arrival(content: bytes, number: int = 1) -> Arrival:
    return arrival_of(STREAM, number, make_data(numbered(STREAM, number), content, DigestSigner()), 9)


def sealed(number: int = 1) -> Arrival:
    return arrival(SEALER.seal(numbered(STREAM, number), CONTENT, 1).content, number)


def opened(reader: Reader, *arrivals: Arrival) -> list[Arrival]:
    found: list[Arrival] = []

    async def test() -> None:
        opening = Unsealing(reader)
        found.extend([await opening.opened(each) for each in arrivals])

    run(test)
    return found


def test_what_is_opened_is_as_if_it_had_not_been_sealed_and_its_packet_stays_what_it_was() -> None:
    before = sealed()
    assert (before.sealed, before.reading, before.value, before.event_time) == (True, None, None, 0)
    [after] = opened(Reader(), before)
    assert (after.sealed, after.value, after.event_time, after.lateness_ns) == (False, 229.5, 7, 2)
    assert (after.data, after.stream, after.number, after.signer) == (before.data, STREAM, 1, before.signer)


def test_what_is_not_sealed_is_left_alone_and_so_is_what_only_begins_like_it() -> None:
    reader = Reader()
    plain, torn = arrival(CONTENT), arrival(b"\x82\x01\x00")
    assert opened(reader, plain, torn) == [plain, torn]
    assert (plain.sealed, torn.sealed, reader.asked) == (False, True, 0)


@pytest.mark.parametrize("trouble", [NoKey("no key"), Untrusted("altered")])
def test_what_cannot_be_opened_is_handed_on_sealed_and_its_key_is_left_alone_for_a_while(trouble: Exception) -> None:
    reader = Reader(trouble)
    first, second = sealed(1), sealed(2)
    assert opened(reader, first, second) == [first, second]
    assert reader.asked == 1


def test_after_a_while_the_key_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsealing, "CLOSED_S", 0.0)
    found = opened(Reader(NoKey("not yet")), sealed(1), sealed(2))
    assert [each.sealed for each in found] == [True, False]


def test_keys_that_are_left_alone_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsealing, "MAX_CLOSED", 1)
    others = [Sealer(STREAM, random.Random(at).randbytes) for at in range(2)]
    contents = [each.seal(numbered(STREAM, 1), CONTENT, at * 10**9).content for at, each in enumerate(others)]

    async def test() -> None:
        opening = Unsealing(Reader(NoKey("no"), NoKey("no")))
        await asyncio.gather(*[opening.opened(arrival(content)) for content in contents])
        assert opening.forgotten == 1

    run(test)
