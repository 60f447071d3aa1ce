"""PSync partial sync, the consumer's side: it wants some streams, and keeps its own place [PSync §6, NDN-PS].

    hello ──streams, IBLT──▶ sync ──changed streams, IBLT──▶ sync …
      ▲                       │ nobody answered: there was no news, ask again at once
      └─────application Nack──┘ anything else that went wrong: ask again after U(100, 500) ms

A reply may name streams that are not wanted, because a Bloom filter finds some: they are counted and left out. The IBLT
is the producer's; it is handed back as it came.

The place, that is the IBLT and the number of every wanted stream, is saved after each step. After a restart the
consumer goes on from it, with whichever producer is near, and misses nothing. What it had `Learned` but not yet saved
it learns again; what was saved is in `latest()` and is not learnt again, whether or not somebody had the time to act on
it. If the list has changed meanwhile, or the place is lost, it says hello first, and learns of each stream from behind
the number it has, or from 1. Without a file the place is not saved: whoever keeps its own numbers has no need of it.

Who wants ranges says hello with them, and is told of the streams in them alone; a producer that is not ours leaves this
unanswered, so every third hello in vain is a plain one. What a reply carries behind its state is told as `Carried`.

A producer that takes over may know less than the one before. Its streams differ from what we hand back, so its first
reply names them all: `behind` has the numbers, until it has caught up. Of streams that it does not know at all only a
hello tells.

Where the C++ library does harm we differ, and only there: a reply without news for us is followed by a pause, and so is
a Nack soon after a hello, because caches would repeat them at the speed of the network; and after a minute without any
reply we say hello, because a producer that cannot read our Interest is as silent as one that has no news.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from roost.errors import BadPacket
from roost.machine import MS, Effect, Note, Randomness, Rejected
from roost.machine.disk import Saved
from roost.naming import Component, Name
from roost.sync.compression import decompress
from roost.sync.consumer_state import ConsumerState, StateFile, decode_consumer
from roost.sync.port import Asked, Collect, Event, Learned, Stream
from roost.sync.presets import PartialPreset
from roost.sync.psync_names import hello_question, sync_question
from roost.sync.request import Missed, Received, Request
from roost.sync.subscriptions import NameRange, RangeList, Subscriptions
from roost.sync.sync_state import decode_state, split_carried
from roost.wire import MAX_PACKET_BYTES, Data, Interest

SILENT_LIFETIMES: Final = 60  # without a reply, before we say hello
PLAIN_EVERY: Final = 3  # hellos in vain
WORRY_HELLOS: Final = 5  # in vain, before that is noted
UNHEARD: Final = "hellos unanswered"
_INTEREST_BYTES: Final = 40  # of an Interest beside its name
_SAMPLE_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class Carried(Effect):
    """A packet that came inside a reply, of a stream that was just `Learned`: nobody has verified it yet."""

    data: Data


class PSyncConsumer:
    """A consumer of partial sync; `group` is what PSync calls the sync prefix."""

    def __init__(
        self,
        group: Name,
        preset: PartialPreset,
        subscriptions: Subscriptions,
        randomness: Randomness,
        saved: bytes,
        file: str,
    ) -> None:
        self.group: Final = group
        self.prefix: Final = group
        self.route: Final = None
        self.multicast: Final = None
        self.preset: Final = preset
        self.false_positives = 0  # streams in replies that are not wanted
        self.turned_away = 0  # streams that found no room
        self.hellos = 0  # that were answered
        self.behind: Final[dict[Name, int]] = {}  # of wanted streams that who answers knows less of; bound: as _numbers
        self._subscriptions: Final = subscriptions
        self._randomness: Final = randomness
        self._file: Final = StateFile(file) if file else None
        self._request: Final = Request()
        self._hello: Final = hello_question(group)  # what every hello begins with
        self._last_hello = Name()  # that was answered
        self._in_vain = 0  # hellos since then
        self._iblt: Component | None = None
        self._numbers: Final[dict[Name, int]] = {}  # of wanted streams; bound: preset.max_streams
        self._available: dict[Name, int] = {}  # as the last hello had it; bound: preset.max_streams
        self._is_hellos = False  # whether our IBLT is that of the last hello, so that `_available` is true to it
        self._needs_hello = True  # whether our IBLT says nothing of some streams that are wanted
        self._hello_until = 0  # until when caches repeat the last hello
        self._go_on_at: int | None = None
        self._silent = 0
        self._started = False
        self._restored: Final = self._restore(saved)

    def evidence(self, interest: Interest) -> Interest | Data | None:  # noqa: ARG002  the port's shape
        """Nobody sends Interests to a consumer."""
        return None

    def latest(self) -> Mapping[Stream, int]:
        """The highest known number of every wanted stream."""
        return {Stream(name): number for name, number in self._numbers.items()}

    def available(self) -> Mapping[Name, int]:
        """All streams and their numbers, as the last hello told; nothing before there was one since the start.

        A producer of ours that is asked with ranges tells of the streams in them only.
        """
        return dict(self._available)

    # -- commands

    def subscribe(self, wanted: Name | NameRange, now: int) -> list[Effect]:
        """Want more: what there is already is `Learned` at once or with the next hello, the rest as it comes."""
        if not self._subscriptions.add(wanted):
            return []
        effects: list[Effect] = []
        if self._is_hellos:
            effects = self._learn_all(list(self._available.items()))
        else:
            self._needs_hello = True
        return effects + self._save() + self._renew(now)

    def unsubscribe(self, wanted: Name | NameRange, now: int) -> list[Effect]:  # noqa: ARG002  a command's shape
        """Want less; what is wanted again later is learnt from 1."""
        if not self._subscriptions.remove(wanted):
            return []
        for stream in [stream for stream in self._numbers if not self._subscriptions.covers(stream)]:
            del self._numbers[stream]
            self.behind.pop(stream, None)
        return self._save()

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Say hello, or go on where we were."""
        lost = not self._started and not self._restored
        self._started = True
        effects: list[Effect] = [Note("place lost", (("file", self._file.file),))] if lost and self._file else []
        return effects + self._go_on(now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in a reply, or that something is on the disk."""
        if isinstance(event, Asked):
            return []
        if isinstance(event, Saved):
            return [] if self._iblt is None or self._file is None else self._file.saved(event, self._state(self._iblt))
        outcome = self._request.receive(event, now)
        if outcome is None:
            return []
        if isinstance(outcome, Collect):
            return [outcome]
        if isinstance(outcome, Missed):
            return self._missed(outcome, now)
        self._silent = 0
        return self._nacked(outcome, now) if outcome.nack else self._reply_came(outcome, now)

    def tick(self, now: int) -> list[Effect]:
        """Go on after a pause."""
        return self._go_on(now) if self._go_on_at is not None and now >= self._go_on_at else []

    def deadline(self) -> int | None:
        """When the pause is over."""
        return self._go_on_at

    # -- asking

    def _go_on(self, now: int) -> list[Effect]:
        """Ask the next question; a hello only when caches have forgotten the last one."""
        self._go_on_at = None
        if self._iblt is not None and not self._needs_hello:
            question = sync_question(self.prefix, self._subscriptions.components(self.preset), self._iblt)
            return self._request.ask(question, self.preset.sync_lifetime_ms, now)
        hello = self._next_hello()
        if now < self._hello_until and hello == self._last_hello:
            self._go_on_at = self._hello_until
            return self._request.forget()
        return self._request.ask(hello, self.preset.hello_lifetime_ms, now)

    def _next_hello(self) -> Name:
        if not isinstance(self._subscriptions, RangeList) or self._in_vain % PLAIN_EVERY == PLAIN_EVERY - 1:
            return self._hello
        return hello_question(self.group, self._subscriptions.components(self.preset)[1])

    def _pause(self, now: int) -> list[Effect]:
        low, high = self.preset.resend_low_ms * MS, self.preset.resend_high_ms * MS
        self._go_on_at = now + self._randomness.randint(low, high)
        return []

    def _renew(self, now: int) -> list[Effect]:
        """Have the new list go out soon, together with what else changes until then.

        The question with the old list is withdrawn: the IBLT of its reply would pass over what is wanted now. A plain
        hello on its way serves any list.
        """
        if not self._started or self._request.question == self._hello:
            return []
        soon = now + self.preset.resend_low_ms * MS
        self._go_on_at = soon if self._go_on_at is None else min(soon, self._go_on_at)
        return self._request.forget()

    def _is_hello(self, question: Name) -> bool:
        return question.starts_with(self._hello)

    # -- what comes back

    def _missed(self, missed: Missed, now: int) -> list[Effect]:
        effects: list[Effect] = []
        if self._is_hello(missed.question):
            self._in_vain += 1
            if self._in_vain == WORRY_HELLOS:
                effects.append(Note(UNHEARD, (("group", str(self.group)), ("reason", missed.reason))))
        if missed.bad:
            effects.append(Rejected(str(self.group), missed.reason, missed.bad[:_SAMPLE_BYTES]))
        if missed.bad or not missed.expired or self._is_hello(missed.question):
            return effects + self._pause(now)
        self._silent += 1
        if self._silent >= SILENT_LIFETIMES:
            self._silent = 0
            self._needs_hello = True
        return self._go_on(now)

    def _nacked(self, reply: Received, now: int) -> list[Effect]:
        if self._is_hello(reply.question):
            return self._pause(now)
        self._needs_hello = True
        return self._go_on(now)

    def _reply_came(self, reply: Received, now: int) -> list[Effect]:
        try:
            entries, packets = self._open(reply)
        except BadPacket as error:
            rejected = Rejected(str(self.group), str(error), reply.content[:_SAMPLE_BYTES])
            return [rejected, *self._pause(now)]
        iblt = reply.name.at(-1)
        hello = self._is_hello(reply.question)
        if hello:
            self.hellos += 1
            self._in_vain = 0
            self._last_hello = reply.question
            self._available = dict(entries)
            self._is_hellos = reply.question == self._hello
            self._needs_hello = False
            self._hello_until = now + self.preset.reply_freshness_ms * MS
            self.behind.update((stream, 0) for stream in self._numbers if stream not in self._available)
        else:
            self._is_hellos = self._is_hellos and iblt == self._iblt
            self.false_positives += sum(not self._subscriptions.covers(stream) for stream, _ in entries)
        changed = iblt != self._iblt
        self._iblt = iblt
        effects = self._learn_all(entries)
        going_on = self._go_on(now) if hello or effects else self._pause(now)
        if effects:
            effects += self._carried(packets)
        return effects + (self._save() if changed or effects else []) + going_on

    def _open(self, reply: Received) -> tuple[list[tuple[Name, int]], list[bytes]]:
        """Read a reply, and see whether its IBLT can be handed back; what it carries comes unread."""
        preset = self.preset
        if len(reply.name) != len(reply.question) + 1:
            raise BadPacket(f"one IBLT was expected behind the question, {reply.name} has another form")
        iblt = reply.name.at(-1)
        question = sync_question(self.prefix, self._subscriptions.components(preset), iblt)
        if len(question.value) + _INTEREST_BYTES > MAX_PACKET_BYTES:
            raise BadPacket(f"an IBLT of {len(iblt.value)} bytes is too long to be handed back")
        content = decompress(reply.content, preset.content_compression, preset.max_reply_bytes)
        packets: list[bytes] = []
        if isinstance(self._subscriptions, RangeList):
            content, packets = split_carried(content)
        return decode_state(content, preset.max_streams), packets

    def _carried(self, packets: list[bytes]) -> list[Effect]:
        try:
            return [Carried(Data.decode(packet)) for packet in packets]
        except BadPacket as error:
            return [Rejected(str(self.group), f"what a reply carries: {error}", packets[0][:_SAMPLE_BYTES])]

    def _learn_all(self, entries: list[tuple[Name, int]]) -> list[Effect]:
        effects: list[Effect] = []
        for stream, number in entries:
            known = self._numbers.get(stream, 0)
            if number < known:
                self.behind[stream] = number
            elif self.behind:
                self.behind.pop(stream, None)
            if number <= known or not self._subscriptions.covers(stream):
                continue
            if not known and len(self._numbers) >= self.preset.max_streams:
                self.turned_away += 1
                continue
            self._numbers[stream] = number
            effects.append(Learned(Stream(stream), known + 1, number))
        return effects

    # -- the place

    def _restore(self, saved: bytes) -> bool:
        """Take the place from the disk; returns whether there was none or it is whole."""
        if not saved:
            return True
        state = decode_consumer(saved, self.preset.max_streams)
        if state is None:
            return False
        self._iblt = state.iblt
        self._needs_hello = state.fingerprint != self._subscriptions.fingerprint()
        for stream, number in state.numbers.items():
            if self._subscriptions.covers(stream):
                self._numbers[stream] = number
        return True

    def _state(self, iblt: Component) -> ConsumerState:
        """Our place; as long as a hello is needed it is no place for any list."""
        return ConsumerState(b"" if self._needs_hello else self._subscriptions.fingerprint(), iblt, self._numbers)

    def _save(self) -> list[Effect]:
        return [] if self._iblt is None or self._file is None else self._file.save(self._state(self._iblt))
