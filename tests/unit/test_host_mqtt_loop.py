"""The loop of MQTT connections on real sockets: batches, shares, marks, ends, and what it does without descriptors."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import struct
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress

import pytest

from roost.host.clock import Clock
from roost.host.mqtt import doors as doors_module
from roost.host.mqtt.link import Bounds, Link
from roost.host.mqtt.listener import Door, ListenerSettings
from roost.host.mqtt.loop import FEW_BYTES, Owner, Poll
from roost.host.mqtt.turnstile import BrokerLoop
from roost.machine import SECOND

LIMIT_S = 30


@pytest.fixture(params=[asyncio.new_event_loop, BrokerLoop], ids=["behind asyncio", "before asyncio"], autouse=True)
def factory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs on both kinds of event loop."""
    monkeypatch.setattr(sys.modules[__name__], "LOOP", request.param)


LOOP: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    troubles: list[dict[str, object]] = []

    async def within() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: troubles.append(context))
        async with asyncio.timeout(LIMIT_S):
            await test()

    with asyncio.Runner(loop_factory=LOOP) as runner:
        runner.run(within())
    assert troubles == []


class Desk(Owner):
    """An owner that writes everything down."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.opened_links: list[int] = []
        self.turns: list[list[tuple[int, bytes]]] = []
        self.lost: list[tuple[int, str]] = []
        self.crossed: list[tuple[int, int]] = []
        self.took: list[int] = []
        self.answer: Callable[[int, bytes], None] = lambda link, data: None  # noqa: ARG005  it says nothing
        self.poll = Poll(self, Clock(), bounds or Bounds())
        self.door = Door(ListenerSettings("tcp", "127.0.0.1", 0), None, 1 << 20)
        self.poll.add(self.door)
        self._turn = asyncio.Event()

    def opened(self, link: Link) -> None:
        self.opened_links.append(link.number)
        self._turn.set()

    def turn(self, arrived: list[tuple[int, bytes]]) -> None:
        if arrived:
            self.turns.append(arrived)
        for link, data in arrived:
            self.answer(link, data)
        self.look()

    def look(self) -> None:
        self.lost += self.poll.leaving.lost
        self.crossed += self.poll.outbox.crossed
        self.took += self.poll.outbox.took
        self.poll.leaving.lost, self.poll.outbox.crossed, self.poll.outbox.took = [], [], []
        self._turn.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._turn.clear()
            await self._turn.wait()

    async def emptied(self) -> None:
        while len(self.poll):  # noqa: ASYNC110  nobody is told when a link that was hung up is gone
            await asyncio.sleep(0)

    def received(self, link: int) -> bytes:
        return b"".join(data for turn in self.turns for number, data in turn if number == link)

    async def client(self, receive_bytes: int = 0) -> socket.socket:
        sock = socket.socket()
        sock.setblocking(False)
        if receive_bytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        count = len(self.opened_links)
        await asyncio.get_running_loop().sock_connect(sock, self.door.sock.getsockname())
        await self.until(lambda: len(self.opened_links) > count or self.poll.turned_away > 0)
        return sock


@asynccontextmanager
async def desk(bounds: Bounds | None = None) -> AsyncIterator[Desk]:
    made = Desk(bounds)
    try:
        yield made
    finally:
        made.poll.close()


async def read_to_end(sock: socket.socket) -> bytes:
    loop = asyncio.get_running_loop()
    parts: list[bytes] = []
    with suppress(ConnectionResetError):
        while part := await loop.sock_recv(sock, 1 << 16):
            parts.append(part)
    return b"".join(parts)


def reset(sock: socket.socket) -> None:
    """Close without the usual farewell."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def test_more_than_a_few_bytes_come_with_one_wake_up() -> None:
    async def test() -> None:
        for size in (FEW_BYTES - 1, FEW_BYTES, FEW_BYTES + 1, 20 * FEW_BYTES):
            async with desk() as made:
                client = await made.client()
                client.send(b"x" * size)
                client.shutdown(socket.SHUT_WR)
                await made.until(lambda made=made: bool(made.lost))  # type: ignore[misc]
                assert [len(data) for turn in made.turns for _, data in turn] == [size]
                client.close()

    run(test)


