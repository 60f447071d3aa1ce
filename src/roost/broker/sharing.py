"""What became of messages of shared subscriptions whose members are at several nodes.

    chosen ──▶ open: held here, or awaited from another node ──▶ that node says it is done ──▶ closed
                                          └──▶ that node is silent, or awaits it too ──▶ chosen again (`settling`)

Every node chooses for itself, by what it knows. They agree once they know the same, and nothing is lost meanwhile: a
message stays open at every node until one says that its member is done with it. Nodes with something to say do so
every `PAUSE`, and living ones with members every `BEAT`, by which others know that they live (`roost.broker.nodes`).
Only the names of messages are kept, for the repo has them; nothing of this is kept over a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.broker.beat import Beat, Share
from roost.broker.nodes import MAX_NODES, Nodes
from roost.broker.session import Session
from roost.broker.track import Open, Track
from roost.machine.contract import SECOND, earliest

ROUND: Final = SECOND // 10  # between two times of choosing again
PAUSE: Final = SECOND // 2
BEAT: Final = 2 * SECOND  # three of them fit into `nodes.SILENCE`
MAX_OPEN: Final = 20_000
MAX_TRACKS: Final = 20_000


class Sharing:
    """All of it."""

    def __init__(self) -> None:
        self.nodes: Final = Nodes()
        self.turned_away = 0  # messages that are not watched over, by `MAX_OPEN`
        self.tracks: Final[dict[tuple[bytes, bytes], Track]] = {}  # by filter and stream; bound: MAX_TRACKS
        self.always = False  # others are to know that this node lives: if not, they run its macros and speak its wills
        self.is_unsettled = False  # something may have to be chosen again
        self.closed: list[tuple[bytes, bytes, int]] = []  # client, stream, number: done elsewhere; bound: MAX_OPEN
        self.unknown: list[tuple[bytes, bytes, int]] = []  # filter, stream, number: awaited, and new here; MAX_OPEN
        self._count = 0
        self._dirty: dict[tuple[bytes, bytes], None] = {}  # tracks with something to tell; bound: the tracks
        self._told = 0  # when the last beat was
        self._looked = 0  # when it was looked at what members here are done with
        self._settled = 0  # when it was last chosen again
        self._awaits = False  # something was left to another node since it was looked whether there is one to tell

    # -- messages

    def note(self, filter_: bytes, stream: bytes, number: int, opened: Open | None) -> None:
        """Somebody was chosen for a message, or it needs nobody any more."""
        key = (filter_, stream)
        track = self.tracks.get(key)
        if opened is not None and self._count >= MAX_OPEN and (track is None or number not in track.open):
            self._forget_oldest()
            track = self.tracks.get(key)  # it may have been this one
        if track is None:
            while len(self.tracks) >= MAX_TRACKS:
                done = next((each for each, track in self.tracks.items() if not track.open), None)
                self._forget(next(iter(self.tracks)) if done is None else done)
            track = self.tracks[key] = Track(number)
        if number > track.high + 1:
            track.low = number  # of those between nothing is known here
        track.high = max(track.high, number)
        if number in track.open:
            del track.open[number]
            self._count -= 1
        elif opened is None:
            return
        if opened is not None:
            track.open[number] = opened
            self._count += 1
            self._awaits = self._awaits or bool(opened.panel)
        self._dirty[key] = None

    def is_done(self, filter_: bytes, stream: bytes, number: int) -> bool:
        """Whether another node has said that a message is done with, before it came here."""
        track = self.tracks.get((filter_, stream))
        return track is not None and any(share.is_done(number) for share in track.told.values())

    def disclaim(self, filter_: bytes, stream: bytes, number: int) -> None:
        """Say nothing of a message, nor of those before it: as far as is known here nobody is to get it."""
        self.note(filter_, stream, number, None)
        track = self.tracks[filter_, stream]
        track.low = max(track.low, number + 1)

    def restore(self, filter_: bytes, stream: bytes, number: int, opened: Open) -> None:
        """A message is open that an earlier run chose for: nothing is known of others before it."""
        track = self.tracks.get((filter_, stream))
        if track is None:
            self.note(filter_, stream, number, opened)
            track = self.tracks[filter_, stream]
            track.low = number + 1
        elif number not in track.open and not track.low <= number <= track.high:
            low = track.low
            self.note(filter_, stream, number, opened)
            self.tracks[filter_, stream].low = max(low, number + 1)

    def _forget(self, key: tuple[bytes, bytes]) -> None:
        count = len(self.tracks.pop(key).open)
        self._count -= count
        self.turned_away += count
        self._dirty.pop(key, None)

    def _forget_oldest(self) -> None:
        key = next(key for key, track in self.tracks.items() if track.open)
        self._forget(key)

    def close_served(self, sessions: Mapping[bytes, Session]) -> None:
        """Close what members here have acknowledged."""
        here: dict[bytes, set[tuple[bytes, int]]] = {}
        for (filter_, stream), track in self.tracks.items():
            for number, opened in list(track.open.items()):
                if opened.panel or opened.is_free:
                    continue
                if opened.holder not in here:
                    here[opened.holder] = _held(sessions.get(opened.holder))
                if (stream, number) not in here[opened.holder]:
                    self.note(filter_, stream, number, None)

    # -- what nodes say

    def heard(self, panel: bytes, now: int) -> None:
        """A node said something: one that is new here, or was silent, is to be told everything."""
        if self.nodes.sign(panel, now):
            self._dirty.update(dict.fromkeys(self.tracks))
            self.is_unsettled = True

    def listen(self, now: int) -> None:
        """See who fell silent."""
        self.is_unsettled = self.nodes.listen(now) or self.is_unsettled

    def hear(self, beat: Beat) -> bool:
        """Take in what another node says of its shares; whether it was restarted, or is heard for the first time."""
        for share in beat.shares:
            self._compare(beat.panel, share)
        before = self.nodes.begin(beat.panel, beat.started)
        if before is not None and before != beat.started:
            for track in self.tracks.values():
                for opened in track.open.values():
                    if opened.panel == beat.panel and opened.qos == 1:
                        opened.is_free = True
            self.is_unsettled = True
        return before != beat.started

    def _compare(self, panel: bytes, share: Share) -> None:
        key = (share.filter, share.stream)
        track = self.tracks.get(key)
        named = {} if track is None else track.open
        if track is not None:
            if len(track.told) >= MAX_NODES:
                track.told.clear()
            track.told[panel] = share
        for number in share.awaited:
            if number in named:
                if named[number].panel == panel:  # each node waits for the other
                    named[number].is_free = True
                    self.is_unsettled = True
            elif track is not None and track.low <= number <= track.high:
                self._dirty[key] = None  # it has not heard that this is done
            elif len(self.unknown) < MAX_OPEN:
                self.unknown.append((share.filter, share.stream, number))
        held = set(share.held)
        for number, opened in list(named.items()):
            if number in held:
                if opened.panel and not opened.is_free:
                    opened.panel = panel
                    opened.is_taken = True
            elif share.is_done(number):
                self.closed.append((opened.holder, share.stream, number))
                if opened.panel or opened.is_free:
                    self.note(share.filter, share.stream, number, None)

    # -- telling

    def deadline(self, has_members: bool) -> int | None:  # noqa: FBT001  a C call
        """When to listen, to choose again or to tell."""
        due: int | None = self._settled + ROUND if self.is_unsettled or self.closed or self.unknown else None
        due = earliest(due, self.nodes.deadline())
        if self._speaks(has_members):
            beat = self._told + BEAT
            if self._dirty or self._count:
                beat = min(beat, self._looked + PAUSE)
            due = earliest(due, beat)
        return due

    def is_due(self, now: int) -> bool:
        """Whether it is time to choose again; the caller does."""
        if not (self.is_unsettled or self.closed or self.unknown) or self._settled + ROUND > now:
            return False
        self._settled = now
        self.is_unsettled = False
        return True

    def _speaks(self, has_members: bool) -> bool:  # noqa: FBT001  a C call
        """Whether there is something to tell, and somebody: who has heard of no other node awaits nothing of one."""
        if self.always:
            return True
        if self.nodes:
            return has_members or self._count > 0 or len(self._dirty) > 0
        return self._awaits

    def tell(self, sessions: Mapping[bytes, Session], has_members: bool, now: int) -> list[Share] | None:  # noqa: FBT001
        """What is to be told now; None for nothing, not even that this node lives."""
        is_late = self._told + BEAT <= now
        if not self._speaks(has_members) or (self._looked + PAUSE > now and not is_late):
            return None
        self._looked = now
        self.close_served(sessions)
        if is_late:
            waiting = [key for key, track in self.tracks.items() if any(each.panel for each in track.open.values())]
            self._dirty.update(dict.fromkeys(waiting))
            self._awaits = bool(waiting)
        elif not self._dirty:
            return None
        self._told = now
        dirty, self._dirty = self._dirty, {}
        return [self.tracks[filter_, stream].share(filter_, stream) for filter_, stream in dirty]


def _held(session: Session | None) -> set[tuple[bytes, int]]:
    found: set[tuple[bytes, int]] = set()
    if session is not None:
        for delivery in [*session.inflight.values(), *session.again, *session.queue]:
            origin = delivery.message.origin
            if origin is not None and delivery.shared is not None:
                found.add((origin[1], origin[2]))
    return found
