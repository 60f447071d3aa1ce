"""Client identifiers: which are welcome, which are made here, and what belongs to one [MQTT 5.0 §3.1.3.1]."""

import string

from tests.broker_packets import connect, props
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, ended, only


@clauses(v4="3.1.3-5 3.1.4-4", v5="3.1.3-5 3.1.4-5")
def test_identifiers_of_1_to_23_letters_and_digits_are_welcome(version: int) -> None:
    world = World()
    characters = (string.digits + string.ascii_letters).encode()
    for size in range(1, 24):
        world.client(characters[:size], version)
    for at in range(len(characters)):
        world.client(characters[at : at + 1] * 23, version)


@clauses(v4="3.1.3-6", v5="3.1.3-6 3.1.3-7 3.2.2-16")
def test_clients_without_an_identifier_get_one_each(version: int) -> None:
    world = World()
    clients = [world.client(b"", version) for _ in range(3)]
    assert not any(client.closed for client in clients)  # nobody took over from anybody
    for number, client in enumerate(clients, 1):
        client.subscribe(b"t", packet_id=number)
    world.client(b"c", version).publish(b"t", b"x")
    assert [[each.payload for each in client.hear()] for client in clients] == [[b"x"]] * 3
    if version == 5:
        given = [client.connack.properties["assigned_client_id"] for client in clients]
        assert len(set(given)) == 3
        assert all(given)


@clauses(v5="3.1.3-7 3.2.2-16")
def test_an_identifier_that_was_given_is_as_good_as_ones_own(version: int) -> None:
    world = World()
    client = world.client(b"", version, clean=False, properties=props(session_expiry=60))
    assert not client.connack.session_present
    given = client.connack.properties["assigned_client_id"]
    client.vanish()
    again = world.client(given, version, clean=False, properties=props(session_expiry=60))
    assert again.connack.session_present
    assert "assigned_client_id" not in again.connack.properties


@clauses(v4="3.1.3-7 3.1.3-8 3.2.2-4 3.2.2-5")
def test_no_identifier_and_no_clean_session_is_refused(version: int) -> None:
    link = World().link(version)
    assert link.say_raw(connect(b"", version=version, clean=False)) == b"\x20\x02\x00\x02"
    assert link.closed


@clauses(v4="3.1.3-9 3.2.2-5", v5="3.1.3-8 3.2.2-7")
def test_an_identifier_that_is_refused_ends_the_link(version: int) -> None:
    link = World(max_client_id_bytes=30).link(version)
    refusal = only(link.say(connect(b"c" * 31, version=version)), "CONNACK")
    assert refusal.reason == (0x85 if version == 5 else 2)
    assert link.closed


@clauses(v4="3.1.4-2", v5="3.1.4-3 3.14.4-1 3.14.4-2")
def test_a_second_link_of_a_client_takes_over(version: int) -> None:
    world = World()
    first = world.client(b"c", version)
    first.subscribe(b"t")
    second = world.client(b"c", version)
    ended(first, first.hear(), 0x8E)
    second.subscribe(b"t")
    world.client(b"p", version).publish(b"t", b"x")
    assert only(second.hear(), "PUBLISH").payload == b"x"
    assert first.hear() == []


@clauses(v4="3.1.3-2", v5="3.1.3-2")
def test_a_session_belongs_to_its_client_identifier(version: int) -> None:
    world = World()
    lasting = props(session_expiry=60) if version == 5 else b""
    first = world.client(b"first", version, clean=False, properties=lasting)
    first.subscribe((b"t", 1))
    first.vanish()
    second = world.client(b"second", version, clean=False, properties=lasting)
    assert not second.connack.session_present
    world.client(b"p", version).publish(b"t", b"x", qos=1, packet_id=1)
    assert second.hear() == []
    third = world.link(version)
    heard = third.say(connect(b"first", version=version, clean=False, properties=lasting))
    assert heard[0].session_present
    assert only(heard[1:], "PUBLISH").payload == b"x"
