"""What a session has to do with groups beyond its queue: the past it asked for, and other nodes it may live at.

Most sessions have none of this; `Session.abroad` is None then. `handed` and `done` have no rows: they only say what
need not be delivered again, so that a restart can bring repetition and never loss. `handed` comes again from the queue;
what was acknowledged and not told when a node was killed, others keep until the next message of its stream is done.
"""

from __future__ import annotations

from typing import Final

from roost.broker.announcement import Announcement, Recalls
from roost.broker.filters import Options
from roost.broker.message import Message
from roost.broker.recall import Recall
from roost.broker.since import Since

MAX_HAD: Final = 1000
MAX_STREAMS: Final = 20_000  # of which it is known how far they are done, or were handed on
MAX_GATHERED: Final = 16  # nodes of whose announcement not all parts have come


class Replay:
    """A past that is being delivered, and how it is wanted."""

    def __init__(self, recall: Recall, options: Options) -> None:
        self.recall: Final = recall
        self.options: Final = options
        self.is_over = False  # it has caught up, and not all that it brought is acknowledged
        self.is_settled = False  # all of it is


class Abroad:
    """One session's."""

    def __init__(self) -> None:
        self.replays: list[Replay] = []  # those that are not over one by one; bound: settings.max_filters
        self.recounted: Recalls = {}  # what other nodes were told of them
        self.recalled: dict[bytes, Since] = {}  # by filter, pasts that were delivered so far; bound: as above
        self.handed: dict[bytes, int] = {}  # by stream, the last number it got and others were not told of
        self.look = 0  # when to look next how far that is done
        self.done: dict[bytes, int] = {}  # by stream, what is acknowledged, as nodes told; bound of both: MAX_STREAMS
        self.elsewhere = False  # another node has it
        self.online = False  # there
        self.panel = b""  # of that node; after a restart it is told again
        self.fleeting = False  # it ends with its link there, and is known here for its shared subscriptions only
        self.told = False  # other nodes know of it
        self.heard = 0  # the time of the last announcement that was believed
        self.began = 0  # when its client came to where it was last
        self.came = 0  # when it came here, if it is elsewhere now
        self.left = 0  # when it had come to where it was before it came here
        self.taken = 0  # other nodes took QoS 2 messages of its client before this time
        self.released = False  # its client released a QoS 2 message, and others were not told
        self.earlier: set[int] = set()  # packet ids that its client may have released elsewhere; bound: those it held
        self.spoke = 0  # when its client last published a new QoS 2 message here, since it came
        self.returned = False  # other nodes do not know what it is to get here
        self.begun: dict[tuple[bytes, int], int] = {}  # QoS 2 messages that its client began to take elsewhere, by name
        self._gathered: dict[bytes, Announcement] = {}  # by panel, what is not whole yet; bound: MAX_GATHERED
        self.unsaid = 0  # how often it was told of without all filters
        self._had: dict[tuple[bytes, int], None] = {}  # what its client took elsewhere and has not come; bound: MAX_HAD

    def come_back(self, now: int) -> None:
        """Its client is at this node, and comes later than to any other, whatever their clocks say."""
        if self.elsewhere:
            self.spoke = 0
            self.left = self.began
        self.elsewhere = False
        self.fleeting = False
        self.returned = True
        self.began = max(now, self.began + 1, self.taken)

    def have(self, stream: bytes, number: int) -> None:
        """Its client took a reading elsewhere that has not come here."""
        if len(self._had) >= MAX_HAD:
            del self._had[next(iter(self._had))]
        self._had[stream, number] = None

    def gather(self, said: Announcement) -> Announcement | None:
        """Take in a part of what a node tells: the whole of it with the last one, if none is missing."""
        before = self._gathered.pop(said.panel, None)
        if said.part[0]:
            if before is None or before.part != (said.part[0] - 1, said.part[1]):
                return None
            said = before.joined(said)
        if said.is_last:
            return said
        if len(self._gathered) >= MAX_GATHERED:
            del self._gathered[next(iter(self._gathered))]
        self._gathered[said.panel] = said
        return None

    def hand(self, stream: bytes, number: int) -> None:
        """It got a reading, or will."""
        if stream not in self.handed and len(self.handed) >= MAX_STREAMS:
            del self.handed[next(iter(self.handed))]
        self.handed[stream] = max(number, self.handed.get(stream, 0))

    def note_done(self, stream: bytes, number: int) -> None:
        """All through this number is acknowledged."""
        if stream not in self.done and len(self.done) >= MAX_STREAMS:
            del self.done[next(iter(self.done))]
        self.done[stream] = max(number, self.done.get(stream, 0))

    def leaves(self, message: Message) -> bool:
        """Whether a message is not to be delivered live: it was elsewhere, or a past that is being delivered has it."""
        origin = message.origin
        if origin is None:
            return False
        is_done = self.done.get(origin[1], 0) >= origin[2] or (origin[1], origin[2]) in self._had
        return is_done or self.covers(message.topic)

    @property
    def under_way(self) -> Replay | None:
        """The past that is being delivered, or is next."""
        return next((replay for replay in self.replays if not replay.is_over), None)

    @property
    def running(self) -> list[Recall]:
        """The pasts that are being delivered, or will be."""
        return [replay.recall for replay in self.replays if not replay.is_over]

    def covers(self, topic: bytes) -> bool:
        """Whether live messages of a topic are left to a past that is being delivered."""
        return any(replay.recall.covers(topic) for replay in self.replays if not replay.is_over)
