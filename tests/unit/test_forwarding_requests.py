"""The client's side: what it writes is what the sheet shows, and management understands it."""

from __future__ import annotations

import random

from tests.managed import APP, NOW, REMOTE, Managed, content

from roost.forwarding.control import ControlParameters
from roost.forwarding.requests import CommandWriter, dataset_name, read_response
from roost.forwarding.status import FaceQuery
from roost.machine import MS
from roost.naming import Name
from roost.wire import DigestSigner, Interest


def test_times_strictly_increase_whatever_the_clock_does() -> None:
    writer = CommandWriter(DigestSigner(), random.Random(1))
    times = []
    for now in (NOW, NOW, NOW + 10 * MS, NOW - 5 * MS, NOW + 100 * MS):
        signature = Interest.decode(writer.unregister(Name.parse("/a"), now)).signature
        assert signature is not None
        assert signature.nonce is not None
        assert len(signature.nonce) == 8
        times.append((signature.time_ms or 0) - NOW // MS)
    assert times == [0, 1, 10, 11, 100]


def test_commands_look_as_in_the_sheet() -> None:
    interest = Interest.decode(CommandWriter(DigestSigner(), random.Random(1)).register(Name.parse("/app"), NOW))
    assert str(interest.name.prefix(4)) == "/localhost/nfd/rib/register"
    assert interest.parameters == b""
    assert (interest.lifetime_ms, interest.can_be_prefix, interest.must_be_fresh) == (10_000, False, False)
    assert ControlParameters.decode(interest.name.at(4).value) == ControlParameters(
        name=Name.parse("/app"), origin=0, cost=0, flags=1
    )


def test_management_understands_every_command() -> None:
    managed = Managed()
    writer, name = managed.writer, Name.parse("/a")
    strategy = Name.parse("/localhost/nfd/strategy/multicast")
    for wire in (
        writer.register(name, NOW, face=REMOTE, cost=3, expiration_ms=1000),
        writer.unregister(name, NOW, face=REMOTE),
        writer.update_face(0, 1, 1, NOW),
        writer.set_strategy(name, strategy, NOW),
        writer.unset_strategy(name, NOW),
        writer.destroy_face(REMOTE, NOW),
    ):
        assert read_response(content(managed.give(wire, APP).packets[0])).code == 200
    assert len(managed.give(writer.create_face("udp4://192.0.2.9:6363", NOW, mtu=1400)).effects) == 1


def test_dataset_names() -> None:
    assert str(dataset_name("faces/list")) == "/localhost/nfd/faces/list"
    assert dataset_name("faces/query", FaceQuery(face=1)).at(-1).value.hex() == "9603690101"
