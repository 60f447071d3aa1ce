"""What the fake node says of all but streams: its campus, trust, network, pipelines, alerts, roles and demo."""

from __future__ import annotations

import time
from typing import Any, Final

Told = dict[str, Any]
_S: Final = 1_000_000_000
CAMPUS_GROUPS: Final = (
    ("/Campus/Hall/Raw", "Hall, raw"),
    ("/Campus/Hall/Rooms", "Hall, by room"),
    ("/Campus/Annex/Raw", "Annex, raw"),
    ("/Campus/Annex/Rooms", "Annex, by room"),
)


def campus(streams: int, now: int) -> Told:
    """Two buildings, three repos of which one lags, six panels, a gate that is silent."""
    nodes = [
        _node("/Campus/Hall/Raw/Gate", "hall", "node", "", ["/Campus/Hall/Raw"], now)
        | {"self": True, "uri": "tcp://127.0.0.1:6363"}
    ]
    nodes += [
        _node(f"/Campus/Hall/Raw/Panel{at}", f"Panel{at}", "panel", "Hall", ["/Campus/Hall/Raw"], now)
        for at in range(1, 7)
    ]
    nodes += [
        _node(f"/Campus/Hall/Repo{at}", f"Repo{at}", "repo", "Hall", ["/Campus/Hall/Raw", "/Campus/Hall/Rooms"], now)
        for at in (1, 2)
    ]
    nodes.append(
        _node("/Campus/Annex/Repo3", "Repo3", "repo", "Annex", ["/Campus/Annex/Raw", "/Campus/Annex/Rooms"], now)
    )
    nodes.append(_node("/Campus/Annex/Gate", "AnnexGate", "gate", "Annex", ["/Campus/Annex/Raw"], now))
    nodes[-3] |= {"health": "lagging", "lag": 412}
    nodes[-2] |= {"lag": 35}  # on their way
    nodes[-1] |= {"health": "silent", "seen": now - 95 * _S}
    links = [
        {"from": "/Campus/Hall/Repo1", "to": "/Campus/Hall/Repo2", "kind": "sync", "health": "lagging"},
        {"from": "/Campus/Hall/Repo1", "to": "/Campus/Annex/Repo3", "kind": "sync", "health": "ok"},
        {"from": "/Campus/Hall/Raw/Gate", "to": "/Campus/Annex/Gate", "kind": "uplink", "health": "silent"},
    ]
    groups = [_group(name, label, streams // len(CAMPUS_GROUPS), now) for name, label in CAMPUS_GROUPS]
    return {"nodes": nodes, "groups": groups, "links": links}


def _node(id_: str, name: str, kind: str, building: str, groups: list[str], now: int) -> Told:
    return {
        "id": id_,
        "name": name,
        "kind": kind,
        "building": building,
        "groups": groups,
        "health": "ok",
        "seen": now - _S,
        "lag": 0 if kind == "repo" else None,
        "uri": None,
        "self": False,
    }


def _group(name: str, label: str, streams: int, now: int) -> Told:
    return {
        "name": name,
        "label": label,
        "building": name.split("/")[2],
        "streams": streams,
        "readings": streams * 604_800,
        "size_bytes": streams * 604_800 * 180,
        "rate": float(streams),
        "last": now,
        "stale": streams // 31,
        "repos": [],
        "panels": [],
    }


def passport(reading: Told, *, virtual: bool) -> Told:
    """A reading that is trusted, with a chain of three."""
    now = time.time_ns()
    chain = [
        {
            "name": name,
            "issuer": issuer,
            "not_before": now - 86_400 * _S,
            "not_after": now + 300 * 86_400 * _S,
            "verdict": "trusted",
            "reason": "",
        }
        for name, issuer in (
            ("/Campus/Hall/Raw/Panel1/KEY/k1/Building/v=3", "/Campus/Hall/KEY/b1"),
            ("/Campus/Hall/KEY/b1/Anchor/v=2", "/Campus/KEY/a1"),
            ("/Campus/KEY/a1/self/v=1", "/Campus/KEY/a1"),
        )
    ]
    lineage_ = {
        "program": "hall/mean",
        "digest": "5f" * 16,
        "cause": reading["stream"],
        "inputs": [{"stream": "/Campus/Hall/Raw/Panel1/room0/temp", "low": 4, "high": 9}],
    }
    return {
        **{key: value for key, value in reading.items() if key != "topic"},
        "name": f"{reading['stream']}/seq={reading['number']}",
        "received": reading["time"] + 40_000_000,
        "format": 112,  # SenML in CBOR
        "size_bytes": 311,
        "digest": "c0ffee" * 10,
        "sealed": False,
        "signer": "/Campus/Hall/Raw/Panel1/KEY/k1",
        "signature": {"type": "ECDSA with SHA-256", "valid": True},
        "chain": chain,
        "verdict": "trusted",
        "rule": "reading: panel",
        "reason": "",
        "lineage": lineage_ if virtual else None,
        "repos": [
            {"name": "/Campus/Hall/Repo1", "holds": True},
            {"name": "/Campus/Hall/Repo2", "holds": False},
            {"name": "/Campus/Annex/Repo3", "holds": None},
        ],
    }


def lineage(stream: str, number: int, names: list[str]) -> Told:
    """A tree of two levels."""

    def leaf(name: str, at: int) -> Told:
        return {
            "stream": name,
            **dict.fromkeys(("number", "low", "high"), at),
            "count": 1,
            "held": 1,
            "name": f"{name}/seq={at}",
            "verdict": "trusted",
            "reason": "",
            "inputs": [],
            "truncated": False,
        }

    middle = leaf(names[1], number) | {"inputs": [leaf(names[3], number), leaf(names[6], number)]}
    return leaf(stream, number) | {"inputs": [middle, leaf(names[2], number)]}


def network() -> Told:
    faces = [
        {
            "id": 256 + at,
            "uri": f"tcp://10.0.0.{at}:6363" if at else "internal://management",
            "local_uri": "tcp://127.0.0.1:6363",
            "scope": "network" if at else "local",
            "in_interests": 1200 * at,
            "out_interests": 900,
            "in_data": 880,
            "out_data": 1190 * at,
            "in_bytes": 3_400_000 * at,
            "out_bytes": 5_100_000,
            "up": at != 3,
        }
        for at in range(5)
    ]
    return {
        "faces": faces,
        "fib": [
            {"name": name, "hops": [{"face": 257, "cost": 10}, {"face": 258, "cost": 20}]} for name, _ in CAMPUS_GROUPS
        ],
        "strategies": [{"name": "/", "strategy": "best-route"}, {"name": "/Campus", "strategy": "multicast"}],
        "store": {"entries": 4096, "capacity": 65_536, "hits": 9100, "misses": 900},
        "pit": {"entries": 12},
        "counters": {"interests/refused": 0, "nacks/sent": 4},
    }


def alerts() -> Told:
    now = time.time_ns()
    return {
        "items": [
            {
                "id": "a1",
                "kind": "repo",
                "severity": "critical",
                "subject": "/Campus/Annex/Gate",
                "since": now - 95 * _S,
                "text": "The gate of the annex has been silent for 95 s.",
                "remedy": "See whether its process runs: roost doctor",
                "link": "#/",
            },
            {
                "id": "a2",
                "kind": "macro",
                "severity": "warning",
                "subject": "hall/broken",
                "since": now - 600 * _S,
                "text": "hall/broken failed 3 times: TypeError: not a function.",
                "remedy": "Look at its trace.",
                "link": "#/macros/hall/broken",
            },
        ]
    }


def pipelines() -> Told:
    now = time.time_ns()
    return {
        "items": [
            {
                "name": "campus",
                "state": "running",
                "stages": [
                    {
                        "name": "by room",
                        "inputs": ["/Campus/Hall/Raw", "/Campus/Annex/Raw"],
                        "output": "/Campus/Hall/Rooms",
                        "input_rate": 90.0,
                        "output_rate": 1.5,
                        "lag_s": 75.0,
                        "completeness": 0.998,
                        "last_batch": now - 4 * _S,
                    },
                    {
                        "name": "by floor",
                        "inputs": ["/Campus/Hall/Rooms"],
                        "output": "/Campus/Hall/Floors",
                        "input_rate": 1.5,
                        "output_rate": 0.3,
                        "lag_s": 4.0,
                        "completeness": 1.0,
                        "last_batch": now - 8 * _S,
                    },
                    {
                        "name": "campus",
                        "inputs": ["/Campus/Hall/Floors"],
                        "output": "/Campus/All",
                        "input_rate": 0.3,
                        "output_rate": 0.1,
                        "lag_s": 4.0,
                        "completeness": None,
                        "last_batch": None,
                    },
                ],
            }
        ]
    }


def views(topic: str) -> Told:
    return {
        "topic": topic,
        "document": "Hall/+/temp",
        "streams": [topic, f"Noctua/{topic}/anonymize"],
        "roles": [
            {"role": "developer", "default": topic, "streams": [topic, f"Noctua/{topic}/anonymize"]},
            {"role": "customer", "default": f"Noctua/{topic}/anonymize", "streams": [f"Noctua/{topic}/anonymize"]},
            {"role": "visitor", "default": None, "streams": []},
        ],
    }


def demo() -> Told:
    return {
        "title": "A campus in a minute",
        "running_s": 84,
        "steps": [
            {"time": time.time_ns() - 60 * _S, "what": "start", "text": "Three repos and six panels are up."},
            {"time": time.time_ns() - 20 * _S, "what": "pipeline", "text": "The pipeline has its first batch."},
        ],
        "breaks": [
            {
                "id": "kill-repo",
                "title": "Kill a repo",
                "text": "Repo2's process is killed. Readings go on, and it catches up when it is back.",
                "state": "ready",
                "does": "kill -9",
            },
            {
                "id": "cut",
                "title": "Cut the annex off",
                "text": "The link between the buildings drops everything.",
                "state": "active",
                "does": "drop",
            },
            {
                "id": "forge",
                "title": "Send forged readings",
                "text": "A stranger signs readings with a key of its own.",
                "state": "mending",
                "does": "publish",
            },
        ],
        "promises": [
            {
                "id": "nothing-lost",
                "text": "Nothing that was acknowledged is lost.",
                "kept": True,
                "detail": "54,000 of 54,000 there",
            },
            {"id": "no-forgery", "text": "Nothing forged is stored.", "kept": False, "detail": "1 was stored"},
        ],
        "guide": [
            "You see a campus of two buildings.",
            "Every reading is signed. Choose one to see its passport.",
            "Break something, and watch that nothing is lost.",
        ],
    }
