"""The driver of an hICN forwarder and the faces of applications, over loopback UDP."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Self

import pytest
from tests.loops import run

from roost.errors import Backpressure, BadConfig, BadName, Disconnected, RoostError, TimedOut
from roost.hicn import Data, Form, HicnName, Interest, Prefix, decode, encode
from roost.hicn.checksum import checksum_holds
from roost.hicn.control import Control, Verb, read_reply
from roost.hicn.forwarder import HicnForwarder, HicnSettings
from roost.hicn.manifest import SuffixList
from roost.hicn.strategy import StrategyKind
from roost.host.hicn import HicnServer, hicn_connect
from roost.host.hicn.tun import addressed

PREFIX = Prefix.parse("abcd::/16")
LONG_MS = 20_000


def name(suffix: int) -> HicnName:
    return HicnName.parse(f"abcd::1|{suffix}")


@asynccontextmanager
async def forwarder(**settings: int) -> AsyncIterator[tuple[HicnServer, int]]:
    machine = HicnForwarder(HicnSettings(**settings), Random(1))  # type: ignore[arg-type]
    async with HicnServer(machine) as server:
        yield server, int(server.listen("127.0.0.1", 0).rpartition(":")[2])


class Wire:
    """A peer that writes and reads datagrams itself."""

    def __init__(self, port: int) -> None:
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.connect(("127.0.0.1", port))
        self.sock.setblocking(False)

    async def say(self, *wires: bytes) -> None:
        for wire in wires:
            self.sock.send(wire)

    async def hear(self) -> bytes:
        return await asyncio.get_running_loop().sock_recv(self.sock, 2000)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()


def test_what_is_served_is_fetched_then_answered_from_the_cache() -> None:
    async def story() -> None:
        async with forwarder() as (server, port), hicn_connect(port) as producer, hicn_connect(port) as reader:
            asked: list[Interest] = []

            async def answer(interest: Interest) -> bytes:
                asked.append(interest)
                return b"21.5"

            async with producer.serve("abcd::/16", answer):
                data = await reader.fetch("abcd::1|100", lifetime_ms=LONG_MS)
                assert (data.name, data.payload) == (name(100), b"21.5")
                again = await reader.fetch(name(100), lifetime_ms=LONG_MS)
                assert (again.payload, server.forwarder.hits) == (b"21.5", 1)
                assert len(asked) == 1
                await reader.fetch(name(0), lifetime_ms=LONG_MS, payload=b"topic")
                assert asked[-1].payload == b"topic"
            assert len(server.forwarder.fib) == 0

    run(story)


def test_pushed_data_is_answered_by_the_forwarder_alone_until_the_cache_is_cleared() -> None:
    async def story() -> None:
        async with forwarder() as (server, port), hicn_connect(port) as producer, hicn_connect(port) as reader:
            await producer.add_route(PREFIX)  # also makes it a peer: Data alone would not
            producer.push(Data(name(5), b"pushed"))
            await producer.set_strategy(PREFIX, StrategyKind.REPLICATION)
            assert (await reader.fetch(name(5), lifetime_ms=LONG_MS)).payload == b"pushed"
            assert server.forwarder.hits == 1
            await producer.clear_cache()
            assert not server.forwarder.table.cached

    run(story)


def test_data_of_an_unknown_peer_is_dropped_and_what_follows_an_interest_is_taken() -> None:
    async def story() -> None:
        async with forwarder() as (server, port), hicn_connect(port) as reader:
            with Wire(port) as stranger, Wire(port) as guest:
                await stranger.say(encode(Data(name(1), b"x")), b"\x61 garbage")
                await guest.say(encode(Data(name(2), b"x")), encode(Interest(HicnName.parse("ab::1|1"))))
                await guest.say(encode(Data(name(3), b"taken")))
                assert (await reader.fetch(name(3), lifetime_ms=100, tries=50)).payload == b"taken"
            assert [key[-1] for key in server.forwarder.table.cached] == [3]
            assert server.journal.rejected == 1
            assert len(server.peers) == 2

    run(story)


def test_a_peer_that_says_goodbye_is_forgotten_and_may_come_again() -> None:
    async def story() -> None:
        async with forwarder() as (server, port):
            with Wire(port) as peer:
                for sequence in (1, 3):
                    await peer.say(Control(Verb.ADD_ROUTE, sequence, PREFIX).encode())
                    assert read_reply(await peer.hear()) == (sequence, True)
                    assert len(server.peers) == len(server.forwarder.faces) == 1
                    await peer.say(Control(Verb.REMOVE_CONNECTION, sequence + 1).encode())
                    assert read_reply(await peer.hear()) == (sequence + 1, True)
                    assert len(server.peers) == len(server.forwarder.faces) == 0

    run(story)


def test_when_there_are_too_many_faces_the_idle_go_and_those_with_routes_stay() -> None:
    async def story() -> None:
        async with forwarder(face_limit=2) as (server, port), hicn_connect(port) as producer:
            async with producer.serve(PREFIX, lambda interest: b"here"):  # noqa: ARG005  the same for all
                for suffix in range(4):
                    async with hicn_connect(port) as reader:
                        assert (await reader.fetch(name(suffix), lifetime_ms=LONG_MS)).payload == b"here"
                    with Wire(port) as silent:  # asks, and never says goodbye
                        await silent.say(encode(Interest(name(suffix))))
                        await silent.hear()
            assert server.peers.evicted >= 3
            assert len(server.forwarder.faces) == len(server.peers) <= 2

    run(story)


def test_no_room_for_a_peer_if_all_faces_are_needed() -> None:
    async def story() -> None:
        async with (
            forwarder(face_limit=1) as (server, port),
            hicn_connect(port) as producer,
            hicn_connect(port) as late,
        ):
            async with producer.serve(PREFIX, lambda interest: b"here"):  # noqa: ARG005  the same for all
                with pytest.raises(TimedOut, match="asked for 1 times"):
                    await late.fetch(name(1), lifetime_ms=50, tries=1)
            assert server.peers.evicted == 0

    run(story)


def test_a_list_of_suffixes_is_answered_one_by_one_in_the_form_it_was_asked() -> None:
    async def story() -> None:
        async with forwarder() as (_, port), hicn_connect(port) as producer:
            with Wire(port) as peer:
                async with producer.serve(PREFIX, lambda interest: str(interest.name.suffix).encode()):
                    await peer.say(encode(Interest(name(1), LONG_MS, manifest=SuffixList.of(1, 7), form=Form.COMPACT)))
                    answers = [decode(await peer.hear()) for _ in range(2)]
            assert [(answer.name.suffix, answer.payload, answer.form) for answer in answers] == [
                (1, b"1", Form.COMPACT),
                (7, b"7", Form.COMPACT),
            ]

    run(story)


def test_handlers_that_fail_or_answer_something_else_answer_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        def answer(interest: Interest) -> Data | None:
            if interest.name.suffix == 1:
                raise ValueError("no such sensor")
            return Data(name(9)) if interest.name.suffix == 2 else None

        async with (
            forwarder() as (_, port),
            hicn_connect(port) as producer,
            hicn_connect(port) as reader,
            producer.serve(PREFIX, answer),
        ):
            with pytest.raises(RoostError, match="served already"):
                await producer.serve(PREFIX, answer).__aenter__()
            for suffix in (1, 2, 3):
                with pytest.raises(TimedOut):
                    await reader.fetch(name(suffix), lifetime_ms=50, tries=1)

    run(story)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "no answer to abcd",
        "no answer to abcd",
    ]


def test_mistakes_are_told() -> None:
    async def story() -> None:
        async with forwarder() as (server, port):
            with pytest.raises(BadConfig, match="this forwarder itself"):
                server.connect("127.0.0.1", port)
            with pytest.raises(BadConfig, match="none of the addresses listened on reaches"):
                server.connect("192.0.2.1", 9695)
            with pytest.raises(BadConfig, match="another program uses it"):
                server.listen("127.0.0.1", port)
            async with hicn_connect(port) as face:
                with pytest.raises(BadName):
                    await face.fetch("nowhere")
                with pytest.raises(BadConfig, match="at least 1"):
                    await face.fetch(name(1), lifetime_ms=0)
                waiting = asyncio.ensure_future(face.fetch(name(1), lifetime_ms=LONG_MS))
                await asyncio.sleep(0)  # it has asked
            with pytest.raises(Disconnected):
                await waiting
            with pytest.raises(Disconnected, match="within its `async with` block"):
                await face.fetch(name(1))

    run(story)


def test_a_program_that_is_gone_without_goodbye_gets_nothing_more() -> None:
    async def story() -> None:
        async with forwarder() as (server, port), hicn_connect(port) as reader:
            with Wire(port) as dead:
                await dead.say(Control(Verb.ADD_ROUTE, 1, PREFIX).encode())
                await dead.hear()
            with pytest.raises(TimedOut):
                await reader.fetch(name(1), lifetime_ms=50, tries=1)
            assert server.buried == 1
            assert not server.forwarder.fib.leads_to(1)

    run(story)


def test_without_tun_or_a_right_address_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with forwarder() as (server, _):
            with pytest.raises(BadConfig, match="no IPv6 address"):
                server.open_tun("hicn0", "10.0.0.1")
            monkeypatch.setattr("roost.host.hicn.tun.DEVICE", Path("/nowhere/tun"))
            with pytest.raises(BadConfig, match="/nowhere/tun is not there"):
                server.open_tun("hicn0", "fd00::1")

    run(story)


def test_a_device_or_socket_for_which_there_is_no_face_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []

    def open_device(_: str) -> int:
        ours, theirs = os.pipe()
        os.close(theirs)
        opened.append(ours)
        return ours

    async def story() -> None:
        async with forwarder(face_limit=1) as (server, _):
            server.dial("127.0.0.1", 9)
            monkeypatch.setattr("roost.host.hicn.tun._opened", open_device)
            with pytest.raises(Backpressure, match="there are 1 faces, which is the limit"):
                server.open_tun("hicn0", "fd00::1")
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(opened[0])
            before = len(server._links)
            with pytest.raises(Backpressure, match="there are 1 faces, which is the limit"):
                server.dial("127.0.0.1", 9)
            assert len(server._links) == before

    run(story)


def test_packets_travel_with_addresses_and_a_right_checksum() -> None:
    ours, theirs = bytes(range(16)), bytes(range(16, 32))
    interest = encode(Interest(name(1), 1000))
    data = encode(Data(name(1), b"odd"))
    assert decode(addressed(interest, theirs, ours)).locator == ours
    assert decode(addressed(data, theirs, ours)).locator == theirs
    for wire in (interest, data):
        assert checksum_holds(addressed(wire, theirs, ours))
