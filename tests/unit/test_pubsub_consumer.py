"""A consumer of a group: where it begins, what it fetches and how, gaps, restarts, fail-over, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.subscription_world import GROUP, START, World, reading, stream

from roost.errors import BadConfig, BadName, InvalidInput
from roost.machine import MS, SECOND, Note, Rejected
from roost.naming import Component, Name
from roost.naming.building import numbered
from roost.naming.component import SEQUENCE
from roost.naming.topic import TopicFilter
from roost.pubsub.consumers.arrival import Missing, Subscribed
from roost.pubsub.consumers.consumer import ConsumerSettings
from roost.pubsub.consumers.policy import latest, sample, sequential
from roost.pubsub.resident import Part
from roost.repo.question import ASK
from roost.sync.subscriptions import NameRange
from roost.trust.acceptance import AcceptAny
from roost.trust.verdict import Rejection, Verdict
from roost.wire import Data, DigestSigner, Interest, encode_data
from roost.wire.senml import Quality

VOLTAGE = stream()
CURRENT = stream(metric="Current")
VENT = stream(device="Vent")


def begun(world: World) -> World:
    world.start()
    world.run(SECOND)
    return world


# -- where it begins


def test_a_subscription_is_live_it_begins_with_what_comes_after_it() -> None:
    world = World()
    world.publish(VOLTAGE, range(1, 6))
    world.run(SECOND)
    begun(world)
    assert [effect for effect in world.told if isinstance(effect, Subscribed)] == [Subscribed(1)]
    world.publish(VOLTAGE, [6])
    world.publish(CURRENT, [1, 2])
    world.run(SECOND)
    assert world.numbers(VOLTAGE) == [6]
    assert world.numbers(CURRENT) == [1, 2], "a stream that came to be later is delivered from its first reading"


def test_a_subscription_to_an_empty_group_misses_nothing() -> None:
    world = begun(World())
    world.publish(VOLTAGE, [1])
    world.run(SECOND)
    assert world.numbers() == [1]


def test_since_a_number_looks_back_and_goes_on_live() -> None:
    world = World(policy=sequential().since(number=3))
    world.publish(VOLTAGE, range(1, 101))
    begun(world)
    world.publish(VOLTAGE, [101])
    world.run(SECOND)
    assert world.numbers() == list(range(3, 102))


def test_since_a_time_looks_back_and_goes_on_live() -> None:
    world = World(policy=sequential().since(time_ns=START + 10 * SECOND))
    world.publish(CURRENT, [1])
    for number in range(1, 21):
        world.run(SECOND)
        world.publish(VOLTAGE, [number])
    world.run(SECOND)
    begun(world)
    world.publish(VOLTAGE, [21])
    world.publish(CURRENT, [2])
    world.publish(VENT, [1, 2])
    world.run(SECOND)
    assert world.numbers(VOLTAGE) == list(range(10, 22))
    assert world.numbers(CURRENT) == [2]
    assert world.numbers(VENT) == [1, 2]


def test_since_a_time_pages_through_many_streams() -> None:
    world = World(policy=sequential().since(time_ns=START + SECOND))
    many = [stream(f"Panel{number}") for number in range(400)]
    for each in many:
        world.publish(each, [1, 2])
    world.run(2 * SECOND)
    for each in many:
        world.publish(each, [3])
    begun(world)
    world.run(2 * SECOND)
    assert all(world.numbers(each) == [3] for each in many)
    questions = [name for name in world.repos[0].asked if ASK in list(name)]
    assert 2 <= len(questions) <= 20


def test_a_range_can_look_back_to_a_time() -> None:
    wanted = NameRange(stream("Panel2"), stream("Panel4"))
    world = World([wanted], sequential().since(time_ns=START))
    for number in range(1, 6):
        world.publish(stream(f"Panel{number}"), [1])
    begun(world)
    assert {str(arrival.stream.at(-3)) for arrival in world.arrivals} == {"Panel2", "Panel3", "Panel4"}


# -- what is wanted


def test_prefixes_and_filters_say_what_is_wanted() -> None:
    world = World([GROUP.name / "Panel1" / "Vent", TopicFilter("+/Heater/Current")])
    begun(world)
    for each in (VOLTAGE, CURRENT, VENT, stream("Panel2", metric="Current")):
        world.publish(each, [1])
    world.run(SECOND)
    assert sorted(str(arrival.stream.suffix(3)) for arrival in world.arrivals) == [
        "/Panel1/Heater/Current",
        "/Panel1/Vent/Voltage",
        "/Panel2/Heater/Current",
    ]


def test_a_wish_outside_the_group_is_refused() -> None:
    with pytest.raises(BadName):
        World([Name.parse("/BigCompany/Building2")])


# -- policies


def test_latest_begins_with_the_newest_and_passes_over_what_there_is_no_room_for() -> None:
    world = World(policy=latest(), settings=ConsumerSettings(credit=1))
    world.publish(VOLTAGE, range(1, 10))
    world.takes = False
    begun(world)
    assert world.numbers() == [9]
    for number in range(10, 30):
        world.publish(VOLTAGE, [number])
        world.run(10 * MS)
    world.do(world.consumer.take(1, world.now))
    world.run(SECOND)
    assert world.numbers() == [9, 29]


def test_a_sample_takes_one_of_each_block_and_every_run_the_same() -> None:
    found = []
    for seed in (1, 2):
        world = World(policy=sample(5).since(number=1), seed=seed)
        world.publish(VOLTAGE, range(1, 101))
        begun(world)
        world.run(SECOND)
        found.append(world.numbers())
    assert found[0] == found[1]
    assert [(number - 1) // 5 for number in found[0]] == list(range(20))


def test_policies_that_cannot_be_are_refused() -> None:
    with pytest.raises(BadConfig):
        sample(0)
    with pytest.raises(BadConfig):
        sequential().since()
    with pytest.raises(BadConfig):
        sequential().since(time_ns=1, number=1)


# -- how it is fetched


def test_one_or_two_readings_are_asked_for_by_name_and_more_in_bundles() -> None:
    world = begun(World())
    world.publish(VOLTAGE, [1, 2])
    world.run(SECOND)
    asked = world.repos[0].asked
    assert [name for name in asked if name.starts_with(VOLTAGE)] == [numbered(VOLTAGE, 1), numbered(VOLTAGE, 2)]
    assert not [name for name in asked if ASK in list(name)]
    world.publish(VOLTAGE, range(3, 40))
    world.run(SECOND)
    assert world.numbers() == list(range(1, 40))
    assert len([name for name in asked if name.starts_with(VOLTAGE)]) == 2
    assert len([name for name in asked if ASK in list(name)]) <= 4


def test_readings_that_came_with_the_news_are_not_asked_for() -> None:
    world = begun(World(carries=True))
    world.publish(VOLTAGE, [1])
    world.publish(CURRENT, [1])
    world.run(SECOND)
    world.publish(VOLTAGE, [2])
    world.run(SECOND)
    assert world.numbers(VOLTAGE) == [1, 2]
    assert world.numbers(CURRENT) == [1]
    assert not [name for name in world.repos[0].asked if name.starts_with(VOLTAGE)]


def test_no_more_is_fetched_than_the_application_has_room_for() -> None:
    world = World(policy=sequential().since(number=1), settings=ConsumerSettings(credit=7))
    world.takes = False
    for each in (VOLTAGE, CURRENT, VENT):
        world.publish(each, range(1, 50))
    begun(world)
    assert len(world.arrivals) == 7
    world.do(world.consumer.take(3, world.now))
    world.run(SECOND)
    assert len(world.arrivals) == 10
    world.takes = True
    world.do(world.consumer.take(1, world.now))
    world.run(5 * SECOND)
    for each in (VOLTAGE, CURRENT, VENT):
        assert world.numbers(each) == list(range(1, 50))


def test_a_reading_too_large_for_a_bundle_comes_by_its_name() -> None:
    world = World(policy=sequential().since(number=1))
    packets = [(VOLTAGE, number, reading(numbered(VOLTAGE, number), START), START) for number in range(1, 10)]
    content = b"\xa0\xfd\x1e\x0b\xa1\x01\x01\xa3\x01\x2a\xa5\xfd\x1e\x01" + bytes(7681)
    packets[4] = (VOLTAGE, 5, encode_data(numbered(VOLTAGE, 5), content, DigestSigner()), START)
    world.repos[0].put(packets, START)
    begun(world)
    world.run(2 * SECOND)
    assert world.numbers() == list(range(1, 10))


def test_an_arrival_says_what_was_measured_by_whom_and_how_late() -> None:
    world = begun(World())
    world.publish(VOLTAGE, [1])
    published = world.now
    world.run(SECOND)
    (arrival,) = world.arrivals
    assert (arrival.value, arrival.unit, arrival.quality) == (230.5, "V", Quality.GOOD)
    assert arrival.event_time == published
    assert arrival.lateness_ns == arrival.arrival_time - published > 0
    assert arrival.signer == Name(), "nobody's: it has a digest only"


def test_what_is_no_reading_is_delivered_as_it_is() -> None:
    world = begun(World())
    packet = encode_data(numbered(VOLTAGE, 1), b"ciphertext", DigestSigner())
    world._replied(world.repos[0].put([(VOLTAGE, 1, packet, 0)], world.now))
    world.run(SECOND)
    (arrival,) = world.arrivals
    assert arrival.reading is None
    assert arrival.value is None
    assert arrival.data.content == b"ciphertext"


# -- gaps


def test_a_reading_that_is_not_there_yet_is_waited_for() -> None:
    world = begun(World())
    world.publish(VOLTAGE, [1, 3, 4, 5, 6, 7])
    world.run(30 * SECOND)
    assert world.numbers() == [1]
    assert any(isinstance(effect, Note) and effect.event == "reading awaited" for effect in world.told)
    world.publish(VOLTAGE, [2])
    world.run(10 * SECOND)
    assert world.numbers() == [1, 2, 3, 4, 5, 6, 7]
    assert world.missing() == []


def test_what_was_dropped_on_purpose_is_told_and_passed_over() -> None:
    world = World(policy=sequential().since(number=1))
    world.publish(VOLTAGE, range(1, 1001))
    world.run(SECOND)
    world.repos[0].drop(VOLTAGE, 1, 900)
    world.repos[0].drop(VOLTAGE, 950, 950)
    begun(world)
    world.run(5 * SECOND)
    assert world.missing() == [(1, 900), (950, 950)]
    assert world.numbers() == [number for number in range(901, 1001) if number != 950]
    assert len([name for name in world.repos[0].asked if ASK in list(name)]) < 20


# -- restarts and fail-over


def test_after_a_restart_it_goes_on_where_it_stopped() -> None:
    world = begun(World())
    world.publish(VOLTAGE, [1, 2, 3])
    world.run(SECOND)
    world.restart()
    world.publish(VOLTAGE, [4, 5])
    world.publish(CURRENT, [1])
    world.run(SECOND)
    assert world.numbers(VOLTAGE) == [1, 2, 3, 4, 5]
    assert world.numbers(CURRENT) == [1]


def test_what_comes_while_it_is_away_is_delivered_after_a_live_start_too() -> None:
    world = World()
    world.publish(VOLTAGE, [1, 2])
    world.run(SECOND)
    begun(world)
    world.publish(VOLTAGE, [3])
    world.publish(CURRENT, [1])
    world.run(1 * MS)
    world.restart()
    world.run(SECOND)
    assert world.numbers(VOLTAGE) == [3]
    assert world.numbers(CURRENT) == [1]


def test_what_was_delivered_but_not_acknowledged_is_delivered_again() -> None:
    world = begun(World())
    world.acknowledges = False
    world.publish(VOLTAGE, [1, 2])
    world.run(SECOND)
    world.do(world.consumer.acknowledge(VOLTAGE, 1, world.now))
    assert world.consumer.acknowledge(VOLTAGE, 1, world.now) == []
    world.run(SECOND)
    world.restart()
    world.run(SECOND)
    assert world.numbers() == [1, 2, 2]


def test_what_was_not_delivered_cannot_be_acknowledged() -> None:
    world = begun(World())
    with pytest.raises(InvalidInput):
        world.consumer.acknowledge(VOLTAGE, 1, world.now)


def test_a_damaged_place_delivers_again_rather_than_never() -> None:
    world = begun(World())
    world.publish(VOLTAGE, [1, 2, 3])
    world.run(SECOND)
    world.disk = world.disk[:-3] + b"xxx"
    world.restart()
    world.run(SECOND)
    assert any(isinstance(effect, Note) and effect.event == "place damaged" for effect in world.told)
    assert world.numbers()[:3] == [1, 2, 3]
    assert world.numbers()[-1] == 3
    assert world.numbers()[3:] == sorted(world.numbers()[3:])


def test_so_long_ago_is_said_of_the_first_start_and_streams_that_came_to_be_since_then_lose_nothing() -> None:
    world = World(policy=sequential().since(time_ns=START))
    world.publish(VOLTAGE, [1])
    begun(world)
    world.publish(CURRENT, [1, 2])
    world.run(10 * MS)  # before anybody acknowledged any of it
    world._policy = sequential().since(time_ns=world.now + 10 * SECOND)
    world.arrivals.clear()
    world.restart()
    world.publish(VOLTAGE, [2])
    world.run(2 * SECOND)
    assert world.numbers(VOLTAGE) == [2]
    assert world.numbers(CURRENT) == [1, 2]


def test_a_place_whose_beginning_cannot_be_read_delivers_again_rather_than_never() -> None:
    world = World()
    world.publish(VOLTAGE, [1])
    begun(world)
    world.publish(CURRENT, [1])
    world.run(SECOND)
    world.disk = b"xxxx" + world.disk[4:]
    world.arrivals.clear()
    world.restart()
    world.run(SECOND)
    assert world.numbers(VOLTAGE) == [1]
    assert world.numbers(CURRENT) == [1]


def test_another_repo_goes_on_where_the_last_one_stopped() -> None:
    world = World(repos=2)
    begun(world)
    for number in range(1, 50):
        world.publish(VOLTAGE, [number], lag=30 * MS)
        world.run(10 * MS)
        if number == 25:
            world.nearest = 1
    world.run(5 * SECOND)
    assert world.numbers() == list(range(1, 50))


# -- trust and bounds


class _Suspicious(AcceptAny):
    """Believes no reading of one number."""

    def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict:
        if packet.name == numbered(VOLTAGE, 2) and now < START + 20 * SECOND:
            return Rejection("forged", fix="")
        return super().check(packet, now, repeatable=repeatable)


def test_what_is_not_believed_is_not_delivered_and_asked_for_again() -> None:
    world = begun(World(verifier=_Suspicious()))
    world.publish(VOLTAGE, [1, 2, 3, 4])
    world.run(10 * SECOND)
    assert world.numbers() == [1]
    assert any(isinstance(effect, Rejected) for effect in world.told)
    world.run(20 * SECOND)
    assert world.numbers() == [1, 2, 3, 4]


def test_more_streams_than_the_bound_are_counted() -> None:
    world = begun(World(settings=ConsumerSettings(max_streams=2)))
    for each in (VOLTAGE, CURRENT, VENT):
        world.publish(each, [1])
    world.run(SECOND)
    assert len(world.arrivals) == 2
    assert world.consumer.delivery.turned_away == 1
    assert world.consumer.sizes()["streams"] == (2, 2)


def test_after_other_wishes_streams_that_are_known_go_on() -> None:
    world = World([VOLTAGE])
    begun(world)
    world.publish(VOLTAGE, [1])
    world.publish(CURRENT, [1, 2])
    world.run(SECOND)
    world._wishes = [GROUP.name]
    world.restart()
    world.run(SECOND)
    world.publish(VOLTAGE, [2])
    world.publish(CURRENT, [3])
    world.run(SECOND)
    assert world.numbers(VOLTAGE) == [1, 2]
    assert world.numbers(CURRENT) == [3], "a new wish begins live"
    assert replace(sequential(), kind="sequential") == world.consumer.policy
    assert not [effect for effect in world.told if isinstance(effect, Missing)]


def test_a_carried_packet_whose_number_has_another_form_is_no_reading() -> None:
    world = begun(World())
    world.publish(VOLTAGE, [1])
    world.run(SECOND)
    name = VOLTAGE / Component(b"\x00\x02", SEQUENCE)
    data = Data.decode(encode_data(name, b"", DigestSigner()))
    world.consumer.delivery.learn(VOLTAGE, 2)
    world.do(world.consumer._fulfilment.take(data, world.now))
    assert world.numbers() == [1]
    world.publish(VOLTAGE, [2])
    world.run(5 * SECOND)
    assert world.numbers() == [1, 2]


def test_a_consumer_can_be_put_on_a_face() -> None:
    part: Part = World().consumer
    assert (part.prefixes, part.routes) == ((), ())
