"""The application's side of a face: matching, retransmission, Nacks, serving, registration, reconnect, fragments."""

from __future__ import annotations

import random

import pytest

from roost.errors import Backpressure
from roost.forwarding.control import ControlParameters, ControlResponse
from roost.forwarding.endpoint import Endpoint
from roost.forwarding.endpoint_effects import NACKED, OVERFLOWED, TIMED_OUT, Asked, Delivered, Failed
from roost.forwarding.face import Arrived, FaceSpec, Send
from roost.forwarding.pending import Question
from roost.forwarding.registrar import LOST, REFUSED, REGISTERED, REGISTERING, RegistrationChanged
from roost.machine import MS, SECOND, Effect, Rejected
from roost.naming import Component, Name
from roost.naming.component import IMPLICIT_DIGEST
from roost.wire import Data, DigestSigner, Interest, LpPacket, decode_lp, encode_interest, make_data
from roost.wire.lp import CONGESTION, DUPLICATE, NO_ROUTE, nack

STREAM = FaceSpec("unix:///test.sock", "fd://1", local=True)
LOOPBACK = FaceSpec("udp4://127.0.0.1:6363", "udp4://127.0.0.1:50000", local=True, mtu=8800)
DATAGRAM = FaceSpec("udp4://192.0.2.1:6363", "udp4://192.0.2.2:6363", local=False, mtu=1400)
A = Name.parse("/a")
SIGNER = DigestSigner()


def endpoint(spec: FaceSpec = STREAM, **limits: int) -> Endpoint:
    made = Endpoint(SIGNER, random.Random(1), **limits)
    made.connected(256, spec, 0)
    return made


def sent(effects: list[Effect]) -> list[bytes]:
    return [packet for effect in effects if isinstance(effect, Send) for packet in effect.packets]


def interests(effects: list[Effect]) -> list[Interest]:
    return [Interest.decode(packet) for packet in sent(effects)]


def others(effects: list[Effect]) -> list[Effect]:
    return [effect for effect in effects if not isinstance(effect, Send)]


def arrive(machine: Endpoint, *packets: bytes, now: int = MS) -> list[Effect]:
    return machine.receive(Arrived(256, list(packets)), now)


def data(name: Name, content: bytes = b"x") -> Data:
    return make_data(name, content, SIGNER)


def test_an_exact_question_is_answered_by_its_name_only() -> None:
    machine = endpoint()
    (interest,) = interests(machine.ask([(1, Question(A))], 0))
    assert interest.name == A
    assert interest.nonce
    assert others(arrive(machine, data(A / "b").wire)) == []
    assert machine.unsolicited == 1
    assert others(arrive(machine, data(A).wire)) == [Delivered(1, data(A), congested=False)]
    assert len(machine.pending) == 0


def test_can_be_prefix_is_answered_by_anything_under_it() -> None:
    machine = endpoint()
    machine.ask([(1, Question(A, can_be_prefix=True)), (2, Question(Name.parse("/b")))], 0)
    (effect,) = others(arrive(machine, data(A / "b" / "c").wire))
    assert isinstance(effect, Delivered)
    assert effect.ticket == 1


def test_an_implicit_digest_is_answered_by_that_packet_only() -> None:
    machine = endpoint()
    right, wrong = data(A, b"right"), data(A, b"wrong")
    machine.ask([(1, Question(A / Component(right.implicit_digest, IMPLICIT_DIGEST)))], 0)
    assert others(arrive(machine, wrong.wire)) == []
    assert others(arrive(machine, right.wire)) == [Delivered(1, right, congested=False)]


def test_one_data_answers_everyone_who_asked_for_it() -> None:
    machine = endpoint()
    machine.ask(
        [(1, Question(A)), (2, Question(A)), (3, Question(Name(), can_be_prefix=True, wire=encode_interest(A)))], 0
    )
    found = others(arrive(machine, data(A).wire))
    assert {effect.ticket for effect in found if isinstance(effect, Delivered)} == {1, 2, 3}


def test_congestion_marks_are_handed_on() -> None:
    machine = endpoint()
    machine.ask([(1, Question(A))], 0)
    marked = LpPacket(data(A).wire, congestion_mark=1).encode()
    assert others(arrive(machine, marked)) == [Delivered(1, data(A), congested=True)]


