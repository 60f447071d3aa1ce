"""Results of macros that no document names: who gets them follows from what the macros read, wherever they run."""

from __future__ import annotations

import pytest
from tests.broker_macros_world import Alone, MacroStreet, macro
from tests.broker_packets import props
from tests.broker_world import Client
from tests.nodes_world import Node
from tests.roles_world import DOCUMENT, HERE, RAW, brought, enter

from roost.broker.roles.keeper import RoleKeeper
from roost.errors import BadMacro
from roost.process.roles.specification import Specification

NOT_AUTHORIZED = 0x87
COPY = b"Noctua/copy"
OPEN = b"garden/pond"


def keeper() -> RoleKeeper:
    return RoleKeeper([Specification.read(DOCUMENT)], HERE)


def alone() -> Alone:
    """A broker with plain topics, macros and figure 7's document."""
    world = Alone()
    world.roles = keeper
    world.crash()
    return world


def street_of(count: int) -> MacroStreet:
    street = MacroStreet(1, count)
    for node in street.nodes:
        node.roles = keeper
        node.die()
        node.rise()
        roaming = node.broker.core.roaming
        assert roaming is not None
        roaming.sharing.always = True
    return street


def say(world: Alone | Node, payload: bytes, topic: bytes = RAW) -> None:
    sensor = world.connect(b"sensor")
    sensor.publish(topic, payload)
    sensor.disconnect()


def both(world: Alone | Node, *filters: bytes) -> tuple[Client, Client]:
    """A developer, who may see the topic as it is, and a customer, who may not; both want all results."""
    ada, cid = enter(world, "ada"), enter(world, "cid")
    for client in (ada, cid):
        client.subscribe(*(filters or (b"Noctua/#",)))
    return ada, cid


def test_a_copy_of_what_one_may_not_see_is_not_to_be_had() -> None:
    world = alone()
    world.define(macro("copy", "Noctua.topic('home/hall')"))
    ada, cid = both(world)
    assert ada.subscribe(COPY) == [0]
    assert cid.subscribe(COPY, b"$raw/Noctua/copy") == [NOT_AUTHORIZED, NOT_AUTHORIZED]
    say(world, b"1")
    assert brought(ada) == [(COPY, b"1")]
    assert brought(cid) == []


def test_a_copy_of_a_copy_counts_as_what_is_at_its_beginning() -> None:
    world = alone()
    world.define(macro("copy", "Noctua.topic('home/hall')"), macro("twice", "2 * Noctua.topic('Noctua/copy')"))
    ada, cid = both(world, b"Noctua/twice")
    say(world, b"1")
    assert brought(ada) == [(b"Noctua/twice", b"2")]
    assert brought(cid) == []


def test_when_the_macro_changes_who_gets_it_changes() -> None:
    world = alone()
    world.define(macro("copy", "Noctua.topic('garden/pond')"))
    ada, cid = both(world)
    say(world, b"1", OPEN)
    world.define(macro("copy", "Noctua.topic('home/hall')"))
    say(world, b"2")
    world.define(macro("copy", "Noctua.topic('garden/pond')"))
    say(world, b"3", OPEN)
    assert brought(ada) == [(COPY, b"1"), (COPY, b"2"), (COPY, b"3")]
    assert brought(cid) == [(COPY, b"1"), (COPY, b"3")]


def test_when_the_document_changes_who_gets_it_changes() -> None:
    world = alone()
    world.define(macro("copy", "Noctua.topic('home/hall')"))
    ada, cid = both(world)
    document = Specification.read({"topic": "home/hall", "roles": {"customer": {"streams": ["raw"]}}})
    world.run(world.broker.document_changed("home/hall", document, world.now))
    say(world, b"1")
    world.run(world.broker.document_changed("home/hall", None, world.now))
    say(world, b"2")
    assert (brought(ada), brought(cid)) == ([(COPY, b"2")], [(COPY, b"1")])


def test_a_name_that_only_a_run_finds_counts_before_its_first_result() -> None:
    world = alone()
    world.define(macro("copy", "Noctua.topic('garden/pond') && Noctua.topic('home/' + 'hall')"))
    ada, cid = both(world)
    say(world, b"7")
    say(world, b"1", OPEN)
    world.define(macro("shy", "Noctua.topic('garden/pond') > 1 ? Noctua.topic(['home', 'hall'].join('/')) : 0"))
    say(world, b"1", OPEN)
    assert brought(cid) == [(b"Noctua/shy", b"0")]
    say(world, b"7")
    say(world, b"2", OPEN)
    assert (b"Noctua/shy", b"7") in brought(ada)
    assert brought(cid) == []


def test_a_macro_that_is_refused_changes_nothing() -> None:
    world = alone()
    world.define(macro("copy", "Noctua.topic('home/hall')"))
    ada, cid = both(world)
    with pytest.raises(BadMacro):
        world.define(macro("copy", "Noctua.topic('Noctua/copy')"))
    say(world, b"1")
    assert (brought(ada), brought(cid)) == ([(COPY, b"1")], [])


