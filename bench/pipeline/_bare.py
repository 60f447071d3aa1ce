"""The limit of who verifies: P-256 signatures on all cores, with the bare calls of `cryptography`, and nothing else.

One process per core, as Spark has its tasks.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

Signed = list[tuple[bytes, bytes]]  # the signature, and what it is of
_held: Final[list[tuple[EllipticCurvePublicKey, Signed]]] = []  # in a process that verifies: one


class Limit:
    """Processes that verify the same packets over and over."""

    def __init__(self, pool: ProcessPoolExecutor, processes: int, each: int) -> None:
        self._pool: Final = pool
        self._processes: Final = processes
        self._each: Final = each

    def rate(self) -> float:
        """Signatures a second, all processes together."""
        began = time.perf_counter()
        list(self._pool.map(_verify, [self._each] * self._processes))
        return self._each * self._processes / (time.perf_counter() - began)


@contextmanager
def limit(spki: bytes, signed: Signed, processes: int, each: int) -> Iterator[Limit]:
    """Have processes that verify, `each` signatures at a time, while the block runs."""
    context = multiprocessing.get_context("spawn")  # this process has threads, which a fork would not survive
    with ProcessPoolExecutor(processes, context, _hold, (spki, signed)) as pool:
        found = Limit(pool, processes, each)
        found.rate()  # they start with the first work they get
        yield found


def _hold(spki: bytes, signed: Signed) -> None:
    public = load_der_public_key(spki)
    assert isinstance(public, EllipticCurvePublicKey)
    _held.append((public, signed))


def _verify(count: int) -> None:
    (public, signed), algorithm = _held[0], ECDSA(SHA256())
    for at in range(count):
        value, portion = signed[at % len(signed)]
        public.verify(value, portion, algorithm)
