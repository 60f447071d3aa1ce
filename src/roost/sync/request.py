"""One question at a time, and its reply: asked, answered, collected where it has several segments [PSync §4].

    ask ──Express──▶ asked ──one segment──▶ Received
                       ├──more──▶ Collect ──▶ collecting ──▶ Received
                       └──nothing usable───────────┴───────▶ Missed

Asking again forgets what was asked before; what comes back under an old ticket is ignored. A question is `open` until
its first answer: only that long could a Data of our own satisfy it on its way.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from roost.errors import BadPacket
from roost.machine import MS, Effect
from roost.naming import Name
from roost.naming.conventions import segment
from roost.sync.port import Answered, Collect, Collected, Express, Forget, Unanswered
from roost.sync.psync_names import parse_reply
from roost.wire import encode_interest
from roost.wire.data import NACK

COLLECT_MS: Final = 8000  # how long a reply of several segments may take before its question is asked anew


class Received(NamedTuple):
    """A whole reply: its name without version and segment, and its content; or an application Nack."""

    question: Name
    name: Name
    content: bytes
    nack: bool = False


class Missed(NamedTuple):
    """No reply: nobody answered within the lifetime (`expired`), or something went wrong earlier."""

    question: Name
    reason: str
    expired: bool
    bad: bytes = b""  # the Data that could not be a reply


Outcome: TypeAlias = Received | Missed | Collect


class Request:
    """What we have asked, if anything."""

    def __init__(self) -> None:
        self.question: Name | None = None  # asked or collecting
        self._ticket = 0
        self._ends_at = 0
        self._collecting: Name | None = None  # the reply's name

    @property
    def collecting(self) -> bool:
        """Whether a reply is on its way."""
        return self._collecting is not None

    @property
    def open(self) -> Name | None:
        """The question that nobody has answered yet."""
        return None if self._collecting is not None else self.question

    def ask(self, question: Name, lifetime_ms: int, now: int) -> list[Effect]:
        """Ask this, and nothing else any more."""
        effects = self.forget()
        self._ticket += 1
        self._ends_at = now + lifetime_ms * MS
        self.question = question
        wire = encode_interest(question, can_be_prefix=True, must_be_fresh=True, lifetime_ms=lifetime_ms)
        return [*effects, Express(self._ticket, wire)]

    def forget(self) -> list[Effect]:
        """Wait no longer."""
        if self.question is None:
            return []
        self._close()
        return [Forget(self._ticket)]

    def receive(self, event: Answered | Collected | Unanswered, now: int) -> Outcome | None:
        """Take in an answer; None if it is to something that was forgotten."""
        question = self.question
        if question is None or event.ticket != self._ticket:
            return None
        if isinstance(event, Answered):
            return self._answered(question, event)
        name = self._collecting
        self._close()
        if isinstance(event, Unanswered):
            return Missed(question, event.reason, name is None and now >= self._ends_at)
        return None if name is None else Received(question, name, event.content)

    def _answered(self, question: Name, event: Answered) -> Outcome | None:
        if self._collecting is not None:
            return None
        data = event.data
        try:
            reply = parse_reply(question, data)
        except BadPacket as error:
            self._close()
            return Missed(question, str(error), expired=False, bad=data.wire)
        if data.content_type == NACK:
            self._close()
            return Received(question, reply.name, b"", nack=True)
        if reply.segment == 0 and data.final_block == segment(0):
            self._close()
            return Received(question, reply.name, data.content)
        self._collecting = reply.name
        return Collect(event.ticket, reply.versioned)

    def _close(self) -> None:
        self.question = None
        self._collecting = None
