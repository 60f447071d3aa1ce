"""A group whose repos are a dictionary, and an archive of it in a folder, for tests of the archive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import numbered
from roost.pipeline.archive.certificates import Certificates
from roost.pipeline.archive.filling import Report, archive_once
from roost.pipeline.archive.folder import Folder
from roost.pipeline.archive.manifest import GroupArchive
from roost.pipeline.archive.writing import open_writer
from roost.repo.question import Run
from roost.wire import DigestSigner, Signer, make_data
from roost.wire.reading import SENML_CBOR, Reading
from roost.wire.senml import Value, encode_values

GROUP = Name.parse("/BigCompany/Building1/Electricity")
VOLTAGE = GROUP + Name.parse("/Panel1/Heater/Voltage")
POWER = GROUP + Name.parse("/Panel1/Heater/Power")
DAY = 86_400 * SECOND
NOON = 1_800_000_000 * SECOND // DAY * DAY + DAY // 2


def packet(stream: Name, number: int, value: float, time: int, signer: Signer | None = None) -> bytes:
    reading = Reading(time, SENML_CBOR, encode_values([Value(value, "V")]))
    return make_data(numbered(stream, number), reading.encode(), signer or DigestSigner()).wire


@dataclass
class Piece:
    stream: Name
    packets: Sequence[tuple[int, bytes]] = ()
    dropped: Sequence[Run] = ()
    refused: Sequence[tuple[int, str]] = ()
    missing: Sequence[int] = ()
    verified: bool = True


@dataclass
class Repos:
    """What repos have of streams; `refused` and `gone` numbers are not handed out."""

    signer: Signer | None = None
    held: dict[Name, dict[int, tuple[int, bytes]]] = field(default_factory=dict)
    gone: dict[Name, set[int]] = field(default_factory=dict)
    refused: set[tuple[Name, int]] = field(default_factory=set)
    asked: list[tuple[Name, int, int]] = field(default_factory=list)

    def publish(self, stream: Name, *values: float, time: int = NOON, step: int = SECOND) -> None:
        held = self.held.setdefault(stream, {})
        for value in values:
            number = max([*held, *self.gone.get(stream, ())], default=0) + 1
            held[number] = (time, packet(stream, number, value, time, self.signer))
            time += step

    def drop(self, stream: Name, number: int) -> None:
        del self.held[stream][number]
        self.gone.setdefault(stream, set()).add(number)

    def lose(self, stream: Name, number: int) -> tuple[int, bytes]:
        return self.held[stream].pop(number)

    def numbers(self) -> Mapping[Name, int]:
        return {stream: max([*held, *self.gone.get(stream, ())]) for stream, held in self.held.items()}

    def holes(self) -> Mapping[Name, Sequence[Run]]:
        return {
            stream: [(each, each) for each in range(1, high) if not self._is_known(stream, each)]
            for stream, high in self.numbers().items()
        }

    def boundaries(self, time_ns: int) -> Mapping[Name, int]:
        highest = self.numbers()
        return {
            stream: min([number for number, (time, _) in held.items() if time >= time_ns], default=highest[stream] + 1)
            for stream, held in self.held.items()
        }

    def read(self, stretches: Sequence[tuple[Name, int, int]]) -> Iterator[Piece]:
        for stream, low, high in stretches:
            self.asked.append((stream, low, high))
            held, gone = self.held[stream], self.gone.get(stream, set())
            wanted = range(low, high + 1)
            refused = [(each, "forged") for each in wanted if (stream, each) in self.refused]
            yield Piece(
                stream,
                [(each, held[each][1]) for each in wanted if each in held and (stream, each) not in self.refused],
                [(each, each) for each in wanted if each in gone],
                refused,
                [each for each in wanted if each not in held and each not in gone],
            )

    def _is_known(self, stream: Name, number: int) -> bool:
        return number in self.held[stream] or number in self.gone.get(stream, set())


def archive_in(path: Path) -> GroupArchive:
    return GroupArchive(Folder(path), GROUP)


def fill(repos: Repos, archive: GroupArchive, now: int = NOON) -> Report:
    """One round of the archiver."""
    with open_writer(archive) as writer:
        return archive_once(repos, writer, Certificates(archive.folder), lambda: now)


def archived(archive: GroupArchive) -> list[tuple[str, int]]:
    """Every reading that counts, as often as it is there."""
    with open_writer(archive) as writer:
        tables = [writer.read(path, ["stream", "seq"]) for path in writer.manifest.files]
    rows = pa.concat_tables(tables) if tables else pa.table({"stream": [], "seq": []})
    return sorted(zip(rows.column("stream").to_pylist(), rows.column("seq").to_pylist(), strict=True))


def readings_of(repos: Repos) -> list[tuple[str, int]]:
    return sorted((str(stream), number) for stream, held in repos.held.items() for number in held)
