"""Keep alive: how long a client may be silent [MQTT 5.0 §3.1.2.10, §3.2.2.3.14]."""

from tests.broker_packets import pingreq, publish
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, ended, only


@clauses(v4="3.1.2-24", v5="3.1.2-22 3.2.2-22")
def test_silence_of_one_and_a_half_keep_alives_ends_the_link_like_a_failure(version: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version, keep_alive=0)
    watcher.subscribe(b"w")
    client = world.client(b"c", version, keep_alive=10, will=b"w", will_payload=b"gone")
    assert "server_keep_alive" not in client.connack.properties
    world.wait(14)
    client.say(pingreq())
    world.wait(14)
    client.publish(b"t", b"any packet will do")
    world.wait(14.5)
    assert watcher.hear() == []
    world.wait(1)
    assert client.closed
    assert only(watcher.hear(), "PUBLISH").payload == b"gone"


@clauses(v4="3.1.2-24", v5="3.1.2-22")
def test_bytes_that_never_become_a_packet_do_not_keep_a_link_alive(version: int) -> None:
    world = World()
    client = world.client(b"c", version, keep_alive=10)
    whole = publish(b"t", b"x" * 100, version=version)
    for at in range(4):
        client.say(whole[at : at + 1])
        world.wait(5)
    assert client.closed


@clauses(v4="3.1.2-24", v5="3.1.2-22")
def test_without_a_keep_alive_silence_is_allowed(version: int) -> None:
    world = World()
    client = world.client(b"c", version, keep_alive=0)
    world.wait(200_000)
    assert not client.closed


@clauses(v5="3.1.2-22")
def test_the_servers_keep_alive_is_told_and_measured(version: int) -> None:
    world = World(max_keep_alive_s=10)
    for asked in (0, 11, 60):
        client = world.client(b"c", version, keep_alive=asked)
        assert client.connack.properties["server_keep_alive"] == 10
        world.wait(14.5)
        assert not client.closed
        world.wait(1)
        ended(client, client.hear(), 0x8D)
    assert "server_keep_alive" not in world.client(b"c", version, keep_alive=10).connack.properties
