"""How fast clients are let in, and the memory that each costs: connected and idle, and away with a persistent session.

Connecting is from the TCP handshake to the CONNACK, 64 at a time. Memory is what is private to the process and
resident, after less before, over the number of clients; what the kernel keeps for a socket is the same for all.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from typing import Final

from bench.figure import Figure, progress
from bench.mqtt._brokers import peers, roost
from bench.mqtt._generator import OURS, Answer, Failed, Rounds, figures, generator, running

ROUNDS: Final = 3  # for the rate; memory hardly differs from one to the next
CLIENTS: Final = 10_000
_OTHER_FILES: Final = 200


def run() -> Iterator[Figure]:
    starts, rounds = {OURS: roost} | peers(), Rounds(ROUNDS)
    count = min(CLIENTS, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - _OTHER_FILES)
    if count < CLIENTS:
        progress(f"a process may have only so many open files here that {count} clients are measured, not {CLIENTS}")
    with generator() as load:

        def measured(name: str, *, persistent: bool) -> Answer:
            with running({name: starts[name]}) as brokers:
                broker = brokers.get(name)
                if broker is None:
                    raise Failed("it did not start")
                before = broker.memory_bytes
                rate = load.ask("open", port=broker.port, count=count, persistent=persistent)["rate"]
                each = (broker.memory_bytes - before) / count
                load.ask("close")
                return {"rate": rate, "each": each}

        medians = rounds.medians("mqtt.connections", list(starts), lambda name: measured(name, persistent=False))
        yield from figures("connections.rate", "rate", "1/s", medians)
        yield from figures("connections.idle", "each", "bytes", medians)
        medians = Rounds(1).medians("mqtt.connections away", list(starts), lambda name: measured(name, persistent=True))
        yield from figures("connections.persistent_session", "each", "bytes", medians)
    rounds.end()
