"""What the repos know of a panel's numbers, asked before a panel whose disk is new or damaged gives any.

- A new panel takes the first answer; without one it goes on alone after `ALONE_TRIES`.
- A damaged one waits for as long as it takes, and until `AGREEING` answers in a row bring nothing new: the repo that
  answers may be behind the others, or a command of ours may still be on its way to it.

Numbers beyond half of all there are nobody has counted to; a repo that says so is not heard, because behind the last
number there would be none left to give.

`AskLatest` asks the nearest repo, page by page (`Latest` of `roost.repo.question`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from roost.errors import BadPacket
from roost.forwarding.pending import Question
from roost.machine import SECOND, Effect, Note, Randomness
from roost.naming import Name
from roost.pubsub.asking import Asking
from roost.pubsub.panels.outbox import Outbox
from roost.repo.numbering import MAX_NUMBER
from roost.repo.question import ASK, Latest, decode_streams, encode_question
from roost.wire import Data

ALONE_TRIES: Final = 4
AGREEING: Final = 2
AGREEING_PAUSE: Final = 2 * SECOND
MIN_PAUSE: Final = SECOND
MAX_PAUSE: Final = 30 * SECOND
MAX_PAGES: Final = 1024
MAX_TOLD: Final = MAX_NUMBER // 2
UNSETTLED: Final = "numbers unsettled"
_LIFETIME_MS: Final = 2000
_TRIES: Final = 2

Told: TypeAlias = Callable[[Mapping[Name, int] | None, str, int], list[Effect]]
Asker: TypeAlias = Callable[[Name, Told, int], list[Effect]]  # prefix, then: the highest numbers of its streams


class AskLatest:
    """Asks any repo of a group for the highest numbers of all streams below a prefix."""

    def __init__(self, asking: Asking, service: Name) -> None:
        self._asking: Final = asking
        self._service: Final = service

    def __call__(self, prefix: Name, then: Told, now: int) -> list[Effect]:
        """Ask; `then` gets the numbers, or None and why there are none."""
        return self._page(Latest(prefix), {}, MAX_PAGES, then, now)

    def _page(self, question: Latest, found: dict[Name, int], left: int, then: Told, now: int) -> list[Effect]:
        name = self._service / ASK / encode_question(question)

        def answered(data: Data | None, why: str, now: int) -> list[Effect]:
            if data is None:
                return then(None, why, now)
            try:
                streams = decode_streams(data.content)
            except BadPacket as error:
                return [self._asking.rejected(data, str(error)), *then(None, str(error), now)]
            found.update({stream: number for stream, number in streams.entries if stream.starts_with(question.prefix)})
            if not streams.more or not streams.entries:
                return then(found, "", now)
            if left <= 1:
                return then(None, f"{self._service} has more than {MAX_PAGES} pages of streams", now)
            return self._page(Latest(question.prefix, streams.entries[-1][0]), found, left - 1, then, now)

        asked = Question(name, can_be_prefix=True, must_be_fresh=True, lifetime_ms=_LIFETIME_MS, tries=_TRIES)
        return self._asking.fetch(asked, answered, now)


class Recollection:
    """Settles an outbox whose numbers are not certain."""

    def __init__(self, panel: Name, outbox: Outbox, ask: Asker, randomness: Randomness) -> None:
        self._panel: Final = panel
        self._outbox: Final = outbox
        self._ask: Final = ask
        self._randomness: Final = randomness
        self._asked = False
        self._again_at: int | None = None
        self._tries = 0
        self._told: Final[dict[Name, int]] = {}  # what repos said so far; bound: the outbox's max_streams
        self._agreed = 0

    def start(self, now: int) -> list[Effect]:
        """Ask, if there is need to and nothing is being asked."""
        self._again_at = None
        if self._outbox.settled or self._asked:
            return []
        self._asked = True
        self._tries += 1
        return self._ask(self._panel, self._heard, now)

    def tick(self, now: int) -> list[Effect]:
        """Ask again, if it is time to."""
        return self.start(now) if self._again_at is not None and self._again_at <= now else []

    def deadline(self) -> int | None:
        """When that is."""
        return self._again_at

    def _heard(self, numbers: Mapping[Name, int] | None, reason: str, now: int) -> list[Effect]:
        self._asked = False
        outbox = self._outbox
        if numbers is None:
            if outbox.new and self._tries >= ALONE_TRIES:
                return [Note("panel starts alone", (("reason", reason),)), *outbox.settle({})]
            pause = min(MAX_PAUSE, MIN_PAUSE << min(self._tries, 10))
            self._again_at = now + pause // 2 + self._randomness.randint(0, pause // 2)
            return [Note(UNSETTLED, (("reason", reason),))]
        news = {
            stream: number
            for stream, number in numbers.items()
            if stream.starts_with(self._panel)
            and max(outbox.highest(stream), self._told.get(stream, 0)) < number <= MAX_TOLD
        }
        for stream, number in news.items():
            if stream in self._told or len(self._told) < outbox.max_streams:
                self._told[stream] = number
        self._agreed = 1 if news else self._agreed + 1
        if outbox.damaged and self._agreed < AGREEING:
            self._again_at = now + AGREEING_PAUSE
            return []
        facts = (("streams", len(self._told)), ("damaged", int(outbox.damaged)))
        return [Note("numbers settled", facts), *outbox.settle(self._told)]
