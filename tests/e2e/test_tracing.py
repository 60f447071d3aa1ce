"""Traces from publication to delivery: a node that tells a collector on this machine, by OTLP on the wire."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from tests.loops import run
from tests.site_world import GROUP, GROUPED, make_home, node

from roost.errors import BadConfig

TRACE, ABOVE = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{ABOVE}-01"


@asynccontextmanager
async def collector(spans: list[Span]) -> AsyncIterator[str]:
    """Somebody who takes spans; where."""

    async def take(request: web.Request) -> web.Response:
        said = ExportTraceServiceRequest.FromString(await request.read())
        for resource in said.resource_spans:
            for scope in resource.scope_spans:
                spans.extend(scope.spans)
        return web.Response(content_type="application/x-protobuf")

    application = web.Application()
    application.add_routes([web.post("/v1/traces", take)])
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("topic", ["hall/temp", "plain/temp"])
def test_a_trace_goes_from_the_device_through_the_node_to_the_subscriber(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, topic: str
) -> None:
    make_home(tmp_path, monkeypatch)
    spans: list[Span] = []

    async def test() -> None:
        async with collector(spans) as otlp:
            said = GROUPED | {"tracing": {"otlp": otlp, "sample": 0}}
            async with node(tmp_path, users=False, **said) as world, world.client() as device, world.client() as reader:
                await reader.subscribe("#", qos=1)
                followed = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
                followed.UserProperty = ("traceparent", PARENT)
                await device.publish(topic, "21", qos=1, properties=followed)
                await device.publish(topic, "22", qos=1)
                got = [await asyncio.wait_for(anext(reader.messages), 60) for _ in range(2)]
                assert got[0].properties is not None
                assert vars(got[0].properties)["UserProperty"] == [("traceparent", PARENT)]
            # the node has ended, and so has told all that it had

    run(test)
    assert {span.trace_id.hex() for span in spans} == {TRACE}
    by_name = {span.name.removeprefix("roost "): span for span in spans}
    parts = {"insert", "store", "deliver"} if topic == "hall/temp" else {"deliver"}
    assert set(by_name) == {"publish", *parts}
    assert len(spans) == len(by_name)
    publish = by_name["publish"]
    assert publish.parent_span_id.hex() == ABOVE
    for name in parts:
        assert by_name[name].parent_span_id == publish.span_id
        assert publish.start_time_unix_nano <= by_name[name].start_time_unix_nano <= by_name[name].end_time_unix_nano


def test_at_another_node_of_the_group_it_is_the_same_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_home(tmp_path, monkeypatch)
    spans: list[Span] = []

    async def test() -> None:
        async with collector(spans) as otlp, node(tmp_path, users=False, **GROUPED) as first:
            assert first.running.repo is not None
            group = {"name": GROUP, "panel": "Gate2", "repo": "Repo2"}
            near = {"tcp": ["127.0.0.1:0"], "uplinks": [first.running.repo.listening.uris[0]]}
            said = GROUPED | {"groups": [group], "node": near, "tracing": {"otlp": otlp, "sample": 1}}
            async with (
                node(tmp_path, users=False, **said) as second,
                first.client() as device,
                second.client() as reader,
            ):
                await reader.subscribe("hall/#", qos=1)
                followed = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
                followed.UserProperty = ("traceparent", PARENT)
                await device.publish("hall/temp", "21", qos=1, properties=followed)
                await asyncio.wait_for(anext(reader.messages), 60)

    run(test)
    (deliver,) = spans
    assert (deliver.name, deliver.trace_id.hex(), deliver.parent_span_id.hex()) == ("roost deliver", TRACE, ABOVE)


def test_without_opentelemetry_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)

    async def test() -> None:
        with pytest.raises(BadConfig, match=r"'\.\[tracing\]'"):
            async with node(tmp_path, users=False, tracing={"otlp": "http://127.0.0.1:4318"}):
                pass

    run(test)
