"""Readings of a group as messages, in the order of their streams."""

import pytest
from tests.gateway_world import GROUP, START, Beside, bring, posted, replicate

from roost.broker.earlier import SLICE
from roost.broker.succession import GAP, Succession
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.store import Batch
from roost.wire import make_data
from roost.wire.digest import DigestSigner
from roost.wire.envelope import posting_bytes, reading_bytes
from roost.wire.lineage import lineage_of
from roost.wire.reading import TEXT
from roost.wire.senml import Quality, Value


@pytest.mark.parametrize(
    ("values", "payload"),
    [
        ([Value(229.5, "V")], "229.5"),
        ([Value("on")], "on"),
        ([Value(True)], "true"),
        ([Value(1, name="a"), Value("x", name="b")], '{"a": 1, "b": "x"}'),
    ],
)
def test_a_sensors_reading_is_a_message_that_devices_can_read(values: list[Value], payload: str) -> None:
    beside = Beside()
    replicate(beside, "/Panel1/Heater/Voltage", 1, *values)
    assert beside.seen() == [("Campus/Hall/Mqtt/Panel1/Heater/Voltage", payload)]


def test_unit_and_quality_are_user_properties() -> None:
    beside = Beside()
    replicate(beside, "/Panel1/Heater/Voltage", 1, Value(1, "V", Quality.BAD))
    assert b"unit\x00\x01V" in beside.messages[0].kept
    assert b"quality\x00\x03bad" in beside.messages[0].kept


def test_readings_that_come_out_of_order_are_handed_on_in_order() -> None:
    beside = Beside()
    for number in (2, 4, 1, 3):
        replicate(beside, "/Panel1/Heater/Voltage", number, Value(number))
    assert [payload for _, payload in beside.seen()] == ["1", "2", "3", "4"]
    assert list(beside.positions.values()) == [4]
    assert beside.succession.deadline() is None


def test_what_is_older_than_this_node_is_no_news() -> None:
    beside = Beside()
    replicate(beside, "/Panel1/Heater/Voltage", 1, Value(1), time=START - 1)
    replicate(beside, "/Panel1/Heater/Voltage", 2, Value(2))
    assert [payload for _, payload in beside.seen()] == ["2"]


def test_where_history_comes_is_told_once_with_the_last_number_before_it() -> None:
    beside = Beside()
    stream = (GROUP.name + Name.parse("/Panel1/Heater/Voltage")).value
    replicate(beside, "/Panel1/Heater/Voltage", 1, Value(1), time=START - 2)
    replicate(beside, "/Panel1/Heater/Voltage", 2, Value(2), time=START - 1)
    replicate(beside, "/Panel1/Heater/Voltage", 3, Value(3))
    assert beside.past == [{stream: 0}, {stream: 1}, {}]


def test_a_gap_that_nothing_fills_is_passed_over_and_counted() -> None:
    beside = Beside()
    replicate(beside, "/Panel1/Heater/Voltage", 1, Value(1))
    replicate(beside, "/Panel1/Heater/Voltage", 4, Value(4))
    due = beside.succession.deadline()
    assert due is not None
    assert beside.succession.tick(due - 1).messages == []
    (message,) = beside.succession.tick(due).messages
    assert (message.payload, beside.succession.passed_over) == (b"4", 2)
    assert beside.succession.deadline() is None


def test_records_of_repos_and_catalogues_are_no_messages() -> None:
    beside = Beside()
    replicate(beside, "/Panel1/catalogue/streams", 1, Value(1))
    replicate(beside, "/Repo/Repo2", 1, Value(1))
    assert beside.seen() == []


def test_after_a_restart_what_came_meanwhile_is_handed_on() -> None:
    beside = Beside()
    replicate(beside, "/Panel1/Heater/Voltage", 1, Value(1))
    handed_on = dict(beside.positions)
    replicate(beside, "/Panel1/Heater/Voltage", 2, Value(2))
    replicate(beside, "/Panel1/Heater/Current", 1, Value(3))
    again = Beside(beside.store)
    succession = type(again.succession)(GROUP, again.repo, START, handed_on)
    assert sorted(message.payload for message in succession.begin(START).messages) == [b"2", b"3"]
    assert succession.begin(START).messages == []


def test_a_damaged_reading_is_waited_for_and_then_passed_over() -> None:
    beside = Beside()
    for number in (1, 2, 3):
        replicate(beside, "/Panel1/Heater/Voltage", number, Value(number))
    beside.store.write([Batch(deletes=(numbered(GROUP.name + Name.parse("/Panel1/Heater/Voltage"), 2),))])
    succession = Succession(GROUP, beside.repo, START, {})
    assert [message.payload for message in succession.begin(START).messages] == [b"1"]
    due = succession.deadline()
    assert due is not None
    assert [message.payload for message in succession.tick(due).messages] == [b"3"]
    assert (succession.passed_over, succession.deadline()) == (1, None)


def test_a_reading_that_is_damaged_for_good_at_the_end_does_not_keep_us_busy() -> None:
    beside = Beside()
    for number in (1, 2):
        replicate(beside, "/Panel1/Heater/Voltage", number, Value(number))
    beside.store.write([Batch(deletes=(numbered(GROUP.name + Name.parse("/Panel1/Heater/Voltage"), 2),))])
    succession = Succession(GROUP, beside.repo, START, {})
    succession.begin(START)
    succession.tick(START + GAP)
    assert succession.deadline() is None