def test_one_wake_up_is_one_turn_with_everything_that_was_ready() -> None:
    async def test() -> None:
        async with desk() as made:
            clients = [await made.client() for _ in range(20)]
            for number, client in enumerate(clients):
                client.send(b"packet %d" % number)
            await made.until(lambda: bool(made.turns))
            assert len(made.turns) == 1
            assert sorted(made.turns[0]) == sorted(
                (link, b"packet %d" % at) for at, link in enumerate(made.opened_links)
            )
            for client in clients:
                client.close()

    run(test)


def test_attending_ends_when_it_is_time_when_the_loop_is_called_and_when_nobody_is_to_be_served() -> None:
    async def test() -> None:
        async with desk() as made:
            assert not made.poll.attend(0)
            loop = asyncio.get_running_loop()
            client = await made.client()
            for end in (lambda: loop.call_soon(lambda: None), lambda: made.poll.listen(wanted=False)):
                made.answer = lambda link, data, end=end: end()  # type: ignore[misc]  # noqa: ARG005
                client.send(b"packet")
                count = len(made.turns)
                if isinstance(loop, BrokerLoop):
                    assert not made.poll.attend(-1.0), "nothing else would have ended it"
                else:
                    await made.until(lambda count=count: len(made.turns) > count)  # type: ignore[misc]
                assert len(made.turns) == count + 1
            client.close()

    run(test)


def test_what_is_sent_within_a_turn_leaves_within_it() -> None:
    async def test() -> None:
        async with desk() as made:
            client = await made.client()
            made.answer = lambda link, data: made.poll.send(link, [data, b"!", data])
            client.send(b"one")
            await made.until(lambda: bool(made.turns))
            assert client.recv(100) == b"one!one", "no wait: it was written before the turn ended"
            client.close()

    run(test)


def test_a_flooder_gets_its_share_and_nothing_is_lost() -> None:
    async def test() -> None:
        async with desk(Bounds(max_read_bytes=1000)) as made:
            flooder, modest = await made.client(), await made.client()
            flooder.send(b"x" * 100_000)
            modest.send(b"hello")
            first, second = made.opened_links
            await made.until(lambda: made.received(first) == b"x" * 100_000)
            assert made.received(second) == b"hello"
            assert all(len(data) <= 1000 for turn in made.turns for _, data in turn)
            places = [at for at, turn in enumerate(made.turns) for link, _ in turn if link == second]
            assert places[0] <= 1, "not behind the flood"
            flooder.close()
            modest.close()

    run(test)


def test_a_slow_reader_is_told_at_the_marks_and_gets_everything_in_order() -> None:
    bounds = Bounds(high_water_bytes=100_000, low_water_bytes=10_000)

    async def test() -> None:
        async with desk(bounds) as made:
            client = await made.client(receive_bytes=4096)
            (link,) = made.opened_links
            sent = b""
            while not made.crossed:
                piece = os.urandom(50_000)
                sent += piece
                made.poll.send(link, [piece])
                made.look()
            assert made.crossed[0][0] == link
            assert made.crossed[0][1] > 100_000
            assert made.poll.outbox.queued_bytes == made.crossed[0][1]
            client.send(b"not read while it does not read")
            loop = asyncio.get_running_loop()
            got = b""
            while len(got) < len(sent):
                got += await loop.sock_recv(client, 1 << 16)
            assert got == sent
            await made.until(lambda: bool(made.turns))
            assert len(made.crossed) == 2
            assert made.crossed[1][1] <= 10_000
            assert set(made.took) == {link}
            assert made.poll.outbox.queued_bytes == 0
            client.close()

    run(test)


def test_who_asks_and_does_not_read_the_answers_is_not_read_either() -> None:
    bounds = Bounds(high_water_bytes=20_000, low_water_bytes=5_000)

    async def test() -> None:
        async with desk(bounds) as made:
            client = await made.client(receive_bytes=4096)
            made.answer = lambda link, data: made.poll.send(link, [data * 20])
            loop = asyncio.get_running_loop()
            writing = asyncio.ensure_future(loop.sock_sendall(client, b"q" * 30_000_000))
            await made.until(lambda: bool(made.crossed))
            most = made.poll.outbox.queued_bytes
            reading = asyncio.ensure_future(loop.sock_recv(client, 1))
            await asyncio.wait([reading])
            assert not writing.done(), "it was not read any further"
            assert made.poll.outbox.queued_bytes <= most
            writing.cancel()
            await asyncio.wait([writing])
            client.close()

    run(test)


