"""What a panel has published and no repo has confirmed yet: a bounded queue on the disk, and the numbers it has given.

    add ──▶ Save …… Saved ──▶ on the disk: it may be sent and served ──▶ forget (confirmed) or refuse (set aside)

One log holds it all (`panels.outbox_log`). One save is under way at a time; what is wanted meanwhile goes into
the next, so a burst costs two. That something is confirmed waits for the next save, or `FLUSH` at most: if a crash
loses it, the reading is sent again, which a repo takes for the same one. When the log is more than twice as large as
what counts in it, it is replaced.

If something in the log is damaged, which numbers stood there is unknown: the outbox is `damaged`, and nothing is saved
before its owner has asked the repos what they know of its streams (`settle`).

When it is full, it refuses (`Backpressure`, which says when to try again; not at all if it will never fit). It does not
drop the oldest: numbers are dense, and a number that nobody can serve would be a hole that every repo and every
consumer waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from roost.errors import Backpressure
from roost.machine import SECOND, Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.panels import outbox_log
from roost.pubsub.panels.outbox_log import Packet, Run

MAX_ENTRIES: Final = 100_000
MAX_BYTES: Final = 64 << 20
MAX_STREAMS: Final = 10_000
MAX_REFUSED: Final = 1024
COMPACT_BYTES: Final = 1 << 18
FLUSH: Final = SECOND
RETRY_AFTER_MS: Final = 500

_COMPACT_RATIO: Final = 2


class Outbox:
    """What is on the disk, and what is on its way there."""

    def __init__(
        self,
        file: str,
        found: bytes,
        *,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_BYTES,
        max_streams: int = MAX_STREAMS,
        max_refused: int = MAX_REFUSED,
    ) -> None:
        self.file: Final = file
        self.max_entries: Final = max_entries
        self.max_bytes: Final = max_bytes
        self.max_streams: Final = max_streams
        self.max_refused: Final = max_refused
        self.damaged = False
        self.settled = False
        self.saves = 0
        self.compactions = 0
        self.turned_away = 0  # readings, by the bounds
        self.dropped = 0  # refused readings, by max_refused
        self.size_bytes = len(found)  # of the log
        self.held_bytes = 0  # of readings that count against max_bytes
        self._given: Final[dict[Name, int]] = {}  # the highest number of each stream; bound: max_streams
        self._kept: Final[dict[bytes, Packet]] = {}  # on the disk, the oldest first; bound of all three: max_entries
        self._wanted: list[Packet] = []
        self._under_way: list[Packet] = []
        self._refused: Final[dict[bytes, tuple[Packet, str]]] = {}  # bound: max_refused
        self._frames: list[
            bytes
        ] = []  # for the next save, beside what is wanted; bound: what was let go since the last
        self._counts = 0  # bytes of the log that still mean something
        self._ticket = 0
        self._saving = False
        self._replace = False  # nothing can be appended to a log that ends in something unreadable
        self._flush_at: int | None = None
        self._restore(found)
        self.new = not self._given and not self.damaged
        self.settled = not self.new and not self.damaged

    def __len__(self) -> int:
        return len(self._kept) + len(self._under_way) + len(self._wanted)

    def highest(self, stream: Name) -> int:
        """The highest number that was given in a stream, 0 before the first."""
        return self._given.get(stream, 0)

    @property
    def streams(self) -> int:
        """How many streams have numbers."""
        return len(self._given)

    def get(self, value: bytes) -> bytes | None:
        """The reading of this name, if it is on the disk and not confirmed."""
        packet = self._kept.get(value)
        return None if packet is None else packet.wire

    def kept(self) -> list[Packet]:
        """All that is on the disk and not confirmed, the oldest first."""
        return list(self._kept.values())

    def refused(self) -> list[tuple[Name, str]]:
        """What was set aside, and why."""
        return [(Name(value), reason) for value, (_, reason) in self._refused.items()]

    # -- what comes in

    def check(self, streams: Sequence[Name]) -> None:
        """See whether there is room for a reading of each of these; `Backpressure` if not."""
        count = len(streams)
        if not self.settled:
            self._turn_away(count, "the numbers of its streams are not certain, the repos are being asked")
        if len(self) + count > self.max_entries:
            self._turn_away(count, f"{self.max_entries} readings are the limit", for_good=count > self.max_entries)
        if self.held_bytes >= self.max_bytes:
            self._turn_away(count, f"{self.max_bytes} bytes are the limit")
        new = {stream: None for stream in streams if stream not in self._given}
        if len(self._given) + len(new) > self.max_streams:
            self._turn_away(count, f"{self.max_streams} streams are the limit", for_good=True)

    def add(self, packets: Sequence[Packet]) -> list[Effect]:
        """Take these, all or none; their numbers follow on `highest`. `saved` says when they are on the disk."""
        self.check([packet.stream for packet in packets])
        size = sum([len(packet.wire) for packet in packets])
        if self.held_bytes + size > self.max_bytes:
            self._turn_away(len(packets), f"{self.max_bytes} bytes are the limit", for_good=size > self.max_bytes)
        for packet in packets:
            self._count(packet.stream, packet.number)
        self.held_bytes += size
        self._wanted += packets
        return self._save()

    def saved(self, event: Saved) -> tuple[list[Packet], list[Effect]]:
        """Take in that a save is through: which readings are on the disk now, and the next save if there is one."""
        if event.file != self.file or event.ticket != self._ticket or not self._saving:
            return [], []
        self._saving = False
        through = self._under_way
        self._under_way = []
        for packet in through:
            self._kept[packet.value] = packet
        overdue = bool(self._frames) and self._flush_at is None
        return through, self._save() if self._wanted or overdue else []

    # -- what goes

    def forget(self, packets: Iterable[Packet], now: int) -> list[Run]:
        """Let go of what is confirmed; returns it as runs."""
        gone = [packet for packet in packets if self._let_go(packet)]
        found = outbox_log.runs(gone)
        self._frames += [outbox_log.gone(run) for run in found]
        if gone:
            self._flush_at = self._flush_at or now + FLUSH
        return found

    def refuse(self, packet: Packet, reason: str, now: int) -> None:
        """Set aside what no repo takes; it is not sent again unless somebody says so."""
        if not self._let_go(packet):
            return
        if len(self._refused) >= self.max_refused:
            oldest, _ = self._refused.pop(next(iter(self._refused)))
            self._counts -= outbox_log.size_of_kept(oldest)
            self._frames.append(outbox_log.gone(Run(oldest.stream, oldest.number, oldest.number)))
            self.dropped += 1
        self._refused[packet.value] = (packet, reason)
        self._counts += outbox_log.size_of_kept(packet)
        self._frames.append(outbox_log.refused(packet, reason))
        self._flush_at = self._flush_at or now + FLUSH

    def take_back(self, now: int) -> list[Packet]:
        """Treat what was refused as unconfirmed again, as far as there is room; returns it, to be sent."""
        back: list[Packet] = []
        for packet, _ in list(self._refused.values()):
            if len(self) >= self.max_entries or self.held_bytes + len(packet.wire) > self.max_bytes:
                break
            del self._refused[packet.value]
            self.held_bytes += len(packet.wire)
            self._kept[packet.value] = packet
            self._frames.append(outbox_log.kept(packet))
            self._flush_at = self._flush_at or now + FLUSH
            back.append(packet)
        return back

    # -- what others know

    def settle(self, numbers: Mapping[Name, int]) -> list[Effect]:
        """Take in the highest numbers that repos have of our streams; from now on numbers can be given."""
        self.settled = True
        for stream, number in numbers.items():
            if number > self.highest(stream) and (stream in self._given or len(self._given) < self.max_streams):
                self._count(stream, number)
                self._frames.append(outbox_log.counted(stream, number))
        return self._save() if self._frames or self._replace else []

    # -- time

    def tick(self, now: int) -> list[Effect]:
        """Write what was confirmed, if nothing else gave reason to."""
        if self._flush_at is None or now < self._flush_at:
            return []
        return self.flush()

    def flush(self) -> list[Effect]:
        """Write what was confirmed now, or behind the save that is under way."""
        self._flush_at = None
        return self._save()

    def deadline(self) -> int | None:
        """When that is."""
        return self._flush_at

    # -- inside

    def _turn_away(self, count: int, why: str, *, for_good: bool = False) -> None:
        self.turned_away += count
        raise Backpressure(f"the outbox takes no more: {why}", 0 if for_good else RETRY_AFTER_MS)

    def _count(self, stream: Name, number: int) -> None:
        if stream not in self._given:
            self._counts += outbox_log.size_of_counted(stream)
        self._given[stream] = max(number, self._given.get(stream, 0))

    def _let_go(self, packet: Packet) -> bool:
        if self._kept.pop(packet.value, None) is None:
            return False
        self.held_bytes -= len(packet.wire)
        self._counts -= outbox_log.size_of_kept(packet)
        return True

    def _save(self) -> list[Effect]:
        if self._saving or not self.settled:
            return []
        self._under_way = self._wanted
        self._wanted = []
        self._counts += sum([outbox_log.size_of_kept(packet) for packet in self._under_way])
        outdated = self.size_bytes > COMPACT_BYTES and self.size_bytes > _COMPACT_RATIO * self._counts
        replace = self._replace or outdated
        if replace:
            data = self._everything()
            self.size_bytes = 0
            self.compactions += 1
        else:
            data = b"".join([*self._frames, *[outbox_log.kept(packet) for packet in self._under_way]])
        if not data and not replace:
            return []
        self._frames = []
        self._replace = False
        self._flush_at = None
        self._saving = True
        self._ticket += 1
        self.saves += 1
        self.size_bytes += len(data)
        return [Save(self.file, self._ticket, data, replace)]

    def _everything(self) -> bytes:
        """The whole log as it will be, without what is outdated."""
        frames = [outbox_log.counted(stream, number) for stream, number in self._given.items()]
        for packet, reason in self._refused.values():
            frames += [outbox_log.kept(packet), outbox_log.refused(packet, reason)]
        frames += [outbox_log.kept(packet) for packet in self._kept.values()]
        frames += [outbox_log.kept(packet) for packet in self._under_way]
        return b"".join(frames)

    def _restore(self, found: bytes) -> None:
        bodies, self.damaged, cut_off = outbox_log.read(found)
        for body in bodies:
            self._replay(body)
        self._replace = self.damaged or cut_off
        alive = [*self._kept.values(), *[packet for packet, _ in self._refused.values()]]
        self._counts += sum([outbox_log.size_of_kept(packet) for packet in alive])
        self.held_bytes = sum([len(packet.wire) for packet in self._kept.values()])

    def _replay(self, body: bytes) -> None:
        if body[0] == outbox_log.KEPT:
            packet = outbox_log.packet_of(body)
            self._refused.pop(packet.value, None)
            self._kept[packet.value] = packet
            self._count(packet.stream, packet.number)
        elif body[0] == outbox_log.COUNTED:
            self._count(*outbox_log.count_of(body))
        elif body[0] == outbox_log.GONE:
            stream, low, high = outbox_log.run_of(body)
            self._count(stream, high)
            for number in range(low, high + 1):
                value = numbered(stream, number).value
                self._kept.pop(value, None)
                self._refused.pop(value, None)
        elif body[0] == outbox_log.REFUSED:
            stream, number, reason = outbox_log.refusal_of(body)
            self._count(stream, number)
            found = self._kept.pop(numbered(stream, number).value, None)
            if found is not None:
                self._refused[found.value] = (found, reason)
