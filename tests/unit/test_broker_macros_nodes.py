"""Macros of a group with several nodes: each runs on one of them, and moves when that one dies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.broker_macros_world import MacroStreet, lineage_of, macro
from tests.nodes_world import Node, panel_of

from roost.broker.macros import claiming
from roost.broker.message import Message
from roost.naming import Name
from roost.naming.topic import name_of_topic
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


def test_who_cannot_hear_each_other_both_run_a_macro_and_the_later_claim_counts_when_they_can() -> None:
    street = MacroStreet(13)
    street.define(1, macro("count", "[Noctua.topic('hall/a'), Noctua.state.n = (Noctua.state.n || 0) + 1]"))
    street.live(8)
    first, second = street.nodes
    ears = [node.connect(b"ear", keep_alive=0) for node in street.nodes]
    for ear in ears:
        ear.subscribe(b"Noctua/count")
    first.is_cut_off = True
    street.live(10)
    assert street.runners("count") == [1, 2]
    say(first, b"1")
    say(second, b"2")
    street.live(1)
    assert [ear.payloads() for ear in ears] == [[b"[1,1]"], [b"[2,1]"]]
    first.is_cut_off = False
    street.live(8)
    assert street.runners("count") == [2]
    say(first, b"3")
    street.live(1)
    heard = [ear.payloads() for ear in ears]
    assert heard[0] == [b"[2,1]", b"[3,3]"], "the state of the other node: two results have the number 1"
    assert [each[-1] for each in heard] == [b"[3,3]", b"[3,3]"], "it has counted each reading once"
    assert len(heard[1]) == 2
    assert len(set(causes(street.results("count")))) == 3 < len(street.results("count"))


def test_a_swap_from_another_node_under_load_leaves_no_reading_of_a_chain_out() -> None:
    street = MacroStreet(14, 3)
    street.define(1, macro("each", "1 * Noctua.topic('hall/a')"), macro("twice", "2 * Noctua.topic('Noctua/each')"))
    street.live(8)
    eve = street.nodes[2].connect(b"eve", keep_alive=0)
    eve.subscribe(b"Noctua/twice")
    for number in range(60):
        say(street.nodes[number % 3], b"%d" % number)
        for _ in range(street.random.randrange(6)):
            street.step()
        if number == 20:
            street.define(2, macro("each", "-1 * Noctua.topic('hall/a')"))
        if number == 40:
            street.define(3, macro("twice", "-2 * Noctua.topic('Noctua/each')"))
    street.live(4)
    readings = {(stream, n) for stream in street.nodes[0].streams_of(b"hall/a") for n in range(1, 21)}
    for name in ("each", "twice"):
        results = street.results(name)
        versions = {numbered(cause): lineage_of(each).job for each, cause in zip(results, causes(results), strict=True)}
        assert len(results) == len(versions)
        assert set(versions) == readings
        assert {job[-1] for job in versions.values()} == {"1", "2"}
        if name == "each":
            effective = street.macros(1).find(name).record.effective
            assert all((job[-1] == "2") == (n > effective.get(stream, 0)) for (stream, n), job in versions.items())
    assert len(eve.payloads()) == len(readings)


def test_a_result_that_comes_before_its_cause_is_not_made_again() -> None:
    street = MacroStreet(15)
    street.define(1, MINUS)
    street.live(8)
    first, second = street.nodes
    first.is_cut_off = True
    say(first, b"1")
    while street.step():
        pass
    readings, results = [(Name(panel_of(1)) + name_of_topic(each)).value for each in ("hall/a", "Noctua/minus")]
    second.streams[results] = list(first.streams[results])  # this gets through, what it was made of does not
    first.die()
    street.live(12)
    assert street.runners("minus") == [2]
    assert street.macros(2).find("minus").record.results[results] == 0, "it is behind where the macro stands"
    second.streams[readings] = list(first.streams[readings])
    street.live(1)
    assert second.handed[readings] == 1
    assert len(street.results("minus")) == 1
    say(second, b"2")
    street.live(1)
    assert street.macros(2).find("minus").record.results[results] == 1


def test_a_record_of_a_macro_that_had_results_which_are_not_here_does_not_stand_for_them() -> None:
    street = MacroStreet(16)
    street.define(1, MINUS, macro("twice", "2 * Noctua.topic('Noctua/minus')"))
    street.live(8)
    say(street.nodes[0], b"1")
    street.live(1)
    second, macros = street.nodes[1], street.macros(2)
    record, results = macros.find("twice").record, (Name(panel_of(1)) + name_of_topic("Noctua/minus")).value
    assert record.standing.position == ((results, 1),)
    for number, is_taken in ((2, False), (1, True)):
        standing = replace(record.standing, state=b"%d" % number, position=((results, number),))
        claiming.hear(second.broker.core, macros, replace(record, standing=standing), street.now)
        assert (macros.find("twice").record.standing == standing) == is_taken
        macros.find("twice").ahead.clear()
    made = {(Name(panel_of(1)) + name_of_topic("Noctua/twice")).value: 2}
    before = macros.find("twice").record.standing
    assert before != record.standing
    claiming.hear(second.broker.core, macros, replace(record, made=made), street.now)
    assert macros.find("twice").record.standing == before, "its own last result is not here"
