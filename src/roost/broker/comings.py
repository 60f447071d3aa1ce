"""What this node tells the others of clients that come, and of wills (`roost.broker.arrivals`).

    CONNECT ─▶ came, with its will        the will is spoken, withdrawn or replaced ─▶ over
    another node begins ─▶ all wills that are left here

All of a round is one reading, or a few. A will goes whole into the group that its topic belongs to, for whoever may
have to speak it, and is mentioned in the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from roost.broker.arrivals import MAX_WILL_BYTES, Arrival, Arrivals, parts, size_of
from roost.broker.packets.connect import Will
from roost.broker.packets.kept import Kept
from roost.broker.session import Session

MAX_CAME: Final = 10_000  # of one round
PIECE: Final = 2000  # wills that are told anew in one round


class Comings:
    """What waits to be told."""

    def __init__(self) -> None:
        self.tree_of: Callable[[bytes], int | None] = lambda _: None  # to which a topic belongs
        self.untold = 0  # by MAX_CAME, and wills by MAX_WILL_BYTES
        self._came: dict[
            bytes, tuple[Arrival, int | None]
        ] = {}  # by client, with the tree of the will; bound: MAX_CAME
        self._over: dict[tuple[bytes, bytes], int] = {}  # by client and panel, none for ours, when it came; MAX_CAME
        self._later: Final[dict[bytes, dict[bytes, int]]] = {}  # the same, of wills that are on their way
        self._late = 0  # how many those are
        self._told: Final[dict[bytes, int]] = {}  # clients of whose wills others know, and when they came; the sessions
        self._again: dict[bytes, Session] = {}  # with wills that are to be told anew; bound: the sessions
        self._heard: dict[bytes, int] = {}  # nodes that are told anew, and when they began; bound: those that there are

    def __bool__(self) -> bool:
        """Whether there is something to tell."""
        return bool(self._came or self._over or self._again or self._heard)

    def come(self, session: Session) -> None:
        """A client came: who else has one by this name is to hang up, and its will may be left to others."""
        client, will = session.client, session.will
        if len(self._came) >= MAX_CAME:
            self.untold += 1
            return
        if will is None:
            self._came[client] = (Arrival(session.here_since, user=session.user), None)
            return
        tree, is_large = self.tree_of(will.topic), len(session.user) + size_of(will) > MAX_WILL_BYTES
        if tree is not None and is_large:
            self.untold += 1
        told = _as_left(session, will) if tree is not None and not is_large else None
        self._came[client] = (Arrival(session.here_since, has_will=True, user=session.user, will=told), tree)
        self._told[client] = session.here_since

    def over(self, client: bytes) -> None:
        """A will that was left here is spoken, withdrawn or replaced."""
        self._again.pop(client, None)
        came = self._told.pop(client, None)
        if came is None:
            return
        waiting = self._came.get(client)
        if waiting is not None:
            self._came[client] = (Arrival(waiting[0].came, user=waiting[0].user), None)
        self._end(client, b"", came)

    def spoke(self, client: bytes, panel: bytes, came: int) -> None:
        """A will that was left at a lost node is spoken."""
        self._end(client, panel, came)

    def _end(self, client: bytes, panel: bytes, came: int) -> None:
        if len(self._over) + self._late < MAX_CAME:
            self._over[client, panel] = came
        else:
            self.untold += 1

    def tell_again(self, panel: bytes, started: int, sessions: Iterable[Session]) -> None:
        """A node begins, or is heard for the first time: it is told of all wills."""
        self._again.update({each.client: each for each in sessions if each.will is not None})
        self._heard[panel] = started

    def release(self, client: bytes) -> None:
        """What was over of a client can be told now."""
        for panel, came in self._later.pop(client, {}).items():
            self._over[client, panel] = came
            self._late -= 1

    def take(
        self, groups: Mapping[bytes, tuple[int, bytes]], homes: Mapping[int, int], waiting: Mapping[bytes, object]
    ) -> list[tuple[int, Arrivals]]:
        """What is to be told now, each for a tree; that the wills of some are over has to wait.

        `homes` are the trees of groups that have others too, with the one that is told.
        """
        for client in list(self._again)[:PIECE]:
            session = self._again.pop(client)
            if session.will is not None and not session.gone and client not in self._came:
                self.come(session)
        came, self._came = self._came, {}
        over: dict[tuple[bytes, bytes], int] = {}
        for (client, where), time in self._over.items():
            if client not in waiting:
                over[client, where] = time
                continue
            later = self._later.setdefault(client, {})
            self._late += where not in later
            later[where] = time
        self._over = {}
        heard: dict[bytes, int] = {}
        if not self._again:
            heard, self._heard = self._heard, {}
        found: list[tuple[int, Arrivals]] = []
        for tree, panel in groups.values():
            mine = {
                client: arrival if home is not None and homes.get(home, home) == tree else _mentioned(arrival)
                for client, (arrival, home) in came.items()
            }
            ended = [(client, time, where or panel) for (client, where), time in over.items()]
            found += [(tree, part) for part in parts(panel, mine, ended, list(heard.items()))]
        return found


def _as_left(session: Session, will: Will) -> Will:
    """A will with the delay that counts: it is over with the session at the latest [MQTT-3.1.2-8]."""
    about = Kept()
    about.kept, about.expiry_s = will.properties.kept, will.properties.expiry_s
    about.delay_s = min(will.properties.delay_s, session.expiry_s)
    return Will(will.topic, will.payload, will.qos, will.retain, about)


def _mentioned(arrival: Arrival) -> Arrival:
    return Arrival(arrival.came, has_will=arrival.has_will, user=arrival.user)
