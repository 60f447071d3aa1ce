"""Who has logged in: a table of random numbers that browsers hold as a cookie, each for one user and some time.

    log in ──password──▶ id (256 random bits, in the cookie) ──▶ user, until
        it was not used for IDLE · LIFETIME is over · the user logs out · the password is another one · the user is gone

The table has only digests of ids, and is in memory: whoever starts the node anew has everybody log in again.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from roost.host.mqtt.passwords import PasswordHash
from roost.machine import SECOND

IDLE: Final = 12 * 3600 * SECOND
LIFETIME: Final = 7 * 24 * 3600 * SECOND
MAX_SESSIONS: Final = 1_000
MAX_PER_USER: Final = 20
_ID_BYTES: Final = 32
_MAX_TEXT: Final = 64  # longer ones are none of ours

HashOf = Callable[[bytes], PasswordHash | None]


@dataclass(slots=True)
class Session:
    """One log-in."""

    user: bytes
    kept: PasswordHash  # what was kept of the password then
    expires: int
    used: int


class Sessions:
    """The table; `hash_of` is what is kept of a user's password now."""

    def __init__(self, hash_of: HashOf) -> None:
        self.opened = 0
        self.crowded_out = 0  # by the two bounds
        self._hash_of: Final = hash_of
        self._sessions: Final[OrderedDict[bytes, Session]] = OrderedDict()  # the longest unused first; MAX_SESSIONS

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, user: bytes, now: int) -> tuple[str, int]:
        """Let a user in whose password was right; the id, and until when at most. `KeyError` if there is none."""
        kept = self._hash_of(user)
        if kept is None:
            raise KeyError(user)
        own = [key for key, each in self._sessions.items() if each.user == user]
        if len(own) >= MAX_PER_USER:
            self._crowd_out(own[0])
        elif len(self._sessions) >= MAX_SESSIONS:
            self._crowd_out(next(iter(self._sessions)))
        text = secrets.token_urlsafe(_ID_BYTES)
        self._sessions[_key(text)] = Session(user, kept, now + LIFETIME, now)
        self.opened += 1
        return text, now + LIFETIME

    def find(self, text: str, now: int) -> Session | None:
        """The session of an id, if it still holds; it counts as used."""
        key = _key(text)
        session = self._sessions.get(key)
        if session is None:
            return None
        is_over = now >= session.expires or now >= session.used + IDLE
        if is_over or self._hash_of(session.user) != session.kept:
            del self._sessions[key]
            return None
        session.used = now
        self._sessions.move_to_end(key)
        return session

    def close(self, text: str) -> bool:
        """End it; whether there was one."""
        return self._sessions.pop(_key(text), None) is not None

    def _crowd_out(self, key: bytes) -> None:
        del self._sessions[key]
        self.crowded_out += 1


def _key(text: str) -> bytes:
    return sha256(text[:_MAX_TEXT].encode(errors="replace")).digest()
