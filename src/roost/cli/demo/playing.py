"""A run of the campus: until somebody stops it, or for so long; with a check, it breaks everything once and judges."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Final

from roost.cli.demo.campus import Campus, Settings
from roost.cli.demo.journal import Journal

STATUS_S: Final = 15.0
WARM_UP: Final = 0.1  # of the time, before the first thing is broken
SHARE: Final = 0.6  # of the time, in which all things are broken


async def play(settings: Settings, journal: Journal, for_s: float | None, *, check: bool, told: Path) -> int:
    """Run it; the status to exit with. Where it is, is in the file `told` meanwhile."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` goes on without its terminal, others end with it
            loop.add_signal_handler(number, stopped.set)
    with tempfile.TemporaryDirectory(prefix="roost-demo-") as folder:
        async with AsyncExitStack() as stack:
            campus = Campus(settings, Path(folder), journal)
            stack.enter_context(_announced(campus.centre.http, told))
            if not await _opened(campus, stack, stopped):
                return 0
            ends_at = None if for_s is None else time.monotonic() + for_s
            breaking = asyncio.create_task(_break_all(campus, for_s or 0.0)) if check else None
            telling = asyncio.create_task(_tell(campus))
            stack.callback(telling.cancel)
            await _wait(campus, stopped, ends_at, breaking)
            if not check or stopped.is_set():
                journal.say("stopped", "keys and stores are gone: the next campus begins anew")
                return 0
            return 0 if await judged(campus) else 1


async def judged(campus: Campus) -> bool:
    """Wait until all is there that should be, and tell each promise with its numbers; whether all were kept."""
    say = campus.journal.say
    traced, lineage = True, ""
    if campus.levels is not None:
        try:
            traced, lineage = await campus.results()
        except TimeoutError:
            traced, lineage = False, "the pipeline had no whole window of the campus from after the last break in time"
    await campus.settle()
    kept = traced
    for each in campus.breaks.all.values():
        if not each.done or each.failed:
            kept = False
            say("BROKEN", f"{each.title}: {each.done} times whole again, {each.failed} times not")
    for promise in campus.promises:
        holds, detail = promise.verdict()
        kept = kept and holds
        say("kept" if holds else "BROKEN", f"{promise.id}: {promise.text}: {detail}")
    on_disks, found = await campus.disks()
    kept = kept and on_disks
    say("kept" if on_disks else "BROKEN", f"disks: {found}")
    if lineage:
        say("kept" if traced else "BROKEN", f"lineage: {lineage}")
    if campus.levels is None:
        say("unchecked", f"windows, lineage: NOT CHECKED, there was no pipeline: {campus.unchecked}")
    whole = "every promise was kept" if campus.levels is not None else "kept, but not checked: windows, lineage"
    say("done" if kept else "FAILED", whole if kept else "see BROKEN above")
    return kept


async def _opened(campus: Campus, stack: AsyncExitStack, stopped: asyncio.Event) -> bool:
    """Start everything; False if somebody stopped it meanwhile."""
    opening = asyncio.create_task(campus.open(stack))
    stopping = asyncio.create_task(stopped.wait())
    await asyncio.wait([opening, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if opening.done():
        opening.result()
        return True
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)
    return False


async def _break_all(campus: Campus, for_s: float) -> None:
    """Break everything once, one after the other, spread over the time there is; what somebody else broke is let be."""
    await asyncio.sleep(WARM_UP * for_s)
    pause_s = SHARE * for_s / len(campus.breaks.all)
    for name in campus.breaks.all:
        began = time.monotonic()
        await campus.breaks.calm()
        await campus.breaks.begin(name)
        await asyncio.sleep(max(0.0, pause_s - (time.monotonic() - began)))


async def _wait(
    campus: Campus, stopped: asyncio.Event, ends_at: float | None, breaking: asyncio.Task[None] | None
) -> None:
    """Wait for the first that ends it: a signal, the time, or an error; what was begun to be broken is waited for."""
    ends = [asyncio.ensure_future(stopped.wait()), campus.failed]
    left = None if ends_at is None else max(0.0, ends_at - time.monotonic())
    await asyncio.wait(ends, timeout=left, return_when=asyncio.FIRST_COMPLETED)
    if breaking is not None and not stopped.is_set() and not campus.failed.done():
        await asyncio.wait([*ends, breaking], return_when=asyncio.FIRST_COMPLETED)
    if campus.failed.done():
        campus.failed.result()
    if breaking is not None and breaking.done():
        breaking.result()
    elif breaking is not None:
        breaking.cancel()
    ends[0].cancel()


async def _tell(campus: Campus) -> None:
    while True:
        await asyncio.sleep(STATUS_S)
        campus.journal.say("status", campus.status())


@contextmanager
def _announced(url: str, told: Path) -> Iterator[None]:
    """Have `roost demo break` find this run."""
    told.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    told.write_text(json.dumps({"url": url, "pid": os.getpid()}), encoding="utf-8")
    try:
        yield
    finally:
        told.unlink(missing_ok=True)
