"""The driver of a broker, with a stand-in for the machine: what is asked of it, and what is done with its answers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from tests.loops import run

from roost.broker.access import Access
from roost.broker.effects import Authenticate, Hangup, Insert, Keep, Pause, Send, Verdict
from roost.broker.limits import Limits
from roost.broker.link import Peer
from roost.broker.settings import BrokerSettings
from roost.errors import BadConfig
from roost.host.mqtt import rows as rows_module
from roost.host.mqtt.link import Bounds
from roost.host.mqtt.listener import ListenerSettings
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.host.mqtt.reload import Reloader, Sources
from roost.host.mqtt.rows import Rows
from roost.host.mqtt.server import Server
from roost.host.rocks_rows import RocksRows
from roost.machine import Effect


class Puppet:
    """A machine that answers bytes with what a test wants, and writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []
        self.wants: dict[bytes, Callable[[int], list[Effect]]] = {}
        self.due: int | None = None
        self._turn = asyncio.Event()

    def _note(self, *facts: object) -> list[Effect]:
        self.told.append(facts)
        self._turn.set()
        return []

    async def until(self, *facts: object) -> None:
        while facts not in self.told:
            self._turn.clear()
            await self._turn.wait()

    def start(self, now: int) -> list[Effect]:
        self.due = now + 1
        return self._note("start")

    def knocked(self, link: int, address: str, now: int) -> list[Effect]:  # noqa: ARG002
        return self._note("knocked", link, address)

    def opened(self, link: int, peer: Peer, now: int) -> list[Effect]:  # noqa: ARG002
        return self._note("opened", link, peer)

    def receive(self, arrived: list[tuple[int, bytes]], now: int) -> list[Effect]:  # noqa: ARG002
        self._note("receive", *arrived)
        return [effect for link, data in arrived if data in self.wants for effect in self.wants[data](link)]

    def closed(self, link: int, now: int) -> list[Effect]:  # noqa: ARG002
        return self._note("closed", link)

    def authenticated(self, link: int, verdict: Verdict, now: int) -> list[Effect]:  # noqa: ARG002
        self._note("authenticated", link, verdict)
        return [Send(link, [b"%d" % verdict.reason])]

    def kept(self, ticket: int, now: int) -> list[Effect]:  # noqa: ARG002
        self._note("kept", ticket)
        return [Send(1, [b"kept"])]

    def unkept(self, ticket: int, why: str, now: int) -> list[Effect]:  # noqa: ARG002
        return self._note("unkept", ticket, why)

    def drained(self, link: int, queued_bytes: int, now: int) -> list[Effect]:  # noqa: ARG002
        return self._note("drained", link, queued_bytes == 0)

    def held(self, sizes: list[tuple[int, int]], now: int) -> list[Effect]:  # noqa: ARG002
        return self._note("held", *sizes)

    def took(self, links: list[int], now: int) -> None:  # noqa: ARG002
        self._note("took", *links)

    def listening(self, wanted: bool, now: int) -> None:  # noqa: ARG002
        self._note("listening", wanted)

    def counted(self, outside: Mapping[str, int]) -> None:
        self.outside = dict(outside)

    def tick(self, now: int) -> list[Effect]:  # noqa: ARG002
        self.due = None
        return self._note("tick")

    def stepped(self, by: int, now: int) -> list[Effect]:  # noqa: ARG002
        return self._note("stepped", by)

    def owing(self) -> int:
        return 0

    def deadline(self) -> int | None:
        return self.due

    def reloaded(
        self,
        access: Access,  # noqa: ARG002
        settings: BrokerSettings,
        now: int,  # noqa: ARG002
        limits: Limits | None,
        gone: Iterable[bytes],
    ) -> list[Effect]:
        return self._note("reloaded", settings, limits, *gone)

    def stop(self, now: int) -> list[Effect]:  # noqa: ARG002
        self._note("stop")
        return [Send(1, [b"goodbye"]), Hangup(1)]


class Stage:
    """A server with a puppet, and a client."""

    def __init__(self, rows: Rows | None, sources: Sources, bounds: Bounds) -> None:
        self.machine = Puppet()
        self.last_words = b""
        self.sources = sources
        self.server = Server(self.machine, Reloader(sources), bounds, rows)
        self.server.start()
        self._port = int(self.server.listen(ListenerSettings("tcp", "127.0.0.1", 0), 1 << 20).rpartition(":")[2])
        self.sock = socket.socket()
        self.sock.setblocking(False)

    async def connect(self) -> None:
        await asyncio.get_running_loop().sock_connect(self.sock, ("127.0.0.1", self._port))
        await self.machine.until("opened", 1, Peer("127.0.0.1", "tcp", None, loopback=True))

    async def say(self, data: bytes, *wants: Callable[[int], Effect]) -> None:
        self.machine.wants[data] = lambda link: [want(link) for want in wants]
        self.sock.send(data)
        await self.machine.until("receive", (1, data))

    async def hear(self) -> bytes:
        return await asyncio.get_running_loop().sock_recv(self.sock, 1000)