def test_an_unanswered_question_is_sent_again_with_a_fresh_nonce_then_fails_saying_where() -> None:
    machine = endpoint()
    (first,) = interests(machine.ask([(1, Question(A, lifetime_ms=100, tries=2))], 0))
    assert machine.deadline() == 100 * MS
    (second,) = interests(machine.tick(100 * MS))
    assert first.nonce != second.nonce
    (failed,) = machine.tick(200 * MS)
    assert failed == Failed(
        1, TIMED_OUT, "/a: no answer in 200 ms; sent 2 times over unix:///test.sock, nothing came back"
    )
    assert machine.deadline() is None


def test_a_question_that_never_left_says_so() -> None:
    machine = Endpoint(SIGNER, random.Random(1))
    assert machine.ask([(1, Question(A, lifetime_ms=100))], 0) == []
    (failed,) = machine.tick(100 * MS)
    assert isinstance(failed, Failed)
    assert "it never left this machine" in failed.reason


def test_what_is_pending_goes_out_when_the_face_is_up_again() -> None:
    machine = endpoint()
    machine.ask([(1, Question(A))], 0)
    machine.disconnected("unplugged")
    (again,) = interests(machine.connected(257, STREAM, MS))
    assert again.name == A


def test_no_route_fails_at_once() -> None:
    machine = endpoint()
    (packet,) = sent(machine.ask([(1, Question(A, tries=3))], 0))
    (failed,) = others(arrive(machine, nack(packet, NO_ROUTE)))
    assert failed == Failed(1, NACKED, "/a was refused by a Nack from unix:///test.sock: no route", NO_ROUTE)


@pytest.mark.parametrize("reason", [CONGESTION, DUPLICATE])
def test_congestion_and_duplicates_are_waited_out_then_reported(reason: int) -> None:
    machine = endpoint()
    (packet,) = sent(machine.ask([(1, Question(A, tries=2))], 0))
    assert others(arrive(machine, nack(packet, reason))) == []
    again = machine.deadline()
    assert again is not None
    assert MS < again < SECOND
    (packet,) = sent(machine.tick(again))
    (failed,) = others(arrive(machine, nack(packet, reason), now=again))
    assert isinstance(failed, Failed)
    assert failed.nack == reason


def test_a_nack_with_a_foreign_nonce_is_passed_over() -> None:
    machine = endpoint()
    machine.ask([(1, Question(A))], 0)
    assert arrive(machine, nack(encode_interest(A, nonce=b"fake"), NO_ROUTE)) == []
    assert 1 in machine.pending


def test_cancelling_takes_the_question_back() -> None:
    machine = endpoint()
    machine.ask([(1, Question(A, can_be_prefix=True))], 0)
    assert machine.cancel(1)
    assert not machine.cancel(1)
    assert others(arrive(machine, data(A).wire)) == []
    assert machine.deadline() is None


def test_pending_questions_are_bounded() -> None:
    machine = endpoint(max_pending=2)
    effects = machine.ask([(ticket, Question(A)) for ticket in (1, 2, 3)], 0)
    (failed,) = others(effects)
    assert isinstance(failed, Failed)
    assert (failed.ticket, failed.kind) == (3, OVERFLOWED)
    assert len(sent(effects)) == 2


def test_timers_of_cancelled_questions_do_not_pile_up() -> None:
    machine = endpoint()
    for ticket in range(1, 2000):
        machine.ask([(ticket, Question(A))], 0)
        machine.cancel(ticket)
    assert machine.pending._timers.entries <= 100


def test_interests_go_to_the_longest_served_prefix_with_their_token() -> None:
    machine = endpoint()
    machine.serve(A)
    machine.serve(A / "b")
    wire = encode_interest(A / "b" / "c", nonce=b"1234")
    (asked,) = arrive(machine, LpPacket(wire, pit_token=b"tok").encode())
    assert isinstance(asked, Asked)
    assert (asked.prefix, asked.token) == (A / "b", b"tok")
    (reply,) = sent(machine.reply([(data(A / "b" / "c").wire, asked.token)], MS))
    assert decode_lp(reply).pit_token == b"tok"
    assert arrive(machine, encode_interest(Name.parse("/z"))) == []
    assert machine.unserved == 1
    machine.stop_serving(A / "b")
    (asked,) = arrive(machine, wire)
    assert isinstance(asked, Asked)
    assert asked.prefix == A


