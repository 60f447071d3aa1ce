"""Places as text, for Spark's offset log: the same places give the same text, and the text gives the places back.

    {"inputs": {"<input>": {"numbers": {"Panel1/Heater/Voltage": 17, …}, "holes": …, "windows": …, …}}, "v": 1}

Spark compares offsets as text, so keys are sorted. Numbers of many streams would make a text of megabytes, which Spark
copies and logs with every batch; above `MAX_PLAIN` streams they are packed: the names front-coded, the numbers as a
column of their own, both compressed. A packed place needs nothing else to be read, so no file can be lost beside it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np

from roost.errors import BadConfig
from roost.pipeline.place import Part, Place, Redo

MAX_PLAIN: Final = 1000  # streams whose numbers are written one by one
_VERSION: Final = 1
_LEVEL: Final = 1  # the quickest; names front-coded are small already

Offset = Mapping[str, Place]  # by the name of the input


def to_json(offset: Offset) -> dict[str, Any]:
    """Write places as what Spark's offsets are: a JSON object."""
    return {"inputs": {name: _place(place) for name, place in sorted(offset.items())}, "v": _VERSION}


def from_json(written: Any) -> dict[str, Place]:  # noqa: ANN401  whatever a checkpoint holds
    """Read places; raises `BadConfig` if a checkpoint holds something else."""
    version = written.get("v") if isinstance(written, Mapping) else None
    if version != _VERSION:
        raise BadConfig(f"the checkpoint's offsets are of version {version!r}, this Roost reads {_VERSION}")
    try:
        return {name: _read(place) for name, place in written["inputs"].items()}
    except (KeyError, ValueError, TypeError, zlib.error) as error:
        raise BadConfig(f"the checkpoint's offsets cannot be read ({error!r}): start with a new checkpoint") from None


def text(offset: Offset) -> str:
    """Places as one line of text."""
    return json.dumps(to_json(offset), sort_keys=True, separators=(",", ":"))


def _place(place: Place) -> dict[str, Any]:
    numbers = place.numbers
    written: dict[str, Any] = {
        "numbers": dict(sorted(numbers.items())) if len(numbers) <= MAX_PLAIN else _pack(numbers),
    }
    if place.holes:
        written["holes"] = {stream: [list(run) for run in runs] for stream, runs in sorted(place.holes.items())}
    for name in ("windows", "open", "corrections"):
        if entries := getattr(place, name):
            written[name] = dict(sorted(entries.items())) if len(entries) <= MAX_PLAIN else _pack(entries)
    if place.begun:
        written["begun"] = place.begun
    if place.redo:
        written["redo"] = [
            [redo.key, redo.window, redo.correction, [list(part) for part in redo.parts]] for redo in place.redo
        ]
    return written


def _read(written: Mapping[str, Any]) -> Place:
    return Place(
        numbers=_entries(written["numbers"]),
        holes={stream: tuple((low, high) for low, high in runs) for stream, runs in written.get("holes", {}).items()},
        windows=_entries(written.get("windows", {})),
        open=_entries(written.get("open", {})),
        corrections=_entries(written.get("corrections", {})),
        redo=tuple(
            Redo(key, window, correction, tuple(Part(*part) for part in parts))
            for key, window, correction, parts in written.get("redo", ())
        ),
        begun=written.get("begun", 0),
    )


# -- packed


def _pack(entries: Mapping[str, int]) -> dict[str, str]:
    names = tuple(sorted(entries))
    numbers = np.fromiter((entries[name] for name in names), dtype="<i8", count=len(names))
    # The low bytes change, the high ones do not: apart from each other they compress well.
    columns = numbers.view(np.uint8).reshape(-1, 8).T.tobytes()
    return {"names": _pack_names(names), "numbers": _text(columns)}


@lru_cache(maxsize=8)  # streams come seldom: the same names are packed with every batch
def _pack_names(names: tuple[str, ...]) -> str:
    coded = bytearray()
    before = b""
    for name in names:
        raw = name.encode()
        shared = 0
        for ours, theirs in zip(raw[:255], before, strict=False):
            if ours != theirs:
                break
            shared += 1
        coded += bytes((shared,)) + raw[shared:] + b"\n"
        before = raw
    return _text(bytes(coded))


@lru_cache(maxsize=8)
def _unpack_names(packed: str) -> tuple[str, ...]:
    names: list[str] = []
    raw = zlib.decompress(base64.b64decode(packed))
    before = b""
    position = 0
    while position < len(raw):
        end = raw.index(b"\n", position + 1)  # the shared length may look like a line's end, a name cannot hold one
        before = before[: raw[position]] + raw[position + 1 : end]
        names.append(before.decode())
        position = end + 1
    return tuple(names)


def _entries(written: Mapping[str, Any]) -> Mapping[str, int]:
    if not (len(written) == 2 and isinstance(written.get("names"), str)):
        return dict(written)
    return _unpack(written["names"], written["numbers"])


@lru_cache(maxsize=8)  # Spark hands the same offset back several times in a batch, and in the next one
def _unpack(packed_names: str, packed_numbers: str) -> Mapping[str, int]:
    """The entries, which several places share: nobody changes them."""
    names = _unpack_names(packed_names)
    columns = np.frombuffer(zlib.decompress(base64.b64decode(packed_numbers)), np.uint8)
    numbers = np.ascontiguousarray(columns.reshape(8, -1).T).view("<i8").ravel().tolist()
    return dict(zip(names, numbers, strict=True))


def _text(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw, _LEVEL)).decode()
