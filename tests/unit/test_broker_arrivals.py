"""Arrivals: who came, whose will is over, who was told; there and back, in parts that fit."""

from __future__ import annotations

import cbor2
import pytest

from roost.broker.arrivals import MAX_BYTES, Arrival, Arrivals, decode_arrivals, parts
from roost.broker.packets.connect import Will
from roost.broker.packets.kept import Kept
from roost.broker.roaming import MAX_PAYLOAD_BYTES
from roost.errors import BadPacket


def will_of(payload: bytes, delay_s: int = -1) -> Will:
    about = Kept()
    about.kept = b"\x01\x01"
    about.delay_s = delay_s
    return Will(b"hall/status", payload, 1, True, about)


def shown(arrival: Arrival) -> tuple[object, ...]:
    will = arrival.will
    if will is None:
        return arrival.came, arrival.has_will, arrival.user
    about = will.properties
    told = (will.topic, will.payload, will.qos, will.retain, about.kept, about.delay_s, about.expiry_s)
    return arrival.came, arrival.has_will, arrival.user, *told


def test_arrivals_go_there_and_back_in_parts_that_fit() -> None:
    came = {b"c%05d" % number * 20: Arrival(number) for number in range(500)}
    came |= {b"w%d" % number: Arrival(number, True, b"ann", will_of(b"x" * 3000, number)) for number in range(5)}
    came[b"mentioned"] = Arrival(7, has_will=True, user=b"bob")
    over = [(b"gone%d" % number, number, b"gate") for number in range(300)]
    heard = [(b"gate%d" % number, number) for number in range(30)]
    told = parts(b"here", came | {b"x" * (MAX_BYTES + 1): Arrival(1)}, over, heard)
    assert len(told) > 2
    payloads = [part.encode() for part in told]
    assert max(map(len, payloads)) <= MAX_PAYLOAD_BYTES
    back = [decode_arrivals(payload) for payload in payloads]
    assert {each.panel for each in back} == {b"here"}
    assert [each for part in back for each in part.over] == over
    assert [each for part in back for each in part.heard] == heard
    assert not any(part.came for part in back[back.index(next(part for part in back if part.heard)) + 1 :])
    found = {client: shown(each) for part in back for client, each in part.came.items()}
    assert found == {client: shown(each) for client, each in came.items()}


def test_nothing_to_tell_is_no_part() -> None:
    assert parts(b"here", {}, [], []) == []


WILL = [b"a/b", b"gone", 3, b"", -1, -1]


@pytest.mark.parametrize(
    "said",
    [
        1,
        [b"p", [], []],
        ["p", [], [], []],
        [b"p", 1, [], []],
        [b"p", [1], [], []],
        [b"p", [[b"c"]], [], []],
        [b"p", [[b"c", -1, b""]], [], []],
        [b"p", [[b"c", True, b""]], [], []],
        [b"p", [[b"c", 1, 2]], [], []],
        [b"p", [[b"c", 1, b"", 2]], [], []],
        [b"p", [[b"c", 1, b"", [b"ann"]]], [], []],
        [b"p", [[b"c", 1, b"", [*WILL[:2], 6, *WILL[3:]]]], [], []],
        [b"p", [[b"c", 1, b"", [*WILL[:4], -2, -1]]], [], []],
        [b"p", [[b"c", 1, b"", ["a", *WILL[1:]]]], [], []],
        [b"p", [[b"c", 1, b"", [b"a/#", *WILL[1:]]]], [], []],
        [b"p", [], [[b"c", 1]], []],
        [b"p", [], [[b"c", 1, 2]], []],
        [b"p", [], [], [[b"p"]]],
        [b"p", [], [], [[b"p", "now"]]],
        [b"p", [[b"%d" % number, 1, b""] for number in range(1001)], [], []],
    ],
)
def test_what_are_no_arrivals_is_refused(said: object) -> None:
    with pytest.raises(BadPacket):
        decode_arrivals(cbor2.dumps(said))


def test_what_is_no_cbor_is_refused() -> None:
    with pytest.raises(BadPacket):
        decode_arrivals(b"\xff")


def test_the_rows_of_these_tests_are_right_but_for_what_is_wrong() -> None:
    said = [b"p", [[b"c", 1, b"ann", WILL], [b"d", 2, b""]], [[b"c", 1, b"p"]], [[b"p", 1]]]
    found = decode_arrivals(cbor2.dumps(said))
    assert found.encode() == Arrivals(b"p", found.came, [(b"c", 1, b"p")], [(b"p", 1)]).encode()
    assert list(found.came) == [b"c", b"d"]
