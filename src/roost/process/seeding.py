"""The randomness of a run: a number that follows from the program and from what activated it, and from nothing else.

Whoever runs the same program for the same reading again, on this node, on another or on Spark, draws the same numbers.
A reading of a group is known by its stream and number; what belongs to no group, by its topic and time.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from roost.process.sample import Sample

_BITS: Final = 53  # what a number of JavaScript holds exactly


def seed_of(digest: bytes, sample: Sample) -> int:
    """Derive the seed of the run that a sample activates, for the program of this digest."""
    if sample.stream:
        what = b"%d %b" % (sample.number, sample.stream)
    else:
        what = b"at %d %b" % (sample.time, sample.topic.encode())
    return int.from_bytes(blake2b(what, digest_size=8, key=digest[:64]).digest(), "big") >> (64 - _BITS)
