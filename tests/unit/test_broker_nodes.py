"""Which nodes live: signs, silence, restarts, and how many are known."""

from __future__ import annotations

from roost.broker.nodes import MAX_NODES, SILENCE, Nodes
from roost.broker.sharing import BEAT


def test_who_says_nothing_for_a_while_is_silent_until_it_is_heard_again() -> None:
    nodes = Nodes()
    assert nodes.is_silent(b"a")
    assert nodes.sign(b"a", 5)
    assert not nodes.sign(b"a", 10)
    assert nodes.deadline() == 10 + SILENCE
    assert not nodes.listen(9 + SILENCE)
    assert nodes.listen(10 + SILENCE)
    assert not nodes.listen(11 + SILENCE), "it is known already"
    assert nodes.is_silent(b"a")
    assert nodes.deadline() is None
    assert nodes.sign(b"a", 20 + SILENCE)
    assert not nodes.is_silent(b"a")


def test_a_beat_or_two_may_be_lost() -> None:
    assert SILENCE >= 3 * BEAT


def test_when_a_node_began_is_what_it_said_last_unless_that_is_old() -> None:
    nodes = Nodes()
    nodes.sign(b"a", 1)
    assert nodes.start_of(b"a") == 0
    assert [nodes.begin(b"a", started) for started in (7, 9, 8)] == [None, 7, 9]
    assert nodes.start_of(b"a") == 9


def test_only_so_many_nodes_are_known() -> None:
    nodes = Nodes()
    for number in range(MAX_NODES + 1):
        nodes.sign(b"%d" % number, 1)
    assert len(nodes) == MAX_NODES
    assert nodes.is_silent(b"0")
    assert not nodes.is_silent(b"1")
    assert nodes.forgotten == 1
