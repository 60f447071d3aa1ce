"""Nodes linked to nodes over real sockets: fail-over when one is gone, the way back, registrations at the far end."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path

import pytest
from tests.verbs import RUN, background, environment_of, roost

from roost.errors import BadConfig, Nacked
from roost.forwarding.commands import Command
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.host import ACCEPT_ANY, Connection, Face, Listen, ListeningNode, connect, running
from roost.host.server import Server
from roost.host.uplink import Uplink
from roost.naming import Name
from roost.node import Node, NodeSettings

G = Name.parse("/g")
TCP = Listen(tcp=(("127.0.0.1", 0),))


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    monkeypatch.setattr("roost.host.attachment.FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr("roost.host.attachment.LAST_PAUSE_S", 0.01)


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(30):
            await test()

    asyncio.run(main())


def node() -> Node:
    return Node(NodeSettings(), random.Random(1))


def anyone(listening: ListeningNode) -> Connection:
    return connect(listening.uris[0], verifier=ACCEPT_ANY)


@contextlib.asynccontextmanager
async def repo(name: str, listen: Listen = TCP) -> AsyncIterator[ListeningNode]:
    """A node and somebody on it who answers /g with a name."""
    async with (
        running(node(), listen) as listening,
        anyone(listening) as face,
        face.serve(G, lambda _: name.encode()),
    ):
        yield listening


@contextlib.asynccontextmanager
async def behind(*uris: str, machine: Node | None = None) -> AsyncIterator[tuple[Face, list[Uplink]]]:
    """A face to a node that has these uplinks."""
    machine = machine or node()
    machine.forwarder.strategies.set(G, STRATEGY_PREFIX / "fail-over")
    async with running(machine, TCP) as listening, anyone(listening) as face:
        uplinks = [Uplink(listening.server, uri, routes=[G], cost=cost) for cost, uri in enumerate(uris)]
        for uplink in uplinks:
            uplink.start()
        yield face, uplinks


async def asked(face: Face, number: int) -> bytes:
    return (await face.fetch(G / str(number), must_be_fresh=True)).content


def test_when_the_cheaper_node_is_gone_the_other_is_asked_and_when_it_is_back_it_is_asked_again() -> None:
    async def test() -> None:
        async with repo("far") as far, contextlib.AsyncExitStack() as stack:
            near = await stack.enter_async_context(repo("near"))
            port = int(near.uris[0].rpartition(":")[2])
            async with behind(near.uris[0], far.uris[0]) as (face, (first, second)):
                await first.up.wait()
                await second.up.wait()
                assert await asked(face, 1) == b"near"
                await stack.aclose()
                assert await asked(face, 2) == b"far"
                await asyncio.wait_for(_cleared(first.up), 10)
                async with repo("near", Listen(tcp=(("127.0.0.1", port),))):
                    await first.up.wait()
                    assert await asked(face, 3) == b"near"

    run(test)


async def _cleared(event: asyncio.Event) -> None:
    while event.is_set():  # noqa: ASYNC110  an Event has no event of its own for being cleared
        await asyncio.sleep(0)


def test_a_node_that_is_not_there_yet_is_waited_for_and_whoever_asks_meanwhile_is_told() -> None:
    async def test() -> None:
        async with repo("near") as gone:
            uri = gone.uris[0]
            port = int(uri.rpartition(":")[2])
        async with behind(uri) as (face, (uplink,)):
            with pytest.raises(Nacked, match="no route"):
                await asked(face, 1)
            async with repo("near", Listen(tcp=(("127.0.0.1", port),))):
                await uplink.up.wait()
                assert await asked(face, 2) == b"near"

    run(test)


def test_a_node_that_falls_silent_is_given_up_after_a_few_lifetimes() -> None:
    async def test() -> None:
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()  # who connects waits in vain
            uri = f"tcp4://127.0.0.1:{silent.getsockname()[1]}"
            machine = node()
            async with repo("far") as far, behind(uri, far.uris[0], machine=machine) as (face, uplinks):
                for uplink in uplinks:
                    await uplink.up.wait()
                for number in range(20):
                    data = await face.fetch(G / str(number), must_be_fresh=True, lifetime_ms=100, tries=100)
                    assert data.content == b"far"
                lost, answered = (machine.forwarder.faces[uplink.face].out_interests for uplink in uplinks)
                assert lost < 5 < answered

    run(test)


@pytest.mark.parametrize("scheme", ["tcp", "udp"])
def test_the_far_node_sends_us_what_we_registered_there_also_after_it_was_away(scheme: str) -> None:
    async def test() -> None:
        address = (("127.0.0.1", 0),)
        listen = Listen(tcp=address) if scheme == "tcp" else Listen(udp=address)
        async with running(node(), TCP) as ours, anyone(ours) as producer, producer.serve(G, lambda _: b"ours"):
            async with running(node(), listen) as theirs:
                uri = theirs.uris[0]
                uplink = Uplink(ours.server, uri, registers=[G])
                uplink.start()
                await uplink.registered.wait()
                async with anyone(theirs) as consumer:
                    assert await asked(consumer, 1) == b"ours"
            if scheme == "udp":
                return  # there nobody is told; the registration is renewed every 15 s
            await asyncio.wait_for(_cleared(uplink.registered), 10)
            async with running(node(), Listen(tcp=(("127.0.0.1", int(uri.rpartition(":")[2])),))) as again:
                await uplink.registered.wait()
                async with anyone(again) as consumer:
                    assert await asked(consumer, 2) == b"ours"

    run(test)


def test_a_refused_registration_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    class Nobody:
        def check(self, command: Command, now: int) -> str | None:
            return f"{command.verb} is for nobody at {now}"

    refusing = Node(NodeSettings(policy=Nobody()), random.Random(1))

    async def test() -> None:
        async with running(node(), TCP) as ours, running(refusing, TCP) as theirs:
            uplink = Uplink(ours.server, theirs.uris[0], registers=[G])
            uplink.start()
            await asyncio.wait_for(_said(caplog, "will not send us /g: authorization rejected"), 20)
            assert not uplink.registered.is_set()

    run(test)


async def _said(caplog: pytest.LogCaptureFixture, text: str) -> None:
    while text not in caplog.text:  # noqa: ASYNC110  a log has no event of its own
        await asyncio.sleep(0)


def test_an_address_that_cannot_be_is_refused_at_once() -> None:
    async def test() -> None:
        with pytest.raises(BadConfig):
            Uplink(Server(node()), "ether://[01:00:5e:00:17:aa]")

    run(test)


def test_a_node_goes_on_with_the_other_one_when_the_one_in_use_is_killed(tmp_path: Path) -> None:
    homes: dict[str, dict[str, str]] = {}
    for name in ("near", "far", "ours"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "reading").write_text(f"from the {name} one")
        homes[name] = environment_of(tmp_path / name)
    listen = ("node", "--tcp", ":0", "--no-udp", "--no-ws")
    serve = ("serve", "/g/reading")
    with (
        background(homes["far"], *listen, until="ready") as far,
        background(homes["far"], *serve, str(tmp_path / "far" / "reading"), until="serving"),
        killable(homes["near"], *listen) as (process, near),
        background(homes["near"], *serve, str(tmp_path / "near" / "reading"), until="serving"),
        background(
            homes["ours"],
            *(*listen, "--uplink", tcp_of(near), "--uplink", tcp_of(far), "--route", "/g"),
            until="ready",
        ),
    ):
        assert is_fetched(homes["ours"], b"from the near one")
        process.kill()
        process.wait()
        assert is_fetched(homes["ours"], b"from the far one")


def is_fetched(environment: dict[str, str], expected: bytes) -> bool:
    """Fetch until this comes: the uplink may not be up yet, or what the node has cached is still fresh."""
    fetch = ("fetch", "--accept-any", "--prefix", "--fresh", "/g/reading")
    return any(roost(environment, *fetch).stdout == expected for _ in range(50))


def tcp_of(lines: list[str]) -> str:
    return next(line.removeprefix("listening on ") for line in lines if "tcp4://" in line)


@contextlib.contextmanager
def killable(environment: dict[str, str], *arguments: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Run a node until the block ends or it is killed."""
    with subprocess.Popen([*RUN, *arguments], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or not lines[-1].startswith("ready"):
            lines.append(process.stdout.readline().rstrip())
        try:
            yield process, lines
        finally:
            process.kill()


def test_routes_without_an_uplink_are_a_mistake_that_is_told(tmp_path: Path) -> None:
    refused = roost(environment_of(tmp_path), "node", "--route", "/g")
    assert refused.returncode == 1
    assert b"name one with --uplink URI" in refused.stderr
