"""Macros that have missed much: they catch up piece by piece, and each reading counts once, whatever happens."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.broker_macros_world import MacroStreet, macro
from tests.nodes_world import LARGE_BYTES, Node, panel_of

from roost.broker.macros import claiming
from roost.broker.message import Message
from roost.machine import SECOND
from roost.naming.topic import name_of_topic
from roost.process.definition import Definition

BACKLOG = 20
PIECE = 6
CODE = "[Noctua.topic('hall/a'), Noctua.state.n = (Noctua.state.n || 0) + 1]"
COUNT: Definition = macro("count", CODE)
MINUS: Definition = macro("count", "-Noctua.topic('hall/a')")


def say(node: Node, payload: bytes, topic: bytes = b"hall/a") -> None:
    node.connect(b"ann%d" % node.number).publish(topic, payload)


def pass_on(node: Node) -> None:
    """Have what a node wants inserted come out of the group, at this node."""
    node.insert_all()
    while streams := node.behind():
        node.hand_on(streams[0])


def behind(*definitions: Definition, later: bytes = b"hall/a") -> tuple[MacroStreet, Node]:
    """A street of which the first node died, and the other has begun to catch up, with one piece."""
    street = MacroStreet(1, 2, PIECE)
    street.define(1, *(definitions or (COUNT,)))
    street.live(8)
    street.nodes[0].die()
    node = street.nodes[1]
    for number in range(BACKLOG):
        say(node, b"%d" % number, b"hall/a" if number < BACKLOG // 2 else later)
        node.now += 1  # so that times tell their order
    while street.step():
        pass
    while street.macros(2).catching is None:
        street.wait(1 / 4)
    return street, node


def tick(node: Node) -> None:
    node.run(node.broker.tick(node.now))


def expected(count: int) -> list[bytes]:
    return [b"[%d,%d]" % (each, each + 1) for each in range(count)]


def test_a_backlog_takes_several_ticks_and_everything_else_goes_on_in_between() -> None:
    street, node = behind()
    bob = node.connect(b"bob")
    bob.subscribe(b"$plain")
    done: list[int] = []
    while street.macros(2).catching is not None:
        assert street.runners("count") == []
        bob.publish(b"$plain", b"%d" % len(done))
        assert bob.payloads() == [b"%d" % len(done)]
        pass_on(node)
        done.append(len(street.results("count")))
        tick(node)
    pass_on(node)
    assert done == [6, 12, 18]
    assert [each.payload for each in street.results("count")] == expected(BACKLOG)
    assert street.runners("count") == [2]
    facts = [dict(each.facts) for each in node.notes if each.event == "macros caught up"]
    assert facts == [{"macros": 1, "readings": BACKLOG}]


def test_the_next_piece_waits_until_the_group_has_the_results_of_the_last() -> None:
    street, node = behind()
    street.wait(1)
    tick(node)
    node.insert_all()
    assert len(street.results("count")) == PIECE
    tick(node)
    node.insert_all()
    assert len(street.results("count")) == 2 * PIECE


def test_what_is_large_is_read_when_it_is_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    street = MacroStreet(1, 2, PIECE)
    street.define(1, macro("size", "Noctua.topic('hall/a').length"))
    street.live(8)
    street.nodes[0].die()
    node = street.nodes[1]
    sizes = [LARGE_BYTES - 1 + number for number in range(BACKLOG)]
    for size in sizes:
        say(node, b"x" * size)
        node.now += 1
    read: list[tuple[int, int]] = []
    original = node.read

    def counted(stream: bytes, low: int, high: int, limit: int) -> list[tuple[int, Message | None]]:
        if stream.endswith(name_of_topic("hall/a").value):
            read.append((low, high))
        return original(stream, low, high, limit)

    monkeypatch.setattr(node.broker.core.history, "read", counted)
    street.live(8)
    assert [each.payload for each in street.results("size")] == [b"%d" % size for size in sizes]
    assert {low for low, high in read if low == high} == set(range(3, BACKLOG + 1))
    assert read[0] == (3, 3), "later a macro looks back on several"


def test_what_is_caught_up_with_is_claimed_before() -> None:
    street, node = behind()
    assert street.macros(2).find("count").record.runner == panel_of(2)
    pass_on(node)
    assert street.macros(2).catching is not None
    assert any(name.startswith(panel_of(2)) and b"macros" in name for name in node.streams)


def test_readings_that_arrive_meanwhile_are_processed_once_and_in_order() -> None:
    street, node = behind()
    number = BACKLOG
    while street.macros(2).catching is not None:
        for _ in range(4):
            say(node, b"%d" % number)
            number += 1
        pass_on(node)
        tick(node)
    for _ in range(3):
        say(node, b"%d" % number)
        number += 1
    street.live(2)
    assert number > BACKLOG + 20
    assert [each.payload for each in street.results("count")] == expected(number)


@pytest.mark.parametrize("is_heard", [False, True])
def test_an_update_holds_from_the_end_of_the_catching_up_on(is_heard: bool) -> None:
    street, node = behind()
    macros = street.macros(2)
    if is_heard:
        record = macros.standing(macros.find("count"))
        said = replace(record, definition=MINUS, changed=node.now, version=2)
        claiming.hear(node.broker.core, macros, said, node.now)
    else:
        street.define(2, MINUS)
    assert macros.standing(macros.find("count")).version == 2
    street.live(2)
    say(node, b"99")
    street.live(1)
    assert [each.payload for each in street.results("count")] == [*expected(BACKLOG), b"-99"]
    assert macros.find("count").record.definition == MINUS
    assert macros.standing(macros.find("count")).version == 2


def test_an_update_is_there_after_a_crash_in_the_middle() -> None:
    street, node = behind()
    street.define(2, MINUS)
    pass_on(node)
    node.die()
    node.rise()
    street.live(8)
    assert street.macros(2).find("count").record.definition == MINUS
    results = [each.payload for each in street.results("count")]
    assert len(results) == BACKLOG
    assert results[-1] == b"-%d" % (BACKLOG - 1)


def test_an_update_that_cannot_run_here_ends_it_with_what_was_missed() -> None:
    street, node = behind()
    macros = street.macros(2)
    spy = macro("count", "return Noctua.topic('hall/a')", language="python")
    said = replace(macros.standing(macros.find("count")), definition=spy, changed=node.now, version=2)
    claiming.hear(node.broker.core, macros, said, node.now)
    street.live(2)
    say(node, b"99")
    street.live(1)
    assert [each.payload for each in street.results("count")] == expected(BACKLOG)
    assert street.runners("count") == []
    assert "runs only where the configuration has it" in macros.find("count").refusal


def test_a_deletion_ends_it() -> None:
    street, node = behind()
    node.run(node.broker.delete_macro("count", node.now))
    assert street.macros(2).catching is None
    street.live(8)
    assert [each.payload for each in street.results("count")] == expected(PIECE)
    assert street.runners("count") == []


def test_a_later_claim_ends_it_and_its_results_stay() -> None:
    street, node = behind()
    macros = street.macros(2)
    record = replace(macros.find("count").record, runner=panel_of(1), claimed=node.now + 1)
    claiming.hear(node.broker.core, macros, record, node.now)
    assert macros.catching is None
    tick(node)
    pass_on(node)
    assert len(street.results("count")) == PIECE
    first = street.nodes[0]
    first.rise()
    claiming.hear(first.broker.core, street.macros(1), record, first.now)
    street.live(12)
    assert street.runners("count") == [1]
    assert [each.payload for each in street.results("count")] == expected(BACKLOG)


def test_a_crash_in_the_middle_goes_on_from_there() -> None:
    street, node = behind()
    pass_on(node)
    tick(node)
    pass_on(node)
    street.wait(1)  # so that it is written how far it has come
    pass_on(node)
    reached = len(street.results("count"))
    assert PIECE < reached < BACKLOG
    node.die()
    node.rise()
    street.live(8)
    assert [each.payload for each in street.results("count")] == expected(BACKLOG)
    facts = [dict(each.facts) for each in node.notes if each.event == "macros caught up"]
    assert [each["readings"] for each in facts] == [BACKLOG - reached]


def test_what_is_defined_meanwhile_begins_at_the_present() -> None:
    street, node = behind()
    street.define(2, macro("other", "Noctua.topic('hall/a')"))
    assert street.runners("other") == [2]
    say(node, b"%d" % BACKLOG)
    street.live(2)
    assert [each.payload for each in street.results("other")] == [b"%d" % BACKLOG]
    assert [each.payload for each in street.results("count")] == expected(BACKLOG + 1)


def test_what_is_missed_is_more_than_a_macro_may_run_in_a_second() -> None:
    street, _ = behind(macro("count", CODE, limits={"runs_per_s": 5}))
    street.live(2)
    assert [each.payload for each in street.results("count")] == expected(BACKLOG)


def test_a_macro_looks_back_on_what_came_before_and_not_on_later_pieces() -> None:
    street, _ = behind(macro("count", f"Noctua.topic('hall/+', {{limit: {BACKLOG}}}).length"), later=b"hall/b")
    street.live(2)
    assert [each.payload for each in street.results("count")] == [b"%d" % (each + 1) for each in range(BACKLOG)]


def test_results_from_before_a_crash_are_known_after_another_one() -> None:
    street, node = behind()
    for _ in range(2):
        pass_on(node)
        tick(node)
    pass_on(node)
    node.die()
    node.rise()
    for seconds in (4, 1):  # it begins with what has results, and writes how far it has come
        node.now = street.now = street.now + seconds * SECOND
        tick(node)
    macros = street.macros(2)
    assert macros.catching is not None
    assert 0 < len([each for each in macros.find("count").published.values() if each]) < 3 * PIECE
    node.die()
    node.rise()
    street.live(8)
    assert [each.payload for each in street.results("count")] == expected(BACKLOG)


def test_of_two_macros_one_goes_on_when_the_other_is_deleted() -> None:
    street, node = behind(COUNT, macro("other", "Noctua.topic('hall/a')"))
    node.run(node.broker.delete_macro("count", node.now))
    street.live(2)
    assert [each.payload for each in street.results("count")] == expected(PIECE // 2)
    assert [each.payload for each in street.results("other")] == [b"%d" % each for each in range(BACKLOG)]
    assert street.runners("other") == [2]


def test_results_that_are_on_their_way_into_the_group_are_not_passed_over() -> None:
    street = MacroStreet(1, 2, PIECE)
    street.define(2, macro("minus", "-Noctua.topic('hall/a')"))
    street.live(1)
    street.define(1, macro("count", "Noctua.topic('Noctua/minus')"))
    street.live(8)
    street.nodes[0].die()
    node = street.nodes[1]
    say(node, b"1")
    pass_on(node)
    say(node, b"2")
    node.insert_all()
    stream = next(name for name, held in node.streams.items() if held[0].topic == b"hall/a")
    node.hand_on(stream)  # its result is not inserted yet
    while street.runners("count") != [2]:
        street.wait(1 / 4)
    say(node, b"3")
    late = [each for each in node.inserts if each.messages[-1].topic != b"hall/a"]
    node.inserts = [each for each in node.inserts if each not in late]
    node.insert_all()
    node.hand_on(stream)
    node.inserts = late + node.inserts
    street.live(2)
    assert [each.payload for each in street.results("count")] == [b"-1", b"-2", b"-3"]