def test_served_prefixes_are_bounded() -> None:
    machine = endpoint(max_served=1)
    machine.serve(A)
    with pytest.raises(Backpressure):
        machine.serve(Name.parse("/b"))


@pytest.mark.parametrize("packet", [b"", b"\x07\x00", b"\x06\x05abc", b"\x64\x02\x50\x00", bytes(9000)])
def test_garbage_is_rejected_with_its_sender_and_costs_nobody_else(packet: bytes) -> None:
    machine = endpoint()
    machine.ask([(1, Question(A))], 0)
    rejected, delivered = arrive(machine, packet, data(A).wire)
    assert isinstance(rejected, Rejected)
    assert rejected.source == "unix:///test.sock"
    assert len(rejected.sample) <= 64
    assert isinstance(delivered, Delivered)


def test_large_packets_are_cut_and_put_together_on_a_datagram_face() -> None:
    there, here = endpoint(DATAGRAM), endpoint(DATAGRAM)
    big = data(A, bytes(5000))
    pieces = sent(there.reply([(big.wire, b"")], 0))
    assert len(pieces) > 3
    assert max(map(len, pieces)) <= 1400
    here.ask([(1, Question(A))], 0)
    assert others(arrive(here, *reversed(pieces))) == [Delivered(1, big, congested=False)]


# -- registration


def answer(command: bytes, code: int, text: str = "") -> bytes:
    return make_data(Interest.decode(command).name, ControlResponse(code, text).encode(), SIGNER).wire


def changes(effects: list[Effect]) -> list[tuple[str, str]]:
    return [(str(effect.prefix), effect.state) for effect in effects if isinstance(effect, RegistrationChanged)]


def test_a_prefix_is_registered_by_a_signed_command() -> None:
    machine = endpoint()
    effects = machine.register(A, 5 * SECOND)
    assert changes(effects) == [("/a", REGISTERING)]
    (command,) = sent(effects)
    interest = Interest.decode(command)
    assert str(interest.name).startswith("/localhost/nfd/rib/register/h%05%07%03%08%01a/params-sha256=")
    assert interest.signature is not None
    assert interest.signature.time_ms == 5000
    assert changes(arrive(machine, answer(command, 200, "OK"))) == [("/a", REGISTERED)]


def test_a_remote_forwarder_is_asked_under_localhop() -> None:
    machine = endpoint(DATAGRAM)
    (command,) = sent(machine.register(A, 0))
    assert str(Interest.decode(command).name).startswith("/localhop/nfd/rib/register/")


def test_commands_go_one_at_a_time_with_increasing_times() -> None:
    machine = endpoint()
    (first,) = sent(machine.register(A, 0))
    assert sent(machine.register(Name.parse("/b"), 0)) == []
    effects = arrive(machine, answer(first, 200), now=0)
    (second,) = sent(effects)
    times = [Interest.decode(wire).signature for wire in (first, second)]
    assert times[0] is not None
    assert times[1] is not None
    assert (times[1].time_ms or 0) > (times[0].time_ms or 0)


def test_a_403_is_tried_again_before_it_is_believed() -> None:
    machine = endpoint()
    (command,) = sent(machine.register(A, 0))
    effects: list[Effect] = []
    now = 0
    for _ in range(4):
        effects = arrive(machine, answer(command, 403, "authorization rejected"), now=now)
        if changes(effects):
            break
        now = machine.deadline() or 0
        (command,) = sent(machine.tick(now))
    assert others(effects) == [RegistrationChanged(A, REFUSED, "authorization rejected", 403)]
    assert machine.deadline() is None


def test_a_command_without_answer_is_sent_again_later_each_time() -> None:
    machine = endpoint()
    machine.register(A, 0)
    pauses: list[int] = []
    now = 0
    while len(pauses) < 4:
        expires = machine.deadline() or 0
        machine.tick(expires)
        now = machine.deadline() or 0
        pauses.append(now - expires)
        assert len(sent(machine.tick(now))) == 1
    assert pauses == sorted(pauses)
    assert pauses[-1] > pauses[0]


def test_prefixes_are_lost_with_the_face_and_registered_again_with_the_next() -> None:
    machine = endpoint()
    (command,) = sent(machine.register(A, 0))
    arrive(machine, answer(command, 200))
    assert changes(machine.disconnected("unplugged")) == [("/a", LOST)]
    effects = machine.connected(257, STREAM, SECOND)
    assert changes(effects) == [("/a", REGISTERING)]
    (command,) = sent(effects)
    assert changes(arrive(machine, answer(command, 200), now=SECOND)) == [("/a", REGISTERED)]


