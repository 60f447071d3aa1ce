"""One driver per checkpoint: a lock on a file beside it, held while its query runs and freed by the system at the end.

The check of Spark's quick checkpoint manager that nobody else writes is not atomic: two drivers on one checkpoint would
both commit. A checkpoint on this machine is locked in the folder above it. For one that is elsewhere (`hdfs://`) the
lock is in the user's Roost home, and keeps apart the drivers of that user on this machine only.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import unquote, urlsplit

from roost.errors import BadConfig
from roost.host.paths import home

_SHOWN: Final = 200  # characters of the other process's command
_TRIES: Final = 3
_PAUSE_S: Final = 0.05


class CheckpointLock:
    """Held from entering to leaving, or to the end of the process, however that ends."""

    def __init__(self, checkpoint: str) -> None:
        self._checkpoint: Final = checkpoint
        self._path: Final = lock_path(checkpoint)
        self._descriptor = -1

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _lock(descriptor)
        except BlockingIOError:
            holder = _describe(os.pread(descriptor, 4096, 0))
            os.close(descriptor)
            raise BadConfig(
                f"the checkpoint {self._checkpoint} is in use by {holder}. Stop that one first: two drivers on one "
                "checkpoint would publish past each other."
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "command": " ".join(sys.argv)[:_SHOWN]}).encode(), 0)
        self._descriptor = descriptor
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)  # the file stays: to remove it would free a lock that somebody just took


def is_gone(checkpoint: str) -> bool:
    """Whether the driver that had this checkpoint runs no more, whatever its status says: it may have been killed.

    A checkpoint that no driver of this machine ever had is not known to be anybody's.
    """
    try:
        with lock_path(checkpoint).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (FileNotFoundError, PermissionError, BlockingIOError):
        return False
    return True


def _lock(descriptor: int) -> None:
    """Take the lock; somebody who only looks whether it is free has it for an instant."""
    for _ in range(_TRIES):
        with contextlib.suppress(BlockingIOError):
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(_PAUSE_S)
    return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_path(checkpoint: str) -> Path:
    """Where the lock of a checkpoint is."""
    parts = urlsplit(checkpoint)
    if parts.scheme in {"", "file"}:
        folder = Path(unquote(parts.path) if parts.scheme else checkpoint).resolve()
        return folder.with_name(f"{folder.name}.lock")
    return home() / "checkpoints" / f"{hashlib.sha256(checkpoint.rstrip('/').encode()).hexdigest()[:16]}.lock"


def _describe(note: bytes) -> str:
    try:
        said = json.loads(note)
        return f"process {said['pid']} ({said['command']})"
    except (ValueError, KeyError, TypeError):
        return "another process"  # it has taken the lock, and not written its note yet
