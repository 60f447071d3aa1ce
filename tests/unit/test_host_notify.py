"""What systemd is told, over a real socket: ready, reloading, stopping, alive; and nobody when nobody asks."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.host.notify import Notifier


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(30)
        yield sock


def where(systemd: socket.socket, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": str(systemd.getsockname())} | more


def heard(systemd: socket.socket) -> list[str]:
    return systemd.recv(4096).decode().splitlines()


def test_a_start_a_reload_and_an_end_are_told(systemd: socket.socket) -> None:
    notifier = Notifier(where(systemd))
    notifier.ready()
    assert heard(systemd)[0] == "READY=1"
    notifier.reloading()
    first, when = heard(systemd)
    assert first == "RELOADING=1"
    assert when.startswith("MONOTONIC_USEC=")
    notifier.stopping()
    assert heard(systemd)[0] == "STOPPING=1"
    assert notifier.unsent == 0


def test_without_a_service_manager_nobody_is_told() -> None:
    notifier = Notifier({"WATCHDOG_USEC": "1000000"})
    notifier.ready()
    assert (notifier.unsent, notifier.alive_every_s) == (0, 0.0)


def test_one_that_is_gone_costs_nothing_but_a_count(tmp_path: Path) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")})
    notifier.ready()
    assert notifier.unsent == 1


def test_one_that_does_not_read_does_not_hold_the_node_up(systemd: socket.socket) -> None:
    notifier = Notifier(where(systemd))
    for _ in range(10_000):
        notifier.alive()
    assert notifier.unsent > 0


def test_a_name_without_a_file_is_one_of_linux() -> None:
    name = f"roost-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"\0{name}")
        sock.settimeout(30)
        Notifier({"NOTIFY_SOCKET": f"@{name}"}).ready()
        assert heard(sock)[0] == "READY=1"


@pytest.mark.parametrize(
    ("said", "every_s"),
    [
        ({"WATCHDOG_USEC": "3000000"}, 1.5),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}, 1.5),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, 0.0),
        ({"WATCHDOG_USEC": "soon"}, 0.0),
        ({}, 0.0),
    ],
)
def test_the_watchdog_is_told_twice_in_its_time(systemd: socket.socket, said: dict[str, str], every_s: float) -> None:
    assert Notifier(where(systemd, **said)).alive_every_s == every_s


def test_a_loop_that_turns_says_so_again_and_again(systemd: socket.socket) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        systemd.setblocking(False)
        async with Notifier(where(systemd, WATCHDOG_USEC="2000")).watched():
            for _ in range(3):
                assert await asyncio.wait_for(loop.sock_recv(systemd, 100), 30) == b"WATCHDOG=1"

    asyncio.run(main())


def test_without_a_watchdog_a_loop_says_nothing(systemd: socket.socket) -> None:
    async def main() -> None:
        async with Notifier(where(systemd)).watched():
            await asyncio.sleep(0)

    asyncio.run(main())
    systemd.setblocking(False)
    with pytest.raises(BlockingIOError):
        systemd.recv(100)
