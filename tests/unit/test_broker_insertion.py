"""MQTT messages as readings of a group, and back."""

import pytest
from tests.gateway_world import GROUP, START, Beside, posted, replicate

from roost.broker.insertion import MAX_WAITING, RETRY, Inserted
from roost.broker.message import Message
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import numbered
from roost.wire.data import decode_data
from roost.wire.reading import JSON, decode_reading
from roost.wire.senml import Quality, Value

STREAM = GROUP.panel("Gate1").name + Name.parse("/hall/temp")


def test_a_message_is_a_signed_reading_of_the_stream_its_topic_names() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", '{"value": 21.5}', qos=2, retain=True))
    assert beside.inserted == []  # it is not on the disk
    beside.save()
    assert beside.inserted == [Inserted(1, "")]
    wire = beside.store.get(numbered(STREAM, 1))
    assert wire is not None
    reading = decode_reading(decode_data(wire).content)
    assert (reading.time, reading.format, reading.payload) == (START, JSON, b'{"value": 21.5}')
    (message,) = beside.messages
    assert (message.topic, message.payload, message.qos, message.retain) == (b"hall/temp", b'{"value": 21.5}', 2, True)
    assert (message.publisher, message.origin) == (b"client", (0, STREAM.value, 1))


def test_properties_and_expiry_come_through() -> None:
    beside = Beside()
    sent = Message(b"a/b", b"x", 1, False, b"\x01\x01", START + 60 * SECOND, b"c", START)
    beside.insert(1, sent)
    beside.save()
    (message,) = beside.messages
    assert (message.kept, message.expires) == (sent.kept, sent.expires)


def test_messages_keep_their_order_and_numbers_are_dense() -> None:
    beside = Beside()
    for number in range(1, 6):
        beside.insert(number, posted("hall/temp", str(number)), posted("hall/light", str(number)))
    beside.save()
    assert [effect.ticket for effect in beside.inserted] == [1, 2, 3, 4, 5]
    assert beside.numbers("hall/temp") == beside.numbers("hall/light") == [(1, 5)]
    assert [payload for topic, payload in beside.seen() if topic == "hall/temp"] == ["1", "2", "3", "4", "5"]


def test_numbers_go_on_after_a_restart() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1"))
    beside.save()
    again = Beside(beside.store)
    again.insert(1, posted("hall/temp", "2"))
    again.save()
    assert again.numbers("hall/temp") == [(1, 2)]


def test_what_a_full_disk_refuses_is_tried_again_without_a_hole() -> None:
    beside = Beside()
    beside.disk_full = True
    beside.insert(1, posted("hall/temp", "1"))
    beside.insert(2, posted("hall/temp", "2"))
    beside.save()
    assert beside.inserted == []
    beside.disk_full = False
    beside.wait(RETRY)
    beside.save()
    assert beside.inserted == [Inserted(1, ""), Inserted(2, "")]
    assert beside.numbers("hall/temp") == [(1, 2)]
    assert beside.seen() == [("hall/temp", "1"), ("hall/temp", "2")]


def test_copies_that_nobody_can_make_hold_back_the_acknowledgement_and_not_the_message() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1"), copies=2)
    beside.save()
    beside.wait(RETRY)
    assert (beside.inserted, beside.seen()) == ([], [("hall/temp", "1")])
    assert beside.insertion.deadline() is not None  # it is tried again


def test_one_message_that_cannot_be_a_reading_costs_no_other() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1"))
    beside.insert(2, posted("hall/temp", "x" * 9000))
    beside.insert(3, posted("/".join("a" * 17), "1"))
    beside.insert(4, posted("hall/temp", "2"))
    beside.save()
    refusals = {effect.ticket: effect.refusal for effect in beside.inserted}
    assert refusals[1] == refusals[4] == ""
    assert "8800 bytes at most" in refusals[2]
    assert "2 to 16 levels" in refusals[3]
    assert beside.numbers("hall/temp") == [(1, 2)]


def test_no_more_messages_wait_than_the_bound() -> None:
    beside = Beside()
    message = posted("hall/temp", "1")
    beside.insert(1, *[message] * MAX_WAITING)
    beside.insert(2, message)
    assert [effect.ticket for effect in beside.inserted] == [2]
    assert beside.insertion.turned_away == 1


def test_a_new_disk_waits_for_another_repo_before_it_gives_numbers() -> None:
    beside = Beside(alone=False)
    beside.insert(1, posted("hall/temp", "1"))
    beside.save()
    beside.wait(SECOND)
    beside.save()
    assert beside.numbers("hall/temp") == []
    beside.repo.comparison.compared = 1
    beside.wait(SECOND)
    beside.save()
    assert beside.numbers("hall/temp") == [(1, 1)]


# -- what comes from elsewhere


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
