"""Whatever arrives on the internal face, management answers, is silent or rejects; it never raises and never grows."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.managed import APP, NOW, OTHER_APP, REMOTE, Managed

from roost.forwarding.control import ControlParameters
from roost.forwarding.status import FaceQuery
from roost.naming import Component, Name
from roost.wire import LpPacket, encode_interest

COMMANDS = [
    ("rib", "register"),
    ("rib", "unregister"),
    ("rib", "announce"),
    ("faces", "create"),
    ("faces", "update"),
    ("faces", "destroy"),
    ("fib", "add-nexthop"),
    ("fib", "remove-nexthop"),
    ("strategy-choice", "set"),
    ("strategy-choice", "unset"),
    ("cs", "config"),
    ("cs", "erase"),
]
DATASETS = ["status/general", "faces/list", "faces/channels", "fib/list", "rib/list", "strategy-choice/list", "cs/info"]

number = st.one_of(st.integers(0, 3), st.sampled_from([APP, OTHER_APP, REMOTE, 999, 2**32, 2**64 - 1]))
name = st.sampled_from(["/", "/a", "/a/b", "/localhost/nfd", "/localhost/nfd/strategy/multicast/v=5"]).map(Name.parse)
uri = st.sampled_from(["udp4://192.0.2.7:6363", "tcp4://127.0.0.1:1", "udp4://h:1", "", "\U0001f426://"])
parameters = st.builds(
    ControlParameters,
    **{
        field.attribute: st.one_of(
            st.none(), {"number": number, "text": uri, "name": name, "wrapped name": name}.get(field.kind, st.none())
        )
        for field in ControlParameters.FIELDS
    },
)
face = st.sampled_from([APP, OTHER_APP, REMOTE, 999])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(COMMANDS), parameters, face), max_size=12))
def test_any_parameters_in_any_order(commands: list[tuple[tuple[str, str], ControlParameters, int]]) -> None:
    managed = Managed()
    for step, ((module, verb), asked, ingress) in enumerate(commands):
        managed.now = NOW + step
        managed.give(managed.writer.write(module, verb, asked, managed.now), ingress)
        managed.machine.tick(managed.now)
        hops = {hop for _, next_hops in managed.forwarder.fib.entries() for hop, _ in next_hops}
        assert hops <= managed.forwarder.faces.keys()
    assert dict(managed.forwarder.fib.get(Name.parse("/localhost/nfd"))).get(1) is not None
    for dataset in DATASETS:
        managed.fetch(dataset)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mutated_packets(data: st.DataObject) -> None:
    managed = Managed()
    (module, verb) = data.draw(st.sampled_from(COMMANDS))
    wires = [
        managed.writer.write(module, verb, data.draw(parameters), NOW),
        encode_interest(
            Name.parse("/localhost/nfd/faces/query") / Component(FaceQuery(scope=1).encode()), can_be_prefix=True
        ),
        encode_interest(Name.parse("/localhost/nfd/faces/events"), can_be_prefix=True),
    ]
    packet = bytearray(LpPacket(data.draw(st.sampled_from(wires)), incoming_face=APP).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        packet[data.draw(st.integers(0, len(packet) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(packet)))
    managed.machine.receive([bytes(packet), bytes(packet[:cut])], NOW)
