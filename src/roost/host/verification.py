"""Checking what a face fetched, fetching the certificates it takes. Secure by default.

A verifier says `Accepted`, `Rejection` or `Wanted(name)` (`roost.trust`); this is what turns `Wanted` into a fetched
certificate and asks again. When one cannot be had it asks again all the same: another one of the same key may do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from roost.errors import Nacked, RoostError, TimedOut, Untrusted
from roost.host.joint import Joint
from roost.naming import Name
from roost.trust.acceptance import Checker
from roost.trust.verdict import Accepted, Rejection
from roost.wire import Data

MAX_CERTIFICATES: Final = 16  # to fetch for one packet; chains are shorter, loops are not

Fetch = Callable[[Name], Awaitable[Data]]


class Verification:
    """Runs a verifier; `fetch` gets a certificate by (a prefix of) its name, unverified."""

    def __init__(self, verifier: Checker, clock: Callable[[], int], fetch: Fetch) -> None:
        self.verifier: Final = verifier
        self._clock: Final = clock
        self._fetch: Final = fetch
        self._fetching: Final[Joint[Name, str]] = Joint()  # one fetch per certificate

    def quick(self, data: Data) -> Accepted | None:
        """Check without fetching: None where `check` has to be awaited; raises `Untrusted`."""
        verdict = self.verifier.check(data, self._clock())
        if isinstance(verdict, Rejection):
            raise verdict.error()
        return verdict if isinstance(verdict, Accepted) else None

    async def check(self, data: Data) -> Accepted:
        """Check, fetching what is wanted; raises `Untrusted` with the rule that failed."""
        troubles: dict[Name, str] = {}
        for _ in range(MAX_CERTIFICATES):
            verdict = self.verifier.check(data, self._clock())
            if isinstance(verdict, Accepted):
                return verdict
            if isinstance(verdict, Rejection):
                raise _explained(data, verdict, troubles)
            if verdict.name in troubles:
                break  # it is asked for in vain
            trouble = await self._learn(verdict.name)
            if trouble:
                troubles[verdict.name] = trouble
        if troubles:
            raise _explained(data, None, troubles)
        raise Untrusted(
            f"{data.name}: more than {MAX_CERTIFICATES} certificates are wanted to verify it; it may be a loop"
        )

    async def _learn(self, name: Name) -> str:
        """Fetch a certificate and learn it, together with whoever else waits for it; says what went wrong."""
        return await self._fetching.do(name, lambda: self._fetch_and_learn(name))

    async def _fetch_and_learn(self, name: Name) -> str:
        try:
            certificate = await self._fetch(name)
        except (TimedOut, Nacked) as error:
            self.verifier.missing(name, self._clock())
            return str(error)
        except RoostError as error:  # our own face is down or full: that says nothing about the certificate
            return str(error)
        refusal = self.verifier.learn(certificate, self._clock())
        if refusal is None:
            return ""
        self.verifier.missing(name, self._clock())
        return str(refusal)


def _explained(data: Data, verdict: Rejection | None, troubles: dict[Name, str]) -> Untrusted:
    """The refusal, with what went wrong while certificates were fetched."""
    if verdict is None:
        reason = "a certificate that is wanted could not be fetched; its producer, or a repo, has to serve it"
    else:
        reason = str(verdict)
    added = "".join(f" ({name}: {trouble})" for name, trouble in troubles.items() if trouble not in reason)
    return Untrusted(f"{data.name} cannot be verified: {reason}{added}" if added or verdict is None else reason)
