"""Alerts: stale streams, failing macros, repos that lag or are silent, pipelines that stand still, disks, refusals.

    GET /alerts         what the user may know of; the same comes over /live when it changes

Looked at is what is at hand already: the index says which streams became stale, nobody goes through all of them. Where
many streams of one panel are stale it is one alert about the panel.
"""

from __future__ import annotations

import asyncio
import shutil
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from aiohttp import web

from roost.host.desk import Gate
from roost.host.http.answers import answer
from roost.host.http.asking import USER
from roost.host.paths import home
from roost.machine import SECOND
from roost.process.definition import PREFIX
from roost.web.alerting import (
    CRITICAL,
    DISK,
    MACRO,
    PIPELINE,
    REPO,
    SECURITY,
    STALE,
    WARNING,
    Alerting,
    Condition,
)
from roost.web.api.live import Live
from roost.web.api.lookout import Lookout
from roost.web.api.pipelines import pipelines
from roost.web.index_rows import GroupRow, StreamRow

EVERY_S: Final = 2.0
MANY: Final = 5  # streams of one panel, from which on the panel is told of
MAX_STREAMS: Final = 200  # stale ones that are told of one by one
LAGS: Final = 4 * SECOND  # for which that has to be seen
REFUSALS: Final = 60 * SECOND  # after which a refusal is forgotten
FAILED: Final = 60 * SECOND  # after which a failure of a macro is forgotten, if it has not failed again
PATIENCE: Final = 30 * SECOND  # with results, which come late when what makes them starts, or has much to do
PATIENT_INTERVALS: Final = 6
LOW_DISK: Final = 0.10
FULL_DISK: Final = 0.03
_OF_STREAM: Final = "#/streams/"

_MAKER: Final = "look at the pipeline or macro that makes it: whether it runs, and whether what it reads still comes"

Told = dict[str, object]


