"""What the broker asks its driver to do, and the answer to the one question it asks.

At the end of every call there is at most one `Send` per link, with everything for it in order. `Hangup` comes behind
it: the driver writes what was sent before, then ends the connection. `Authenticate` is answered by `authenticated`,
`Insert` by `inserted`.

`Keep` is answered by `kept` or `unkept`, in the order of the tickets, and what is on the disk is always all Keeps up to
one of them: when one cannot be written, those that the driver already has behind it must not be written either, and are
answered `unkept` too. The broker brings their rows again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from roost.broker.message import Message
from roost.machine.contract import Effect


@dataclass(slots=True)  # not frozen: there is one for every wake-up and link, and freezing costs as much as sending
class Send(Effect):
    """Write these bytes to a link, in this order."""

    link: int
    chunks: list[bytes]


@dataclass(frozen=True, slots=True)
class Hangup(Effect):
    """End a connection once what was sent before is written."""

    link: int


@dataclass(frozen=True, slots=True)
class Heard(Effect):
    """These messages were given to whoever gets them; told only while somebody listens (`Core.listen`)."""

    messages: list[Message]


@dataclass(frozen=True, slots=True)
class Pause(Effect):
    """Read nothing more from a link until then: it is faster than its limits allow."""

    link: int
    until: int


@dataclass(frozen=True, slots=True)
class Authenticate(Effect):
    """Find out who this is; passwords and data are secrets and never shown."""

    link: int
    client: bytes
    user: bytes | None
    password: bytes | None
    method: bytes
    data: bytes

    def __repr__(self) -> str:
        """Everything but the secrets."""
        return f"Authenticate(link={self.link}, client={self.client!r}, user={self.user!r}, method={self.method!r})"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to `Authenticate`: a reason code (0 is yes, 0x18 asks the client for more), who it is, and why not."""

    reason: int
    user: bytes = b""
    challenge: bytes = b""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Keep(Effect):
    """Write and delete rows in one step, forced to the disk if `sync`; steps are taken in the order of tickets."""

    ticket: int
    puts: list[tuple[bytes, bytes]]
    deletes: list[bytes]
    sync: bool


@dataclass(frozen=True, slots=True)
class Insert(Effect):
    """Put these messages into the group of a tree; they come back by `stored`.

    With `again` an earlier process may have put them there. With `spread` they are answered when every other repo of
    the group that answers has them, too, or has said why not.
    """

    tree: int
    ticket: int
    messages: Sequence[Message]
    again: bool = False
    spread: bool = False


@dataclass(frozen=True, slots=True)
class Inserted(Effect):
    """Tell: the messages of a ticket are as durable as was asked, or, with a reason, cannot be.

    The reason is for publishers; `detail` is for whoever runs the node.
    """

    ticket: int
    refusal: str
    detail: str = ""
