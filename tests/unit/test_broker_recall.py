"""The past of a subscription."""

import pytest
from tests.gateway_world import GROUP, START, Beside, posted, replicate

from roost.broker import recall as recall_module
from roost.broker.message import Message
from roost.broker.packets.properties import user_property
from roost.broker.packets.reasons import TOPIC_FILTER_INVALID, Malformed
from roost.broker.past import Past
from roost.broker.readable import time_property
from roost.broker.recall import PIECE, Recall
from roost.broker.since import Since, read_since, split_since
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import numbered
from roost.wire.senml import Value

ALL = Since(number=1)


def past_of(beside: Beside) -> Past:
    return Past(GROUP, beside.repo, beside.succession)


def filled(*messages: Message) -> Beside:
    beside = Beside()
    for ticket, message in enumerate(messages, 1):
        beside.insert(ticket, message)
        beside.save()
    return beside


def recalled(recall: Recall, version: int = 5, now: int = START) -> list[str]:
    found: list[str] = []
    while (message := recall.next(version, now)) is not None:
        found.append(message.payload.decode())
    return found


def test_readings_come_in_the_order_of_their_times_and_each_stream_by_number() -> None:
    beside = filled(
        posted("a/x", "x1", START + 3),
        posted("a/y", "y1", START + 1),
        posted("a/x", "x2", START + 2),
        posted("b/x", "no"),
    )
    assert recalled(Recall(b"a/#", ALL, past_of(beside))) == ["y1", "x1", "x2"]


def test_sensors_are_recalled_by_the_names_of_their_streams() -> None:
    beside = Beside()
    replicate(beside, "/Panel1/Heater/Voltage", 1, Value(229.5))
    recall = Recall(b"Campus/Hall/Mqtt/+/Heater/#", ALL, past_of(beside))
    message = recall.next(5, START)
    assert message is not None
    assert message.payload == b"229.5"
    assert message.kept.count(time_property(START)) == 1
    stream = user_property(b"stream", b"/Campus/Hall/Mqtt/Panel1/Heater/Voltage")
    assert message.kept.endswith(stream + user_property(b"seq", b"1"))


def test_long_pasts_come_piece_by_piece_and_whole() -> None:
    messages = [posted("a/x", str(number), START + number) for number in range(PIECE * 3)]
    assert recalled(Recall(b"a/x", ALL, past_of(filled(*messages)))) == [str(number) for number in range(PIECE * 3)]


@pytest.mark.parametrize(
    ("since", "first"), [(Since(number=3), "3"), (Since(time=START + 4), "4"), (Since(time=START + 99), None)]
)
def test_where_it_begins(since: Since, first: str | None) -> None:
    messages = [posted("a/x", str(number), START + number) for number in range(1, 6)]
    found = recalled(Recall(b"a/x", since, past_of(filled(*messages))))
    assert (found[0] if found else None) == first


def test_what_becomes_past_meanwhile_is_recalled_too_and_only_that() -> None:
    beside = filled(posted("a/x", "1"))
    recall = Recall(b"a/#", ALL, past_of(beside))
    assert recall.next(5, START) is not None
    beside.insert(9, posted("a/x", "2"), posted("a/new", "3"))
    before = recall.done  # they are not on the disk, and so not past
    beside.save()
    assert (before, recall.done) == (True, False)
    assert sorted(recalled(recall)) == ["2", "3"]
    assert recall.done


def test_whether_a_filter_matches_a_stream_is_seen_without_the_others() -> None:
    past = past_of(filled(posted("$roost/sessions/00", "secret"), posted("a/x", "1")))
    (stream,) = past.streams(b"a/x")
    assert [past.has(stream, filter_) for filter_ in (b"a/+", b"#", b"b/#", b"a/x/y")] == [True, True, False, False]
    hidden = (GROUP.panel("Gate1").name + Name.parse("/%24roost/sessions/00")).value
    assert past._repo.shelf.holdings.of(Name(hidden)).highest
    assert not past.has(hidden, b"#")


def test_which_topic_a_stream_has_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    past = past_of(filled(posted("$roost/sessions/00", "secret"), posted("a/x", "1")))
    looked_up: list[bytes] = []
    read = past.outlines

    def counted(stream: bytes, low: int, high: int, limit: int) -> list[tuple[int, Message | None, bool]]:
        looked_up.append(stream)
        return read(stream, low, high, limit)

    monkeypatch.setattr(past, "outlines", counted)
    assert [len(past.streams(b"a/#")) for _ in range(3)] == [1, 1, 1]
    assert len(looked_up) == 2


