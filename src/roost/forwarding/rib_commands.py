"""Routes: the `rib` commands, and the FIB kept in step with the RIB [nfd-management §3, §6].

As in NFD, a RIB change is applied to the FIB as a difference: next hops that `fib/add-nexthop` or the node itself put
into an entry stay there. A route to a face that does not exist is answered 200 and not kept. Two things NFD allows are
refused: cutting management off from its own prefix, and naming another face in a command that came through /localhop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from roost.errors import Refused
from roost.forwarding.announcement import Announcement
from roost.forwarding.control import (
    CHILD_INHERIT,
    ORIGIN_ANNOUNCEMENT,
    ORIGIN_APP,
    ORIGIN_STATIC,
    ControlParameters,
    ControlResponse,
    accepted,
    form,
)
from roost.forwarding.face import INTERNAL_FACE
from roost.forwarding.replies import Asked, Handlers, Reply
from roost.forwarding.rib import Change, Rib, Route
from roost.forwarding.tables import FibTable, Tables
from roost.machine import MS
from roost.naming import Name
from roost.wire import Data

MAX_DEPTH: Final = 32
ANNOUNCED_COST: Final = 2048
FOR_EVER_MS: Final = 0x7FFFFFFFFFFFFFFF  # ndn-cxx's largest period, and anything longer

VerifyAnnouncement = Callable[[Data, int], str | None]


class RibCommands:
    """The routes of one forwarder, `own` being the prefixes of management itself."""

    def __init__(self, tables: Tables, rib: Rib, own: list[Name], verify: VerifyAnnouncement | None = None) -> None:
        self._tables = tables
        self._rib = rib
        self._own = frozenset(own)
        self._verify = verify
        for prefix in own:
            rib.add(prefix, Route(INTERNAL_FACE))

    def handlers(self) -> Handlers:
        """List the commands with parameters; `announce` has its own way in."""
        return {
            ("rib", "register"): (form("name", "face origin cost flags expiration_ms"), self.register),
            ("rib", "unregister"): (form("name", "face origin"), self.unregister),
        }

    def start(self, now: int) -> None:
        """Route management's own prefixes to its face."""
        for prefix in self._own:
            apply([Change(prefix, {}, {INTERNAL_FACE: 0})], self._tables.fib, now)

    def register(self, asked: Asked, now: int) -> Reply:
        """Carry out `rib/register`."""
        given = asked.parameters
        effective = ControlParameters(
            name=given.name,
            face=asked.target(),
            origin=given.origin if given.origin is not None else ORIGIN_APP,
            cost=given.cost or 0,
            flags=given.flags if given.flags is not None else CHILD_INHERIT,
            expiration_ms=given.expiration_ms,
        )
        expiration = given.expiration_ms
        lives_ns = None if expiration is None or expiration >= FOR_EVER_MS else expiration * MS
        return self._insert(asked, effective, lives_ns, now)

    def add(self, prefix: Name, face: int, cost: int, now: int, *, inherited: bool = True) -> None:
        """Insert a static route, which longer prefixes that have routes of their own inherit or not."""
        route = Route(face, ORIGIN_STATIC, cost, CHILD_INHERIT if inherited else 0)
        apply(self._rib.add(prefix, route), self._tables.fib, now)

    def announce(self, asked: Asked, announcement: Announcement, data: Data, now: int) -> Reply:
        """Carry out `rib/announce`: a route to whoever sent it, for as long as the announcement holds."""
        if self._verify is not None and (reason := self._verify(data, now)) is not None:
            return Reply(ControlResponse(403, f"Prefix announcement rejected: {reason}"))
        lives_ns = announcement.remaining_ns(now)
        effective = ControlParameters(
            name=announcement.prefix,
            face=asked.command.face,
            origin=ORIGIN_ANNOUNCEMENT,
            cost=ANNOUNCED_COST,
            flags=CHILD_INHERIT,
            expiration_ms=lives_ns // MS,
        )
        return self._insert(asked, effective, lives_ns, now)

    def unregister(self, asked: Asked, now: int) -> Reply:
        """Carry out `rib/unregister`; a route that is not there is gone already."""
        given = asked.parameters
        prefix, face, origin = given.name or Name(), asked.target(), given.origin or ORIGIN_APP
        if refusal := self._refusal(asked, prefix, face):
            return Reply(refusal)
        apply(self._rib.remove(prefix, face, origin), self._tables.fib, now)
        return Reply(accepted(ControlParameters(name=prefix, face=face, origin=origin)))

    def face_removed(self, face: int, now: int) -> None:
        """Let the routes of a face die with it."""
        apply(self._rib.remove_face(face), self._tables.fib, now)

    def tick(self, now: int) -> None:
        """Let routes end whose time has come."""
        apply(self._rib.expire(now), self._tables.fib, now)

    def _insert(self, asked: Asked, effective: ControlParameters, lives_ns: int | None, now: int) -> Reply:
        prefix, face, origin = effective.name or Name(), effective.face or 0, effective.origin or 0
        if len(prefix) > MAX_DEPTH:
            return Reply(ControlResponse(414, f"Route prefix cannot exceed {MAX_DEPTH} components"))
        if refusal := self._refusal(asked, prefix, face):
            return Reply(refusal)
        if lives_ns is not None and lives_ns <= 0:
            apply(self._rib.remove(prefix, face, origin), self._tables.fib, now)
        elif face in self._tables.faces:
            expires = None if lives_ns is None else now + lives_ns
            route = Route(face, origin, effective.cost or 0, effective.flags or 0, expires)
            try:
                apply(self._rib.add(prefix, route), self._tables.fib, now)
            except Refused as error:
                with suppress(Refused):  # taking it back makes entries smaller, never more
                    apply(self._rib.remove(prefix, face, origin), self._tables.fib, now)
                return Reply(ControlResponse(error.code, str(error)))
        return Reply(accepted(effective))

    def _refusal(self, asked: Asked, prefix: Name, face: int) -> ControlResponse | None:
        if face == INTERNAL_FACE and prefix in self._own:
            return ControlResponse(403, "the route to management itself stays as it is")
        if asked.command.localhop and face != asked.command.face:
            return ControlResponse(403, "a /localhop command registers the face it comes from, no other")
        return None


def apply(changes: Iterable[Change], fib: FibTable, now: int) -> None:
    """Bring the FIB up to date with changes of the RIB, next hop by next hop."""
    for change in changes:
        hops = dict(fib.get(change.prefix))
        for face in change.before.keys() - change.after.keys():
            hops.pop(face, None)
        hops.update({face: cost for face, cost in change.after.items() if change.before.get(face) != cost})
        fib.set(change.prefix, list(hops.items()), now)
