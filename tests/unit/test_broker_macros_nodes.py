"""Macros of a group with several nodes: each runs on one of them, and moves when that one dies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.broker_macros_world import MacroStreet, lineage_of, macro
from tests.nodes_world import Node, panel_of

from roost.broker.macros import claiming
from roost.broker.macros.catch_up import PIECE
from roost.broker.message import Message
from roost.naming import Name
from roost.process.definition import Definition
from roost.repo.numbering import numbered

MINUS: Definition = macro("minus", "-Noctua.topic('hall/a')")


def causes(results: list[Message]) -> list[Name]:
    found = [lineage_of(each).cause for each in results]
    return [each for each in found if each is not None]


def say(node: Node, payload: bytes, topic: bytes = b"hall/a") -> None:
    node.connect(b"ann%d" % node.number).publish(topic, payload)


def test_a_macro_runs_where_it_was_defined_and_is_known_everywhere() -> None:
    street = MacroStreet(1)
    street.define(1, MINUS)
    street.live(8)
    assert street.runners("minus") == [1]
    assert street.macros(2).find("minus").record.definition == MINUS
    bob = street.nodes[1].connect(b"bob")
    bob.subscribe(b"Noctua/minus")
    say(street.nodes[1], b"3")
    street.live(1)
    assert bob.payloads() == [b"-3"]
    assert len(street.results("minus")) == 1


def test_a_macro_moves_when_its_node_dies_and_stays_when_that_comes_back() -> None:
    street = MacroStreet(2)
    street.define(1, MINUS)
    bob = street.nodes[1].connect(b"bob")
    bob.subscribe(b"Noctua/minus")
    say(street.nodes[0], b"1")
    street.live(8)
    street.nodes[0].die()
    say(street.nodes[1], b"2")
    street.live(12)
    assert street.runners("minus") == [2]
    say(street.nodes[1], b"3")
    street.live(1)
    street.nodes[0].rise()
    street.live(12)
    say(street.nodes[0], b"4")
    street.live(2)
    assert street.runners("minus") == [2]
    assert bob.payloads() == [b"-1", b"-2", b"-3", b"-4"]


def test_state_moves_too() -> None:
    street = MacroStreet(3)
    code = "Noctua.topic('hall/a') && (Noctua.state.n = (Noctua.state.n || 0) + 1)"
    street.define(1, macro("count", code))
    for _ in range(3):
        say(street.nodes[0], b"1")
        street.live(1)
    street.nodes[0].die()
    street.live(12)
    say(street.nodes[1], b"1")
    street.live(1)
    assert [each.payload for each in street.results("count")] == [b"1", b"2", b"3", b"4"]


def test_any_node_takes_an_update_and_a_deletion() -> None:
    street = MacroStreet(4)
    street.define(1, MINUS)
    street.live(1)
    street.define(2, macro("minus", "2 * Noctua.topic('hall/a')"))
    street.live(1)
    say(street.nodes[1], b"5")
    street.live(1)
    assert [each.payload for each in street.results("minus")] == [b"10"]
    assert street.macros(2).find("minus").record.version == street.macros(1).find("minus").record.version == 2
    street.nodes[1].run(street.nodes[1].broker.delete_macro("minus", street.now))
    street.live(1)
    say(street.nodes[1], b"6")
    street.live(8)
    assert len(street.results("minus")) == 1
    assert street.runners("minus") == []


def test_a_chain_of_macros_goes_on_when_only_one_of_them_moves() -> None:
    street = MacroStreet(5, 3)
    street.define(1, MINUS)
    street.live(1)
    street.define(2, macro("twice", "2 * Noctua.topic('Noctua/minus')"))
    street.live(8)
    say(street.nodes[2], b"1")
    street.live(1)
    street.nodes[0].die()
    say(street.nodes[2], b"2")
    street.live(12)
    say(street.nodes[2], b"3")
    street.live(2)
    assert [each.payload for each in street.results("minus")] == [b"-1", b"-2", b"-3"]
    assert [each.payload for each in street.results("twice")] == [b"-2", b"-4", b"-6"]


def test_a_macro_of_a_stranger_in_python_is_known_and_not_run() -> None:
    street = MacroStreet(6)
    python = macro("spy", "return Noctua.topic('hall/a')", language="python")
    street.macros(1).trusted.add(python.digest)
    street.define(1, python)
    street.live(8)
    street.nodes[0].die()
    street.live(12)
    assert street.runners("spy") == []
    assert "runs only where the configuration has it" in street.macros(2).find("spy").refusal


def test_what_another_node_makes_of_a_macro_that_runs_here_is_checked_as_ever() -> None:
    street = MacroStreet(8)
    street.define(1, MINUS, macro("twice", "2 * Noctua.topic('Noctua/minus')"))
    street.live(1)
    core, macros = street.nodes[0].broker.core, street.macros(1)
    for code, language in (("return Noctua.topic('hall/a')", "python"), ("Noctua.topic('Noctua/twice')", "javascript")):
        record = macros.find("minus").record
        changed = replace(record, definition=macro("minus", code, language=language), changed=record.changed + 1)
        claiming.hear(core, macros, changed, street.now)
        say(street.nodes[0], b"3")
        street.live(1)
    assert [each.payload for each in street.results("minus")] == []
    assert "minus" not in macros.processor.macros()


def test_a_record_that_comes_without_its_results_does_not_stand_for_them() -> None:
    street = MacroStreet(7)
    code = "[Noctua.topic('hall/a'), Noctua.state.n = (Noctua.state.n || 0) + 1]"
    street.define(1, macro("count", code))
    street.live(8)
    first, second = street.nodes
    for value in (b"1", b"2"):
        say(second, value)
    street.live(1)
    for value in (b"3", b"4"):
        say(second, value)
    for _ in range(12):  # what is told of the macro gets through, its results do not
        for node in street.nodes:
            node.settle()
            node.insert_all()
        for source, target in ((first, second), (second, first), (first, first), (second, second)):
            for stream, held in source.streams.items():
                if (source, target) != (first, second) or b"Noctua" not in stream:
                    there = target.streams.setdefault(stream, [])
                    there += held[len(there) :] if source is not target else []
                    while target.handed.get(stream, 0) < len(there):
                        target.hand_on(stream)
        street.wait(1 / 4)
    assert len(street.results("count")) == 4
    first.die()
    street.live(12)
    say(second, b"5")
    street.live(1)
    assert [each.payload for each in street.results("count")] == [b"[%d,%d]" % (each, each) for each in range(1, 6)]


def test_results_behind_a_hole_do_not_come_before_what_was_in_it() -> None:
    street = MacroStreet(9)
    street.define(1, MINUS)
    street.live(8)
    first, second = street.nodes
    bob = second.connect(b"bob")
    bob.subscribe(b"Noctua/minus")
    for value in (b"1", b"2"):
        say(second, value)
        street.live(1)
    first.is_cut_off = True
    results = next(stream for stream, held in first.streams.items() if held[0].topic == b"Noctua/minus")
    for value in (b"3", b"4", b"5", b"6"):
        say(second, value)
        while street.step():
            pass
    readings = {stream: held for stream, held in second.streams.items() if held[0].topic == b"hall/a"}
    for stream, held in readings.items():
        first.streams[stream] = list(held)
    while street.step():
        pass
    assert [each.payload for each in first.streams[results]] == [b"-1", b"-2", b"-3", b"-4", b"-5", b"-6"]
    second.streams[results] = list(first.streams[results])  # its last two came, those before them did not
    second.holes = {(results, 3), (results, 4)}
    first.die()
    street.live(12)
    assert street.runners("minus") == [2]
    assert bob.payloads() == [b"-1", b"-2", b"-3", b"-4", b"-5", b"-6"]
    second.pass_over_holes()
    street.live(1)
    say(second, b"7")
    street.live(1)
    assert bob.payloads() == [b"-7"], "what came twice is told once"


@pytest.mark.parametrize("piece", [1, PIECE])
@pytest.mark.parametrize("seed", range(40))
def test_every_reading_has_one_result_whatever_dies(seed: int, piece: int) -> None:
    street = MacroStreet(seed, 3, piece)
    chance = street.random
    each = macro("each", "0 * Noctua.topic('hall/a') + Math.random()")  # for each cause another, wherever it runs
    street.define(1, each, macro("twice", "2 * Noctua.topic('Noctua/each')"))
    street.live(8)
    bob = street.nodes[2].connect(b"bob")
    bob.subscribe(b"Noctua/each")
    eve = street.nodes[2].connect(b"eve")
    eve.subscribe(b"Noctua/twice")
    for said in range(30):
        say(chance.choice(street.alive()), b"%d" % said)
        for _ in range(chance.randrange(12)):
            street.step()
        if chance.random() < 0.1 and len(street.alive()) == 3:
            chance.choice(street.nodes[:2]).die()
        elif chance.random() < 0.2 and len(street.alive()) < 3:
            next(node for node in street.nodes if not node.is_alive).rise()
        if chance.random() < 0.3:
            street.wait(chance.random() * 3)
        if chance.random() < 0.1:
            street.live(8)
    for node in street.nodes:
        if not node.is_alive:
            node.rise()
    street.live(14)
    readings = sum(len(held) for name, held in street.nodes[2].streams.items() if held[0].topic == b"hall/a")
    assert len(set(causes(street.results("each")))) == readings
    got = bob.payloads()
    assert len(got) == len(set(got)) == readings
    assert {each.payload for each in street.results("each")} == set(got)
    caused = {each.payload: numbered(causes([each])[0]) for each in street.results("each")}
    last: dict[bytes, int] = {}
    for stream, number in [caused[payload] for payload in got]:  # in the order of the readings of each stream
        assert number > last.get(stream, 0)
        last[stream] = number
    assert len(street.runners("each")) == len(street.runners("twice")) == 1
    assert set(causes(street.results("twice"))) == set(causes(street.results("each")))
    assert len(eve.payloads()) == readings
    for node in street.nodes:  # who comes later gets each of them once, wherever they are
        late = node.connect(b"late")
        late.subscribe(b"$since/1/Noctua/each")
        street.live(1)
        past = late.payloads()
        assert len(past) == len(set(past)) == readings
        assert set(past) == set(got)
        assert len(street.macros(node.number).history.latest("Noctua/each", 100)) == readings


def test_a_node_that_was_restarted_knows_results_that_came_before() -> None:
    street = MacroStreet(4, 3)
    street.define(1, MINUS)
    street.live(8)
    first, second, third = street.nodes
    first.is_cut_off = True
    stream = (Name(panel_of(2)) / "hall" / "a").value
    say(second, b"1")
    second.settle()
    second.insert_all()
    first.streams[stream] = second.streams[stream][:]  # this gets through, its result does not
    first.hand_on(stream)
    first.settle()
    first.insert_all()
    first.die()
    first.is_cut_off = False
    street.live(12)
    assert len(street.results("minus")) == 1
    third.die()
    third.rise()
    street.live(4)
    bob = third.connect(b"bob")
    bob.subscribe(b"Noctua/minus")
    first.rise()
    street.live(8)
    assert len(street.results("minus")) == 2
    assert bob.payloads() == []
    say(second, b"2")
    street.live(2)
    assert bob.payloads() == [b"-2"]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_who_runs_a_macro_says_from_which_reading_on_a_change_holds_that_another_node_made(is_deleted: bool) -> None:
    street = MacroStreet(4)
    street.define(1, MINUS)
    street.live(1)
    for payload in (b"1", b"2", b"3"):
        say(street.nodes[0], payload)
    street.live(1)
    node, known = street.nodes[1], street.macros(2).find("minus")
    if is_deleted:
        node.run(node.broker.delete_macro("minus", node.now))
    else:
        street.define(2, macro("minus", "2 * Noctua.topic('hall/a')"))
    before = known.is_asked, known.record.effective
    assert before == (True, {})
    street.live(1)
    assert not known.is_asked
    assert list(known.record.effective.values()) == [3]
    assert street.macros(1).known["minus"].record.effective == known.record.effective