@asynccontextmanager
async def stage(
    folder: Path | None = None, sources: Sources | None = None, bounds: Bounds | None = None
) -> AsyncIterator[Stage]:
    made = Stage(None if folder is None else Rows(folder), sources or Sources(), bounds or Bounds())
    try:
        await made.connect()
        yield made
    finally:
        await made.server.stop()
        await made.server.close()
        with suppress(OSError):
            made.last_words = made.sock.recv(1000)
        made.sock.close()


def test_links_bytes_times_and_ends_are_told() -> None:
    async def test() -> None:
        async with stage() as made:
            assert made.machine.told[0] == ("start",)
            await made.machine.until("tick")
            await made.say(b"hello", lambda link: Send(link, [b"wor", b"ld"]))
            assert await made.hear() == b"world"
            made.sock.shutdown(socket.SHUT_WR)
            await made.machine.until("closed", 1)

    run(test)


def test_a_clock_that_is_set_forward_is_told_before_time_passes() -> None:
    async def test() -> None:
        async with stage() as made:
            await made.machine.until("tick")
            made.machine.told.clear()
            made.server.clock.stepped += 5
            for _ in range(2):
                made.server._tick(made.server.clock())
            assert made.machine.told == [("stepped", 5), ("tick",), ("tick",)]

    run(test)


def test_what_the_driver_counts_is_told_with_the_time_and_documented() -> None:
    async def test() -> None:
        async with stage() as made:
            await made.machine.until("tick")
            made.server.poll.outbox.cut = 3
            made.server._tick(made.server.clock())
            assert made.machine.outside["connections/cut"] == 3
            listed = (Path(__file__).parents[2] / "docs/mqtt.md").read_text(encoding="utf-8")
            assert [name for name in made.machine.outside if f"`{name}`" not in listed] == []

    run(test)


def test_a_hangup_is_done_and_not_told() -> None:
    async def test() -> None:
        async with stage() as made:
            await made.say(b"bye", lambda link: Send(link, [b"bye"]), Hangup)
            assert await made.hear() == b"bye"
            assert await made.hear() == b""
        assert ("closed", 1) not in made.machine.told

    run(test)


def test_a_pause_is_kept() -> None:
    async def test() -> None:
        async with stage() as made:
            until = made.server.clock() + 20_000_000
            await made.say(b"slowly", lambda link: Pause(link, until))
            await made.say(b"again")
            assert made.server.clock() >= until

    run(test)


@pytest.mark.parametrize("on_disk", [True, False])
def test_rows_are_kept_and_answered_later(tmp_path: Path, on_disk: bool) -> None:
    async def test() -> None:
        async with stage(tmp_path / "mqtt" if on_disk else None) as made:
            await made.say(b"keep", lambda _: Keep(1, [(b"a", b"1")], [], sync=True))
            assert ("kept", 1) not in made.machine.told
            await made.machine.until("kept", 1)
            assert await made.hear() == b"kept"

    run(test)


def test_when_the_disk_is_behind_nobody_is_read_until_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module, "MAX_WAITING_BYTES", 10)

    async def test() -> None:
        async with stage(tmp_path) as made:
            await made.say(b"keep", lambda _: Keep(1, [(b"a", bytes(100))], [], sync=True))
            await made.say(b"later")
            order = [facts for facts in made.machine.told if facts[0] in {"kept", "receive", "listening"}]
            assert order == [
                ("receive", (1, b"keep")),
                ("listening", False),
                ("kept", 1),
                ("listening", True),
                ("receive", (1, b"later")),
            ]

    run(test)


def test_what_is_not_kept_is_told_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(log: object, batch: object) -> None:  # noqa: ARG001  as the real one
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RocksRows, "write", full)

    async def test() -> None:
        async with stage(tmp_path) as made:
            await made.say(b"keep", lambda _: Keep(1, [(b"a", b"1")], [], sync=True))
            why = f"{tmp_path / 'rows'} could not be written: No space left on device; make room, or mend the disk"
            await made.machine.until("unkept", 1, why)

    run(test)


def test_marks_of_a_slow_reader_are_told() -> None:
    async def test() -> None:
        async with stage(bounds=Bounds(high_water_bytes=1000, low_water_bytes=100)) as made:
            await made.say(b"much", lambda link: Send(link, [bytes(20_000_000)]))
            await made.machine.until("drained", 1, False)
            taken = 0
            while taken < 20_000_000:
                taken += len(await asyncio.get_running_loop().sock_recv(made.sock, 1 << 20))
            await made.machine.until("drained", 1, True)
            assert ("took", 1) in made.machine.told

    run(test)


