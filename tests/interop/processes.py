"""The processes of the interop tests: our node as people run it, and peers that are told what to do.

A peer reads one JSON request a line and writes one JSON answer a line (`ndnts/peer.mjs`, `python_peer.py`). Everything
waits with a time-out; when a process fails to answer, the error shows what it wrote to stderr.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final

ANSWER_S: Final = 20.0
STOP_S: Final = 10.0
HERE: Final = Path(__file__).parent
TRANSPORTS: Final = ("unix", "tcp", "udp", "ws")

_NODE: Final = "import sys; from roost.cli import main; sys.exit(main())"
_SHOWN: Final = 4000


class PeerFailed(AssertionError):
    """A process did not do what it was told."""


class Process:
    """A child process whose stdout is read line by line on a thread; a context manager."""

    def __init__(self, what: str, argv: list[str], folder: Path, extra: dict[str, str] | None = None) -> None:
        self.what: Final = what
        self._ready: Final[Future[None]] = Future()
        self._errors: Final = folder / f"{what.replace(' ', '-')}-{id(self)}.stderr"
        with self._errors.open("wb") as errors:
            self._child: Final = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=private_environment(folder) | (extra or {}),
            )
        self.ended: Final[Future[int]] = Future()
        self._reader: Final = threading.Thread(target=self._read, name=what, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._child.pid

    def line(self, line: bytes) -> None:
        """Take a line of its stdout, on the reading thread."""
        raise NotImplementedError

    def wait_ready(self) -> None:
        """Wait until `line` has seen that it is ready."""
        self.ended.add_done_callback(self._give_up)
        try:
            self._ready.result(ANSWER_S)
        except TimeoutError:
            self.kill()
            raise self.failed("it did not get ready") from None

    def failed(self, why: str) -> PeerFailed:
        """Say what went wrong, with the end of its stderr."""
        written = self._errors.read_text(errors="replace")[-_SHOWN:] or "(nothing)"
        return PeerFailed(f"{self.what} (process {self.pid}): {why}\n--- its stderr ---\n{written}")

    def stop(self) -> None:
        """End it: by closing its stdin, then by its process id."""
        with contextlib.suppress(OSError):
            self._stdin.close()
        self._end()

    def kill(self) -> None:
        """End it without letting it say goodbye."""
        self._child.kill()
        self._end()

    def _end(self) -> None:
        try:
            self._child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait(STOP_S)
        self._reader.join(STOP_S)
        with contextlib.suppress(OSError):
            self._stdin.close()
        self._stdout.close()

    @property
    def _stdin(self) -> Any:  # noqa: ANN401  a binary pipe, which is there
        return self._child.stdin

    @property
    def _stdout(self) -> Any:  # noqa: ANN401  a binary pipe, which is there
        return self._child.stdout

    def _waited_for(self) -> list[Future[Any]]:
        return [self._ready]

    def _give_up(self, ended: Future[int]) -> None:
        error = self.failed(f"it ended with code {ended.result()}")
        for answer in self._waited_for():
            if not answer.done():
                answer.set_exception(error)

    def _read(self) -> None:
        for line in self._stdout:
            self.line(line)
        self.ended.set_result(self._child.wait())


class Peer(Process):
    """A program of another stack: `ask` it from a coroutine, `call` it from plain code."""

    def __init__(self, what: str, argv: list[str], folder: Path) -> None:
        self._answers: Final[dict[int, Future[Any]]] = {}
        self._numbers: Final = itertools.count(1)
        super().__init__(what, argv, folder)
        self.wait_ready()

    def line(self, line: bytes) -> None:
        said = json.loads(line)
        if "ready" in said:
            self._ready.set_result(None)
        elif (answer := self._answers.pop(said["id"], None)) is not None:
            if "error" in said:
                answer.set_exception(self.failed(said["error"]))
            else:
                answer.set_result(said["result"])

    def call(self, verb: str, **args: object) -> Any:  # noqa: ANN401  JSON
        """Have it do something and wait for the answer."""
        try:
            return self._request(verb, args).result(ANSWER_S)
        except TimeoutError:
            raise self.failed(f"no answer to {verb} {args} in {ANSWER_S:g} s") from None

    async def ask(self, verb: str, **args: object) -> Any:  # noqa: ANN401  JSON
        """As `call`, without holding up the event loop."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await asyncio.wrap_future(self._request(verb, args))
        except TimeoutError:
            raise self.failed(f"no answer to {verb} {args} in {ANSWER_S:g} s") from None

    def _request(self, verb: str, args: dict[str, object]) -> Future[Any]:
        number = next(self._numbers)
        answer: Future[Any] = Future()
        self._answers[number] = answer
        try:
            self._stdin.write(json.dumps({"id": number, "verb": verb, "args": args}).encode() + b"\n")
            self._stdin.flush()
        except OSError:
            raise self.failed(f"it is gone, and was to {verb} {args}") from None
        return answer

    def _waited_for(self) -> list[Future[Any]]:
        return [self._ready, *self._answers.values()]


class Node(Process):
    """`roost node`, listening on a Unix socket and on free loopback ports; `uris` has one address per transport."""

    def __init__(self, folder: Path, uris: dict[str, str] | None = None) -> None:
        self.uris: Final[dict[str, str]] = {}
        wanted = uris or {"unix": f"unix://{folder / 'node.sock'}"}
        arguments = ["--unix", wanted["unix"].removeprefix("unix://")]
        for scheme in TRANSPORTS[1:]:
            arguments += [f"--{scheme}", wanted.get(scheme, "//127.0.0.1:0").partition("//")[2]]
        super().__init__("roost node", [sys.executable, "-c", _NODE, "node", *arguments], folder)
        self.wait_ready()

    def line(self, line: bytes) -> None:
        text = line.decode().strip()
        if text.startswith("listening on "):
            uri = text.removeprefix("listening on ")
            self.uris[uri.partition("://")[0].rstrip("46")] = uri
        elif text.startswith("ready"):
            self._ready.set_result(None)

    def stop(self) -> None:
        """Stop it as an operator does; a node that cannot end itself in order has failed."""
        self._child.terminate()
        self._end()
        if self.ended.result(STOP_S) != 0:
            raise self.failed(f"it ended with code {self.ended.result()}")


def private_environment(folder: Path) -> dict[str, str]:
    """The environment of a child: nobody's keys, nobody's client.conf, nobody's forwarder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NDN_", "ROOST_HOME"))}
    return kept | {"HOME": str(folder), "ROOST_HOME": str(folder / "roost")}


@contextlib.contextmanager
def running(process: Process) -> Iterator[Any]:
    """Stop a process when the block ends."""
    try:
        yield process
    finally:
        process.stop()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that no event tells; the test's time limit is the limit."""
    while not holds():  # noqa: ASYNC110  there is no event
        await asyncio.sleep(0.002)


_faces: Final = itertools.count(1)


async def opened(peer: Peer, uri: str, **options: object) -> str:
    """Have a peer open one more face; returns what to call it."""
    face = f"face{next(_faces)}"
    await peer.ask("connect", face=face, uri=uri, **options)
    return face


def start_ndnts(folder: Path) -> Peer:
    """Start NDNts."""
    return Peer("NDNts", ["node", str(HERE / "ndnts" / "peer.mjs")], folder)


def start_python_ndn(folder: Path) -> Peer:
    """Start python-ndn."""
    return Peer("python-ndn", [sys.executable, str(HERE / "python_peer.py")], folder)
