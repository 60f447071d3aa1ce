"""How much memory the processes of a job have: this one, the JVM, Spark's Python workers; at rest, and at most.

A process counts with its share of what it has in common with others (PSS), because workers are forks of each other.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from pathlib import Path
from typing import Final, Self

_EVERY_S: Final = 0.25
DRIVER, JVM, WORKERS = "driver", "jvm", "workers"


def megabytes() -> Counter[str]:
    """What each kind of process has now."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
        children.setdefault(parent, []).append(int(folder.name))
    found = Counter({DRIVER: _own(os.getpid()), JVM: 0, WORKERS: 0})
    for child in children.get(os.getpid(), []):
        if _name(child) == "java":
            found[JVM] += _own(child)
            found[WORKERS] += sum(_own(each) for each in _below(child, children))
    return found


class Peak:
    """The most that was seen while the block ran."""

    def __init__(self) -> None:
        self.most: Final = Counter[str]()
        self._done: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(_EVERY_S):
            for kind, size in megabytes().items():
                self.most[kind] = max(self.most[kind], size)


def _below(process: int, children: dict[int, list[int]]) -> list[int]:
    found = list(children.get(process, []))
    for each in found:
        found += children.get(each, [])
    return found


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def _own(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) >> 10 for line in lines if line.startswith("Pss:")), 0)
