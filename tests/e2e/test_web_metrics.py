"""What a node tells about itself: /metrics, /ready and /health, of a node that runs and keeps a group."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open_metrics
from prometheus_client.parser import text_string_to_metric_families as read_text
from tests.loops import run
from tests.site_world import GROUP, GROUPED, basic, make_home, node

from roost.web.metric_names import LEFT_OUT, METRICS

DASHBOARD = Path(__file__).parents[2] / "packaging" / "grafana-dashboard.json"
ONLY_WITH_OTHERS = {  # this node has neither uplinks nor roles
    "roost_uplink_up",
    "roost_roles_lookups_total",
    "roost_roles_lookups_failed_total",
}
MACRO = {"name": "double", "code": 'Noctua.topic("hall/temp") * 2'}


def dashboard_names() -> set[str]:
    """The metrics that Grafana is to ask for."""
    dashboard = json.loads(DASHBOARD.read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    asked += [each["query"] for each in dashboard["templating"]["list"]]
    return {name for each in asked for name in re.findall(r"\b(?:roost|process)_[a-z_]+", each)}


def test_the_dashboard_asks_for_something_in_each_panel() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len(dashboard_names()) > 40
    assert all(panel.get("targets") for panel in panels if panel["type"] != "row")
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert dashboard_names() >= ONLY_WITH_OTHERS
    counted = {metric.name for metric in METRICS.values()} | {"roost_uplink_up"}
    assert counted >= ONLY_WITH_OTHERS


def test_everything_that_is_counted_is_there_and_reads_as_prometheus_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_home(tmp_path, monkeypatch)

    async def test() -> None:
        grouped = GROUPED | {"store": str(tmp_path / "node"), "macros": {}, "users": "users"}
        async with node(tmp_path, **grouped) as world:
            alice = {"username": "alice", "password": "secret"}
            headers = {"Authorization": basic("alice", "secret")}
            assert (await world.ask("POST", "/macros", MACRO, **headers)).status == 201
            async with world.client(**alice) as device:
                for _ in range(3):
                    await device.publish("hall/temp", "21", qos=1)
            plain = await world.ask("GET", "/metrics")
            assert plain.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            families = {each.name: each for each in read_text(plain.text)}
            values = {(each.name, *each.labels.values()): each.value for f in families.values() for each in f.samples}
            counted = world.running.broker.counts() | world.running.server.counts()
            assert set(counted) - set(METRICS) - LEFT_OUT == set()
            for end in counted.keys() & METRICS.keys():
                assert (METRICS[end].name,) in values, end
            assert values["roost_group_messages_inserted_total",] >= 3
            assert values["roost_mqtt_messages_received_total",] == 3
            assert values["roost_repo_readings", GROUP, "Repo1"] >= 3
            assert values["roost_repo_disk_writable", GROUP, "Repo1"] == 1
            assert values["roost_http_responses_total", "/macros", "POST", "201"] == 1
            assert values["roost_macro_runs_total", "double"] >= 1
            assert values["roost_disk_free_bytes",] > 0
            assert values["process_resident_memory_bytes",] > 1_000_000
            assert values["roost_http_response_duration_seconds_count", "/macros", "POST"] == 1
            for each in families.values():
                assert each.documentation
                assert each.type in {"counter", "gauge", "histogram"}
            names = {sample.name for family in families.values() for sample in family.samples}
            assert dashboard_names() - names - ONLY_WITH_OTHERS == set()
            asked = await world.ask("GET", "/metrics", Accept="application/openmetrics-text; version=1.0.0")
            assert asked.headers["Content-Type"].startswith("application/openmetrics-text")
            again = {each.name for each in read_open_metrics(asked.text)}  # type: ignore[no-untyped-call]
            assert again >= set(families)

    run(test)


def test_metrics_are_for_this_machine_for_who_may_read_sys_and_for_tokens(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            assert (await world.ask("GET", "/metrics")).status == 200
            assert (await world.ask("GET", "/metrics", X_Forwarded_For="192.0.2.1")).status == 401
            assert (await world.ask("GET", "/metrics", Host="rebound.example")).status == 401
            assert (await world.ask("GET", "/metrics", Authorization=basic("alice", "wrong"))).status == 401
            for user, password, status in (("alice", "secret", 200), ("bob", "word", 403)):
                known = basic(user, password)
                assert (await world.ask("GET", "/metrics", Authorization=known)).status == status
            statuses = []
            for scope in ("metrics", "read"):
                said = {"name": scope, "scopes": [scope]}
                made = await world.ask("POST", "/tokens", said, Authorization=basic("alice", "secret"))
                token = f"Bearer {made.json['token']}"
                statuses.append((await world.ask("GET", "/metrics", Authorization=token)).status)
            assert statuses == [200, 403]

    run(test)


def test_metrics_can_be_off(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path, metrics=False) as world:
            refused = await world.ask("GET", "/metrics")
            assert (refused.status, "metrics: false" in refused.json["error"]) == (404, True)

    run(test)


def test_a_node_says_when_it_is_ready_and_which_check_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_home(tmp_path, monkeypatch)

    async def test() -> None:
        async with node(tmp_path, **GROUPED) as world:
            assert world.running.repo is not None
            well = await world.ask("GET", "/ready", X_Forwarded_For="192.0.2.1")
            checks = {"groups": True, "store": True, "repos": True, "macros": True}
            assert (well.status, well.json) == (200, {"ready": True, "checks": checks})
            repo = world.running.repo.repos[0]
            repo.disk.refuses = True
            refused = await world.ask("GET", "/ready")
            assert (refused.status, refused.json) == (503, {"ready": False, "checks": checks | {"store": False}})
            repo.disk.refuses = False
            repo.peers.add(repo.name.prefix(-1) / "Repo2")
            behind = await world.ask("GET", "/ready")
            assert behind.json == {"ready": False, "checks": checks | {"repos": False}}
            assert (await world.ask("GET", "/health")).json == {"status": "ok"}

    run(test)
