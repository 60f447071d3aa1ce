"""A few packets each of many streams as rows: what a batch of a large building is between two seconds.

Readings of different streams look alike too, if their names are of one length: all but the stream's name, and who
signed, is what a template (`decoding.py`) has of one stream. So packets whose length and whose name's length are equal
become one matrix over all streams. A row whose name is its stream's gets the sample's name in its place, and a row
whose signer's key has a name that was read the exact way gets the sample's key; then the template says what fits. The
rows are the same as those of each stream alone, whatever the bytes are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from roost.columns.decoding import empty_batch
from roost.columns.decoding_alike import Payloads, Places, Readable, read_all
from roost.columns.decoding_exact import Meaning, read_packet
from roost.columns.decoding_rows import Rows, texts
from roost.columns.readings import ABSENT
from roost.columns.template import Field, Fits, Matrix, PacketTemplate
from roost.columns.template_senml import SenmlTemplate
from roost.columns.template_text import TextTemplate
from roost.naming import Name
from roost.wire import tlv

MAX_TEMPLATES: Final = 64  # of one matrix: streams measure many things, in several units

_ABSENT: Final = {quality: Meaning(quality=quality, received=0) for quality in ABSENT}
_WIDTHS: Final = np.array([1 << 8, 1 << 16, 1 << 32], np.uint64)  # from here on a number takes more bytes


class Entry(NamedTuple):
    """One number of a stream: its packet, or why there is none."""

    stream: Name
    number: int
    wire: bytes | None
    quality: str = ""
    verified: bool = False
    like: Name | None = None  # whose panel, device and metric are shown, if not its own


def decode_few(entries: Sequence[Entry], *, arrival_us: int) -> pa.RecordBatch:
    """Make a batch of `READINGS`, in the order of the entries."""
    if not entries:
        return empty_batch()
    numbers = np.fromiter([entry.number for entry in entries], np.int64, len(entries))
    named = [
        texts(entry.stream) if entry.like is None else (str(entry.stream), *texts(entry.like)[1:]) for entry in entries
    ]
    rows = Rows(named, numbers, arrival_us)
    for place, entry in enumerate(entries):
        if entry.wire is None:
            rows.put_meaning(place, _ABSENT[entry.quality])
    signers: dict[bytes, str | None] = {}  # by the bytes of their keys' names, None: they are none; bound: the entries
    for places in _alike(entries, numbers):
        read_all(_Packets([entries[place] for place in places.tolist()], rows, places, signers), MAX_TEMPLATES)
    return rows.batch()


def _alike(entries: Sequence[Entry], numbers: Places) -> Iterator[Places]:
    """Where the packets are, those together whose parts may stand at the same bytes."""
    shapes = np.array([(len(entry.wire or b""), len(entry.stream.value)) for entry in entries], np.int64)
    keys = (shapes[:, 0] << 20) + (shapes[:, 1] << 2) + np.searchsorted(_WIDTHS, numbers.astype(np.uint64), "right")
    places = np.flatnonzero([entry.wire is not None for entry in entries])
    places = places[np.argsort(keys[places], kind="stable")]
    if places.size:
        yield from np.split(places, np.flatnonzero(np.diff(keys[places])) + 1)


class _Shared(NamedTuple):
    """A template, and where in its sample stand the stream's name and that of the signer's key, if it has one."""

    template: PacketTemplate
    sample: NDArray[np.uint8]
    stream: Field
    key: Field


class _Packets:
    """Packets of equal length, of streams whose names are of equal length."""

    def __init__(self, entries: Sequence[Entry], rows: Rows, places: Places, signers: dict[bytes, str | None]) -> None:
        count = len(entries)
        self.matrix: Final[Matrix] = _matrix([entry.wire or b"" for entry in entries])
        self._streams: Final = _matrix([entry.stream.value for entry in entries])
        self._numbers: Final = np.fromiter([entry.number for entry in entries], np.uint64, count)
        self._verified: Final = np.fromiter([entry.verified for entry in entries], np.bool_, count)
        self._entries: Final = entries
        self._rows: Final = rows
        self._places: Final = places
        self._signers: Final = signers

    def read_one(self, at: int, *, wanted: bool) -> _Shared | None:
        stream, number, wire, _, verified, _ = self._entries[at]
        assert wire is not None  # noqa: S101  those without are not here
        row = read_packet(stream, number, wire)
        place = int(self._places[at])
        self._rows.put_packet(place, row.time_us, row.signer, verified=verified and row.named)
        self._rows.put_payload(place, row.payload)
        self._rows.put_meaning(place, row.meaning)
        template = PacketTemplate.of(wire, number, row.signer) if wanted and row.time_us is not None else None
        if template is None:
            return None
        name = tlv.element(wire, *tlv.outer(wire, tlv.DATA))
        stands = (name[1], name[1] + len(stream.value))
        return _Shared(template, np.frombuffer(wire, np.uint8), stands, _key_name(wire))

    def read_many(self, shared: _Shared, left: Places, rows: Matrix) -> Fits:
        rows = rows.copy()
        fits: Fits = (rows[:, slice(*shared.stream)] == self._streams[left]).all(axis=1)
        keys = np.ascontiguousarray(rows[:, slice(*shared.key)])
        for field in (shared.stream, shared.key):
            rows[:, slice(*field)] = shared.sample[slice(*field)]
        fits &= shared.template.fits(rows, self._numbers[left])
        codes, signers = self._signed(shared, fits, left, keys)
        fits &= codes >= 0
        places = self._places[left[fits]]
        if places.size:
            self._put(shared.template, places, rows[fits], self._verified[left[fits]])
            codes = codes[fits]
            for code, signer in enumerate(signers[1:], 1):
                self._rows.put_signer(places[codes == code], signer)
        return fits

    def _put(self, template: PacketTemplate, places: Places, rows: Matrix, verified: NDArray[np.bool_]) -> None:
        self._rows.put_packet(places, template.times_us(rows), template.signer, verified=verified)
        payloads = template.payloads(rows)
        self._rows.put_payloads(places, payloads)
        inside: Readable[SenmlTemplate | TextTemplate] = Payloads(payloads, template.format, self._rows, places)
        read_all(inside, MAX_TEMPLATES)

    def _signed(self, shared: _Shared, fits: Fits, left: Places, keys: Matrix) -> tuple[Places, list[str | None]]:
        """Who signed each row that fits, as a place in a list that the sample's signer begins; -1 where nobody did."""
        signers = [shared.template.signer]
        codes = np.where((keys == shared.sample[slice(*shared.key)]).all(axis=1), 0, -1)
        others = np.flatnonzero(fits & (codes < 0))
        known: dict[bytes, int] = {}
        for at in others.tolist():
            key = keys[at].tobytes()
            code = known.get(key)
            if code is None:
                signer = self._signer(key, int(left[at]))
                code = known[key] = -1 if signer is None else len(signers)
                signers += [] if signer is None else [signer]
            codes[at] = code
        return codes, signers

    def _signer(self, key: bytes, at: int) -> str | None:
        """Whom a name of a key means, which the exact way says of the first packet that has it; None if nobody."""
        if key not in self._signers:
            stream, number, wire, *_ = self._entries[at]
            row = read_packet(stream, number, wire or b"")
            self._signers[key] = row.signer if row.time_us is not None else None
        return self._signers[key]


def _key_name(wire: bytes) -> Field:
    """Where the name of the signer's key stands in a packet that was read; nowhere if there is none."""
    start, end = tlv.outer(wire, tlv.DATA)
    for wanted in (tlv.SIGNATURE_INFO, tlv.KEY_LOCATOR, tlv.NAME):
        inside = tlv.elements(wire, start, end) if start < end else []
        start, end = next(((low, high) for type_, low, high in inside if type_ == wanted), (0, 0))
    return start, end


def _matrix(cells: Sequence[bytes]) -> Matrix:
    return np.frombuffer(b"".join(cells), np.uint8).reshape(len(cells), len(cells[0]))