# -- several nodes


def test_at_another_node_the_same_holds_as_soon_as_the_macro_is_heard_of() -> None:
    street = street_of(2)
    one, two = street.nodes
    street.define(1, macro("copy", "Noctua.topic('home/hall')"))
    street.live(8)
    ada, cid = both(two)
    assert cid.subscribe(COPY) == [NOT_AUTHORIZED]
    say(one, b"1")
    street.live(1)
    street.define(1, macro("copy", "Noctua.topic('garden/pond')"))
    street.live(1)
    say(one, b"2", OPEN)
    street.live(1)
    assert brought(ada) == [(COPY, b"1"), (COPY, b"2")]
    assert brought(cid) == [(COPY, b"2")]


@pytest.mark.parametrize("code", ["Noctua.topic('garden/pond') && Noctua.topic('home/' + 'hall')", "unknown"])
def test_a_result_says_itself_what_it_was_made_of(code: str) -> None:
    street = street_of(2)
    one, two = street.nodes
    known = code if code != "unknown" else "Noctua.topic('home/hall')"
    say(one, b"5")
    street.define(1, macro("copy", known))
    street.live(8)
    if code == "unknown":  # as if the record were slower than the result
        macros = street.macros(2)
        macros.known.pop("copy")
        macros._graph.drop("copy")
    ada, cid = both(two)
    say(one, b"5")
    say(one, b"1", OPEN)
    street.live(1)
    came = brought(ada)
    assert came
    assert set(came) == {(COPY, b"5")}
    assert brought(cid) == []


def test_the_past_of_a_macro_that_is_no_more_is_for_who_could_see_it() -> None:
    street = street_of(1)
    (node,) = street.nodes
    street.define(1, macro("copy", "Noctua.topic('home/hall')"))
    say(node, b"1")
    street.live(1)
    street.define(1, macro("copy", "Noctua.topic('garden/pond')"))
    street.live(1)
    say(node, b"2", OPEN)
    street.live(1)
    node.run(node.broker.delete_macro("copy", node.now))
    street.live(1)
    ada, cid = enter(node, "ada"), enter(node, "cid")
    for client in (ada, cid):
        client.subscribe((COPY, 1), properties=props(user=[(b"since", b"1")]))
    node.settle()
    assert [payload for _, payload in brought(ada)] == [b"1", b"2"]
    assert [payload for _, payload in brought(cid)] == [b"2"]


def test_documents_that_name_the_result_decide_alone() -> None:
    street = street_of(1)
    (node,) = street.nodes
    document = Specification.read({"topic": "Noctua/copy", "roles": {"customer": {"streams": ["raw"]}}})
    node.run(node.broker.document_changed("Noctua/copy", document, node.now))
    street.define(1, macro("copy", "Noctua.topic('home/hall')"))
    ada, cid = both(node)
    say(node, b"1")
    street.live(1)
    assert (brought(ada), brought(cid)) == ([], [(COPY, b"1")])


KEEPS = macro("x", "Noctua.state.kept = Noctua.topic('home/hall'); undefined")
TELLS = macro("x", "Noctua.topic('garden/pond'); Noctua.state.kept")


@pytest.mark.parametrize("is_after_a_crash", [False, True])
def test_what_a_macro_remembers_of_an_earlier_definition_counts_as_read(is_after_a_crash: bool) -> None:
    world = alone()
    world.define(KEEPS)
    say(world, b"1")
    world.define(TELLS)
    if is_after_a_crash:
        world.crash()
    ada, cid = both(world, b"Noctua/x")
    say(world, b"2", OPEN)
    assert brought(ada) == [(b"Noctua/x", b"1")]
    assert brought(cid) == []


def test_a_macro_that_remembers_nothing_is_judged_by_what_it_reads_now() -> None:
    world = alone()
    world.define(KEEPS)
    say(world, b"1")
    world.run(world.broker.delete_macro("x", world.now))
    world.define(macro("x", "Noctua.topic('home/hall')"))
    world.define(macro("x", "Noctua.topic('garden/pond')"))
    _, cid = both(world, b"Noctua/x")
    say(world, b"2", OPEN)
    assert brought(cid) == [(b"Noctua/x", b"2")]


def test_what_a_macro_remembers_counts_at_other_nodes_too() -> None:
    street = street_of(2)
    street.define(1, KEEPS)
    street.live(2)
    say(street.nodes[0], b"1")
    street.live(2)
    street.define(1, TELLS)
    street.live(2)
    ada, cid = both(street.nodes[1], b"Noctua/x")
    say(street.nodes[0], b"2", OPEN)
    street.live(2)
    assert brought(ada) == [(b"Noctua/x", b"1")]
    assert brought(cid) == []
    assert street.macros(2).known["x"].record.read == ("home/hall",)
    assert street.macros(2).sources_of("Noctua/x") == ("garden/pond", "home/hall")
