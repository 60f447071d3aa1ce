"""Pipelines on this machine, as the status files say that their supervisors write once a second.

    GET /pipelines

They run in processes of their own, on Spark. A status that nobody has written for a while is that of a dead one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from roost.host.http.answers import Problem, answer
from roost.host.http.asking import USER
from roost.host.paths import home
from roost.machine import SECOND
from roost.web.api.lookout import Lookout

MAX_FILES: Final = 64
MAX_BYTES: Final = 1 << 20  # of one of them
DEAD: Final = 15 * SECOND  # since it was written
_ENDING: Final = ".status.json"
_ALIVE: Final = frozenset({"running", "waiting"})


class Pipelines:
    """The route."""

    def __init__(self, lookout: Lookout) -> None:
        self._lookout: Final = lookout

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [web.get("/pipelines", self._get, allow_head=False)]

    async def _get(self, request: web.Request) -> web.Response:
        if not self._lookout.views.reads_everything(request[USER]):
            raise Problem(403, "to see pipelines takes the permission to read everything (#)")
        return answer({"items": await pipelines(self._lookout)})


async def pipelines(lookout: Lookout) -> list[dict[str, object]]:
    """All of them, by name."""
    return await asyncio.to_thread(_read, lookout.clock())


def status_files() -> list[Path]:
    """Where `roost pipeline run` writes how they go on."""
    return sorted((home() / "pipelines").glob(f"*{_ENDING}"))[:MAX_FILES]


def _read(now: int) -> list[dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for file in status_files():
        try:
            if file.stat().st_size <= MAX_BYTES:
                for told in _told(json.loads(file.read_text(encoding="utf-8")), now):
                    found[str(told["name"])] = told
        except (OSError, ValueError, TypeError, AttributeError, KeyError):  # being written, or no status
            continue
    return [found[name] for name in sorted(found)]


def _told(said: Mapping[str, Any], now: int) -> list[dict[str, object]]:
    updated = int(said["updated_ns"])
    found: list[dict[str, object]] = []
    for name, query in said["queries"].items():
        state = str(query["state"])
        found.append(
            {
                "name": str(name),
                "state": "dead" if state in _ALIVE and now - updated > DEAD else state,
                "pid": said.get("pid"),
                "updated": updated,
                "since": said.get("since_ns"),
                "batch": query.get("batch"),
                "restarts": query.get("restarts", 0),
                "last_error": str(query.get("last_error") or "").partition("\n")[0],
                "stages": [_stage(str(stage), told) for stage, told in query.get("stages", {}).items()],
            }
        )
    return found


def _stage(name: str, told: Mapping[str, Any]) -> dict[str, object]:
    return {
        "name": name,
        "inputs": list(told.get("inputs", ())),
        "output": told.get("output"),
        "input_rate": told.get("rows_per_s"),
        "output_rate": told.get("results_per_s"),
        "lag_s": told.get("lag_s"),
        "completeness": told.get("completeness"),
        "last_batch": told.get("last_batch_ns"),
    }