def ask(user: bytes | None, password: bytes | None, method: bytes = b"") -> Callable[[int], Effect]:
    return lambda link: Authenticate(link, b"me", user, password, method, b"")


def test_passwords_are_checked_and_other_methods_refused(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(f"bob:{PasswordHash.make(b'secret', LIGHT)}\n")
    users.chmod(0o600)
    (tmp_path / "permissions").write_text("all\n  readwrite #\n")

    async def test() -> None:
        async with stage(sources=Sources(users, tmp_path / "permissions")) as made:
            for asked, verdict in (
                (ask(b"bob", b"secret"), Verdict(0, b"bob")),
                (ask(b"bob", b"guess"), Verdict(0x86, why="wrong name or password")),
                (ask(b"eve", b"secret"), Verdict(0x86, why="wrong name or password")),
                (ask(b"bob", None), Verdict(0x86, why="wrong name or password")),
                (ask(None, None), Verdict(0, b"")),
                (ask(None, None, b"SCRAM"), Verdict(0x8C, why="there is no such method here")),
            ):
                made.machine.told.clear()
                await made.say(b"who", asked)
                await made.machine.until("authenticated", 1, verdict)
                assert await made.hear() == b"%d" % verdict.reason

    run(test)


def test_while_nobody_is_configured_names_prove_nothing() -> None:
    async def test() -> None:
        async with stage() as made:
            await made.say(b"who", ask(b"root", b"x"))
            await made.machine.until("authenticated", 1, Verdict(0, b""))

    run(test)


def test_too_many_passwords_at_once_are_turned_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = tmp_path / "users"
    users.write_text(f"bob:{PasswordHash.make(b'secret', LIGHT)}\n")
    users.chmod(0o600)
    (tmp_path / "permissions").write_text("all\n  readwrite #\n")

    async def test() -> None:
        async with stage(sources=Sources(users, tmp_path / "permissions")) as made:
            monkeypatch.setattr(made.server.authenticator._checks, "ask", lambda *_: False)
            await made.say(b"who", ask(b"bob", b"secret"))
            await made.machine.until("authenticated", 1, Verdict(0x89, why="too many passwords wait to be checked"))

    run(test)


def test_a_reload_is_told_to_the_machine_and_a_bad_file_is_not(tmp_path: Path) -> None:
    permissions = tmp_path / "permissions"
    permissions.write_text("anonymous\n  readwrite #\n")

    async def test() -> None:
        async with stage(sources=Sources(None, permissions)) as made:
            limits = Limits()
            await made.server.reload(made.sources, BrokerSettings(max_queued=1), limits)
            permissions.write_text("nonsense")
            with pytest.raises(BadConfig, match="permissions, line 1"):
                await made.server.reload(made.sources, BrokerSettings(max_queued=2))
            told = [facts for facts in made.machine.told if facts[0] == "reloaded"]
            assert told == [("reloaded", BrokerSettings(max_queued=1), limits)]

    run(test)


def test_a_reload_says_who_is_gone(tmp_path: Path) -> None:
    users, permissions = tmp_path / "users", tmp_path / "permissions"
    ann, bob = (f"{name}:{PasswordHash.make(name.encode(), LIGHT)}\n" for name in ("ann", "bob"))
    users.write_text(ann + bob)
    users.chmod(0o600)
    permissions.write_text("all\n  readwrite #\n")

    async def test() -> None:
        async with stage(sources=Sources(users, permissions)) as made:
            users.write_text(bob)
            await made.server.reload(made.sources, BrokerSettings())
            assert made.machine.told[-1] == ("reloaded", BrokerSettings(), None, b"ann")

    run(test)


def test_at_the_end_what_is_being_kept_is_acknowledged_and_everybody_hears_goodbye(tmp_path: Path) -> None:
    async def test() -> None:
        async with stage(tmp_path) as made:
            await made.say(b"keep", lambda _: Keep(1, [(b"a", b"1")], [], sync=True))
        assert made.last_words == b"keptgoodbye"
        assert [facts[0] for facts in made.machine.told if facts[0] in {"kept", "stop"}] == ["kept", "stop"]

    run(test)


def test_a_message_for_a_group_that_nobody_joined_is_our_own_mistake() -> None:
    async def test() -> None:
        machine = Puppet()
        server = Server(machine, Reloader(Sources()), Bounds())
        with pytest.raises(BadConfig, match=r"tree 3, .*join it first"):
            server.execute([Insert(3, 1, [])], 0)
        heard: list[Insert] = []
        server.insert = heard.append
        server.execute([Insert(3, 1, [])], 0)
        assert heard == [Insert(3, 1, [])]
        await server.stop()
        await server.close()

    run(test)
