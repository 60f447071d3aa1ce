"""The read side of the HTTP API: what a node shows of its streams, groups and neighbours (`docs/http.md`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from roost.host.http.gate import UserGate
from roost.host.http.wing import Wing
from roost.host.mqtt.running import Running
from roost.web.api.alerts import Alerts
from roost.web.api.campus import Campus
from roost.web.api.curves import Curves
from roost.web.api.groups import Groups
from roost.web.api.history import History
from roost.web.api.lineage import LineageResource
from roost.web.api.live import Live
from roost.web.api.lookout import looking_out
from roost.web.api.network import Network
from roost.web.api.node import NodeResource
from roost.web.api.passport import Passport
from roost.web.api.pipelines import Pipelines
from roost.web.api.streams import Streams
from roost.web.api.trial import Trial
from roost.web.api.views import ViewsResource


@asynccontextmanager
async def api(running: Running, gate: UserGate) -> AsyncIterator[Wing]:
    """Answer for a node that runs; a builder, as `running_broker` takes them."""
    async with looking_out(running, gate) as lookout, AsyncExitStack() as stack:
        groups = Groups(lookout)
        live = Live(lookout)
        alerts = Alerts(lookout, live, gate)
        curves = Curves(lookout)
        history = History(lookout, curves)
        tasks: list[asyncio.Task[None]] = []

        def looked_at() -> None:
            """Somebody looks at this node: they will want charts soon."""
            if not tasks:
                tasks.append(asyncio.create_task(curves.warm_up()))
                stack.push_async_callback(_ended, tasks[0])

        resources = (
            NodeResource(lookout, looked_at),
            Campus(lookout, groups),
            groups,
            Streams(lookout),
            history,
            live,
            alerts,
            Passport(lookout),
            LineageResource(lookout),
            Network(lookout),
            Pipelines(lookout),
            ViewsResource(lookout, gate),
            Trial(lookout, gate),
        )

        def counts() -> dict[str, int]:
            return lookout.counts() | history.counts() | live.counts() | alerts.counts()

        looking = asyncio.create_task(alerts.look())
        stack.push_async_callback(_ended, looking)
        yield Wing(
            [route for resource in resources for route in resource.routes()],
            following=lambda: live.following,
            counts=counts,
            end=live.end,
        )


async def _ended(task: asyncio.Task[None]) -> None:
    """End what goes on beside."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
