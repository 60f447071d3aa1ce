"""What checking a packet asks of a verifier, and the two that need no keys: accept any, accept nothing."""

from __future__ import annotations

from typing import Final, Protocol

from roost.naming import Name
from roost.trust.verdict import Accepted, Rejection, Verdict
from roost.wire import Data, Interest


class Checker(Protocol):
    """What whoever receives packets needs of a verifier; `roost.trust.Verifier` is one."""

    def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict: ...
    def learn(self, packet: Data, now: int) -> Rejection | None: ...
    def missing(self, name: Name, now: int) -> None: ...


class AcceptAny:
    """The explicit opt-out: everything is accepted, whoever signed it, and nothing is known about it."""

    def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict:  # noqa: ARG002  a verifier's shape
        """Accept."""
        return _ANYTHING

    def learn(self, packet: Data, now: int) -> Rejection | None:  # noqa: ARG002  as check
        """Nothing is ever wanted."""
        return None

    def missing(self, name: Name, now: int) -> None:
        """Nothing is ever wanted."""


class AcceptNothing:
    """The verifier of those who have no trust configured."""

    def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict:  # noqa: ARG002  a verifier's shape
        """Refuse, and say what to do."""
        return Rejection(
            f"{packet.name} cannot be verified: no trust is configured",
            fix="run `roost init`, pass `verifier=…` to connect, "
            "or pass `verifier=roost.ACCEPT_ANY` if you do not care who made the data",
        )

    def learn(self, packet: Data, now: int) -> Rejection | None:  # noqa: ARG002  as check
        """Nothing is ever wanted."""
        return None

    def missing(self, name: Name, now: int) -> None:
        """Nothing is ever wanted."""


_ANYTHING: Final = Accepted("accept any: nothing was verified", ())
ACCEPT_ANY: Final = AcceptAny()
ACCEPT_NOTHING: Final = AcceptNothing()
