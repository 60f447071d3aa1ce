"""A data mule that is a file: packets as they were signed, with what was known of their group (`blobs.cargo`).

Who reads one believes nothing that its verifier does not. Who writes into one that is there already merges: a file that
was written, read and written again has the same packets in it. It is replaced in one step, when all is on the disk.

What was read or written last is remembered (`MuleFile`): if nobody else has touched the file since, what is new is put
behind it, and nothing is verified again.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from roost.errors import BadConfig, BadPacket, Untrusted
from roost.naming import Name
from roost.pubsub.blobs.cargo import Cargo
from roost.pubsub.blobs.encapsulation import ENCAPSULATED, unwrap
from roost.sync.port import Stream
from roost.wire import Data, Signer
from roost.wire.data import decode_data
from roost.wire.tlv import MAX_PACKET_BYTES, element

_PAUSE: Final = 64  # packets between two turns of the event loop

Say: TypeAlias = Callable[[int, int], None]  # how many bytes are done, of how many
Verify: TypeAlias = Callable[[Data], Awaitable[None]]
_Stamp: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Verifying:
    """How what a mule tells is verified, the transport's Data, and the application's inside."""

    told: Verify
    outer: Verify
    inner: Verify

    @staticmethod
    def by(verify: Verify) -> Verifying:
        """All in one way."""
        return Verifying(verify, verify, verify)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What there is in a file now: publications by packets, streams, and how many packets of it are new."""

    packets: int
    streams: int
    fresh: int


def quiet(done: int, total: int) -> None:
    """Say nothing."""


async def read_cargo(path: Path, verify: Verifying, say: Say = quiet) -> tuple[Cargo, Loaded]:
    """Read a mule's file, each packet verified, and what is in it; raises `BadConfig` with what to do."""
    try:
        wire = await asyncio.to_thread(path.read_bytes)
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror or error}; give the file that `roost mule export` wrote") from None
    cargo: Cargo | None = None
    fresh = 0
    try:
        for count, (at, data) in enumerate(_packets(wire)):
            if cargo is None:
                cargo = Cargo.of(data)
            if data.content_type == ENCAPSULATED:
                await verify.outer(data)
                await verify.inner(unwrap(data))
            else:
                await verify.told(data)
            fresh += cargo.take(data)
            if not count % _PAUSE:
                say(at, len(wire))
                await asyncio.sleep(0)
    except BadPacket as error:
        raise BadConfig(f"{path} is no mule's file, or damaged: {error}. Nothing was taken; export it again") from None
    except Untrusted as error:
        raise Untrusted(f"{path}: {error}. Nothing of the file was taken") from None
    if cargo is None:
        raise BadConfig(f"{path} is empty: a mule's file is written by `roost mule export`")
    return cargo, Loaded(len(cargo.packets), len(cargo.highs), fresh)


class MuleFile:
    """One member's way to files of mules; it remembers what is in the one that it read or wrote last."""

    def __init__(self, signer: Signer, verify: Verifying) -> None:
        self._signer: Final = signer
        self._verify: Final = verify
        self._path: Path | None = None
        self._stamp: _Stamp | None = None
        self._group = Name(), 0  # whose it is, and which version
        self._packets: set[tuple[Stream, int, int]] = set()  # bound: what is in the file, as all of these
        self._highs: dict[Stream, int] = {}
        self._entries: dict[Stream, set[int]] = {}

    async def read(self, path: Path, say: Say = quiet) -> tuple[Cargo, Loaded]:
        """Read and verify all of it."""
        stamp = await asyncio.to_thread(_stamp_of, path)
        cargo, loaded = await read_cargo(path, self._verify, say)
        self._remember(path, stamp, cargo)
        return cargo, loaded

    async def write(self, path: Path, cargo: Cargo, say: Say = quiet) -> Loaded:
        """Write it, or add to the one that is there, which must be of the same group."""
        stamp = await asyncio.to_thread(_stamp_of, path)
        if stamp is not None and (path, stamp) != (self._path, self._stamp):
            await self.read(path, say)
        if stamp is not None and self._group != (cargo.group, cargo.naming.version):
            raise BadConfig(f"{path} is of {self._group[0]}, and this is {cargo.group}: give another file")
        if stamp is None:
            self._remember(path, None, Cargo(cargo.group, cargo.naming.version))
        added = self._lacking(cargo)
        if added.highs or added.packets:
            await _replaced(path, _wires(added, self._signer), after=stamp is not None)
            self._add(added)
            self._stamp = await asyncio.to_thread(_stamp_of, path)
        return Loaded(len(self._packets), len(self._highs), len(added.packets))

    def _lacking(self, cargo: Cargo) -> Cargo:
        """What of it the file does not have."""
        added = Cargo(cargo.group, cargo.naming.version)
        for stream, high in cargo.highs.items():
            known = self._entries.get(stream, set())
            entries = [entry for number, entry in cargo.entries[stream].items() if number not in known]
            if entries or high > self._highs.get(stream, -1):
                added.tell(stream, high, entries)
        for key, wire in cargo.packets.items():
            if key not in self._packets:
                added.load(*key, wire)
        return added

    def _remember(self, path: Path, stamp: _Stamp | None, cargo: Cargo) -> None:
        self._path, self._stamp = path, stamp
        self._group = cargo.group, cargo.naming.version
        self._packets, self._highs, self._entries = set(), {}, {}
        self._add(cargo)

    def _add(self, cargo: Cargo) -> None:
        self._packets.update(cargo.packets)
        for stream, high in cargo.highs.items():
            self._highs[stream] = max(high, self._highs.get(stream, 0))
            self._entries.setdefault(stream, set()).update(cargo.entries[stream])


def _stamp_of(path: Path) -> _Stamp | None:
    """By which it is seen that a file is still the one that it was; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _wires(cargo: Cargo, signer: Signer) -> Iterator[bytes]:
    yield from cargo.told(signer)
    for key in sorted(cargo.packets):
        yield cargo.packets[key]


async def _replaced(path: Path, wires: Iterator[bytes], *, after: bool) -> None:
    """Replace a file; who is cancelled meanwhile waits until that is done, so that nobody else begins before."""
    replacing = asyncio.ensure_future(asyncio.to_thread(_replace, path, wires, after=after))
    try:
        await asyncio.shield(replacing)
    except asyncio.CancelledError:
        await replacing
        raise


def _replace(path: Path, wires: Iterator[bytes], *, after: bool) -> None:
    beside = path.with_name(path.name + ".new")
    try:
        with beside.open("wb") as out:
            if after:
                with path.open("rb") as before:
                    shutil.copyfileobj(before, out)
            for wire in wires:
                out.write(wire)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise BadConfig(f"{path}: {error.strerror or error}; nothing was written. Give another file") from None


def _packets(wire: bytes) -> Iterator[tuple[int, Data]]:
    """Data packets that stand one behind the other, and where each begins."""
    at = 0
    while at < len(wire):
        _, _, end = element(wire, at, len(wire))
        if end - at > MAX_PACKET_BYTES:
            raise BadPacket(f"the packet at byte {at} has {end - at} bytes")
        yield at, decode_data(wire[at:end])
        at = end
