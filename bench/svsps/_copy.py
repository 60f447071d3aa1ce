"""The same bytes by a plain TCP connection over loopback, one process to another."""

from __future__ import annotations

import socket
import time

from bench.repo._child import END, Boss
from bench.svsps._street import PIECE

BUFFER = 1 << 18


async def source(boss: Boss, size_bytes: int) -> None:
    """Send so many bytes to whoever connects, once for each word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        boss.say(server.getsockname()[1])
        while await boss.hear() != END:
            connection, _ = server.accept()
            with connection:
                for _ in range(size_bytes // len(PIECE)):
                    connection.sendall(PIECE)
                connection.sendall(PIECE[: size_bytes % len(PIECE)])


async def sink(boss: Boss, port: int) -> None:
    """Receive it when told to; says the bytes and the seconds."""
    boss.say("ready")
    buffer = bytearray(BUFFER)
    while await boss.hear() != END:
        began = time.perf_counter()
        size = 0
        with socket.create_connection(("127.0.0.1", port)) as connection:
            while count := connection.recv_into(buffer):
                size += count
        boss.say((size, time.perf_counter() - began))
