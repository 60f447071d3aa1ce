"""Control messages: their bytes, and what an hICN forwarder does with them."""

from __future__ import annotations

from random import Random

import pytest

from roost.errors import BadPacket
from roost.hicn import Data, Form, HicnName, Interest, Prefix, encode
from roost.hicn.control import Control, Verb, decode_control, read_reply, reply
from roost.hicn.face import Arrived, CloseFace, HicnFaceSpec, Send, introduces
from roost.hicn.forwarder import HicnForwarder, HicnSettings
from roost.hicn.strategy import StrategyKind
from roost.machine import Effect, Rejected

PREFIX = Prefix.parse("abcd::/16")
ASK = encode(Interest(HicnName.parse("abcd::1|1")))
APP, AFAR = 1, 2
ROUTE = Control(Verb.ADD_ROUTE, 7, PREFIX, 3)


def test_a_route_is_added_with_these_bytes() -> None:
    assert ROUTE.encode() == (
        bytes.fromhex("c0080100 07000000") + b"SELF" + bytes(12) + b"\xab\xcd" + bytes(14) + bytes([3, 0, 10, 16])
    )
    assert Control(Verb.REMOVE_CONNECTION, 1).encode() == bytes.fromhex("c0050100 01000000") + b"SELF" + bytes(12)


@pytest.mark.parametrize(
    "command",
    [
        ROUTE,
        Control(Verb.REMOVE_ROUTE, 8, PREFIX),
        Control(Verb.REMOVE_CONNECTION, 9),
        Control(Verb.CLEAR_CACHE, 10),
        Control(Verb.SET_STRATEGY, 11, PREFIX, strategy=StrategyKind.REPLICATION),
    ],
)
def test_what_is_written_is_read(command: Control) -> None:
    wire = command.encode()
    assert decode_control(wire) == command
    assert read_reply(reply(wire, done=True)) == (command.sequence, True)
    assert read_reply(reply(wire, done=False)) == (command.sequence, False)


WIRE = ROUTE.encode()


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        WIRE[:7],
        WIRE[:-1],
        WIRE + b"x",
        b"\xc1" + WIRE[1:],
        WIRE[:1] + b"\x63" + WIRE[2:],
        WIRE[:2] + b"\2" + WIRE[3:],
        WIRE[:8] + b"eth0" + WIRE[12:],
        WIRE[:-2] + b"\2" + WIRE[-1:],
        WIRE[:-1] + b"\xff",
        WIRE[:-1] + b"\x08",
    ],
)
def test_what_is_no_command_is_refused(wire: bytes) -> None:
    with pytest.raises(BadPacket):
        decode_control(wire)


def test_what_cannot_be_written_is_refused() -> None:
    for bad in (
        Control(Verb.ADD_ROUTE, 1),
        Control(Verb.SET_STRATEGY, 1, PREFIX),
        Control(Verb.ADD_ROUTE, 1 << 32, PREFIX),
        Control(Verb.ADD_ROUTE, 1, PREFIX, -1),
    ):
        with pytest.raises(BadPacket):
            bad.encode()
    with pytest.raises(BadPacket):
        read_reply(b"\xc0" + bytes(7))


def forwarder(**settings: int) -> HicnForwarder:
    machine = HicnForwarder(HicnSettings(**settings), Random(1))  # type: ignore[arg-type]
    machine.open_face(APP, HicnFaceSpec("app", local=True))
    machine.open_face(AFAR, HicnFaceSpec("afar", local=False))
    return machine


def say(machine: HicnForwarder, face: int, *wires: bytes) -> list[Effect]:
    return machine.receive(Arrived(face, list(wires)), 1)


def test_an_application_registers_and_goes() -> None:
    machine = forwarder()
    assert say(machine, APP, WIRE) == [Send(APP, [reply(WIRE, done=True)])]
    assert say(machine, AFAR, ASK) == [Send(APP, [ASK])]
    goodbye = Control(Verb.REMOVE_CONNECTION, 8).encode()
    assert say(machine, APP, goodbye, ASK, WIRE) == [Send(APP, [reply(goodbye, done=True)]), CloseFace(APP)]
    assert len(machine.fib) == 0
    assert APP not in machine.faces
    assert say(machine, AFAR, ASK) == []


def test_a_route_is_removed_once() -> None:
    machine = forwarder()
    say(machine, APP, WIRE)
    remove = Control(Verb.REMOVE_ROUTE, 8, PREFIX).encode()
    assert say(machine, APP, remove, remove) == [Send(APP, [reply(remove, done=True), reply(remove, done=False)])]
    assert len(machine.fib) == 0


def test_commands_from_afar_and_those_beyond_the_bound_are_refused() -> None:
    machine = forwarder(route_limit=0)
    for face in (AFAR, APP):
        assert say(machine, face, WIRE) == [Send(face, [reply(WIRE, done=False)])]
    assert machine.dropped == {"command from afar": 1}


def test_a_command_that_cannot_be_read_is_answered_and_rejected() -> None:
    refusal, rejected = say(forwarder(), APP, WIRE[:-1])
    assert refusal == Send(APP, [reply(WIRE, done=False)])
    assert isinstance(rejected, Rejected)
    (alone,) = say(forwarder(), APP, b"\xc0")
    assert isinstance(alone, Rejected)


def test_a_strategy_is_set_for_a_prefix_and_one_that_is_not_here_is_refused() -> None:
    machine = forwarder()
    machine.open_face(3, HicnFaceSpec("other app", local=True))
    replicate = Control(Verb.SET_STRATEGY, 1, Prefix.parse("abcd::/17"), strategy=StrategyKind.REPLICATION).encode()
    assert len(replicate) == 8 + 200
    assert say(machine, APP, replicate) == [Send(APP, [reply(replicate, done=True)])]
    for face in (APP, 3):
        machine.add_route(PREFIX, face)
    assert say(machine, AFAR, ASK) == [Send(APP, [ASK]), Send(3, [ASK])]
    assert machine.strategies.lookup(b"\xab\xcd\x80" + bytes(13)) is StrategyKind.RANDOM
    probing = replicate[:26] + b"\5" + replicate[27:]
    assert say(machine, APP, probing)[0] == Send(APP, [reply(probing, done=False)])


def test_interests_and_commands_introduce_a_peer_and_data_does_not() -> None:
    name = HicnName.parse("abcd::1|1")
    for form in Form:
        assert introduces(encode(Interest(name, form=form)))
        assert not introduces(encode(Data(name, b"x", form=form)))
    assert introduces(WIRE)
    for bad in (b"", WIRE[:-1], ASK[:-1]):
        with pytest.raises(BadPacket):
            introduces(bad)


def test_a_face_that_is_routed_to_is_known_as_such() -> None:
    machine = forwarder()
    assert not machine.fib.leads_to(APP)
    say(machine, APP, WIRE, WIRE)
    assert machine.fib.leads_to(APP)
    say(machine, APP, Control(Verb.REMOVE_ROUTE, 8, PREFIX).encode())
    assert not machine.fib.leads_to(APP)
