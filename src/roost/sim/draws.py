"""Where all chance comes from: one seed, and a stream of draws of its own for every purpose.

A link, a station's machine, a disk and a workload each draw from their own stream, named by what it is for. So adding a
link, or a station, shifts nobody else's draws, and two runs of one seed differ only where the worlds differ.
"""

from __future__ import annotations

from hashlib import blake2b
from random import Random


def draws(seed: int, *purpose: str | int) -> Random:
    """Return the stream of draws of one purpose."""
    text = "/".join([str(seed), *[str(part) for part in purpose]])
    return Random(int.from_bytes(blake2b(text.encode(), digest_size=16).digest(), "big"))  # noqa: S311  not for secrets
