"""What nodes tell each other of sessions."""

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.broker.announcement import Announcement, decode_announcement
from roost.broker.filters import Options
from roost.broker.since import Since
from roost.errors import BadPacket

GOOD = {
    "client": b"c",
    "user": b"u",
    "born": 5,
    "began": 6,
    "expiry_s": 60,
    "online": True,
    "done": {},
    "panel": b"p",
    "held": b"",
}


def test_there_and_back() -> None:
    options = Options(2, no_local=True, retain_as_published=True, identifier=7, shared=b"s")
    said = Announcement(
        b"c",
        b"u",
        5,
        6,
        3600,
        online=True,
        filters={b"$share/s/a/#": options},
        done={b"\x08\x01a": 5},
        panel=b"\x08\x01p",
        held=frozenset({1, 300, 65_535}),
    )
    found = decode_announcement(said.encode())
    assert (found.panel, found.held) == (said.panel, said.held)
    assert (found.client, found.user, found.expiry_s, found.online, found.done) == (
        said.client,
        said.user,
        said.expiry_s,
        said.online,
        said.done,
    )
    assert found.filters is not None
    (read,) = found.filters.values()
    assert (read.qos, read.no_local, read.retain_as_published) == (2, True, True)
    assert (read.identifier, read.shared) == (7, b"s")


def test_filters_that_did_not_change_are_not_said() -> None:
    assert decode_announcement(Announcement(b"c", b"", 5, 6, 1, online=False).encode()).filters is None


def test_what_is_left_of_pasts_is_said_in_their_order() -> None:
    recalls = {b"b/#": (Since(number=4711), {b"\x08\x01a": 5, b"\x08\x01b": 1}), b"a/#": (Since(time=7), {})}
    found = decode_announcement(Announcement(b"c", b"", 5, 6, 1, online=True, recalls=recalls).encode()).recalls
    assert list(found.items()) == list(recalls.items())


def test_what_a_later_version_says_beside_is_passed_over() -> None:
    assert decode_announcement(cbor2.dumps(GOOD | {"more": 1})) == decode_announcement(cbor2.dumps(GOOD))


def test_the_topic_is_one_level_per_client_whatever_its_id() -> None:
    topics = {Announcement(client, b"", 5, 6, 1, online=True).topic for client in (b"a/b", b"a", b"#", b"x" * 1000)}
    assert len(topics) == 4
    assert {topic.count(b"/") for topic in topics} == {2}


@pytest.mark.parametrize(
    "said",
    [
        [],
        GOOD | {"client": "text"},
        GOOD | {"expiry_s": -1},
        GOOD | {"online": 1},
        GOOD | {"panel": "text"},
        GOOD | {"held": b"\x00"},
        GOOD | {"held": [1]},
        GOOD | {"done": {b"s": -1}},
        GOOD | {"done": {number.to_bytes(2, "big"): 1 for number in range(1001)}},
        GOOD | {"filters": [[b"a", 3, 0, 0, None]]},
        GOOD | {"filters": [[b"a", 0, 0, 0]]},
        GOOD | {"filters": [["a", 0, 0, 0, None]]},
        GOOD | {"filters": {}},
        GOOD | {"recalls": {}},
        GOOD | {"recalls": [[b"a", 1, 0]]},
        GOOD | {"recalls": [[b"a", 1, 0, {b"s": -1}]]},
        GOOD | {"recalls": [[b"a", 1, 0, {number.to_bytes(2, "big"): 1 for number in range(1001)}]]},
        GOOD | {"recalls": [["a", 1, 0, {}]]},
        GOOD | {"recalls": [[b"a", -1, 0, {}]]},
        GOOD | {"recalls": [[b"a/#/b", 1, 0, {}]]},
        GOOD | {"recalls": [[b"$share/s/a", 1, 0, {}]]},
        GOOD | {"recalls": [[b"%d" % number, 1, 0, {}] for number in range(1001)]},
    ],
)
def test_what_is_no_announcement_is_refused(said: object) -> None:
    with pytest.raises(BadPacket):
        decode_announcement(cbor2.dumps(said))


@given(st.binary(max_size=100))
def test_any_bytes_are_read_or_refused(payload: bytes) -> None:
    try:
        decode_announcement(payload)
    except BadPacket:
        return
