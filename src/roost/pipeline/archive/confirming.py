"""Telling the repos what they may drop: retention hands over from repo to archive without a gap.

The archiver is a panel of the group. After each round it publishes on `<panel>/Archive/Confirmed` what it has archived:
readings whose lineage names ranges of numbers. A repo with the rule

    --retention "+/+/Voltage 7d replaced-by +/Archive/Confirmed"

drops a reading once it is older than 7 days and such a reading names it: so not before the archive has it on its disk.
Who can publish there can have readings dropped; the key of that panel is the archiver's only.

What was confirmed is noted beside the manifest once the panel has it on its own disk. Stopped in between, the archiver
confirms it again, which does no harm.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Final

from roost.naming import Name
from roost.pipeline.archive.covered import Covered
from roost.pipeline.archive.layout import CONFIRMED
from roost.pipeline.archive.manifest import GroupArchive, Manifest
from roost.wire.reading import SENML_CBOR, InputRange, Lineage, Reading
from roost.wire.senml import Value, encode_values

STREAM: Final = "Archive/Confirmed"
JOB: Final = "archive"
PROGRAM: Final = sha256(json.dumps({"kind": "archive", "name": "archive", "version": 1}).encode()).digest()

MAX_RANGES: Final = 200  # of one reading; a lineage has 256 at most
_MAX_BYTES: Final = 3000  # of their names and numbers; a lineage has 4000 at most
_NUMBERS_BYTES: Final = 26  # of two numbers and the heads of their elements


class Confirming:
    """Confirms what a group's archive has; `publish` puts readings on the archiver's disk, to be sent to the repos."""

    def __init__(
        self, archive: GroupArchive, publish: Callable[[list[Reading]], None], clock: Callable[[], int]
    ) -> None:
        self._archive: Final = archive
        self._publish: Final = publish
        self._clock: Final = clock
        self._path: Final = f"{archive.path}/{CONFIRMED}"
        self._confirmed: Final = self._load()

    def confirm(self, manifest: Manifest) -> int:
        """Confirm what is new; how many readings of the group that is."""
        ranges = manifest.covered.less(self._confirmed)
        if not ranges:
            return 0
        now = self._clock()
        self._publish([_reading(each, now) for each in _packed(ranges)])
        self._confirmed.add_all(ranges)
        group = self._archive.group
        self._archive.folder.write(
            self._path, json.dumps(self._confirmed.to_json(group), separators=(",", ":")).encode()
        )
        return sum(high - low + 1 for _, low, high in ranges)

    def _load(self) -> Covered:
        """What was confirmed; if that cannot be read, all is confirmed again."""
        found = self._archive.folder.read(self._path)
        try:
            return Covered.from_json(json.loads(found), self._archive.group) if found else Covered()
        except (ValueError, AttributeError, TypeError):
            return Covered()


def _packed(ranges: list[tuple[str, int, int]]) -> Iterator[list[InputRange]]:
    """Ranges by as many as one reading can name."""
    pack: list[InputRange] = []
    room = _MAX_BYTES
    for text, low, high in ranges:
        stream = Name.parse(text)
        size = len(stream.value) + _NUMBERS_BYTES
        if pack and (len(pack) == MAX_RANGES or size > room):
            yield pack
            pack, room = [], _MAX_BYTES
        pack.append(InputRange(stream, low, high))
        room -= size
    if pack:
        yield pack


def _reading(ranges: list[InputRange], now: int) -> Reading:
    count = sum(each.high - each.low + 1 for each in ranges)
    return Reading(now, SENML_CBOR, encode_values([Value(count)]), Lineage((), PROGRAM, ranges=tuple(ranges), job=JOB))