def test_who_takes_nothing_is_cut_off_at_the_bound() -> None:
    async def test() -> None:
        async with desk(Bounds(max_link_bytes=200_000)) as made:
            client = await made.client(receive_bytes=4096)
            (link,) = made.opened_links
            for _ in range(1000):
                made.poll.send(link, [bytes(100_000)])
                if made.poll.outbox.cut:
                    break
            made.look()
            assert [lost for lost, _ in made.lost] == [link]
            assert "did not take" in made.lost[0][1]
            assert (made.poll.outbox.cut, len(made.poll), made.poll.outbox.queued_bytes) == (1, 0, 0)
            client.close()

    run(test)


def test_when_all_together_have_too_much_the_fullest_is_cut_off() -> None:
    async def test() -> None:
        async with desk(Bounds(max_total_bytes=10_000_000)) as made:
            clients = [await made.client(receive_bytes=4096) for _ in range(2)]
            little, much = made.opened_links
            made.poll.send(little, [bytes(5_000_000)])
            while not made.poll.outbox.cut:
                made.poll.send(much, [bytes(6_000_000)])
            made.look()
            assert [lost for lost, _ in made.lost] == [much]
            assert 0 < made.poll.outbox.queued_bytes <= 5_000_000
            for client in clients:
                client.close()

    run(test)


def test_a_link_that_is_hung_up_gets_all_that_was_sent_before_although_it_still_talks() -> None:
    async def test() -> None:
        async with desk() as made:
            client = await made.client(receive_bytes=4096)
            (link,) = made.opened_links
            made.poll.send(link, [b"x" * 8_000_000, b"goodbye"])
            made.poll.hang_up(link)
            made.poll.send(link, [b"too late"])
            client.send(b"unread")
            got = await read_to_end(client)
            assert got.endswith(b"goodbye")
            assert len(got) == 8_000_007
            client.close()
            await made.emptied()
            made.look()
            assert made.lost == [], "the owner wanted it so"
            assert made.turns == []

    run(test)