@pytest.mark.parametrize("filter_", [b"$roost/#", b"$roost/sessions/+", b"#", b"+/sessions/#"])
def test_what_nodes_tell_each_other_is_nobodys_past(filter_: bytes) -> None:
    beside = filled(posted("$roost/sessions/00", "secret"), posted("a/x", "1"))
    assert recalled(Recall(filter_, ALL, past_of(beside))) in ([], ["1"])


def test_of_very_many_streams_no_more_is_read_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall_module, "MAX_READ", 6)
    beside = filled(*[posted(f"a/{number % 3}", str(number), START + number) for number in range(30)])
    recall = Recall(b"a/#", ALL, past_of(beside))
    assert not recall.done
    assert 0 < sum(len(strand.read) for strand in recall._strands.values()) <= 6
    assert recalled(recall) == [str(number) for number in range(30)]


def test_a_reading_that_expired_is_marked_and_not_revived() -> None:
    message = Message(b"a/x", b"old", 1, False, b"", START + SECOND, b"c", START)
    beside = filled(message)
    shown = Recall(b"a/x", ALL, past_of(beside)).next(5, START + 5 * SECOND)
    assert shown is not None
    assert shown.expires == 0
    assert user_property(b"expired", b"true") in shown.kept
    alive = Recall(b"a/x", ALL, past_of(beside)).next(5, START)
    assert alive is not None
    assert alive.expires == START + SECOND
    old = Recall(b"a/x", ALL, past_of(beside))
    assert recalled(old, version=4, now=START + 5 * SECOND) == []
    assert old.left_out == 1


def test_what_was_dropped_on_purpose_is_told() -> None:
    beside = filled(*[posted("a/x", str(number)) for number in range(1, 5)])
    stream = beside.repo.shelf.holdings.under(GROUP.panel("Gate1").name)[0]
    beside.do(beside.repo.shelf.drop([numbered(stream, 2), numbered(stream, 3)], lambda _, __: [], START))
    beside.save()
    recall = Recall(b"a/x", ALL, past_of(beside))
    recall.next(5, START)
    last = recall.next(5, START)
    assert last is not None
    assert last.payload == b"4"
    assert user_property(b"missing", b"2") in last.kept


def test_it_goes_on_where_an_earlier_process_left_it() -> None:
    beside = filled(*[posted("a/x", str(number)) for number in range(1, 6)])
    recall = Recall(b"a/x", ALL, past_of(beside))
    assert [recall.next(5, START) is not None for _ in range(2)] == [True, True]
    again = Recall(b"a/x", ALL, past_of(beside), recall.places())
    assert recalled(again) == ["3", "4", "5"]


def test_it_looks_at_nothing_before_it_is_asked_and_keeps_its_places() -> None:
    beside = filled(*[posted("a/x", str(number)) for number in range(1, 4)])
    recall = Recall(b"a/x", ALL, past_of(beside), {b"stream": 7})
    assert (recall.begun, recall.places()) == (False, {b"stream": 7})
    assert recalled(recall) == ["1", "2", "3"]
    assert recall.begun


def test_what_it_covers() -> None:
    recall = Recall(b"a/+/c", ALL, past_of(Beside()))
    assert recall.covers(b"a/b/c")
    assert not recall.covers(b"a/b")


@pytest.mark.parametrize(
    ("when", "since"),
    [
        (b"24h", Since(time=START - 86_400 * SECOND)),
        (b"1", Since(number=1)),
        (b"0", Since(number=1)),
        (b"1970-01-01T00:00:01", Since(time=SECOND)),
    ],
)
def test_when(when: bytes, since: Since) -> None:
    assert read_since(when, START) == since


@pytest.mark.parametrize("when", [b"", b"yesterday", b"-5h", b"\xff"])
def test_what_is_no_time_is_refused_with_what_to_write(when: bytes) -> None:
    with pytest.raises(Malformed, match="24h") as error:
        read_since(when, START)
    assert error.value.reason == TOPIC_FILTER_INVALID


def test_the_topic_form() -> None:
    assert split_since(b"$since/24h/a/+/#") == (b"24h", b"a/+/#")
    assert split_since(b"a/b") == (None, b"a/b")


def test_readings_are_found_by_their_time() -> None:
    past = past_of(filled(posted("a/x", "1", START + 1), posted("a/x", "2", START + 2), posted("a/x", "3", START + 1)))
    (stream,) = past.streams(b"a/x")
    assert past.at(stream, START + 1, 10) == [1, 3]
    assert past.at(stream, START + 1, 1) == [1]
    assert past.at(stream, START + 3, 10) == []
