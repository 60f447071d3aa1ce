"""The forwarder of the node: its faces, where names lead, how they are treated, and what its tables hold.

    GET /network

These tables say who talks to whom, and about what. Who may see all streams may see them.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from roost.broker.access import WHOLE
from roost.forwarding.datasets import face_status
from roost.forwarding.faces import Face
from roost.forwarding.forwarder import Forwarder
from roost.forwarding.status import SCOPE_LOCAL
from roost.host.http.answers import Problem, answer
from roost.host.http.asking import USER
from roost.host.listening import ListeningNode
from roost.web.api.lookout import Lookout

MAX_ROUTES: Final = 2000  # that are told; how many there are is told too
_NOBODY: Final = b""  # the client id, which nobody has here


class Network:
    """The route."""

    def __init__(self, lookout: Lookout) -> None:
        self._lookout: Final = lookout

    def routes(self) -> list[web.RouteDef]:
        """What is answered where."""
        return [web.get("/network", self._get, allow_head=False)]

    async def _get(self, request: web.Request) -> web.Response:
        running = self._lookout.running
        if running.broker.core.access.reach(request[USER], _NOBODY, b"#") != WHOLE:
            raise Problem(403, "to see the network takes the permission to read everything (#)")
        forwarder = None if running.node is None else _forwarder_of(running.node)
        if forwarder is None:
            raise Problem(404, "this node forwards nothing: write `groups:` or `node:` in its configuration")
        now = self._lookout.clock()
        fib = list(forwarder.fib.entries())
        store, counters = forwarder.store, forwarder.counters
        names = ("in_interests", "in_data", "in_nacks", "out_interests", "out_data", "out_nacks")
        told = {name: getattr(counters, name) for name in (*names, "satisfied", "unsatisfied", "unsolicited")}
        return answer(
            {
                "faces": [_face(face, now) for _, face in sorted(forwarder.faces.items())],
                "fib": [
                    {"name": str(name), "hops": [{"face": face, "cost": cost} for face, cost in hops]}
                    for name, hops in fib[:MAX_ROUTES]
                ],
                "strategies": [
                    {"name": str(name), "strategy": str(strategy)} for name, strategy in forwarder.strategies.entries()
                ],
                "store": {
                    "entries": len(store),
                    "capacity": store.capacity_packets,
                    "hits": store.hits,
                    "misses": store.misses,
                },
                "pit": {"entries": len(forwarder.pit)},
                "counters": told | {"routes": len(fib)},
            }
        )


def _forwarder_of(node: ListeningNode) -> Forwarder | None:
    found = getattr(node.server.node, "forwarder", None)
    return found if isinstance(found, Forwarder) else None


def _face(face: Face, now: int) -> dict[str, object]:
    status = face_status(face, now)
    return {
        "id": status.face,
        "uri": status.uri,
        "local_uri": status.local_uri,
        "scope": "local" if status.scope == SCOPE_LOCAL else "network",
        "in_interests": status.in_interests,
        "out_interests": status.out_interests,
        "in_data": status.in_data,
        "out_data": status.out_data,
        "in_bytes": status.in_bytes,
        "out_bytes": status.out_bytes,
        "up": not face.down,
    }
