"""Macros in the broker: plain topics, what is reserved, updates, restarts; and one node with a group."""

from __future__ import annotations

import pytest
from tests.broker_macros_world import Alone, MacroStreet, lineage_of, macro
from tests.nodes_world import panel_of

from roost.errors import BadMacro, NoMacro
from roost.machine import SECOND
from roost.naming import Name
from roost.process.definition import Definition

CELSIUS = macro("home/tempC", "(Noctua.topic('tempF') - 32) * 5/9")
COUNT = macro("count", "Noctua.state.n = (Noctua.state.n || 0) + 1, Noctua.topic('a/b') && Noctua.state.n")


def counted(name: str = "count") -> Definition:
    return macro(
        name, "Noctua.topic('hall/a') + 0 * (Noctua.state.n = (Noctua.state.n || 0) + 1) + 100 * Noctua.state.n"
    )


def test_a_client_subscribes_to_the_refined_stream() -> None:
    world = Alone()
    world.define(CELSIUS)
    ann, bob = world.connect(b"ann"), world.connect(b"bob")
    bob.subscribe((b"Noctua/home/tempC", 1))
    ann.publish(b"tempF", b"162.5")
    packet = bob.one("PUBLISH")
    assert (packet.topic, packet.payload, packet.qos) == (b"Noctua/home/tempC", b"72.5", 1)


def test_macros_of_macros_run_in_the_same_call() -> None:
    world = Alone()
    world.define(CELSIUS, macro("twice", "2 * Noctua.topic('Noctua/home/tempC')"))
    ann = world.connect(b"ann")
    ann.subscribe(b"Noctua/#")
    ann.publish(b"tempF", b"50")
    assert ann.payloads() == [b"10", b"20"]


def test_a_cycle_is_refused_and_named() -> None:
    world = Alone()
    world.define(macro("a", "Noctua.topic('Noctua/b')"))
    with pytest.raises(BadMacro, match=r"a -> b -> a|b -> a -> b"):
        world.define(macro("b", "Noctua.topic('Noctua/a')"))
    assert list(world.broker.core.macros.known) == ["a"]  # type: ignore[union-attr]


def test_nobody_else_publishes_results() -> None:
    world = Alone()
    ann = world.connect(b"ann", 5)
    ann.subscribe(b"Noctua/#")
    ann.publish(b"Noctua/x", b"1", qos=1, packet_id=1)
    assert ann.one("PUBACK").reason == 0x87


def test_a_topic_that_no_macro_looks_at_is_not_collected() -> None:
    world = Alone()
    world.define(CELSIUS)
    ann = world.connect(b"ann")
    ann.publish(b"other", b"1")
    assert world.broker.core.macros.processor.untouched == 0  # type: ignore[union-attr]


def test_an_update_holds_from_the_next_message_on() -> None:
    world = Alone()
    world.define(macro("x", "Noctua.topic('a')"))
    ann = world.connect(b"ann")
    ann.subscribe(b"Noctua/x")
    ann.publish(b"a", b"1")
    world.define(macro("x", "-Noctua.topic('a')"))
    ann.publish(b"a", b"2")
    world.run(world.broker.delete_macro("x", world.now))
    ann.publish(b"a", b"3")
    assert ann.payloads() == [b"1", b"-2"]
    with pytest.raises(NoMacro, match="x: there is no such macro"):
        world.broker.delete_macro("x", world.now)


def test_a_macro_that_comes_back_from_spark_runs_here_again() -> None:
    world = Alone()
    bob = world.connect(b"bob")
    bob.subscribe(b"Noctua/minus")
    world.define(macro("minus", "-Noctua.topic('a')"))
    world.define(macro("minus", "-Noctua.topic('a')", engine="spark"))
    bob.publish(b"a", b"1")
    world.define(macro("minus", "-Noctua.topic('a')"))
    bob.publish(b"a", b"2")
    assert bob.payloads() == [b"-2"]


def test_macros_and_their_state_are_there_after_a_crash() -> None:
    world = Alone()
    world.define(COUNT, CELSIUS)
    world.run(world.broker.delete_macro("home/tempC", world.now))
    ann = world.connect(b"ann")
    for _ in range(3):
        ann.publish(b"a/b", b"7")
    world.crash()
    ann = world.connect(b"ann")
    ann.subscribe(b"Noctua/#")
    ann.publish(b"a/b", b"7")
    ann.publish(b"tempF", b"7")
    assert ann.payloads() == [b"4"]


def test_a_macro_runs_every_so_often() -> None:
    world = Alone()
    world.define(macro("x", "Noctua.topic('a')", trigger="every 10s"))
    ann = world.connect(b"ann")
    ann.subscribe(b"Noctua/x")
    ann.publish(b"a", b"1")
    ann.publish(b"a", b"2")
    assert ann.payloads() == []
    world.wait(10)
    assert ann.payloads() == [b"2"]


def test_a_retained_message_is_looked_back_on() -> None:
    world = Alone()
    ann = world.connect(b"ann")
    ann.publish(b"limit", b"20", retain=True)
    world.define(macro("over", "Noctua.topic('a') > Noctua.topic('limit')"))
    ann.subscribe(b"Noctua/over")
    ann.publish(b"a", b"21")
    assert ann.payloads() == [b"true"]


def test_a_unit_is_known_from_a_user_property() -> None:
    world = Alone()
    world.define(macro("u", "Noctua.topic('a', {detail: true}).unit"))
    ann = world.connect(b"ann", 5)
    ann.subscribe(b"Noctua/u")
    ann.publish(b"a", b"21", properties=b"\x26\x00\x04unit\x00\x03Cel")
    assert ann.payloads() == [b"Cel"]


