"""A forwarder with management on it, and the packets a local application would send to it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from roost.forwarding.commands import CommandPolicy
from roost.forwarding.control import ControlParameters, ControlResponse
from roost.forwarding.face import FaceSpec
from roost.forwarding.forwarder import Forwarder
from roost.forwarding.management import Answer, Management
from roost.forwarding.requests import CommandWriter
from roost.forwarding.rib_commands import VerifyAnnouncement
from roost.forwarding.settings import ForwarderSettings
from roost.machine import Effect
from roost.naming import Component, Name
from roost.wire import Data, DigestSigner, LpPacket, decode_lp, encode_interest

NOW = 1_794_770_000_000_000_000
APP = 256
OTHER_APP = 257
REMOTE = 258
MULTICAST = 259

SPECS = {
    APP: FaceSpec("fd://20", "unix:///run/nfd/nfd.sock", local=True, persistency=1),
    OTHER_APP: FaceSpec("tcp4://127.0.0.1:40000", "tcp4://127.0.0.1:6363", local=True, persistency=1),
    REMOTE: FaceSpec("udp4://192.0.2.7:6363", "udp4://192.0.2.1:6363", local=False, mtu=8800, flags=4),
    MULTICAST: FaceSpec(
        "udp4://224.0.23.170:56363", "udp4://192.0.2.1:56363", local=False, link_type=1, persistency=2, mtu=1400
    ),
}


def content(packet: bytes) -> Data:
    """Open the Data of a packet, link headers or not."""
    return Data.decode(packet if packet[0] == 6 else decode_lp(packet).fragment)


@dataclass
class Managed:
    """Tables, machine, and a client's signer."""

    policy: CommandPolicy | None = None
    localhop: bool = False
    verify_announcement: VerifyAnnouncement | None = None
    now: int = NOW
    forwarder: Forwarder = field(init=False)
    machine: Management = field(init=False)
    writer: CommandWriter = field(init=False)
    effects: list[Effect] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.forwarder = Forwarder(ForwarderSettings(), random.Random(1), "roost test")
        self.forwarder.start(self.now)
        self.machine = Management(
            self.forwarder, self.policy, localhop=self.localhop, verify_announcement=self.verify_announcement
        )
        self.machine.start(self.now)
        for face, spec in SPECS.items():
            self.forwarder.open_face(face, spec, self.now)
        self.writer = CommandWriter(DigestSigner(), random.Random(2))

    def give(self, interest: bytes, face: int = APP) -> Answer:
        """Hand in an Interest as the forwarder does."""
        answer = self.machine.receive([LpPacket(interest, incoming_face=face).encode()], self.now)
        self.effects += answer.effects
        return answer

    def ask(self, module: str, verb: str, parameters: ControlParameters, face: int = APP) -> ControlResponse:
        """Send a signed command and read its answer."""
        answer = self.give(self.writer.write(module, verb, parameters, self.now), face)
        assert len(answer.packets) >= 1
        return ControlResponse.decode(content(answer.packets[0]).content)

    def fetch(self, dataset: str, *suffix: bytes) -> bytes:
        """Fetch a dataset as a client does, all segments."""
        name = Name.parse(f"/localhost/nfd/{dataset}")
        for part in suffix:
            name /= Component(part)
        first = content(self.give(encode_interest(name, can_be_prefix=True, must_be_fresh=True)).packets[0])
        assert first.content_type == 0
        assert first.final_block is not None
        whole = first.content
        for number in range(1, first.final_block.number() + 1):
            segment = first.name.prefix(-1) / Name.parse(f"/seg={number}").at(0)
            whole += content(self.give(encode_interest(segment)).packets[0]).content
        return whole

    def hops(self, prefix: str) -> dict[int, int]:
        """Return the FIB next hops of exactly this prefix."""
        return dict(self.forwarder.fib.get(Name.parse(prefix)))