def test_who_does_not_close_in_time_is_closed() -> None:
    async def test() -> None:
        async with desk(Bounds(leaving_timeout=SECOND // 100)) as made:
            client = await made.client()
            made.poll.hang_up(made.opened_links[0])
            assert await read_to_end(client) == b""
            await made.emptied()
            client.close()

    run(test)


def test_no_more_than_so_many_are_waited_for() -> None:
    async def test() -> None:
        async with desk(Bounds(max_leaving=1)) as made:
            clients = [await made.client() for _ in range(3)]
            for link in made.opened_links:
                made.poll.hang_up(link)
            assert len(made.poll) == 1
            for client in clients:
                client.close()

    run(test)


def test_what_came_before_the_end_is_handed_on_before_it() -> None:
    async def test() -> None:
        async with desk() as made:
            client = await made.client()
            client.send(b"last words")
            client.close()
            await made.until(lambda: bool(made.lost))
            assert made.received(made.opened_links[0]) == b"last words"
            assert made.lost == [(made.opened_links[0], "the other end closed it")]
            assert len(made.poll) == 0

    run(test)


def test_a_half_closed_link_is_over_but_its_answers_are_there() -> None:
    async def test() -> None:
        async with desk() as made:
            client = await made.client()
            made.answer = lambda link, data: made.poll.send(link, [data.upper()])
            client.send(b"ask")
            client.shutdown(socket.SHUT_WR)
            assert await read_to_end(client) == b"ASK"
            await made.until(lambda: bool(made.lost))
            client.close()

    run(test)


def test_a_link_that_is_paused_is_read_when_its_time_has_come_and_its_reset_is_noticed() -> None:
    async def test() -> None:
        async with desk() as made:
            client, other = await made.client(), await made.client()
            first, second = made.opened_links
            clock = Clock()
            made.poll.pause(first, clock() + SECOND // 50)
            made.poll.pause(second, clock() + 1000 * SECOND)
            client.send(b"patience")
            other.send(b"never")
            until = clock() + SECOND // 50
            await made.until(lambda: bool(made.turns))
            assert clock() >= until - SECOND // 1000
            assert made.turns == [[(first, b"patience")]]
            reset(other)
            await made.until(lambda: bool(made.lost))
            assert made.lost == [(second, "the connection broke")]
            client.close()

    run(test)


def test_writing_to_who_has_gone_is_no_error_and_its_last_words_are_read() -> None:
    async def test() -> None:
        async with desk() as made:
            client = await made.client()
            (link,) = made.opened_links
            client.send(b"last words")
            client.close()
            for _ in range(3):
                made.poll.send(link, [b"x" * 1000])
            await made.until(lambda: bool(made.lost))
            assert made.received(link) in (b"last words", b""), "a reset may take them along"
            made.poll.send(link, [b"x"])
            made.poll.hang_up(link)
            made.poll.pause(link, 0)
            assert len(made.poll) == 0

    run(test)


def test_more_than_the_bound_are_turned_away_and_counted() -> None:
    async def test() -> None:
        async with desk(Bounds(max_links=1)) as made:
            first, second = await made.client(), await made.client()
            assert await read_to_end(second) == b""
            assert (made.poll.turned_away, len(made.opened_links)) == (1, 1)
            first.close()
            second.close()

    run(test)


def test_a_storm_of_connections_is_let_in() -> None:
    async def test() -> None:
        async with desk() as made:
            loop = asyncio.get_running_loop()
            clients = [socket.socket() for _ in range(300)]
            for client in clients:
                client.setblocking(False)
            address = made.door.sock.getsockname()
            await asyncio.gather(*(loop.sock_connect(client, address) for client in clients))
            await made.until(lambda: len(made.opened_links) == 300)
            for client in clients:
                client.close()
            await made.until(lambda: len(made.lost) == 300)

    run(test)


def test_without_descriptors_the_door_is_looked_at_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors_module, "LOOK_AWAY_S", 0.01)

    class Poor:
        """A listening socket of a process that has no descriptors left, once."""

        def __init__(self, sock: socket.socket) -> None:
            self._sock = sock
            self._refusals = 1

        def accept(self) -> tuple[socket.socket, tuple[str, int]]:
            if self._refusals:
                self._refusals -= 1
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return self._sock.accept()

        def __getattr__(self, name: str) -> object:
            return getattr(self._sock, name)

    async def test() -> None:
        async with desk() as made:
            monkeypatch.setattr(made.door, "sock", Poor(made.door.sock))
            client = await made.client()
            assert made.poll.exhausted == 1
            client.close()

    run(test)


def test_nothing_is_read_while_the_owner_does_not_want_it() -> None:
    async def test() -> None:
        async with desk() as made:
            client = await made.client()
            made.poll.listen(wanted=False)
            client.send(b"later")
            for _ in range(10):
                await asyncio.sleep(0)
            assert made.turns == []
            made.poll.listen(wanted=True)
            await made.until(lambda: bool(made.turns))
            assert made.received(made.opened_links[0]) == b"later"
            client.close()

    run(test)


def test_timers_threads_and_other_sockets_go_on_beside_the_links() -> None:
    async def test() -> None:
        async with desk() as made:
            client = await made.client()
            server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            assert await reader.read() == b""
            writer.close()
            await asyncio.to_thread(client.send, b"from a thread")
            await made.until(lambda: bool(made.turns))
            await asyncio.sleep(0.001)
            server.close()
            await server.wait_closed()
            client.close()

    run(test)


def test_a_bug_in_a_turn_is_told_and_the_next_turn_comes() -> None:
    async def test() -> None:
        async with desk() as made:
            told: list[dict[str, object]] = []
            asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))

            def fail(link: int, data: bytes) -> None:
                raise ValueError(f"no answer to {data!r} of {link}")

            client = await made.client()
            made.answer = fail
            client.send(b"1")
            while not told:  # noqa: ASYNC110  nobody else hears of it
                await asyncio.sleep(0)
            assert isinstance(told[0]["exception"], ValueError)
            made.answer = lambda link, data: None  # noqa: ARG005  it says nothing
            client.send(b"2")
            await made.until(lambda: len(made.turns) == 2)
            client.close()

    run(test)


def test_two_of_them_in_one_event_loop_are_both_served() -> None:
    async def test() -> None:
        async with desk() as one, desk() as other:
            first, second = await one.client(), await other.client()
            first.send(b"1")
            second.send(b"2")
            await one.until(lambda: bool(one.turns))
            await other.until(lambda: bool(other.turns))
            first.close()
            second.close()

    run(test)