def test_unregistering_sends_a_command_and_forgets() -> None:
    machine = endpoint()
    (command,) = sent(machine.register(A, 0))
    arrive(machine, answer(command, 200))
    (command,) = sent(machine.unregister(A, SECOND))
    assert "/rib/unregister/" in str(Interest.decode(command).name)
    arrive(machine, answer(command, 200), now=SECOND)
    assert not machine.registrar.registrations


def test_a_prefix_given_up_while_it_is_being_registered_is_taken_back() -> None:
    machine = endpoint()
    (command,) = sent(machine.register(A, 0))
    assert sent(machine.unregister(A, 0)) == []
    (command,) = sent(arrive(machine, answer(command, 200)))
    assert "/rib/unregister/" in str(Interest.decode(command).name)
    arrive(machine, answer(command, 200))
    assert not machine.registrar.registrations


def parameters(command: bytes) -> tuple[str, ControlParameters]:
    """The first component of a command's name, and what it asks."""
    name = Interest.decode(command).name
    return str(name.at(0)), ControlParameters.decode(name.at(4).value)


def test_over_a_stream_a_registration_lasts_as_long_as_the_face() -> None:
    machine = endpoint()
    (command,) = sent(machine.register(A, 0))
    assert parameters(command) == ("localhost", ControlParameters(name=A))
    arrive(machine, answer(command, 200))
    assert machine.deadline() is None


@pytest.mark.parametrize("spec", [LOOPBACK, DATAGRAM])
def test_over_datagrams_a_registration_ends_by_itself_and_is_renewed_in_time(spec: FaceSpec) -> None:
    machine = endpoint(spec)
    effects = machine.register(A, 0)
    now = 0
    for news in ([("/a", REGISTERED)], [], []):  # a renewal is none
        (command,) = sent(effects)
        _, asked = parameters(command)
        assert asked.expiration_ms == 60_000
        assert changes(arrive(machine, answer(command, 200), now=now)) == news
        due = machine.deadline() or 0
        assert 13 * SECOND < due - now <= 15 * SECOND
        effects = machine.tick(now := due)


def test_a_forwarder_that_has_forgotten_us_over_datagrams_is_found_out_and_asked_again() -> None:
    machine = endpoint(DATAGRAM)
    (command,) = sent(machine.register(A, 0))
    arrive(machine, answer(command, 200))
    now = machine.deadline() or 0
    (renewal,) = sent(machine.tick(now))
    now = machine.deadline() or 0
    assert changes(machine.tick(now)) == [("/a", REGISTERING)]  # it is gone
    now = machine.deadline() or 0
    (again,) = sent(machine.tick(now))
    assert Interest.decode(again).name != Interest.decode(renewal).name
    assert changes(arrive(machine, answer(again, 200), now=now)) == [("/a", REGISTERED)]


def test_udp_within_a_machine_is_asked_under_localhop_then_localhost_and_what_was_answered_stays() -> None:
    machine = endpoint(LOOPBACK)
    (command,) = sent(machine.register(A, 0))
    assert parameters(command)[0] == "localhop"
    (command,) = sent(arrive(machine, nack(command, NO_ROUTE)))  # at once: a forwarder without /localhop
    assert parameters(command)[0] == "localhost"
    effects = arrive(machine, answer(command, 200))
    assert changes(effects) == [("/a", REGISTERED)]
    (command,) = sent(machine.register(Name.parse("/b"), MS))
    assert parameters(command)[0] == "localhost"
    now = machine.deadline() or 0
    (command,) = sent(machine.tick(now))  # no answer: it may be another forwarder by now
    assert parameters(command)[0] == "localhop"


def test_a_failure_under_a_prefix_served_here_names_its_registration() -> None:
    machine = endpoint()
    (command,) = sent(machine.register(A, 0))
    arrive(machine, answer(command, 404, "no such thing"))
    (packet,) = sent(machine.ask([(1, Question(A / "b"))], 0))
    (failed,) = others(arrive(machine, nack(packet, NO_ROUTE)))
    assert isinstance(failed, Failed)
    assert "its prefix /a is served here, but its registration is refused (no such thing)" in failed.reason
