"""What `roost doctor` sees of the machine: its clock, and the disk that a node would write to."""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
import time
from pathlib import Path
from typing import Final

from roost.cli._doctor_finding import FINE, HINT, WRONG, Finding

_CLOCK: Final = "clock"
_DISK: Final = "disk"
_UNSYNCHRONISED: Final = 5  # TIME_ERROR of adjtimex(2)
_WATCH_S: Final = 0.2
_STEP_S: Final = 0.05
_MIN_FREE: Final = 100 << 20
_LOW_FREE: Final = 1 << 30
_SLOW_MS: Final = 100
_IN_MEMORY: Final = ("tmpfs", "ramfs")


def clock() -> list[Finding]:
    """Whether the time can be right, is kept right, and runs evenly: readings and certificates have it."""
    installed = Path(__file__).stat().st_mtime
    now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    if time.time() < installed:
        remedy = "set the clock: certificates would count as not valid yet"
        return [Finding(_CLOCK, WRONG, f"{now} is before Roost was installed here", remedy)]
    found = [Finding(_CLOCK, FINE, now)]
    if _is_synchronised() is False:
        remedy = "let NTP keep it, as with: timedatectl set-ntp true; times of readings are only as good as the clock"
        found.append(Finding(_CLOCK, HINT, "nobody keeps it right, says the kernel", remedy))
    step_s = stepped(_WATCH_S)
    if abs(step_s) > _STEP_S:
        remedy = "look at it again; if that stays, see what sets the time by hand"
        found.append(Finding(_CLOCK, HINT, f"it was set by {step_s:+.2f} s within {_WATCH_S:g} s", remedy))
    return found


def stepped(watch_s: float) -> float:
    """By how much the clock was set, against one that only goes on."""
    began = time.time() - time.monotonic()
    time.sleep(watch_s)
    return time.time() - time.monotonic() - began


def disk(folder: Path | None) -> list[Finding]:
    """Whether there is room where the node keeps its data, and whether writing is made durable there."""
    if folder is None:
        return [Finding(_DISK, HINT, "everything is kept in memory (store: memory)", "and is gone with the node")]
    where = folder
    while not where.exists() and where != where.parent:
        where = where.parent
    found = [_room(folder, where)]
    kind = _file_system(where)
    if kind in _IN_MEMORY:
        remedy = "what is there is gone with the machine's power: name another folder with `store`"
        found.append(Finding(_DISK, HINT, f"{folder} is in memory ({kind})", remedy))
    try:
        took_ms = sync_ms(where)
    except OSError as error:
        remedy = "a node could acknowledge nothing: see who owns the folder, or name another one with `store`"
        return [*found, Finding(_DISK, WRONG, f"{where} cannot be written to: {error.strerror}", remedy)]
    slow = took_ms > _SLOW_MS
    remedy = "each acknowledgement waits that long; a faster disk helps, or durability: received" if slow else ""
    found.append(Finding(_DISK, HINT if slow else FINE, f"a write is durable after {took_ms:.1f} ms (fsync)", remedy))
    return found


def sync_ms(folder: Path) -> float:
    """How long a small write takes until it is on the disk."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".roost-doctor-") as file:
        began = time.perf_counter()
        file.write(bytes(4096))
        file.flush()
        os.fsync(file.fileno())
        return 1000 * (time.perf_counter() - began)


def _room(folder: Path, where: Path) -> Finding:
    space = os.statvfs(where)
    free = space.f_bavail * space.f_frsize
    text = f"{free / (1 << 30):.1f} GiB free for {folder}"
    remedy = "make room, or name a folder on another disk with `store`; a full disk keeps nodes from acknowledging"
    if free < _MIN_FREE or (space.f_files and not space.f_favail):
        return Finding(_DISK, WRONG, text if free < _MIN_FREE else f"{text}, but no file can be made", remedy)
    return Finding(_DISK, HINT, text, remedy) if free < _LOW_FREE else Finding(_DISK, FINE, text)


def _file_system(where: Path) -> str:
    best, kind = "", ""
    with contextlib.suppress(OSError):
        for line in Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines():
            _, place, name, *_ = line.split(" ")
            if Path(where).resolve().is_relative_to(place) and len(place) >= len(best):
                best, kind = place, name
    return kind


def _is_synchronised() -> bool | None:
    """What the kernel says; None if it cannot be asked."""
    try:
        asked = ctypes.create_string_buffer(512)  # struct timex, all zero: nothing is to be changed
        state = int(ctypes.CDLL(None).adjtimex(asked))
    except (OSError, AttributeError):
        return None
    return None if state < 0 else state != _UNSYNCHRONISED
