"""What a page shows of an output, against what was printed."""

from __future__ import annotations

import re
from typing import Final

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def compare(told: str, printed: str) -> None:
    """Make sure that each line that a page shows was printed, but for times, spaces and what stands for `…`."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    for line in told.splitlines():
        shape = re.escape(_TIME.sub("…", " ".join(line.split()))).replace("…", ".*")
        assert any(re.fullmatch(shape, each) for each in lines), f"{line!r} is not among {printed}"
