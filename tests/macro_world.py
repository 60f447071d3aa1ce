"""Readings for macros in both languages, and a node that answers over HTTP as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

from tests.process_world import NOW

from roost.machine import SECOND
from roost.process.engine import Engine
from roost.process.javascript import JavaScript
from roost.process.python_code import Python
from roost.process.sample import Plain, Sample

ENGINES: dict[str, Engine] = {"javascript": JavaScript(), "python": Python()}
STREAM = b"\x08\x01s"

Answer: TypeAlias = Callable[[str, str, object], tuple[int, object]]  # method, path and body → status and body


def readings(topic: str, *values: Plain, step: int = SECOND) -> list[Sample]:
    """Readings of one stream, numbered from 1."""
    return [Sample(topic, NOW + at * step, value, "", "good", STREAM, at + 1) for at, value in enumerate(values)]


class FakeNode:
    """What was asked, and where."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[tuple[str, str, object]] = []


@contextmanager
def fake_node(answer: Answer) -> Iterator[FakeNode]:
    """Answer on a port of this machine while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.loads(content) if content else None
            node.asked.append((self.command, self.path, body))
            status, said = answer(self.command, self.path, body)
            encoded = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815  as http.server calls them

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        node = FakeNode(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield node
        finally:
            server.shutdown()
            thread.join()
