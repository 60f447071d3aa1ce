"""A data mule that is a file: packets as they were signed, with what was known of their group (`blobs.cargo`).

Certificates come before what they vouch for, so that it can be judged where no network leads to its producer. Who reads
a file believes nothing that its verifier does not: what cannot be verified, or read, is passed over and counted, and of
a file that was cut off what is whole is taken. Who writes into one that is there already merges: a file that was
written, read and written again has the same packets in it. It is replaced in one step, when all is on the disk.

What was read or written last is remembered (`MuleFile`): if nobody else has touched the file since, what is new is put
behind it, and nothing is verified again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from roost.errors import BadConfig, BadPacket, RoostError, Untrusted
from roost.naming import Name
from roost.pubsub.blobs.cargo import Cargo
from roost.pubsub.blobs.encapsulation import ENCAPSULATED, unwrap
from roost.sync.port import Stream
from roost.wire import Data, Signer
from roost.wire.certificate import Certificate
from roost.wire.data import KEY, decode_data
from roost.wire.tlv import MAX_PACKET_BYTES, element

_PAUSE: Final = 64  # packets between two turns of the event loop
_PIECE: Final = 1 << 20

Say: TypeAlias = Callable[[int, int], None]  # how many bytes are done, of how many
Verify: TypeAlias = Callable[[Data], Awaitable[None]]
_Stamp: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Verifying:
    """How what a mule tells is verified, the transport's Data, and the application's inside; and by which certificates.

    `learn` takes one that is in a file, which is not believed for that; `vouchers` are those by which Data was.
    """

    told: Verify
    outer: Verify
    inner: Verify
    learn: Callable[[Data], None] = lambda _: None
    vouchers: Callable[[Data], Iterable[Certificate]] = lambda _: ()

    @staticmethod
    def by(verify: Verify) -> Verifying:
        """All in one way."""
        return Verifying(verify, verify, verify)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What there is in a file now: publications by packets, streams, and how many packets of it are new.

    Of what was read, `refused` packets were passed over, for the `reason` of the first; at the end, `cut_bytes` were no
    whole packet.
    """

    packets: int
    streams: int
    fresh: int
    refused: int = 0
    reason: str = ""
    cut_bytes: int = 0

    @property
    def trouble(self) -> str:
        """What of the file was not taken; empty if that is nothing."""
        refused = f"{self.refused} packets were passed over, the first one as {self.reason}" if self.refused else ""
        cut = f"the last {self.cut_bytes} bytes are no whole packet: it was cut off" if self.cut_bytes else ""
        return "; ".join(filter(None, (refused, cut)))


def quiet(done: int, total: int) -> None:
    """Say nothing."""


async def read_cargo(path: Path, verify: Verifying, say: Say = quiet) -> tuple[Cargo, Loaded]:
    """Read a mule's file, each packet verified, and what is in it; raises `BadConfig` with what to do."""
    try:
        wire = await asyncio.to_thread(path.read_bytes)
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror or error}; give the file that `roost mule export` wrote") from None
    if not wire:
        raise BadConfig(f"{path} is empty: a mule's file is written by `roost mule export`")
    cargo: Cargo | None = None
    vouchers: list[Data] = []
    fresh, end = 0, 0
    refused: list[str] = []  # the reason of the first, and nothing for others; bound: what is in the file
    try:
        for count, (at, end) in enumerate(_framed(wire)):
            if not count % _PAUSE:
                say(at, len(wire))
                await asyncio.sleep(0)
            try:
                data = decode_data(wire[at:end])
                if data.content_type == KEY:
                    verify.learn(data)
                    vouchers.append(data)
                    continue
                cargo = cargo or Cargo.of(data)
                await _judge(data, verify)
                fresh += cargo.take(data)
            except (BadPacket, Untrusted) as error:
                if cargo is None:
                    raise
                refused.append("" if refused else str(error))
    except BadPacket as error:
        raise BadConfig(f"{path} is no mule's file, or damaged: {error}. Nothing was taken; export it again") from None
    if cargo is None:
        raise BadConfig(f"{path} is no mule's file, or cut off: nothing in it is whole. Export it again")
    for certificate in vouchers:
        cargo.vouch(certificate)
    loaded = Loaded(len(cargo.packets), len(cargo.highs), fresh, len(refused), "".join(refused[:1]), len(wire) - end)
    if refused and not cargo.highs:
        raise Untrusted(f"{path}: {loaded.reason}. Nothing of the file was taken")
    return cargo, loaded


def _layers(data: Data) -> tuple[Data, ...]:
    return (data, unwrap(data)) if data.content_type == ENCAPSULATED else (data,)


