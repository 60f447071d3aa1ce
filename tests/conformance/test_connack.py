"""CONNACK: who is let in, who is refused, and what comes before and behind it [MQTT 5.0 §3.1.4, §3.2]."""

from tests.broker_packets import connect, pingreq, props, publish, subscribe
from tests.conformance.clauses import clauses
from tests.conformance.talk import World, only

from roost.broker.effects import Verdict


@clauses(v4="3.2.2-4 3.2.2-5 3.2.0-1", v5="3.1.4-2 3.2.2-6 3.2.2-7 4.13.2-1")
def test_who_fails_the_password_is_told_and_cut_off(version: int) -> None:
    world = World()
    world.client(b"c", version, clean=False, properties=props(session_expiry=60) if version == 5 else b"").vanish()
    world.verdict = Verdict(0x86, why="no")
    link = world.link(version)
    refusal = only(link.say(connect(b"c", version=version, clean=False, user=b"u", password=b"wrong")), "CONNACK")
    assert refusal.reason == (0x86 if version == 5 else 4)
    assert refusal.raw[2] == 0  # no session present, though there is one
    assert link.closed


@clauses(v4="3.2.2-6", v5="3.2.2-8")
def test_whatever_the_reason_of_a_refusal_connack_has_a_code_for_it_or_does_not_come(version: int) -> None:
    for reason in range(0x80, 0xA3):
        world = World()
        world.verdict = Verdict(reason, why="no")
        link = world.link(version)
        heard = link.say(connect(b"c", version=version, user=b"u", password=b"p"))  # `seen` checks the code
        assert link.closed
        assert [each.kind for each in heard] in ([], ["CONNACK"])
        assert all(each.reason for each in heard)
        if version == 4 and reason in {0x80, 0x81, 0x82, 0x83, 0x90, 0x95, 0x99}:
            assert heard == []


@clauses(v4="3.1.4-5", v5="3.1.4-6")
def test_what_follows_a_refused_connect_is_not_looked_at(version: int) -> None:
    world = World()
    watcher = world.client(b"watcher", version)
    watcher.subscribe(b"#")
    behind = publish(b"t", b"x", version=version) + publish(b"t", b"y", retain=True, version=version)
    world.verdict = Verdict(0x87, why="no")
    heard = world.link(version).say(connect(b"c", version=version, user=b"u", password=b"p") + behind)
    assert [each.kind for each in heard] == ["CONNACK"]
    world.link(version).say(connect(b"c", version=version, flags=3) + behind)
    assert watcher.hear() == []
    watcher.subscribe(b"t")
    assert watcher.hear() == []


@clauses(v4="3.2.0-1", v5="3.2.0-1")
def test_nothing_comes_before_connack(version: int) -> None:
    world = World()
    world.judge = lambda _: None
    link = world.link(version)
    behind = subscribe(1, b"t", version=version) + publish(b"t", b"x", version=version) + pingreq()
    assert link.say(connect(b"c", version=version, user=b"u", password=b"p") + behind) == []
    world.run(world.broker.authenticated(link.link, Verdict(0, b"u"), world.now))
    assert [each.kind for each in link.hear()] == ["CONNACK", "SUBACK", "PUBLISH", "PINGRESP"]


@clauses(v4="3.2.0-1", v5="3.2.0-1 3.2.0-2")
def test_connack_comes_before_what_the_session_has_waiting(version: int) -> None:
    world = World()
    lasting = props(session_expiry=60) if version == 5 else b""
    client = world.client(b"c", version, clean=False, properties=lasting)
    client.subscribe((b"t", 1))
    client.vanish()
    world.client(b"p", version).publish(b"t", b"x", qos=1, packet_id=1)
    link = world.link(version)
    heard = link.say(connect(b"c", version=version, clean=False, properties=lasting))
    assert [each.kind for each in heard] == ["CONNACK", "PUBLISH"]


@clauses(v4="3.1.4-4 3.2.2-3", v5="3.1.4-5 3.2.2-1 3.2.2-3")
def test_an_accepted_connect_is_answered_with_success(version: int) -> None:
    link = World().link(version)
    answer = only(link.say(connect(b"c", version=version, clean=False)), "CONNACK")
    assert answer.raw[2:4] == b"\x00\x00"
    assert not link.closed


@clauses(v4="3.2.0-1 3.1.2-6", v5="3.2.0-1 3.1.2-4")
def test_connack_waits_until_the_old_session_is_gone_from_the_disk_and_everything_else_for_it(version: int) -> None:
    world = World(persistent=True, durability=1)
    lasting = props(session_expiry=60) if version == 5 else b""
    world.client(b"c", version, clean=False, properties=lasting).vanish()
    world.disk.late = True
    link = world.link(version)
    assert link.say(connect(b"c", version=version), subscribe(1, b"t", version=version), pingreq()) == []
    world.write()
    assert [each.kind for each in link.hear()] == ["CONNACK", "SUBACK", "PINGRESP"]
    assert not link.heard[0].session_present


@clauses(v4="3.2.2-6", v5="3.2.2-8 3.14.0-1")
def test_a_server_that_stops_says_so_to_those_it_has_not_let_in_by_a_code_of_connack(version: int) -> None:
    world = World()
    world.judge = lambda _: None
    link = world.link(version)
    assert link.say(connect(b"c", version=version, user=b"u", password=b"p")) == []
    world.run(world.broker.stop(world.now))
    assert link.closed
    assert [each.kind for each in link.hear()] in ([], ["CONNACK"])
