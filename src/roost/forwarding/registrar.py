"""The prefixes an application wants its forwarder to send it, and the state of each [NFD management, RIB].

    add ──▶ registering ──200──▶ registered ──face down──▶ lost ──face up──▶ registering
                 │  └──no answer──▶ asked again, later each time
                 └──any other answer──▶ refused, with the code and text of the forwarder

Commands go out one at a time with strictly increasing times, because a forwarder refuses a time that is not newer than
the last of the same key; a 403 may just mean that another program with the same key was faster, so it is tried again.

Over datagrams nobody is told that the forwarder has gone or was started anew. There a registration ends by itself
(ExpirationPeriod) unless it is renewed, which is done four times as often; a renewal without answer makes it
`registering` again. This is what NDNts does [nfd-management §3].

This is the book-keeping only: `roost.forwarding.endpoint` sends the commands and hands in the answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.errors import Backpressure, BadPacket
from roost.forwarding.control import OK, ControlParameters, ControlResponse
from roost.forwarding.requests import CommandWriter
from roost.machine import MS, SECOND, Effect, Randomness
from roost.naming import Name
from roost.wire import Signer

REGISTERING: Final = "registering"
REGISTERED: Final = "registered"
LOST: Final = "lost"
REFUSED: Final = "refused"

LOCALHOST: Final = Name.parse("/localhost/nfd/rib")
LOCALHOP: Final = Name.parse("/localhop/nfd/rib")

FORBIDDEN: Final = 403
COMMAND_LIFETIME_MS: Final = 2000
RENEW_NS: Final = 15 * SECOND  # how long a forwarder's restart may go unnoticed
MIN_EXPIRATION_MS: Final = 60_000

_FORBIDDEN_TRIES: Final = 4
_FIRST_PAUSE: Final = 100 * MS
_LAST_PAUSE: Final = 10 * SECOND


def scopes(*, local: bool, datagram: bool) -> tuple[Name, ...]:
    """Under which names a forwarder takes `rib` commands from this face, the likeliest first.

    A stream from this machine has local scope with every forwarder, so /localhost it is; from another machine only
    /localhop can do. UDP within this machine is in between: NFD never gives it local scope, drops /localhost there, and
    answers /localhop if its operator has enabled localhop_security. Our node answers both. /localhop goes first,
    because everyone answers or nacks it at once, while /localhost costs a time-out with NFD; it is tried second, for
    forwarders that hold loopback UDP to be local and have no /localhop.
    """
    if not local:
        return (LOCALHOP,)
    return (LOCALHOP, LOCALHOST) if datagram else (LOCALHOST,)


@dataclass(frozen=True, slots=True)
class RegistrationChanged(Effect):
    """A prefix has changed its state; `reason` says why it was lost or refused, `code` is the forwarder's."""

    prefix: Name
    state: str
    reason: str = ""
    code: int = 0


class Registration:
    """One prefix."""

    __slots__ = ("at", "code", "prefix", "reason", "state", "tries", "wanted")

    def __init__(self, prefix: Name, state: str, at: int | None) -> None:
        self.prefix: Final = prefix
        self.state = state
        self.reason = ""
        self.code = 0
        self.tries = 0
        self.wanted = True  # False: to be unregistered, then forgotten
        self.at = at  # when to send its next command, None when it needs none


