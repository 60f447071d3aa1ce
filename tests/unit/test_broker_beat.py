"""Beats: what is written is read, and what is none is refused."""

from __future__ import annotations

import cbor2
import pytest

from roost.broker.beat import MAX_NUMBERS, MAX_SHARES, Beat, Share, decode_beat
from roost.errors import BadPacket

SHARE = Share(b"$share/s/a/#", b"stream", 3, 9, (2, 4), (5,))


def test_a_beat_is_read_as_it_was_written() -> None:
    beat = Beat(b"panel", 7, (SHARE, Share(b"$share/t/b", b"other", 1, 1)))
    assert decode_beat(beat.encode()) == beat
    assert decode_beat(Beat(b"panel", 7).encode()).shares == ()


def test_what_is_neither_held_nor_awaited_nor_outside_is_done() -> None:
    assert [number for number in range(1, 12) if SHARE.is_done(number)] == [3, 6, 7, 8, 9]


@pytest.mark.parametrize(
    "said",
    [
        {},
        [b"panel", 7],
        ["panel", 7, []],
        [b"panel", True, []],
        [b"panel", 1 << 63, []],
        [b"panel", 7, {}],
        [b"panel", 7, [[]] * (MAX_SHARES + 1)],
        [b"panel", 7, [[b"f", b"s", 1, 2, []]]],
        [b"panel", 7, [["f", b"s", 1, 2, [], []]]],
        [b"panel", 7, [[b"f", b"s", -1, 2, [], []]]],
        [b"panel", 7, [[b"f", b"s", 1, 2, [b"3"], []]]],
        [b"panel", 7, [[b"f", b"s", 1, 2, [], 3]]],
        [b"panel", 7, [[b"f", b"s", 1, 2, [1] * (MAX_NUMBERS + 1), []]]],
    ],
)
def test_what_is_no_beat_is_refused(said: object) -> None:
    with pytest.raises(BadPacket):
        decode_beat(cbor2.dumps(said))


def test_what_is_no_cbor_is_refused() -> None:
    with pytest.raises(BadPacket):
        decode_beat(b"\xff")
