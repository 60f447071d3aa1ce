"""What all resources of the API look at: the node that runs, the index of its streams, and who may see which.

async with lookout(running, gate) as lookout:      the index goes along with the repos while the block runs
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import unquote

from aiohttp import web

from roost.broker.packets.fields import check_filter
from roost.broker.packets.reasons import Malformed
from roost.broker.patterns import matches
from roost.forwarding.pending import Question
from roost.host.clock import Clock
from roost.host.desk import Gate
from roost.host.http.answers import Problem
from roost.host.http.asking import USER
from roost.host.mqtt.role_finding import RoleJudge
from roost.host.mqtt.running import Running
from roost.host.mqtt.topic_desk import BrokerTopics
from roost.machine import Effect
from roost.pubsub.repos.repo import Repo
from roost.repo.shelf_effects import Kept
from roost.web.api.inquiry import Inquiry
from roost.web.api.judging import TRUSTED, Judging
from roost.web.api.neighbours import Neighbours
from roost.web.index import Index
from roost.web.index_reading import IndexReader
from roost.web.index_rows import GroupRow, StreamRow
from roost.web.index_views import Views
from roost.wire import Data

TICK_S: Final = 1.0
FEW: Final = 4  # streams that are learnt in one turn
PIECE: Final = 256  # streams that are looked at in one turn


class Lookout:
    """All of it."""

    def __init__(self, running: Running, gate: Gate) -> None:
        core = running.broker.core
        judge = running.topics.judge if isinstance(running.topics, BrokerTopics) else None
        self.running: Final = running
        self.gate: Final = gate
        self.clock: Final[Clock] = running.server.clock
        self.index: Final = Index()
        self.reader: Final = IndexReader(self.index, core)
        self._grown: Final = asyncio.Event()  # there is another stream
        self.inquiry: Final = None if running.repo is None else Inquiry(running.repo.server)
        self.judging: Final = (
            None
            if running.repo is None or self.inquiry is None
            else Judging(running.repo.verifier, running.repo.repos, self.inquiry, self.clock)
        )
        self.neighbours: Final = Neighbours(self.index, self.clock, self.ask)
        self.views: Final = Views(self.reader, core, judge if isinstance(judge, RoleJudge) else None)

    def counts(self) -> dict[str, int]:
        """What happened so far, by the ends of `$SYS` topics."""
        return {
            "index/streams": len(self.index),
            "index/streams/stale": len(self.index.stale),
            "index/streams/refused": self.index.refused,
            "http/asked/refused": 0 if self.inquiry is None else self.inquiry.turned_away,
        }

    async def ask(self, question: Question) -> Data | None:
        """Ask the network; None if nothing comes, or it is not believed."""
        if self.inquiry is None or self.judging is None:
            return None
        data = await self.inquiry.ask(question)
        if data is None or (await self.judging.judge(data)).verdict != TRUSTED:
            return None
        return data

    def hear(self, repo: Repo, effect: Effect, now: int) -> None:
        """Take in what a repo of this node tells."""
        if isinstance(effect, Kept):
            known = len(self.index)
            self.index.kept(repo, effect, now)
            if len(self.index) > known:
                self._grown.set()

    async def row(self, request: web.Request, text: str) -> StreamRow:
        """A stream by its name; raises `Problem` if there is none, or the user may not see it."""
        user = request[USER]
        await self.views.admit(user)
        row = self.index.get(text)
        if row is None:
            raise Problem(404, f"{text[:200]}: no repo of this node has such a stream")
        if not self.views.sees(user, row):
            raise Problem(403, self.views.why_not(user, row))
        return row

    async def found(self, user: bytes, group: str, match: str) -> list[StreamRow]:
        """The streams that a user sees, of one group if it is named, that match: by name."""
        rows = await self.views.rows(user)
        if group:
            rows = [row for row in rows if row.group.text == group]
        if not match:
            return rows
        fits = _by_words(match) if "+" not in match and "#" not in match else self._by_filter(match)
        found: list[StreamRow] = []
        for at, row in enumerate(list(rows), 1):  # a copy: others may come meanwhile
            if fits(row):
                found.append(row)
            if at % PIECE == 0:
                await asyncio.sleep(0)
        return found

    def _by_filter(self, match: str) -> Callable[[StreamRow], bool]:
        """Whether a stream has a topic that a filter matches."""
        levels = _levels(match)

        def fits(row: StreamRow) -> bool:
            self.reader.learn(row)
            return any(matches(levels, subject.encode().split(b"/")) for subject in row.subjects)

        return fits

    async def groups(self, user: bytes) -> list[tuple[GroupRow, list[StreamRow]]]:
        """The groups of which a user sees something, and what, by name."""
        by_group: dict[GroupRow, list[StreamRow]] = {}
        rows = await self.views.rows(user)
        if rows is self.index.order:
            return [(group, group.rows) for _, group in sorted(self.index.groups.items())]
        for row in rows:
            by_group.setdefault(row.group, []).append(row)
        return sorted(by_group.items(), key=lambda item: item[0].text)

    async def fill(self) -> None:
        """Take in what there is already, and learn what it is about."""
        for group in list(self.index.groups.values()):
            for at, _ in enumerate(self.reader.fill(group)):
                if at % PIECE == PIECE - 1:
                    await asyncio.sleep(0)

    async def tend(self) -> None:
        """Learn what streams are about, and see every second which are stale."""
        at = 0
        while True:
            while at < len(self.index.came):
                self.reader.learn(self.index.came[at])
                at += 1
                if at % FEW == 0:
                    await asyncio.sleep(0)
            self.index.tick(self.clock())
            self._grown.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._grown.wait()


@asynccontextmanager
async def looking_out(running: Running, gate: Gate) -> AsyncIterator[Lookout]:
    """Go along with a node while the block runs."""
    out = Lookout(running, gate)
    if running.repo is not None:
        for repo in running.repo.repos:
            out.index.add_group(repo)
        running.repo.watchers.append(out.hear)
    async with contextlib.AsyncExitStack() as stack:
        if out.inquiry is not None:
            await stack.enter_async_context(out.inquiry)
        await out.fill()
        tasks = [asyncio.create_task(task) for task in (out.tend(), out.neighbours.look())]
        try:
            yield out
        finally:
            if running.repo is not None:
                running.repo.watchers.remove(out.hear)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _by_words(match: str) -> Callable[[StreamRow], bool]:
    """Whether a stream has each of some words in its name, in any case, as it is written or as people read it."""
    words = [word for word in match.lower().split() if word != "/"]  # which stands between parts where names are shown

    def fits(row: StreamRow) -> bool:
        text = row.text.lower()
        if "%" in text:
            text = f"{text} {unquote(row.text).lower()}"
        return all(word in text for word in words)

    return fits


def _levels(text: str) -> list[bytes]:
    filter_ = text.encode()
    try:
        check_filter(filter_)
    except Malformed as error:
        raise Problem(400, f"match: {text[:100]!r} is no topic filter ({error}); write + as %2B and # as %23") from None
    return filter_.split(b"/")