class Registrar:
    """All prefixes of one face."""

    def __init__(
        self, signer: Signer, randomness: Randomness, limit: int = 4096, *, renew_ns: int | None = None
    ) -> None:
        self.limit: Final = limit
        self.registrations: dict[Name, Registration] = {}  # bound: limit
        self.signers: dict[Name, Signer] = {}  # by prefix, where it is another one; bound: who sets it
        self._renew_ns: Final = RENEW_NS if renew_ns is None else renew_ns
        self._randomness: Final = randomness
        self._writer: Final = CommandWriter(signer, randomness)
        self._current: Registration | None = None  # the one whose command is unanswered
        self._taking_back = False  # whether that command is an unregister
        self._first: Registration | None = None  # the one due first, while `_sorted`
        self._sorted = True
        self._scopes: tuple[Name, ...] = (LOCALHOST,)
        self._scope = 0  # of those, the one that was answered last, or that is to be tried next
        self._renews = False

    def add(self, prefix: Name, now: int, *, up: bool) -> list[Effect]:
        """Want a prefix."""
        held = self.registrations.get(prefix)
        if held is not None and held.wanted:
            return [RegistrationChanged(prefix, held.state, held.reason, held.code)]
        if held is None and len(self.registrations) >= self.limit:
            raise Backpressure(f"{prefix} cannot be registered: {self.limit} prefixes are, which is the limit", 1000)
        registration = Registration(prefix, REGISTERING, now) if up else Registration(prefix, LOST, None)
        self.registrations[prefix] = registration
        self._sorted = False
        return [RegistrationChanged(prefix, registration.state)]

    def remove(self, prefix: Name, now: int) -> None:
        """Want a prefix no longer."""
        held = self.registrations.get(prefix)
        if held is None:
            return
        self._sorted = False
        if held.state in {LOST, REFUSED}:
            del self.registrations[prefix]
            return
        held.wanted = False
        held.tries = 0
        held.at = now

    def up(self, now: int, *, local: bool, datagram: bool) -> list[Effect]:
        """The face is up: everything is to be registered again."""
        self._current = None
        self._scopes, self._scope = scopes(local=local, datagram=datagram), 0
        self._renews = datagram
        self._sorted = False
        self.registrations = {prefix: held for prefix, held in self.registrations.items() if held.wanted}
        for held in self.registrations.values():
            held.state = REGISTERING
            held.tries = 0
            held.at = now
        return [RegistrationChanged(prefix, REGISTERING) for prefix in self.registrations]

    def down(self, reason: str) -> list[Effect]:
        """The face is down: its routes died with it."""
        self._current = None
        self._sorted = False
        effects: list[Effect] = []
        for held in self.registrations.values():
            held.state = LOST
            held.reason = reason
            held.at = None
            effects.append(RegistrationChanged(held.prefix, LOST, reason))
        return effects

    def command(self, now: int) -> bytes | None:
        """Write the next command that is due, an Interest without a Nonce; None while one is unanswered."""
        due = self._due()
        if due is None or due.at is None or due.at > now:
            return None
        self._current = due
        self._taking_back = not due.wanted
        due.tries += 1
        verb = "register" if due.wanted else "unregister"
        lives_ms = max(4 * self._renew_ns // MS, MIN_EXPIRATION_MS) if self._renews and due.wanted else None
        parameters = ControlParameters(name=due.prefix, expiration_ms=lives_ms)
        command, signer = self._scopes[self._scope] / verb, self.signers.get(due.prefix)
        return self._writer.sign(command, parameters, now, COMMAND_LIFETIME_MS, signer=signer)

    def answered(self, content: bytes, now: int) -> list[Effect]:
        """The forwarder answered the current command."""
        held = self._settle()
        if held is None:
            return []
        try:
            response = ControlResponse.decode(content)
        except BadPacket as error:
            response = ControlResponse(0, f"its answer cannot be read: {error}")
        if not held.wanted:
            return self._let_go(held, now)
        if response.code == FORBIDDEN and held.tries < _FORBIDDEN_TRIES:
            self._later(held, now)
            return []
        before = held.state
        held.code = response.code
        held.tries = 0
        if response.code == OK:
            held.state = REGISTERED
            held.reason = ""
            spread = self._randomness.randint(0, self._renew_ns // 8)
            held.at = now + self._renew_ns - spread if self._renews else None
        else:
            held.state = REFUSED
            held.reason = response.text or "the forwarder gave no reason"
            held.at = None
        if held.state == before == REGISTERED:
            return []  # renewed
        return [RegistrationChanged(held.prefix, held.state, held.reason, held.code)]

    def failed(self, reason: str, now: int) -> list[Effect]:
        """Nobody answered the current command: ask again, under the other name if there is one, later each time."""
        self._scope = (self._scope + 1) % len(self._scopes)
        held = self._settle()
        if held is None:
            return []
        if not held.wanted:
            return self._let_go(held, now)  # the route dies with the face at the latest
        before, held.state = held.state, REGISTERING
        held.reason = reason
        if held.tries < len(self._scopes):
            held.at = now
        else:
            self._later(held, now)
        return [] if before == REGISTERING else [RegistrationChanged(held.prefix, REGISTERING, reason)]

    def deadline(self) -> int | None:
        """When the next command is due."""
        due = self._due()
        return None if due is None else due.at

    def about(self, name: Name) -> str:
        """Say what is wrong with the registration that covers a name, empty if nothing is."""
        for held in self.registrations.values():
            if name.starts_with(held.prefix) and held.state != REGISTERED:
                why = f" ({held.reason})" if held.reason else ""
                return f"its prefix {held.prefix} is served here, but its registration is {held.state}{why}"
        return ""

    def _due(self) -> Registration | None:
        """The registration whose command is due first; found anew only after something has changed."""
        if self._current is not None:
            return None
        if not self._sorted:
            waiting = [(held.at, held) for held in self.registrations.values() if held.at is not None]
            self._first = min(waiting, key=lambda pair: pair[0])[1] if waiting else None
            self._sorted = True
        return self._first

    def _settle(self) -> Registration | None:
        self._sorted = False
        held, self._current = self._current, None
        return held if held is not None and self.registrations.get(held.prefix) is held else None

    def _let_go(self, held: Registration, now: int) -> list[Effect]:
        if self._taking_back:
            self.registrations.pop(held.prefix, None)
        else:  # it was given up while it was being registered: now take that back
            held.tries = 0
            held.at = now
        return []

    def _later(self, held: Registration, now: int) -> None:
        pause = min(_LAST_PAUSE, _FIRST_PAUSE << min(held.tries - 1, 10))
        held.at = now + pause + self._randomness.randint(0, pause // 4)
