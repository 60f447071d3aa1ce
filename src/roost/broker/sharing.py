"""What became of messages of shared subscriptions whose members are at several nodes, and which nodes live.

    chosen ──▶ open: held here, or awaited from another node ──▶ that node says it is done ──▶ closed
                                          └──▶ that node is silent, or awaits it too ──▶ chosen again (`choosing`)

Every node chooses for itself, by what it knows. They agree once they know the same, and nothing is lost meanwhile: a
message stays open at every node until one says that its member is done with it. Nodes with something to say do so
every `PAUSE`, and living ones with members every `BEAT`; who says nothing for `SILENCE` counts as gone. Only the names
of messages are kept, for the repo has them; nothing of this is kept over a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.broker.beat import MAX_NUMBERS, MAX_SHARES, Beat, Share
from roost.broker.session import Session
from roost.machine.contract import SECOND

ROUND: Final = SECOND // 10  # between two times of choosing again
PAUSE: Final = SECOND // 2
BEAT: Final = 2 * SECOND
SILENCE: Final = 3 * BEAT
MAX_OPEN: Final = 20_000
MAX_TRACKS: Final = 20_000
MAX_NODES: Final = 1000
SOMEWHERE: Final = b"?"  # the panel of a node that is to be heard of first
_MAX_BYTES: Final = 6000  # of the shares of one beat


class Open:
    """A message that a member is to get: which one, and at which node it is; `panel` is empty for this one."""

    def __init__(self, qos: int, holder: bytes, panel: bytes) -> None:
        self.qos: Final = qos
        self.holder = holder
        self.panel = panel
        self.is_taken = False  # that node said that it has it
        self.is_free = False  # whoever had it does not any more


class Track:
    """One stream of one shared subscription: what was chosen for, from low to high without a gap, and what is open."""

    def __init__(self, number: int) -> None:
        self.low = number
        self.high = number
        self.open: dict[int, Open] = {}  # may have numbers below `low`
        self.told: dict[bytes, Share] = {}  # what nodes said last, by panel; bound: MAX_NODES


class Sharing:
    """All of it."""

    def __init__(self) -> None:
        self.turned_away = 0  # messages that are not watched over, by `MAX_OPEN`
        self.tracks: Final[dict[tuple[bytes, bytes], Track]] = {}  # by filter and stream; bound: MAX_TRACKS
        self.is_unsettled = False  # something may have to be chosen again
        self.closed: list[tuple[bytes, bytes, int]] = []  # client, stream, number: done elsewhere; bound: MAX_OPEN
        self.unknown: list[tuple[bytes, bytes, int]] = []  # filter, stream, number: awaited, and new here; MAX_OPEN
        self._count = 0
        self._signs: Final[dict[bytes, int]] = {}  # by panel, when something was heard; bound of all three: MAX_NODES
        self._starts: Final[dict[bytes, int]] = {}
        self._silent: Final[dict[bytes, None]] = {}
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
            if self._count >= MAX_OPEN:
                self._forget_oldest()
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
            track.low = max(low, number + 1)

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

    # -- nodes

    def sign(self, panel: bytes, now: int) -> bool:
        """A node said something; whether it is new here, or was silent."""
        is_new = panel not in self._signs or panel in self._silent
        if len(self._signs) >= MAX_NODES and panel not in self._signs:
            oldest = next(iter(self._signs))
            for table in (self._signs, self._starts, self._silent):
                table.pop(oldest, None)
        self._signs[panel] = now
        self._silent.pop(panel, None)
        if is_new:
            self._dirty.update(dict.fromkeys(self.tracks))
            self.is_unsettled = True
        return is_new

    def start_of(self, panel: bytes) -> int:
        """When a node began, as far as it has said."""
        return self._starts.get(panel, 0)

    def is_silent(self, panel: bytes) -> bool:
        """Whether a node is taken for gone, or was not heard yet."""
        return panel in self._silent or panel not in self._signs

    def listen(self, now: int) -> None:
        """See who fell silent."""
        for panel, at in self._signs.items():
            if at + SILENCE <= now and panel not in self._silent:
                self._silent[panel] = None
                self.is_unsettled = True

    def hear(self, beat: Beat) -> bool:
        """Take in what another node says of its shares; whether it was restarted, or is heard for the first time."""
        for share in beat.shares:
            self._compare(beat.panel, share)
        before = self._starts.get(beat.panel)
        self._starts[beat.panel] = max(beat.started, before or 0)
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
        for panel, at in self._signs.items():
            if panel not in self._silent and (due is None or at + SILENCE < due):
                due = at + SILENCE
        if self._speaks(has_members):
            beat = self._told + BEAT
            if self._dirty or self._count:
                beat = min(beat, self._looked + PAUSE)
            due = beat if due is None or beat < due else due
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
        if self._signs:
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
        return [_share_of(key, self.tracks[key]) for key in dirty]


def _share_of(key: tuple[bytes, bytes], track: Track) -> Share:
    """What is said of a track: as much as can be named, from the first on."""
    held: list[int] = []
    awaited: list[int] = []
    high = track.high
    for number in sorted(track.open):
        opened = track.open[number]
        named = awaited if opened.panel or opened.is_free else held
        if len(named) >= MAX_NUMBERS // 2:
            high = number - 1
            break
        named.append(number)
    return Share(key[0], key[1], track.low, high, tuple(held), tuple(awaited))


def parts(shares: list[Share]) -> list[tuple[Share, ...]]:
    """Shares in parts of which each fits a beat; at least one, which may be empty."""
    found: list[list[Share]] = [[]]
    size_bytes = 0
    for share in shares:
        size_bytes += share.size
        if found[-1] and (size_bytes > _MAX_BYTES or len(found[-1]) >= MAX_SHARES):
            found.append([])
            size_bytes = share.size
        found[-1].append(share)
    return [tuple(part) for part in found]


def _held(session: Session | None) -> set[tuple[bytes, int]]:
    found: set[tuple[bytes, int]] = set()
    if session is not None:
        for delivery in [*session.inflight.values(), *session.again, *session.queue]:
            origin = delivery.message.origin
            if origin is not None and delivery.shared is not None:
                found.add((origin[1], origin[2]))
    return found
