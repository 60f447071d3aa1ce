"""What a user gets of a topic, and by whose word: the answer of `roost.process.roles.policy`.

The roles of a user are a set, or None when they are not known: the look-up failed, or there was no time for it. Who has
no roles is somebody (`*` in a document is for them), who has unknown ones is denied whatever a document governs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

Roles: TypeAlias = frozenset[str] | None

NO_ROLES: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer for one topic and one set of roles; streams are topics here, ready to be subscribed to."""

    topic: str
    stream: str | None  # where what the user gets comes from; None when denied
    permitted: tuple[str, ...]  # what the user may ask for, the stream among it
    document: str  # the topic or filter of the document that decided
    role: str  # that gave the stream, empty when denied
    reason: str

    @property
    def denied(self) -> bool:
        """Whether nothing is to be had."""
        return self.stream is None
