"""A macro tried on what was: every run it would have had, with what it was given, said and gave. Nothing is deployed.

    POST /trial  {"definition": {…, as for POST /macros}, "since": "1h", "limit": 1000}

Who may make the macro may try it, if they may read all that it refers to. It is given only the readings of topics that
stand in its code: what it computes a name for, and what lies before `since`, it does not find here. It runs in this
process as macros do, a little at a time, for so long in all and no longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import perf_counter_ns
from typing import Final

from aiohttp import web

from roost.broker.access import WHOLE
from roost.broker.macros.macros import sample_of_message
from roost.broker.recall import Recall
from roost.broker.since import Since, read_since
from roost.errors import BadMacro, Denied
from roost.host.desk import Gate
from roost.host.http.answers import Problem, answer
from roost.host.http.asking import USER, body_of
from roost.machine import MS, SECOND
from roost.process.definition import PREFIX, PYTHON, Definition, definition_of
from roost.process.javascript import JavaScript
from roost.process.replay import Replay, Replayed
from roost.process.sample import Sample
from roost.process.telling import replayed_told
from roost.web.api.lookout import Lookout

LIMIT: Final = 1000
MAX_LIMIT: Final = 20_000  # readings
MAX_RUNS: Final = 500  # that are told: the first ones, and what failed counts among all
MAX_TIME: Final = 3 * SECOND  # that runs take, and reading what they are given
TURN: Final = 5 * MS  # of work between two turns of the loop
_KEYS: Final = frozenset({"definition", "since", "limit"})
_MQTT_5: Final = 5  # what is expired is given as well
_NOBODY: Final = b""  # the client id, which nobody has here


class Trial:
    """The route."""

    def __init__(self, lookout: Lookout, gate: Gate) -> None:
        self._lookout: Final = lookout
        self._gate: Final = gate
        self._room: Final = asyncio.Semaphore(1)

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [web.post("/trial", self._post)]

    async def _post(self, request: web.Request) -> web.Response:
        body = await body_of(request)
        if not isinstance(body, Mapping) or not body.keys() <= _KEYS or "definition" not in body:
            raise Problem(400, 'a trial is {"definition": {…}, "since": "1h", "limit": 1000}')
        limit = body.get("limit", LIMIT)
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
            raise Problem(400, f"limit is 1 to {MAX_LIMIT:,}")
        when = body.get("since", "1h")
        if not isinstance(when, str | int) or isinstance(when, bool):
            raise Problem(400, "since is how long ago (24h, 7d), a time, or a number")
        since = read_since(str(when).encode(), self._lookout.clock())
        definition = definition_of(body["definition"])
        if definition.language == PYTHON:
            raise BadMacro("macros in Python are for operators: try it with `roost macro test`")
        user = request[USER]
        if not self._gate.may_administer(user, PREFIX + definition.name):
            raise Problem(403, f"to try this macro takes the permission to write {PREFIX}{definition.name}")
        replay = Replay([definition], {definition.language: JavaScript()}, stopwatch=perf_counter_ns)
        await self._check_reads(user, definition, replay.filters)
        async with self._room:
            return answer(await self._tried(user, replay, since, limit))

    async def _check_reads(self, user: bytes, definition: Definition, filters: list[str]) -> None:
        access = self._lookout.running.broker.core.access
        for each in filters:
            if access.reach(user, _NOBODY, each.encode()) != WHOLE:
                raise Denied(f"{definition.name}: it refers to {each}, which takes the permission to read {each}")
        if not await self._lookout.views.sees_topics(user, filters):
            raise Denied(f"{definition.name}: the roles of the user may not see all that it refers to")

    async def _tried(self, user: bytes, replay: Replay, since: Since, limit: int) -> dict[str, object]:
        clock = _Turns()
        runs: list[dict[str, object]] = []
        samples, is_cut = await self._samples(user, replay.filters, since, limit, clock)

        def take(ran: list[Replayed]) -> None:
            runs.extend([replayed_told(*each[:3]) for each in ran][: MAX_RUNS - len(runs)])

        given = 0
        for sample in sorted(samples, key=_turn):
            if clock.is_over:
                is_cut = True
                break
            take(replay.take(sample))
            given += 1
            await clock.pause()
        if not is_cut:
            take(replay.finish())
        macro = replay.processor.macro(replay.processor.macros()[0])
        return {
            "runs": runs,
            "readings": given,
            "activations": macro.activations,
            "waited": macro.waited,
            "total": macro.runs,
            "results": macro.results,
            "failures": macro.failures,
            "found": sorted({each.topic for each in macro.found}),
            "truncated": is_cut or macro.runs > len(runs),
        }

    async def _samples(
        self, user: bytes, filters: list[str], since: Since, limit: int, clock: _Turns
    ) -> tuple[list[Sample], bool]:
        """What the macro is given, and whether there would be more."""
        history = self._lookout.running.broker.core.history
        if history is None or not filters:
            return [], False
        recall = Recall(b"", since, history, None, [each.encode() for each in filters])
        samples: list[Sample] = []
        while (message := recall.next(_MQTT_5, self._lookout.clock())) is not None:
            if len(samples) >= limit or clock.is_over:
                return samples, True
            _, stream, number = message.origin or (0, b"", 0)
            if not self._lookout.views.hides(user, message):
                samples.append(sample_of_message(message, stream, number))
            await clock.pause()
        return samples, False


class _Turns:
    """How long work has taken, and when others have their turn."""

    def __init__(self) -> None:
        self._used = 0
        self._began = perf_counter_ns()

    @property
    def is_over(self) -> bool:
        """Whether there is no time left."""
        return self._used > MAX_TIME

    async def pause(self) -> None:
        """Let others work, if it is their turn."""
        worked = perf_counter_ns() - self._began
        if worked >= TURN:
            self._used += worked
            await asyncio.sleep(0)
            self._began = perf_counter_ns()


def _turn(sample: Sample) -> tuple[int, bytes, int]:
    return sample.time, sample.stream, sample.number