class Alerts:
    """The route, and who looks."""

    def __init__(self, lookout: Lookout, live: Live, gate: Gate) -> None:
        self.alerting: Final = Alerting()
        self._lookout: Final = lookout
        self._live: Final = live
        self._gate: Final = gate
        self._failures: Final[dict[str, tuple[int, int]]] = {}  # by macro: how many, when it rose; bound: the macros
        self._refusals = (0, 0)  # the same of packets

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [web.get("/alerts", self._get, allow_head=False)]

    def counts(self) -> dict[str, int]:
        """What happened so far, by the ends of `$SYS` topics."""
        return {"alerts": len(self.alerting.told()), "alerts/raised": self.alerting.raised}

    async def look(self) -> None:
        """See what is wrong, again and again, and tell who follows when that changes."""
        while True:
            now = self._lookout.clock()
            try:
                running = await pipelines(self._lookout)
                if self.alerting.take([*self._stale(now), *self._others(now), *_of_pipelines(running)], now):
                    self._live.tell_alerts(self.told)
            except Exception as error:  # noqa: BLE001  a look that fails must not be the last one
                journal = self._lookout.running.server.journal
                journal.complain("what is wrong could not be seen: ", f"{type(error).__name__}: {error}", now)
            await asyncio.sleep(EVERY_S)

    def told(self, user: bytes) -> list[Told]:
        """The alerts that a user may know of."""
        return [
            {
                "id": each.id,
                "kind": each.kind,
                "severity": each.severity,
                "subject": each.subject,
                "since": since,
                "text": each.text,
                "remedy": each.remedy,
                "link": each.link,
            }
            for each, since in self.alerting.told()
            if self._is_for(user, each)
        ]

    async def _get(self, request: web.Request) -> web.Response:
        await self._lookout.views.admit(request[USER])
        return answer({"items": self.told(request[USER])})

    def _is_for(self, user: bytes, condition: Condition) -> bool:
        if condition.kind == MACRO:
            return self._gate.may_look(user, PREFIX + condition.subject)
        views = self._lookout.views
        if condition.kind == STALE and condition.link.startswith(_OF_STREAM):
            row = self._lookout.index.get(condition.subject)
            return views.sees_all(user) if row is None else views.sees(user, row)
        return views.reads_everything(user)  # of what works and what does not, roles keep nothing back

    # -- what is wrong

    def _stale(self, now: int) -> Iterator[Condition]:
        by_panel: dict[tuple[GroupRow, str], list[StreamRow]] = defaultdict(list)
        for row in self._lookout.index.stale:
            by_panel[row.group, row.panel].append(row)
        told = 0
        for (group, name), rows in by_panel.items():
            panel = group.panels[name]
            makes = all(self._is_result(row) for row in rows[:MANY])
            if len(rows) >= MANY:
                since = max(row.heard for row in rows)
                if makes and now - since < PATIENCE:
                    continue
                what = (
                    "all its streams" if len(rows) >= panel.streams else f"{len(rows):,} of {panel.streams:,} streams"
                )
                yield Condition(
                    STALE,
                    CRITICAL if len(rows) >= panel.streams else WARNING,
                    f"{group.text}/{name}",
                    f"{name}: {what} are silent",
                    _MAKER
                    if makes
                    else "see that the panel has power and network, and reaches a repo; what it keeps comes when it is "
                    "back",
                    f"#/streams?group={group.text}",
                    since,
                )
                continue
            for row in rows[: max(0, MAX_STREAMS - told)]:
                patience = max(PATIENCE, PATIENT_INTERVALS * self._lookout.index.expected(row))
                if self._is_result(row) and now - row.heard < patience:
                    continue
                told += 1
                yield Condition(
                    STALE,
                    WARNING,
                    row.text,
                    f"{row.topic or row.text} is silent, and a reading is expected every {self._expected(row)}",
                    _MAKER if row.virtual else "see that the device is on and reaches its panel",
                    f"{_OF_STREAM}{row.text[1:]}",
                    row.heard,
                )

    def _is_result(self, row: StreamRow) -> bool:
        """Whether a macro or a pipeline makes it."""
        self._lookout.reader.learn(row)
        return row.virtual

    def _expected(self, row: StreamRow) -> str:
        seconds = self._lookout.index.expected(row) / SECOND
        return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.3g} min"

    def _others(self, now: int) -> Iterator[Condition]:
        yield from self._macros(now)
        for group in self._lookout.index.groups.values():
            yield from self._repos(group, now)
        yield from self._disks()
        yield from self._security(now)

    def _macros(self, now: int) -> Iterator[Condition]:
        macros = self._lookout.running.broker.core.macros
        if macros is None:
            return
        for name, known in macros.known.items():
            if known.refusal and not known.is_deleted:
                text = f"{name} cannot run here: {known.refusal}"
                yield Condition(MACRO, CRITICAL, name, text, "correct its code or its options", f"#/macros/{name}")
            elif known.is_here:
                macro = macros.processor.macro(name)
                count, rose = self._failures.get(name, (0, 0))
                if macro.failures != count:
                    self._failures[name] = (macro.failures, now)
                    rose = now if macro.failures > count else 0
                failure = None if macro.trace.last_failure is None else macro.trace.last_failure.failure
                if rose and now - rose < FAILED and failure is not None:
                    text = f"{name} failed: line {failure.line}, column {failure.column}: {failure.message}"
                    remedy = (
                        "look at what it was given in its runs, and try a correction on the past before you deploy it"
                    )
                    yield Condition(MACRO, WARNING, name, text, remedy, f"#/macros/{name}", rose)
        for gone in self._failures.keys() - macros.known.keys():
            del self._failures[gone]

    def _repos(self, group: GroupRow, now: int) -> Iterator[Condition]:
        for repo in self._lookout.neighbours.repos(group, now):
            link = "#/"
            if repo.health == "silent":
                since = repo.seen or 0
                text = f"{repo.name} of {group.text} does not answer"
                remedy = "see that it runs and that an uplink reaches it; it fetches what it lacks when it is back"
                yield Condition(REPO, CRITICAL, str(repo.id), text, remedy, link, since)
            elif repo.health == "lagging":
                whom = "this node's repo lacks" if repo.here else f"{repo.name} lacks"
                text = f"{whom} {repo.lag:,} of what {group.text} has"
                remedy = "it is being fetched; if the number stays, see its log and the link to it"
                yield Condition(REPO, WARNING, str(repo.id), text, remedy, link, 0, LAGS)

    def _disks(self) -> Iterator[Condition]:
        folder = self._lookout.running.config.store
        if folder is None:
            return
        try:
            usage = shutil.disk_usage(folder if folder.exists() else home())
        except OSError:
            return
        left = usage.free / max(1, usage.total)
        if left < LOW_DISK:
            severity = CRITICAL if left < FULL_DISK else WARNING
            text = f"the disk of this node has {usage.free / 1e9:.1f} GB left, {left:.0%}"
            remedy = "shorten `retention` of the groups, or give it more room: without room nothing is acknowledged"
            yield Condition(DISK, severity, str(folder.name), text, remedy, "#/")

    def _security(self, now: int) -> Iterator[Condition]:
        node = self._lookout.running.node
        if node is None:
            return
        journal = node.server.journal
        count, rose = self._refusals
        if journal.rejected != count:
            self._refusals = (journal.rejected, now)
            rose = now
        last = journal.last_rejected
        if rose and now - rose < REFUSALS and last is not None:
            text = f"a packet of {last.source} was refused, {journal.rejected:,} so far: {last.reason}"
            remedy = "nothing of it was kept; find who sends it, or have its sender use a key that the policy allows"
            yield Condition(SECURITY, WARNING, "refused packets", text, remedy, "#/network", rose)


def _of_pipelines(told: list[Told]) -> Iterator[Condition]:
    for each in told:
        name, state = str(each["name"]), each["state"]
        link = "#/pipelines"
        if state == "dead":
            since = int(str(each["updated"]))
            text = f"{name} says nothing any more: its process is gone"
            remedy = "start it again with `roost pipeline run`: it goes on from its checkpoint"
            yield Condition(PIPELINE, CRITICAL, name, text, remedy, link, since)
        elif state == "waiting" and each["last_error"]:
            text = f"{name} failed and starts again by itself: {each['last_error']}"
            yield Condition(PIPELINE, WARNING, name, text, "see its log if it goes on failing", link)