def test_results_are_readings_of_the_group_with_their_lineage() -> None:
    street = MacroStreet(1, 1)
    street.define(1, macro("mean", "Noctua.topic('hall/a', {limit: 2}).reduce((a, b) => a + b, 0)"))
    node = street.nodes[0]
    ann = node.connect(b"ann")
    ann.subscribe(b"Noctua/mean")
    for value in (b"1", b"2"):
        ann.publish(b"hall/a", value)
        street.settle()
    assert ann.payloads() == [b"1", b"3"]
    first, second = street.results("mean")
    lineage = lineage_of(second)
    stream = Name(panel_of(1)) / "hall" / "a"
    assert lineage.cause is not None
    assert lineage.cause.prefix(-1) == stream
    assert [(each.stream, each.low, each.high) for each in lineage.ranges] == [(stream, 1, 2)]
    assert lineage.job == "Noctua/mean@1"
    assert first.time < second.time


def test_nothing_is_there_twice_after_a_crash_and_nothing_is_missing() -> None:
    for seed in range(20):
        street = MacroStreet(seed, 1)
        street.define(1, counted())
        node = street.nodes[0]
        for number in range(40):
            ann = node.connect(b"ann")
            ann.publish(b"hall/a", b"%d" % number)
            for _ in range(street.random.randrange(4)):
                street.step()
            if street.random.random() < 0.2:
                node.die()
                node.rise()
            if street.random.random() < 0.2:
                street.wait(street.random.random())
        street.settle()
        published = len(next(held for name, held in node.streams.items() if name.endswith(b"\x08\x04hall\x08\x01a")))
        results = [float(each.payload) for each in street.results("count")]
        assert len(results) == published
        assert [value // 100 for value in results] == list(range(1, published + 1))
        assert node.now > SECOND


def test_a_topic_that_a_run_found_activates_the_macro_though_its_route_was_known_before() -> None:
    world = Alone()
    world.define(macro("late", "Noctua.topic('a/b') > 1 ? Noctua.topic(['c', 'd'].join('/'), {required: 0}) : 0"))
    ann, bob = world.connect(b"ann"), world.connect(b"bob")
    bob.subscribe(b"Noctua/late")
    ann.publish(b"c/d", b"5")
    ann.publish(b"a/b", b"2")
    ann.publish(b"c/d", b"6")
    assert bob.payloads()[-1:] == [b"6"]


def test_what_a_version_does_not_look_at_is_not_made_up_for_by_the_next_one_that_does() -> None:
    street = MacroStreet(1, 1)
    node = street.nodes[0]
    ann = node.connect(b"ann")
    north, south = macro("x", "Noctua.topic('hall/north')"), macro("x", "Noctua.topic('hall/south')")
    for now, value in ((north, b"1"), (south, b"2"), (north, b"3")):
        street.define(1, now)
        street.settle()
        if value == b"3":
            node.die()
            node.rise()
            ann = node.connect(b"ann")
        ann.publish(b"hall/north", b"1" + value)
        ann.publish(b"hall/south", b"2" + value)
        street.settle()
    assert [each.payload for each in street.results("x")] == [b"11", b"22", b"13"]
    effective = street.macros(1).find("x").record.effective
    assert effective == {(Name(panel_of(1)) / "hall" / each).value: 2 for each in ("north", "south")}


def test_a_macro_begins_with_the_next_reading_whatever_the_clocks_of_sensors_say() -> None:
    street = MacroStreet(1, 1)
    node = street.nodes[0]
    ann = node.connect(b"ann")
    node.now = street.now = street.now + 3600 * SECOND
    ann.publish(b"hall/a", b"1")
    street.settle()
    node.now = street.now = street.now - 1800 * SECOND  # so that what there is comes from the future
    street.define(1, macro("x", "Noctua.topic('hall/a')"))
    ann.publish(b"hall/a", b"2")
    street.settle()
    assert [each.payload for each in street.results("x")] == [b"2"]


def test_what_files_have_after_a_reload_is_taken_in_and_what_cannot_run_stays_as_it_was() -> None:
    world = Alone()
    python = macro("half", "Noctua.topic('t') / 2", language="python")
    world.define(macro("twice", "2 * Noctua.topic('t')"))
    wanted = [python, macro("twice", "2 *"), macro("same", "Noctua.topic('t')")]
    world.run(world.broker.macros_reloaded(wanted, world.now))
    macros = world.broker.core.macros
    assert macros is not None
    assert [name for name in ("half", "twice", "same") if macros.runs(name)] == ["half", "twice", "same"]
    assert macros.standing(macros.find("twice")).definition == macro("twice", "2 * Noctua.topic('t')")
    world.run(world.broker.macros_reloaded([python], world.now))
    assert macros.standing(macros.find("half")).version == 1
    assert macros.runs("same")  # to take it out of a file ends nothing


def test_files_may_turn_round_who_depends_on_whom() -> None:
    world = Alone()
    world.define(macro("a", "Noctua.topic('t')"))
    world.define(macro("b", "Noctua.topic('Noctua/a')"))
    turned = [macro("a", "Noctua.topic('Noctua/b')"), macro("b", "Noctua.topic('t')")]
    world.run(world.broker.macros_reloaded(turned, world.now))
    macros = world.broker.core.macros
    assert macros is not None
    assert [macros.standing(macros.find(name)).definition for name in ("a", "b")] == turned
