"""The prefixes an application wants its forwarder to send it, and the state of each [NFD management, RIB].

    add ──▶ registering ──200──▶ registered ──face down──▶ lost ──face up──▶ registering
                 │  └──no answer──▶ asked again, later each time
                 └──any other answer──▶ refused, with the code and text of the forwarder

Commands go out one at a time with strictly increasing times, because a forwarder refuses a time that is not newer than
the last of the same key; a 403 may just mean that another program with the same key was faster, so it is tried again.
This is the book-keeping only: `roost.forwarding.endpoint` sends the commands and hands in the answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.errors import Backpressure, BadPacket
from roost.forwarding.control import OK, ControlParameters, ControlResponse
from roost.machine import MS, SECOND, Effect, Randomness
from roost.naming import Component, Name
from roost.wire import Signer, sign_interest

REGISTERING: Final = "registering"
REGISTERED: Final = "registered"
LOST: Final = "lost"
REFUSED: Final = "refused"

LOCALHOST: Final = Name.parse("/localhost/nfd/rib")
LOCALHOP: Final = Name.parse("/localhop/nfd/rib")

FORBIDDEN: Final = 403
COMMAND_LIFETIME_MS: Final = 2000

_FORBIDDEN_TRIES: Final = 4
_FIRST_PAUSE: Final = 100 * MS
_LAST_PAUSE: Final = 10 * SECOND


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

    def __init__(self, prefix: Name, now: int) -> None:
        self.prefix: Final = prefix
        self.state = REGISTERING
        self.reason = ""
        self.code = 0
        self.tries = 0
        self.wanted = True  # False: to be unregistered, then forgotten
        self.at = now  # when to send its next command; meaningless once settled

    @property
    def open(self) -> bool:
        """Whether a command is still to be sent for it."""
        return not self.wanted or self.state == REGISTERING


class Registrar:
    """All prefixes of one face."""

    def __init__(self, signer: Signer, randomness: Randomness, limit: int = 4096) -> None:
        self.signer: Final = signer
        self.limit: Final = limit
        self.registrations: dict[Name, Registration] = {}  # bound: limit
        self._randomness: Final = randomness
        self._last_time_ms = 0
        self._current: Registration | None = None  # the one whose command is unanswered

    def add(self, prefix: Name, now: int, *, up: bool) -> list[Effect]:
        """Want a prefix."""
        held = self.registrations.get(prefix)
        if held is not None and held.wanted:
            return [RegistrationChanged(prefix, held.state, held.reason, held.code)]
        if held is None and len(self.registrations) >= self.limit:
            raise Backpressure(f"{prefix} cannot be registered: {self.limit} prefixes are, which is the limit", 1000)
        registration = Registration(prefix, now)
        if not up:
            registration.state = LOST
        self.registrations[prefix] = registration
        return [RegistrationChanged(prefix, registration.state)]

    def remove(self, prefix: Name, now: int) -> None:
        """Want a prefix no longer."""
        held = self.registrations.get(prefix)
        if held is None:
            return
        if held.state in {LOST, REFUSED}:
            del self.registrations[prefix]
            return
        held.wanted = False
        held.tries = 0
        held.at = now

    def up(self, now: int) -> list[Effect]:
        """The face is up: everything is to be registered again."""
        self._current = None
        self.registrations = {prefix: held for prefix, held in self.registrations.items() if held.wanted}
        for held in self.registrations.values():
            held.state = REGISTERING
            held.tries = 0
            held.at = now
        return [RegistrationChanged(prefix, REGISTERING) for prefix in self.registrations]

    def down(self, reason: str) -> list[Effect]:
        """The face is down: its routes died with it."""
        self._current = None
        effects: list[Effect] = []
        for held in self.registrations.values():
            held.state = LOST
            held.reason = reason
            effects.append(RegistrationChanged(held.prefix, LOST, reason))
        return effects

    def command(self, now: int, *, local: bool) -> bytes | None:
        """Write the next command that is due, an Interest without a Nonce; None while one is unanswered."""
        if self._current is not None:
            return None
        due = min((held for held in self.registrations.values() if held.open), key=lambda held: held.at, default=None)
        if due is None or due.at > now:
            return None
        self._current = due
        due.tries += 1
        self._last_time_ms = max(now // MS, self._last_time_ms + 1)
        verb = "register" if due.wanted else "unregister"
        name = (LOCALHOST if local else LOCALHOP) / verb / Component(ControlParameters(name=due.prefix).encode())
        return sign_interest(
            name,
            self.signer,
            signature_nonce=self._randomness.getrandbits(64).to_bytes(8, "big"),
            time_ms=self._last_time_ms,
            lifetime_ms=COMMAND_LIFETIME_MS,
        )

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
            return self._forget(held)
        if response.code == OK:
            held.state = REGISTERED
            held.reason = ""
        elif response.code == FORBIDDEN and held.tries < _FORBIDDEN_TRIES:
            self._later(held, now)
            return []
        else:
            held.state = REFUSED
            held.reason = response.text or "the forwarder gave no reason"
        held.code = response.code
        return [RegistrationChanged(held.prefix, held.state, held.reason, held.code)]

    def failed(self, reason: str, now: int) -> list[Effect]:
        """Nobody answered the current command: ask again, later each time."""
        held = self._settle()
        if held is None:
            return []
        if not held.wanted:
            return self._forget(held)  # the route dies with the face at the latest
        held.reason = reason
        self._later(held, now)
        return []

    def deadline(self) -> int | None:
        """When the next command is due."""
        if self._current is not None:
            return None
        return min((held.at for held in self.registrations.values() if held.open), default=None)

    def about(self, name: Name) -> str:
        """Say what is wrong with the registration that covers a name, empty if nothing is."""
        for held in self.registrations.values():
            if name.starts_with(held.prefix) and held.state != REGISTERED:
                why = f" ({held.reason})" if held.reason else ""
                return f"its prefix {held.prefix} is served here, but its registration is {held.state}{why}"
        return ""

    def _settle(self) -> Registration | None:
        held, self._current = self._current, None
        return held if held is not None and self.registrations.get(held.prefix) is held else None

    def _forget(self, held: Registration) -> list[Effect]:
        self.registrations.pop(held.prefix, None)
        return []

    def _later(self, held: Registration, now: int) -> None:
        pause = min(_LAST_PAUSE, _FIRST_PAUSE << min(held.tries - 1, 10))
        held.at = now + pause + self._randomness.randint(0, pause // 4)
