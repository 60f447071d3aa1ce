"""Two nodes of one group over the API: who holds a reading, and a node that is gone is silent, and an alert."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.loops import run
from tests.web_api_world import GROUP, World, keys, node

from roost.machine import SECOND
from roost.web.api import alerts, neighbours

TEMP = f"{GROUP}/Gate1/hall/temp"


async def until(world: World, path: str, is_so: Any) -> Any:  # noqa: ANN401  whatever came
    """Ask until it is so."""
    async with asyncio.timeout(60):
        while True:
            told = (await world.ask(path)).json
            if is_so(told):
                return told
            await asyncio.sleep(0.02)


def test_two_nodes_know_of_each_other_what_they_hold_and_when_one_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys(tmp_path, monkeypatch)
    monkeypatch.setattr(neighbours, "EVERY_S", 0.1)
    monkeypatch.setattr(neighbours, "SILENT", 4 * SECOND)
    monkeypatch.setattr(alerts, "EVERY_S", 0.1)

    def states(campus: Any) -> dict[str, tuple[str, Any]]:  # noqa: ANN401  as above
        return {each["name"]: (each["health"], each["lag"]) for each in campus["nodes"] if each["kind"] == "repo"}

    async def test() -> None:
        async with node(tmp_path) as one:
            assert one.running.repo is not None
            await one.publish("hall/temp", 20, 21)
            async with node(tmp_path, 2, one.running.repo.listening.uris[0]) as other:
                well = {"Repo1": ("ok", 0), "Repo2": ("ok", 0)}
                campus = await until(one, "/campus", lambda told: states(told) == well)
                link = {"from": f"{GROUP}/Repo/Repo1", "to": f"{GROUP}/Repo/Repo2", "kind": "sync", "health": "ok"}
                assert link in campus["links"]
                campus = await until(other, "/campus", lambda told: states(told) == well)
                assert [(each["kind"], each["health"]) for each in campus["links"] if each["kind"] == "uplink"] == [
                    ("uplink", "ok")
                ]
                await until(other, "/streams", lambda told: told["total"] == 1)
                both = [{"name": "Repo1", "holds": True}, {"name": "Repo2", "holds": True}]
                held = await until(
                    one, f"/passport?stream={TEMP}&number=2", lambda told: told["repos"][1]["holds"] is not None
                )
                assert held["repos"] == both
                told = (await other.ask(f"/passport?stream={TEMP}&number=2")).json
                assert (told["verdict"], told["value"]) == ("trusted", 21), "believed there, by the same anchor"
            gone = await until(one, "/campus", lambda told: states(told)["Repo2"][0] == "silent")
            assert states(gone)["Repo1"] == ("ok", 0)
            of_repos = {"kind": "repo", "severity": "critical", "subject": f"{GROUP}/Repo/Repo2"}
            await until(one, "/alerts", lambda told: any(of_repos.items() <= each.items() for each in told["items"]))
            told = (await one.ask(f"/passport?stream={TEMP}&number=2")).json
            assert told["repos"] == [{"name": "Repo1", "holds": True}, {"name": "Repo2", "holds": None}]

    run(test, 120)
