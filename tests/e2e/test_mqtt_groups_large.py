"""Messages that do not fit a packet, in a group of two nodes: byte for byte at both, live, later, and after a crash."""

from __future__ import annotations

import asyncio
import hashlib
import signal
from pathlib import Path
from random import Random

import aiomqtt
import pytest
from tests.e2e.test_mqtt_groups import GROUP, V4, V5, asked, client, heard, home, lasting, node, two, uri_of
from tests.e2e.test_mqtt_groups_kill import Node
from tests.loops import run

from roost.broker.large import MAX_PAYLOAD_BYTES
from roost.host.client import connect

__all__ = ["home"]  # a fixture of that module, used here

LARGE = {"packets": {"max_bytes": 2 << 20}}
SIZES = (20_000, 100_000, MAX_PAYLOAD_BYTES)


def picture(size: int, qos: int) -> bytes:
    return Random(size + qos).randbytes(size)


def digest(payload: object) -> tuple[int, str]:
    assert isinstance(payload, bytes)
    return len(payload), hashlib.sha256(payload).hexdigest()


async def came(listening: aiomqtt.Client, count: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    async with asyncio.timeout(120):
        while len(found) < count:
            found.append(digest((await anext(aiter(listening.messages))).payload))
    return found


@pytest.mark.parametrize("version", [V4, V5])
def test_large_messages_reach_both_nodes_live_and_later(home: Path, version: aiomqtt.ProtocolVersion) -> None:
    sent = [(size, qos) for size in SIZES for qos in (0, 1, 2)]
    expected = [digest(picture(size, qos)) for size, qos in sent]

    async def test() -> None:
        async with (
            node(home, 1, **LARGE) as one,
            node(home, 2, uri_of(one), **LARGE) as other,
            client(other, protocol=V5) as far,
            client(one, protocol=V4) as near,
            client(one, protocol=version, timeout=60) as device,
        ):
            await far.subscribe("hall/#", qos=2)
            await near.subscribe("hall/#", qos=2)
            for size, qos in sent:
                await device.publish("hall/camera", picture(size, qos), qos=qos, retain=True)
            await device.publish("hall/camera/state", b"on", qos=1)
            assert await came(near, 10) == [*expected, digest(b"on")]
            assert sorted(await came(far, 10)) == sorted([*expected, digest(b"on")])
            for running in (one, other):
                async with client(running, protocol=V4) as old, client(running) as new:
                    await old.subscribe("hall/camera", qos=1)
                    assert await came(old, 1) == expected[-1:], "retained"
                    await new.subscribe("hall/camera", qos=1, properties=asked("1h"))
                    assert await came(new, 9) == expected, "the past"
            counts = other.server.count_groups()
            assert counts["groups/messages/incomplete"] == counts["groups/messages/altered"] == 0

    run(test)


def test_large_messages_are_on_two_repos_before_they_are_acknowledged(home: Path) -> None:
    replicated = {"trees": [{"filter": "#", "group": GROUP, "durability": {"replicated": 2}}]}

    async def test() -> None:
        async with (
            node(home, 2, **LARGE) as other,
            node(home, 1, uri_of(other), **LARGE, **replicated) as one,
            client(one, timeout=120) as device,
        ):
            publishing = [device.publish("hall/camera", picture(300_000, at), qos=1, timeout=120) for at in range(4)]
            await asyncio.gather(*publishing)
            assert other.repo is not None
            holdings = other.repo.repos[0].shelf.holdings
            held = {str(stream).removeprefix(f"{GROUP}/Gate1/"): row.count for stream, row in holdings}
            assert held["hall/camera"] == 4
            assert held["%24roost/payload/hall/camera"] >= 4 * 300_000 // 7000
            assert all(row.is_whole for stream, row in holdings if "camera" in str(stream))

    run(test)


def test_a_session_that_is_away_gets_what_is_large_at_the_other_node(home: Path) -> None:
    async def test() -> None:
        async with two(home) as (one, other), client(one) as device:
            async with client(one, identifier="display", **lasting()) as display:
                await display.subscribe("hall/#", qos=2)
                await heard(other, b"display", filters=1)
            for qos in (1, 2):
                await device.publish("hall/camera", picture(100_000, qos), qos=qos)
            async with client(other, identifier="display", **lasting()) as display:
                assert await came(display, 2) == [digest(picture(100_000, qos)) for qos in (1, 2)]

    run(test)


def test_what_is_above_the_bound_is_refused_and_all_else_comes_through(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with node(home, 1, **LARGE) as one, client(one) as listening, client(one) as device:
            await listening.subscribe("hall/#", qos=1)
            await device.publish("hall/camera", bytes(MAX_PAYLOAD_BYTES + 1), qos=1)
            await device.publish("hall/camera", bytes(MAX_PAYLOAD_BYTES), qos=1)
            assert await came(listening, 1) == [digest(bytes(MAX_PAYLOAD_BYTES))]
            assert one.broker.counts()["publish/messages/unfit"] == 1
        assert "1048576 bytes of payload at most: make it smaller: topic 'hall/camera'" in caplog.text

    run(test)


def test_who_fetches_named_data_sees_how_large_it_is_and_can_have_the_parts(home: Path) -> None:
    async def test() -> None:
        async with node(home, 1) as one, client(one) as device, connect([uri_of(one)]) as face:
            await device.publish("hall/camera", picture(20_000, 0), qos=1)
            parts: list[bytes] = []
            digests: list[bytes] = []
            async with asyncio.timeout(30):
                async for arrival in face.group(GROUP).subscribe("Gate1/#", since=1):
                    assert arrival.reading is not None
                    if "payload" in str(arrival.stream):
                        parts.append(arrival.reading.payload[8:])
                    elif arrival.reading.elsewhere is not None:
                        assert (arrival.value, arrival.reading.elsewhere.size_bytes) == (None, 20_000)
                        digests.append(arrival.reading.elsewhere.digest)
                    if len(parts) == 4 and digests:
                        break
            assert b"".join(parts) == picture(20_000, 0)
            assert hashlib.sha256(b"".join(parts)).digest() == digests[0]

    run(test)


def test_what_a_killed_node_has_acknowledged_it_still_has(tmp_path: Path) -> None:
    killed = Node(tmp_path)
    killed.start()
    sizes = (20_000, 100_000, 900_000)
    try:

        async def publish() -> None:
            async with aiomqtt.Client("127.0.0.1", killed.port, protocol=V4, timeout=60) as device:
                for size in sizes:
                    for qos in (1, 2):
                        await device.publish(f"hall/{size}", picture(size, qos), qos=qos, retain=True)

        run(publish)
        killed.end(signal.SIGKILL)
        killed.start()

        async def test() -> None:
            async with aiomqtt.Client("127.0.0.1", killed.port, protocol=V5) as late:
                for size in sizes:
                    await late.subscribe(f"hall/{size}", qos=1)
                    assert await came(late, 1) == [digest(picture(size, 2))], "retained"
                    await late.unsubscribe(f"hall/{size}")
                    await late.subscribe(f"hall/{size}", qos=1, properties=asked("1h"))
                    assert await came(late, 2) == [digest(picture(size, qos)) for qos in (1, 2)]

        run(test)
    finally:
        assert killed.end(signal.SIGTERM) == 0
