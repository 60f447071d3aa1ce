"""A store on the disk as a repo leaves it, with many readings of each of some streams, made as quickly as can be.

Readings are as panels make them, ten seconds apart; where nobody verifies them, `Pretended` signs: as many bytes, from
chance. What each stream holds is written beside them, so that the repo does not count when it starts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from roost.host.rocks import RocksStore
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.holding import Holding
from roost.repo.shelving import STREAM_MARK
from roost.repo.store import Batch, Entry
from roost.wire import Data, Signer, make_data
from roost.wire.reading import SENML_CBOR, Reading
from roost.wire.senml import Value, encode_values
from roost.wire.signature import SHA256_ECDSA

STEP_NS: Final = 10_000_000_000
HOUR_NS: Final = 3_600_000_000_000
_AT_ONCE: Final = 4000
_VALUES: Final = 1000
_PAYLOADS: Final = [encode_values([Value(round(15 + index / 97, 3), "Cel")]) for index in range(_VALUES)]


class Pretended:
    """A signer whose signatures look like those of ECDSA with P-256 and a key of this name, and are nobody's."""

    signature_type: Final = SHA256_ECDSA

    def __init__(self, like: Signer) -> None:
        self.key_locator: Final = like.key_locator
        self._chance: Final = random.Random(1)

    def sign(self, portion: bytes) -> bytes:  # noqa: ARG002  a signer's shape
        """Chance, of a length that such a signature has."""
        return self._chance.randbytes(self._chance.choice((70, 71, 71, 72)))


def reading(stream: Name, number: int, time_ns: int, signer: Signer) -> Data:
    """One reading of a temperature."""
    content = Reading(time_ns, SENML_CBOR, _PAYLOADS[(number * 7 + len(stream.value)) % _VALUES]).encode()
    return make_data(numbered(stream, number), content, signer, freshness_ms=1000)


def fill(path: Path, streams: Sequence[Name], each: int, signer_for: Callable[[Name], Signer], begin_ns: int) -> None:
    """Make the store: `each` readings of every stream, from `begin_ns` on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    store = RocksStore(path)
    puts: list[Entry] = []
    marks: list[tuple[bytes, bytes | None]] = []
    for stream in streams:
        signer, holding = signer_for(stream), Holding()
        for number in range(1, each + 1):
            data = reading(stream, number, begin_ns + (number - 1) * STEP_NS, signer)
            puts.append(Entry(data.name, data.wire, begin_ns + (number - 1) * STEP_NS))
            holding.add(number, len(data.wire))
            if len(puts) == _AT_ONCE:
                store.write([Batch(tuple(puts), marks=tuple(marks))])
                puts, marks = [], []
        marks.append((STREAM_MARK + stream.value, holding.encode()))
    store.write([Batch(tuple(puts), marks=tuple(marks))])
    store.close()
