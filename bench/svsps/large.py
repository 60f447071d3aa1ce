"""A 100 MB object through a node: in pieces and whole, beside a plain TCP copy and python-ndn in the manner of chunks.

All are processes of their own on this machine, ours and python-ndn's with a Roost node in between and SHA-256 digests,
of which SVS-PS has two for each packet and checks none here. The node's cache cannot help: everything is fetched once
by each, from a node that has just been started.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

from bench.figure import Figure, progress
from bench.repo._child import Child
from bench.svsps import _chunks, _copy, _street

SIZE_BYTES = 100_000_000
ROUNDS = 3


def run() -> Iterable[Figure]:
    ways: dict[str, Callable[[], tuple[float, float]]] = {
        "pieces": lambda: svsps(in_pieces=True),
        "whole": lambda: svsps(in_pieces=False),
        "tcp": tcp,
        "chunks": chunks,
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    memory: dict[str, float] = {}
    for number in range(ROUNDS):
        for way, measure in ways.items():
            progress(f"100 MB, {way}, round {number + 1}/{ROUNDS}")
            took, memory[way] = measure()
            seconds[way].append(took)
    rate = {way: SIZE_BYTES / 1e6 / statistics.median(took) for way, took in seconds.items()}
    for way in ("pieces", "whole"):
        yield Figure(f"large.{way}_against_tcp", rate[way], "MB/s", "tcp-copy", rate["tcp"])
        yield Figure(f"large.{way}_against_chunks", rate[way], "MB/s", "python-ndn-chunks", rate["chunks"])
    yield Figure("large.pieces_memory", memory["pieces"], "MB", "whole", memory["whole"])


def svsps(*, in_pieces: bool) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        socket = Path(folder) / "node.sock"
        for main, arguments in ((_street.node, ()), (_street.source, (SIZE_BYTES,))):
            stack.enter_context(Child(main, socket, *arguments)).hear()
        sink = stack.enter_context(Child(_street.sink, socket, in_pieces))
        sink.hear()
        size, took, memory = sink.ask("go")
    assert size == SIZE_BYTES
    return took, memory


def chunks() -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        socket = Path(folder) / "node.sock"
        for main, arguments in ((_street.node, ()), (_chunks.source, (SIZE_BYTES,))):
            stack.enter_context(Child(main, socket, *arguments)).hear()
        sink = stack.enter_context(Child(_chunks.sink, socket))
        sink.hear()
        size, took = sink.ask("go")
    assert size == SIZE_BYTES
    return took, 0.0


def tcp() -> tuple[float, float]:
    with Child(_copy.source, SIZE_BYTES) as source, Child(_copy.sink, source.hear()) as sink:
        sink.hear()
        source.tell("go")
        size, took = sink.ask("go")
    assert size == SIZE_BYTES
    return took, 0.0