def test_a_gap_that_is_new_is_waited_for_even_if_an_older_one_is_passed_over() -> None:
    beside = Beside()
    replicate(beside, "/Panel1/Heater/Voltage", 2, Value(2))
    beside.now += GAP - 1
    replicate(beside, "/Panel1/Heater/Voltage", 5, Value(5))
    assert [message.payload for message in beside.succession.tick(START + GAP).messages] == [b"2"]
    assert beside.succession.deadline() == START + 2 * GAP


def test_millions_that_were_dropped_are_passed_over_in_one_step() -> None:
    beside = Beside()
    stream = GROUP.name + Name.parse("/Panel1/Heater/Voltage")
    beside.repo.shelf.holdings.drop(stream, 1, 10**15, 0)
    replicate(beside, "/Panel1/Heater/Voltage", 10**15 + 1, Value(1))
    assert [payload for _, payload in beside.seen()] == ["1"]


def test_much_that_came_meanwhile_is_handed_on_piece_by_piece() -> None:
    beside = Beside()
    for number in range(1, 8):
        replicate(beside, "/Panel1/Heater/Voltage", number, Value(number))
    again = Succession(GROUP, beside.repo, START, {}, piece=3)
    pieces = [again.begin(START)]
    while (due := again.deadline()) is not None:
        assert due <= START
        pieces.append(again.tick(START))
    assert [message.payload for piece in pieces for message in piece.messages] == [b"%d" % n for n in range(1, 8)]
    assert len(pieces) > 1
    assert again.position(next(iter(pieces[-1].positions))) == 7


def test_what_holds_on_is_handed_on_however_old_it_is() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/state", "on", START - 5, retain=True), posted("hall/temp", "1", START - 5))
    beside.save()
    fresh = Succession(GROUP, beside.repo, START, {})
    assert [message.payload for message in fresh.begin(START).messages] == [b"on"]


def all_of(fresh: Succession) -> list[bytes]:
    """What a new node hands on, in the end."""
    found = list(fresh.begin(START).messages)
    while fresh.deadline() is not None:
        found += fresh.tick(START).messages
    return [message.payload for message in found]


def test_what_is_retained_is_found_however_many_plain_messages_are_behind_it() -> None:
    beside = Beside()
    for number, state in enumerate(("off", "on")):
        beside.insert(1 + number, posted("hall/state", state, START - 5000 + number, retain=True))
    plain = [posted("hall/state", str(number), START - 1000 + number) for number in range(3 * SLICE)]
    beside.insert(3, *plain)
    beside.insert(4, *[posted("hall/temp", str(number), START - 1000 + number) for number in range(2 * SLICE)])
    beside.go_on()
    beside.save()
    assert all_of(Succession(GROUP, beside.repo, START, {})) == [b"on"]


def test_streams_of_sensors_are_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = Beside()
    for number in range(1, 4 * SLICE):
        replicate(beside, "/Panel1/Heater/Voltage", number, Value(number), time=START - 9000 + number)
    fresh = Succession(GROUP, beside.repo, START, {})
    looked: list[int] = []
    reading = beside.store.range

    def look(stream: Name, low: int, high: int, limit: int) -> list[tuple[int, bytes]]:
        looked.append(low)
        return reading(stream, low, high, limit)

    monkeypatch.setattr(beside.store, "range", look)
    assert all_of(fresh) == []
    assert min(looked) > 2 * SLICE


def result(beside: Beside, gate: str, number: int, *after: int) -> None:
    """Have a result of a macro come from another node, behind some of the node that ran it before."""
    stream = GROUP.name + Name.parse(f"/{gate}/Noctua/x")
    others = tuple([numbered(GROUP.name + Name.parse("/Old/Noctua/x"), each) for each in after])
    lineage = lineage_of(bytes(32), inputs=[numbered(stream, 1)], after=others).encode()
    content = reading_bytes(
        START, TEXT, b"%b %d" % (gate.encode(), number), lineage + posting_bytes(1, False, b"", -1, 0, b"")
    )
    bring(beside, make_data(numbered(stream, number), content, DigestSigner()))


def test_results_of_a_node_that_took_over_come_after_those_of_the_node_before() -> None:
    beside = Beside()
    result(beside, "New", 1, 2)
    result(beside, "New", 2)
    result(beside, "Old", 1)
    assert [payload for _, payload in beside.seen()] == ["Old 1"]
    result(beside, "Old", 2)
    assert [payload for _, payload in beside.seen()] == ["Old 1", "Old 2", "New 1", "New 2"]
    assert beside.succession.deadline() is None


def test_results_that_come_after_what_never_comes_are_handed_on_in_the_end() -> None:
    beside = Beside()
    result(beside, "New", 1, 2)
    result(beside, "New", 2)
    due = beside.succession.deadline()
    assert due == beside.now + GAP
    assert beside.succession.tick(due - 1).messages == []
    assert [each.payload for each in beside.succession.tick(due).messages] == [b"New 1", b"New 2"]
    assert beside.succession.deadline() is None
