"""A way from this node to another one, kept up: a face, routes through it, and prefixes registered at its far end.

The face is dialled until it answers, and again whenever it drops (`roost.host.server`). Routes through it stay with it;
while it is down the forwarder uses others. For routes over several uplinks, the cheapest first, choose the strategy
`fail-over` for the prefix (`roost.forwarding.strategy_failover`): TCP notices within a minute that the other end has
vanished without a word, the strategy after a few Interests.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from roost.forwarding.face import FaceSpec
from roost.forwarding.registrar import REFUSED, REGISTERED, RegistrationChanged
from roost.host.address import parse_uri
from roost.host.server import Server
from roost.machine import Effect
from roost.naming import Name
from roost.node.peering import INSIDE, Peering
from roost.wire import DigestSigner, Signer


class Uplink:
    """One face of a node to another node; made and begun inside the server's event loop."""

    def __init__(
        self,
        server: Server,
        uri: str,
        *,
        routes: Sequence[Name] = (),
        cost: int = 0,
        registers: Sequence[Name] | Mapping[Name, Signer] = (),
        signer: Signer | None = None,
    ) -> None:
        """Route `routes` through the face, have the other node route `registers` to us; raises `BadConfig`.

        Registrations are signed by `signer`, or each by the one that `registers` names.
        """
        self.face = 0  # 0 until it was up for the first time
        self.up: Final = asyncio.Event()
        self.registered: Final = asyncio.Event()  # set while all of `registers` are
        self.settled: Final = asyncio.Event()  # set while the other node has said yes or no to each of them
        self.uri: Final = uri
        self._server: Final = server
        self._address: Final = parse_uri(uri)
        self._routes: Final = tuple(routes)
        self._cost: Final = cost
        self._missing: Final = set(registers)  # bound of both: what was registered
        self._unsettled: Final = set(registers)
        randomness = random.Random(secrets.randbits(128))  # noqa: S311  nonces are no secrets
        signers = registers if isinstance(registers, Mapping) else {}
        self._peering: Final = Peering(signer or DigestSigner(), randomness, tuple(registers), signers)

    def start(self) -> None:
        """Begin to dial."""
        self._server.attach_application(self._peering, self._told, INSIDE)
        self._server.keep(self._address, self)

    def register(self, prefix: Name) -> None:
        """Have the other node route one more prefix to us, now or as soon as it is there."""
        self._missing.add(prefix)
        self._unsettled.add(prefix)
        self._server.act(self._peering, self._peering.register(prefix, self._server.clock()))
        self._note_registered()

    def unregister(self, prefix: Name) -> None:
        """Have it do so no longer."""
        self._missing.discard(prefix)
        self._unsettled.discard(prefix)
        self._server.act(self._peering, self._peering.unregister(prefix, self._server.clock()))
        self._note_registered()

    # -- the server's watcher

    def face_up(self, face: int, spec: FaceSpec, now: int) -> None:
        """The other node is there, or there again."""
        if face != self.face:
            self.face = face
            for prefix in self._routes:  # not for what is below and somebody here serves: that would come back
                self._server.add_route(prefix, face, self._cost, inherited=False)
        self._server.act(self._peering, self._peering.linked(face, spec, now))
        self.up.set()
        self._note_registered()

    def face_down(self, face: int, reason: str, now: int) -> None:  # noqa: ARG002  a watcher's shape
        """It is gone, for a while."""
        self.up.clear()
        self._note_registered()
        self._server.act(self._peering, self._peering.unlinked(reason))

    def _told(self, effect: Effect, now: int) -> None:  # noqa: ARG002  what applications tell comes with the time
        if not isinstance(effect, RegistrationChanged) or effect.prefix not in self._peering.prefixes:
            return
        (self._missing.discard if effect.state == REGISTERED else self._missing.add)(effect.prefix)
        settled = effect.state in {REGISTERED, REFUSED}
        (self._unsettled.discard if settled else self._unsettled.add)(effect.prefix)
        if effect.state == REFUSED:
            refusal = (self._address, effect.prefix, effect.reason, effect.code)
            self._server.journal.warn("%s will not send us %s: %s (code %d); its policy has to allow it", *refusal)
        self._note_registered()

    def _note_registered(self) -> None:
        up = self.up.is_set()
        (self.registered.set if up and not self._missing else self.registered.clear)()
        (self.settled.set if up and not self._unsettled else self.settled.clear)()
