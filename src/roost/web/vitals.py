"""How the process is: processor, memory, descriptors, and how late its event loop is.

The loop is asked to wake up twice a second; by how much it is late then is how long something kept it busy, which is
how long everybody else waited.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from roost.host.http.timing import Histogram
from roost.web.exposition import COUNTER, GAUGE, HISTOGRAM, Family, Sample

BOUNDS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_EVERY_S: Final = 0.5
_STATM: Final = Path("/proc/self/statm")
_FDS: Final = Path("/proc/self/fd")


class Vitals:
    """Of this process; `watching` has the loop looked at while the block runs."""

    def __init__(self) -> None:
        self.lag: Final = Histogram(BOUNDS_S)
        self._started: Final = _started_s()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Measure how late the loop is."""
        loop = asyncio.get_running_loop()
        timer: list[asyncio.TimerHandle] = []

        def look(due: float) -> None:
            now = loop.time()
            self.lag.observe(max(0.0, now - due))
            timer[:] = [loop.call_at(now + _EVERY_S, look, now + _EVERY_S)]

        first = loop.time() + _EVERY_S
        timer[:] = [loop.call_at(first, look, first)]
        try:
            yield
        finally:
            timer[0].cancel()

    def families(self) -> list[Family]:
        """What Prometheus knows of processes, by the names that it has for it, and the loop."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        cpu_s = used.ru_utime + used.ru_stime
        families = [
            _one("process_cpu_seconds_total", COUNTER, "Processor time, of user and system", round(cpu_s, 6)),
            _one("process_start_time_seconds", GAUGE, "When the process started, since 1970", self._started),
            _one("process_max_fds", GAUGE, "Descriptors that it may have", most),
            _one("roost_process_threads", GAUGE, "Threads of Python", threading.active_count()),
        ]
        with contextlib.suppress(OSError):  # not on Linux
            size, resident = (int(each) for each in _STATM.read_text(encoding="ascii").split()[:2])
            page = resource.getpagesize()
            families += [
                _one("process_virtual_memory_bytes", GAUGE, "Memory that was asked for", size * page),
                _one("process_resident_memory_bytes", GAUGE, "Memory that is used", resident * page),
                _one("process_open_fds", GAUGE, "Descriptors that are open", len(list(_FDS.iterdir()))),
            ]
        said = "How late the event loop was, looked at twice a second"
        return [*families, Family("roost_event_loop_lag_seconds", HISTOGRAM, said, [Sample(self.lag)])]


def _one(name: str, kind: str, said: str, value: float) -> Family:
    return Family(name, kind, said, [Sample(value)])


def _started_s() -> float:
    """When the process started; when this was made, where that cannot be found out."""
    try:
        ticks = int(Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
        up_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    except (OSError, ValueError, IndexError):
        return round(time.time(), 3)
    return round(time.time() - up_s + ticks / os.sysconf("SC_CLK_TCK"), 2)
