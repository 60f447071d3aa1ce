"""A signing process: ECDSA signatures by another core, for who has many to make at once.

`cryptography` keeps the interpreter to itself while it signs, so a thread would not help. The process is started when
it is first asked, and until it is there, and when it is gone, whoever asks is told to sign by himself: nothing waits
for it to start. It gets keys over its standard input and nowhere else (`roost.host.signing_child`). One that dies, or
says nothing for `PATIENCE_S`, is ended, told of once, and not started again.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeAlias, cast

from roost.host.signing_child import ANSWER, REQUEST
from roost.trust.keys import EcdsaPrivate
from roost.wire.signature import Signer

PATIENCE_S: Final = 5  # for one answer: a thousand signatures take a fraction of a second
END_S: Final = 2  # for the process to end by itself
MAX_ASKED: Final = 64  # requests under way
_COMMAND: Final = (sys.executable, "-P", "-m", "roost.host.signing_child")
_STDIN: Final = 0

Then: TypeAlias = Callable[[list[bytes]], None]


class SigningProcess(asyncio.SubprocessProtocol):
    """The process, as its parent sees it; `lost` hears once why it is of no use any more."""

    def __init__(self, lost: Callable[[str], None], command: Sequence[str] = _COMMAND) -> None:
        self.ready: Final = asyncio.Event()  # it can be asked, or could until it was lost
        self.turned_away = 0  # requests, by MAX_ASKED
        self._lost: Final = lost
        self._command: Final = command
        self._loop: Final = asyncio.get_running_loop()
        self._starting: asyncio.Task[None] | None = None
        self._transport: asyncio.SubprocessTransport | None = None
        self._is_over = False
        self._ended: Final = asyncio.Event()
        self._asked: Final[deque[tuple[int, Then]]] = deque()  # how many, and who; bound: MAX_ASKED
        self._arrived: Final = bytearray()  # bound: an answer to what was asked, for it says nothing else
        self._impatience: asyncio.TimerHandle | None = None
        self._key: EcdsaPrivate | None = None  # whose PKCS#8 is this
        self._pkcs8 = b""

    @property
    def pid(self) -> int | None:
        """Which process it is, None if there is none."""
        return None if self._transport is None else self._transport.get_pid()

    def sign(self, signer: Signer, digests: Sequence[bytes], then: Then) -> bool:
        """Have SHA-256 digests signed; `then` gets as many signatures, or none if the process is lost.

        False if it cannot be asked, now or with this key; then nobody is called.
        """
        if self._is_over or not isinstance(signer, EcdsaPrivate):
            return False
        if self._starting is None:
            self._starting = self._loop.create_task(self._start())
        if not self.ready.is_set() or self._transport is None:
            return False
        if len(self._asked) >= MAX_ASKED:
            self.turned_away += 1
            return False
        if signer is not self._key:
            self._key, self._pkcs8 = signer, signer.pkcs8()
        self._asked.append((len(digests), then))
        if self._impatience is None:
            self._wait()
        pipe = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(_STDIN))
        pipe.write(b"".join([REQUEST.pack(len(self._pkcs8), len(digests)), self._pkcs8, *digests]))
        return True

    async def end(self) -> None:
        """End it, by itself if it can; whoever waits is called."""
        if self._starting is not None:
            await self._starting
        self._give_up()
        if self._transport is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    await self._ended.wait()
            self._transport.close()  # kills what has not ended

    # -- what asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take in that it runs; it may have ended before anybody else knows."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002  there is one pipe to read
        """Take in answers, or parts of them."""
        self._arrived.extend(data)
        while len(self._arrived) >= ANSWER.size:
            (length,) = ANSWER.unpack_from(self._arrived)
            if len(self._arrived) < ANSWER.size + length:
                return
            answer = bytes(self._arrived[ANSWER.size : ANSWER.size + length])
            del self._arrived[: ANSWER.size + length]
            if self.ready.is_set():
                self._answered(answer)
            else:
                self.ready.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002  it is over in any case
        """Take in that it hears or says nothing more."""
        self._lose("it has ended")

    def process_exited(self) -> None:
        """Take in that it has ended."""
        self._ended.set()
        if self._transport is not None:
            self._transport.close()
        self._lose("it has ended")

    # -- inside

    async def _start(self) -> None:
        try:
            await self._loop.subprocess_exec(lambda: self, *self._command, stderr=None)
        except OSError as error:
            self._lose(f"it cannot be started: {error}")

    def _answered(self, answer: bytes) -> None:
        if not self._asked:
            self._lose("it answers what nobody asked")
            return
        count, then = self._asked.popleft()
        self._wait()
        signatures: list[bytes] = []
        low = 0
        while low < len(answer):
            high = low + 1 + answer[low]
            signatures.append(answer[low + 1 : high])
            low = high
        then(signatures if len(signatures) == count else [])

    def _wait(self) -> None:
        """Wait for the next answer, so long and no longer."""
        if self._impatience is not None:
            self._impatience.cancel()
        self._impatience = self._loop.call_later(PATIENCE_S, self._run_out) if self._asked else None

    def _run_out(self) -> None:
        if self._transport is not None:
            with suppress(ProcessLookupError):
                self._transport.kill()
        self._lose(f"it said nothing for {PATIENCE_S} s")

    def _lose(self, why: str) -> None:
        if not self._is_over:
            self._give_up()
            self._lost(why)

    def _give_up(self) -> None:
        """Ask nothing more, call whoever waits, and let it end."""
        self._is_over = True
        if self._impatience is not None:
            self._impatience.cancel()
        while self._asked:
            _, then = self._asked.popleft()
            self._loop.call_soon(then, [])
        pipe = None if self._transport is None else self._transport.get_pipe_transport(_STDIN)
        if pipe is not None:
            pipe.close()


def has_another_core() -> bool:
    """Whether a second process of ours would run beside the first."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) > 1
