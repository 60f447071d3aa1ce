"""The folders of a store that is copied: which one counts at every instant, whatever crashes.

The copying itself is in `roost.host.rocks`.

store             counts, while it is there
store.mended      the copy in the making, or, when `store` is not there, whole: it is to be `store`
store.damaged     the old one on its way out
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def fresh_path(path: Path) -> Path:
    """Where the copy is made; nothing is there."""
    fresh = _mended(path)
    shutil.rmtree(fresh, ignore_errors=True)
    return fresh


def swap_in(path: Path) -> None:
    """Have the copy, which is whole and closed, be the store."""
    shutil.rmtree(_damaged(path), ignore_errors=True)
    path.rename(_damaged(path))
    tidy_up(path)


def tidy_up(path: Path) -> None:
    """Finish what a crash may have interrupted."""
    if not path.exists() and _mended(path).exists():
        _mended(path).rename(path)
        _sync(path.parent)
    shutil.rmtree(_mended(path), ignore_errors=True)
    shutil.rmtree(_damaged(path), ignore_errors=True)


def _mended(path: Path) -> Path:
    return path.with_name(path.name + ".mended")


def _damaged(path: Path) -> Path:
    return path.with_name(path.name + ".damaged")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
