"""GET /metrics: what the node counts, as text for Prometheus.

For who is on this machine, who may read `$SYS/broker/#`, and who has a token with the scope `metrics`. Nothing is
worked out for it: counters are read when somebody asks. Labels are routes, groups, repos and macros; of macros only a
bounded number, for anybody with the permission can make them.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Sequence
from typing import Final

from aiohttp import web

from roost import __version__
from roost.errors import Denied
from roost.forwarding.face import INTERNAL_FACE
from roost.host.address import is_loopback
from roost.host.http.answers import Problem, dressed, unproved
from roost.host.http.asking import peer_of
from roost.host.http.gate import UserGate
from roost.host.listening import ListeningNode
from roost.host.mqtt.running import Running
from roost.host.repo import RunningRepo
from roost.node.node import Node
from roost.web.exposition import COUNTER, GAUGE, HISTOGRAM, OPEN_METRICS, TEXT, Family, Sample, exposed
from roost.web.metric_names import METRICS
from roost.web.reception import Reception
from roost.web.vitals import Vitals

MAX_MACROS: Final = 200  # that have labels of their own, by name; the totals are of all
_PATH: Final = "/metrics"
_WHAT: Final = "$SYS/broker/#"
_OFF: Final = "metrics are off: leave out `metrics: false` in the node's configuration"
_RUNS: Final = (
    ("runs", "macro_runs_total", "Runs of a macro"),
    ("results", "macro_results_total", "Results that a macro published"),
    ("failures", "macro_failures_total", "Runs of a macro that failed"),
    ("limited", "macro_limited_total", "Activations of a macro beyond its rate"),
)
_PACKETS: Final = ("in_interests", "in_data", "in_nacks", "out_interests", "out_data", "out_nacks")


class Metrics:
    """The route."""

    def __init__(self, running: Running, gate: UserGate, reception: Reception, vitals: Vitals) -> None:
        self._running: Final = running
        self._gate: Final = gate
        self._reception: Final = reception
        self._vitals: Final = vitals

    def routes(self) -> list[web.RouteDef]:
        """What is answered where; for everybody, and it looks itself who asks."""
        return [web.get(_PATH, self._get, allow_head=False)]

    async def _get(self, request: web.Request) -> web.Response:
        await self._admit(request)
        if not self._running.config.web.metrics:
            raise Problem(404, _OFF)
        open_metrics = "application/openmetrics-text" in request.headers.get("Accept", "")
        disk = await asyncio.to_thread(self._disk)
        text = exposed([*self.families(), *disk], open_metrics=open_metrics)
        kind = OPEN_METRICS if open_metrics else TEXT
        return dressed(web.Response(body=text.encode(), headers={"Content-Type": kind}))

    def families(self) -> Iterator[Family]:
        """Everything but the disk, which may take its time."""
        running = self._running
        release = Sample(1, {"version": __version__})
        yield Family("roost_build_info", GAUGE, "The release that runs", [release])
        counts = running.broker.counts() | running.server.counts()
        for end, metric in METRICS.items():
            if end in counts:
                yield Family(metric.name, metric.kind, metric.help, [Sample(counts[end])])
        yield from self._vitals.families()
        if running.http is not None:
            yield from _http(running)
        yield from _macros(running)
        if running.repo is not None:
            yield from _repos(running.repo)
            yield from _uplinks(running.repo)
        if running.node is not None:
            yield from _forwarder(running.node)

    async def _admit(self, request: web.Request) -> None:
        if "Authorization" not in request.headers and is_loopback(peer_of(request)):
            return
        try:
            user = await self._reception.who(request)
        except Denied as error:
            if self._running.http is not None:
                self._running.http.failed(request)
            raise unproved(request, str(error)) from None
        if not self._gate.may_look(user, _WHAT):
            raise Problem(403, f"to see metrics takes the permission to read {_WHAT}")

    def _disk(self) -> list[Family]:
        store = self._running.config.store
        if store is None:
            return []
        try:
            usage = shutil.disk_usage(store)
        except OSError:
            return []
        return [
            Family("roost_disk_free_bytes", GAUGE, "Room that is left where the store is", [Sample(usage.free)]),
            Family("roost_disk_size_bytes", GAUGE, "Room that there is in all", [Sample(usage.total)]),
        ]


def _http(running: Running) -> Iterator[Family]:
    if running.http is None:
        return
    timing = running.http.timing
    answers = [
        Sample(count, {"route": route, "method": method, "status": str(status)})
        for (route, method, status), count in sorted(timing.answers.items())
    ]
    yield Family("roost_http_responses_total", COUNTER, "Answers, by route and status", answers)
    took = [Sample(each, {"route": route, "method": method}) for (route, method), each in sorted(timing.took.items())]
    yield Family("roost_http_response_duration_seconds", HISTOGRAM, "How long answers took", took)


def _macros(running: Running) -> Iterator[Family]:
    macros = running.broker.core.macros
    if macros is None:
        return
    here = [name for name, known in sorted(macros.known.items()) if known.is_here and not known.is_deleted]
    yield Family("roost_macros", GAUGE, "Macros that run here", [Sample(len(here))])
    for attribute, name, said in _RUNS:
        samples = [
            Sample(int(getattr(macros.processor.macro(each), attribute)), {"macro": each}) for each in here[:MAX_MACROS]
        ]
        yield Family(f"roost_{name}", COUNTER, said, samples)


def _repos(running: RunningRepo) -> Iterator[Family]:
    def of_each(name: str, kind: str, said: str, values: Sequence[float]) -> Family:
        samples = [
            Sample(value, {"group": str(repo.place.group.name), "repo": repo.place.repo})
            for repo, value in zip(running.repos, values, strict=True)
        ]
        return Family(f"roost_repo_{name}", kind, said, samples)

    shelves = [repo.shelf.holdings for repo in running.repos]
    yield of_each(
        "streams", GAUGE, "Streams that a repo here holds, its own among them", [len(each) for each in shelves]
    )
    yield of_each("readings", GAUGE, "Packets that it holds", [each.count for each in shelves])
    yield of_each("size_bytes", GAUGE, "Bytes of these", [each.size_bytes for each in shelves])
    refused = [each.refused for each in shelves]
    yield of_each("readings_refused_total", COUNTER, "Readings that it had no room for", refused)
    behind = [sum([repo.replication.lacking(peer.name) for peer in repo.peers]) for repo in running.repos]
    yield of_each("records_lacking", GAUGE, "Records of other repos that it has not got yet", behind)
    peers = [len(list(repo.peers)) for repo in running.repos]
    yield of_each("peers", GAUGE, "Other repos of the group that it knows", peers)
    disk = [float(not repo.disk.refuses) for repo in running.repos]
    yield of_each("disk_writable", GAUGE, "1 if its disk took what was written last", disk)


def _forwarder(listening: ListeningNode) -> Iterator[Family]:
    node = listening.server.node
    if not isinstance(node, Node):
        return
    forwarder = node.forwarder
    packets = [
        Sample(getattr(forwarder.counters, each), dict(zip(("direction", "kind"), each.split("_"), strict=True)))
        for each in _PACKETS
    ]
    yield Family("roost_forwarder_packets_total", COUNTER, "Packets of all faces, inner ones too", packets)
    for name, said in (
        ("satisfied", "Interests that were answered"),
        ("unsatisfied", "Interests that were not"),
        ("unsolicited", "Data that nobody had asked for"),
    ):
        value = getattr(forwarder.counters, name)
        yield Family(f"roost_forwarder_{name}_total", COUNTER, said, [Sample(value)])
    dropped = [Sample(count, {"reason": reason}) for reason, count in sorted(forwarder.dropped.items())]
    yield Family("roost_forwarder_dropped_total", COUNTER, "Packets that were dropped", dropped)
    faces = [face for number, face in forwarder.faces.items() if number != INTERNAL_FACE]
    yield Family("roost_forwarder_faces", GAUGE, "Faces", [Sample(len(faces))])
    yield Family("roost_forwarder_pit_entries", GAUGE, "Interests that wait", [Sample(len(forwarder.pit))])
    yield Family("roost_forwarder_fib_entries", GAUGE, "Prefixes that are routed", [Sample(len(forwarder.fib))])
    store = forwarder.store
    yield Family("roost_forwarder_store_packets", GAUGE, "Packets in the content store", [Sample(len(store))])
    yield Family("roost_forwarder_store_bytes", GAUGE, "Bytes in the content store", [Sample(store.size_bytes)])
    yield Family("roost_forwarder_store_hits_total", COUNTER, "Interests that it answered", [Sample(store.hits)])
    yield Family("roost_forwarder_store_misses_total", COUNTER, "Interests that it did not", [Sample(store.misses)])


def _uplinks(running: RunningRepo) -> Iterator[Family]:
    up = [Sample(int(each.up.is_set()), {"uri": each.uri}) for each in running.uplinks]
    yield Family("roost_uplink_up", GAUGE, "1 if the way to another node is there", up)
