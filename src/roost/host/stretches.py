"""Stretches of streams for those who process them: everything from one number to another, of many streams, quickly.

    with StretchReader(Access(repos=("tcp4://repo1:6363", "tcp4://repo2:6363"))) as reader:
        for fetched in reader.read([Stretch(stream, 1, 50_000), …]):
            fetched.packets, fetched.missing, …

Two ways lead to them: the bulk doors of repos on this machine (`roost.host.stretch_doors`), where there are any, and
the faces to the repos (`roost.host.stretch_gathering`) for the rest. Where one fails the next goes on behind the last
number that came. What is verified, and why, is in `roost.host.stretch_access`.

Faces, certificates and content keys stay for the whole process, one set per `Access` until its home gets other keys:
the workers of Spark are used for many tasks. Reading waits on the caller's thread; the work is done on the thread of
`roost.host.background`. Several threads may read at once, each with an iterator of its own.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from typing import Final

from roost.errors import BadConfig, Disconnected
from roost.host.background import Closing, background
from roost.host.stretch_access import Access
from roost.host.stretch_doors import Doors
from roost.host.stretch_gathering import Gathering
from roost.host.stretch_pieces import Fetched, Piece, Stretch

__all__ = ["Access", "Fetched", "Stretch", "StretchReader"]

PIECE: Final = 2048  # numbers
AHEAD: Final = 4 * PIECE  # numbers that are under way or wait to be taken
PIECES_AHEAD: Final = 64
MAX_ACCESSES: Final = 8  # whose faces are kept


class StretchReader(Closing):
    """Reads stretches as an `Access` says; raises `BadConfig` and `NoKey` for what that cannot do here."""

    def __init__(self, access: Access) -> None:
        self._access: Final = access
        self._open = True

    def read(self, stretches: Sequence[Stretch]) -> Iterator[Fetched]:
        """What there is of each stretch, in order, in pieces of a few thousand numbers; raises `Unreachable`."""
        for stretch in stretches:
            if not 1 <= stretch.low <= stretch.high:
                raise BadConfig(f"{stretch.stream}: a stretch goes from 1 or more upwards, not {stretch[1:]}")
        if not self._open:
            raise Disconnected("the reader is closed: use it within its `with` block")
        if not self._access.bulk:
            return self._completed(_cut(stretches))
        return self._through_doors(stretches)

    def close(self) -> None:
        """Read no more; faces stay for the next reader of this process."""
        self._open = False

    def _through_doors(self, stretches: Sequence[Stretch]) -> Iterator[Fetched]:
        """What comes whole through a door goes straight on; the faces complete the rest, in between."""
        incomplete: list[Piece] = []
        for piece in Doors(self._access).read(stretches):
            whole = _whole(piece)
            if whole is not None and not incomplete:
                yield whole
                continue
            incomplete.append(Piece.of(piece) if isinstance(piece, Fetched) else piece)
            if sum(len(each.packets) for each in incomplete) >= AHEAD or len(incomplete) >= PIECES_AHEAD:
                yield from self._completed(_recut(incomplete))
                incomplete = []
        yield from self._completed(_recut(incomplete))

    def _completed(self, pieces: Iterator[Piece]) -> Iterator[Fetched]:
        gathering = _gathering(self._access)
        completing = _complete(gathering, pieces)
        try:
            while done := background.run(_next_ones(completing)):
                yield from done
        finally:
            with contextlib.suppress(Disconnected):
                background.run(_closed(completing))


async def _complete(gathering: Gathering, pieces: Iterator[Piece]) -> AsyncGenerator[list[Fetched], None]:
    """Complete pieces, several at once within bounds, and hand them on in order: all that are ready together."""
    under_way: deque[tuple[int, asyncio.Task[Fetched]]] = deque()  # bound: AHEAD and PIECES_AHEAD
    ahead = 0
    following = next(pieces, None)
    try:
        while under_way or following is not None:
            while following is not None and len(under_way) < PIECES_AHEAD and ahead < AHEAD:
                size = following.stretch.high - following.stretch.low + 1
                under_way.append((size, asyncio.ensure_future(gathering.complete(following))))
                ahead += size
                following = next(pieces, None)
            done: list[Fetched] = [await under_way[0][1]]
            ahead -= under_way.popleft()[0]
            while under_way and under_way[0][1].done():
                size, task = under_way.popleft()
                done.append(task.result())
                ahead -= size
            yield done
    finally:
        for _, task in under_way:
            task.cancel()
        await asyncio.gather(*[task for _, task in under_way], return_exceptions=True)


async def _next_ones(completing: AsyncGenerator[list[Fetched], None]) -> list[Fetched]:
    return await anext(completing, [])


async def _closed(completing: AsyncGenerator[list[Fetched], None]) -> None:
    await completing.aclose()


def _whole(piece: Piece | Fetched) -> Fetched | None:
    """A piece of which nothing is left to be done."""
    if isinstance(piece, Fetched):
        return piece
    return None if piece.doubtful or piece.sealed or piece.lacking() else piece.fetched({})


def _cut(stretches: Iterable[Stretch]) -> Iterator[Piece]:
    for stream, low, high in stretches:
        for at in range(low, high + 1, PIECE):
            yield Piece(Stretch(stream, at, min(high, at + PIECE - 1)))


def _recut(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Pieces of the usual size where a door gave no packet of a long one."""
    for piece in pieces:
        if piece.packets:
            yield piece
            continue
        for part in _cut([piece.stretch]):
            part.drop(piece.dropped)
            yield part


# -- one set of faces per access and process

# By access, and when its keys changed last; bound: MAX_ACCESSES, the longest unused is closed.
_held: Final[OrderedDict[tuple[Access, int], Gathering]] = OrderedDict()
_lock: Final = threading.Lock()


def _gathering(access: Access) -> Gathering:
    held = access, access.keys.changed
    with _lock:
        if held not in _held:
            if not _held:
                background.enter()
            _held[held] = background.run(_made(access))
            if len(_held) > MAX_ACCESSES:
                background.run(_held.popitem(last=False)[1].close())
        _held.move_to_end(held)
        return _held[held]


async def _made(access: Access) -> Gathering:
    return Gathering(access)


@atexit.register
def close_all() -> None:
    """Close the faces of this process; the next reader opens its own."""
    with _lock:
        if not _held:
            return
        while _held:
            background.run(_held.popitem()[1].close())
        background.leave()