async def _judge(data: Data, verify: Verifying) -> None:
    layers = _layers(data)
    if len(layers) == 1:
        await verify.told(data)
        return
    await verify.outer(data)
    await verify.inner(layers[1])


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
        self._vouchers: set[Name] = set()
        self._size_bytes = 0  # of the packets that are whole

    async def read(self, path: Path, say: Say = quiet) -> tuple[Cargo, Loaded]:
        """Read and verify all of it."""
        stamp = await asyncio.to_thread(_stamp_of, path)
        cargo, loaded = await read_cargo(path, self._verify, say)
        self._remember(path, stamp, cargo)
        self._size_bytes = (0 if stamp is None else stamp[1]) - loaded.cut_bytes
        return cargo, loaded

    async def write(self, path: Path, cargo: Cargo, say: Say = quiet) -> Loaded:
        """Write it, or add to the one that is there, which must be of the same group."""
        stamp = await asyncio.to_thread(_stamp_of, path)
        read = Loaded(0, 0, 0)
        if stamp is not None and (path, stamp) != (self._path, self._stamp):
            _, read = await self.read(path, say)
        if stamp is not None and self._group != (cargo.group, cargo.naming.version):
            raise BadConfig(f"{path} is of {self._group[0]}, and this is {cargo.group}: give another file")
        if stamp is None:
            self._remember(path, None, Cargo(cargo.group, cargo.naming.version))
        added = self._lacking(cargo)
        if added.highs or added.packets:
            told = await asyncio.to_thread(list, added.told(self._signer))
            await self._vouch(added, told)
            await _replaced(path, _wires(added, told), after_bytes=self._size_bytes)
            self._add(added)
            self._stamp = await asyncio.to_thread(_stamp_of, path)
            self._size_bytes = 0 if self._stamp is None else self._stamp[1]
        return replace(read, packets=len(self._packets), streams=len(self._highs), fresh=len(added.packets))

    async def _vouch(self, added: Cargo, told: list[bytes]) -> None:
        """Add the certificates that the file lacks to judge what is added: one look for each signer."""
        known: set[bytes] = set()
        firsts = [wire for key, wire in added.packets.items() if key[2] <= 0]
        for count, wire in enumerate([*told, *firsts]):
            data = decode_data(wire)
            signatures = [each.signature for each in _layers(data)]
            signers = {each.wire for each in signatures if each.key_name is not None or each.key_digest is not None}
            if known.issuperset(signers):
                continue
            known.update(signers)
            with contextlib.suppress(RoostError):  # what is not believed here may be elsewhere, by its own certificates
                await _judge(data, self._verify)
            for certificate in self._verify.vouchers(data):
                if certificate.name not in self._vouchers:
                    added.vouch(certificate.data)
            if not count % _PAUSE:
                await asyncio.sleep(0)

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
        self._packets, self._highs, self._entries, self._vouchers = set(), {}, {}, set()
        self._size_bytes = 0
        self._add(cargo)

    def _add(self, cargo: Cargo) -> None:
        self._packets.update(cargo.packets)
        self._vouchers.update(cargo.vouchers)
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


def _wires(cargo: Cargo, told: list[bytes]) -> Iterator[bytes]:
    yield from cargo.vouchers.values()
    yield from told
    for key in sorted(cargo.packets):
        yield cargo.packets[key]


async def _replaced(path: Path, wires: Iterator[bytes], *, after_bytes: int) -> None:
    """Replace a file; who is cancelled meanwhile waits until that is done, so that nobody else begins before."""
    replacing = asyncio.ensure_future(asyncio.to_thread(_replace, path, wires, after_bytes))
    try:
        await asyncio.shield(replacing)
    except asyncio.CancelledError:
        await replacing
        raise


def _replace(path: Path, wires: Iterator[bytes], after_bytes: int) -> None:
    beside = path.with_name(path.name + ".new")
    try:
        with beside.open("wb") as out:
            if after_bytes:
                with path.open("rb") as before:
                    while (left := after_bytes - out.tell()) > 0 and (piece := before.read(min(left, _PIECE))):
                        out.write(piece)
            for wire in wires:
                out.write(wire)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise BadConfig(f"{path}: {error.strerror or error}; nothing was written. Give another file") from None


def _framed(wire: bytes) -> Iterator[tuple[int, int]]:
    """Where each packet begins and ends, of those that stand whole one behind the other."""
    at = 0
    while at < len(wire):
        try:
            _, _, end = element(wire, at, len(wire))
        except BadPacket:
            if not at:
                raise
            return
        if end - at > MAX_PACKET_BYTES:
            raise BadPacket(f"the packet at byte {at} has {end - at} bytes")
        yield at, end
        at = end
