"""What a repo was told to do and is doing, or has done a moment ago, for whoever checks [repo.md §2.3, §3.3].

A process is one command: its objects are fetched or deleted one after the other. Only a few processes run at a time,
because each asks for a window of segments; the rest wait. One that is over is kept for a while, to be checked; one that
nobody has told the end of its object is stopped, unless it is checked meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Final, TypeAlias

from roost.machine import SECOND, Effect
from roost.machine.timetable import Timetable
from roost.pubsub.repos.intake import Intake
from roost.pubsub.repos.removal import Removal
from roost.repo.commands import COMPLETE, FAILED

MAX_PROCESSES: Final = 1024
MAX_RUNNING: Final = 64

Job: TypeAlias = Intake | Removal


class Process:
    """One command; `code` is 0 until it is over, then 200 or that of the first job that failed."""

    __slots__ = ("code", "jobs", "keep", "key", "number", "place", "starting", "text", "wait")

    def __init__(self, number: int, key: bytes, jobs: Sequence[Job], keep: int, wait: int) -> None:
        self.number: Final = number
        self.key: Final = key
        self.jobs: Final = tuple(jobs)
        self.keep: Final = keep  # how long after it is over, in ns
        self.wait: Final = wait  # how long for the end of an object, in ns; 0: until a segment is missing
        self.place = -1  # of the job that is under way
        self.starting = False
        self.code = 0
        self.text = ""


class Processes:
    """All of them."""

    def __init__(self, limit: int = MAX_PROCESSES, running: int = MAX_RUNNING) -> None:
        self.limit: Final = limit
        self.overflowed = 0
        self._running_limit: Final = running
        self._next_number = 0
        self._by_key: Final[dict[bytes, Process]] = {}  # bound: limit
        self._by_number: Final[dict[int, Process]] = {}  # bound: as above
        self._queue: Final[deque[Process]] = deque()  # bound: as above
        self._running = 0  # bound: running
        self._filling = False
        self._timers: Final = Timetable()

    def __len__(self) -> int:
        return len(self._by_number)

    @property
    def full(self) -> bool:
        """Whether there is no room for another one, which is counted."""
        if len(self._by_number) < self.limit:
            return False
        self.overflowed += 1
        return True

    def find(self, key: bytes, now: int) -> Process | None:
        """The process of a key; being checked, it may wait longer for the end of its object."""
        process = self._by_key.get(key)
        if process is not None and not process.code and process.place >= 0 and process.wait:
            self._timers.set(process.number, now + process.wait)
        return process

    def add(self, key: bytes, jobs: Sequence[Job], now: int, *, keep: int, wait: int = 0) -> list[Effect]:
        """Take a process in and run it, now or in its turn; one of the same key that is under way is let be."""
        before = self._by_key.get(key)
        if before is not None:
            if not before.code:
                return []
            del self._by_number[before.number]
            self._timers.drop(before.number)
        self._next_number += 1
        process = Process(self._next_number, key, jobs, keep, wait)
        self._by_key[key] = process
        self._by_number[process.number] = process
        self._queue.append(process)
        return self._run(now)

    def tick(self, now: int) -> list[Effect]:
        """Forget what is over, stop what waits for an end."""
        effects: list[Effect] = []
        for number in self._timers.overdue(now):
            process = self._by_number[number]
            if process.code:
                del self._by_number[number], self._by_key[process.key]
            elif (job := process.jobs[process.place]).open_ended:
                seconds = process.wait // SECOND
                text = f"{job.target.name}: neither EndBlockId nor FinalBlockId came within {seconds} s"
                effects += job.stop(FAILED, text, now)
        return effects

    def deadline(self) -> int | None:
        """When the next one is to be forgotten or stopped."""
        return self._timers.deadline()

    def _run(self, now: int) -> list[Effect]:
        effects: list[Effect] = []
        if self._filling:  # a process was over at once: whoever fills the places goes on
            return effects
        self._filling = True
        while self._queue and self._running < self._running_limit:
            process = self._queue.popleft()
            self._running += 1
            if process.wait:
                self._timers.set(process.number, now + process.wait)
            effects += self._go_on(process, now)
        self._filling = False
        return effects

    def _go_on(self, process: Process, now: int) -> list[Effect]:
        """Begin with the next objects of a process, until one takes its time."""
        effects: list[Effect] = []
        process.starting = True
        while process.place + 1 < len(process.jobs):
            process.place += 1
            job = process.jobs[process.place]
            effects += job.start(partial(self._job_over, process), now)
            if not job.code:
                process.starting = False
                return effects
        failed = [job for job in process.jobs if job.code != COMPLETE]
        process.code, process.text = (failed[0].code, failed[0].text) if failed else (COMPLETE, "")
        self._timers.set(process.number, now + process.keep)
        self._running -= 1
        return effects + self._run(now)

    def _job_over(self, process: Process, now: int) -> list[Effect]:
        return [] if process.starting else self._go_on(process, now)
