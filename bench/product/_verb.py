"""Verbs of `roost` as processes: in a home of their own, asked over HTTP, and what they and their children use."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError

RUN: Final = (sys.executable, "-c", "import sys; from roost.cli import main; sys.exit(main())")
LOOK_S: Final = 0.02
WAIT_S: Final = 300.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")


def environment_of(home: Path) -> dict[str, str]:
    """Nobody's forwarder, and the keys of this home."""
    kept = {key: value for key, value in os.environ.items() if key != "NDN_CLIENT_TRANSPORT"}
    return kept | {"HOME": str(home), "ROOST_HOME": str(home / "roost")}


def done(home: Path, *words: str) -> None:
    """Run a verb to its end."""
    subprocess.run([*RUN, *words], env=environment_of(home), check=True, stdout=subprocess.DEVNULL)


class Verb:
    """One that runs."""

    def __init__(self, process: subprocess.Popen[str], began: float) -> None:
        self.began: Final = began
        self.lines: Final[list[str]] = []
        self._process: Final = process

    def until(self, begin: str) -> float:
        """Read on to a line that begins so; how long that was since the start, in seconds."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line)
            if line.startswith(begin):
                return time.perf_counter() - self.began
        raise RuntimeError(f"it ended before {begin!r}: {''.join(self.lines)}")

    def url(self) -> str:
        """Where its page is."""
        return str(re.findall(r"http://127\.0\.0\.1:\d+", "".join(self.lines))[-1])

    def tree(self) -> list[int]:
        """Its process and all below it."""
        parents: dict[int, list[int]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                parents.setdefault(int(_stat(path)[1]), []).append(int(path.parent.name))
        found = [self._process.pid]
        for pid in found:
            found += parents.get(pid, [])
        return found

    def cpu_s(self) -> float:
        """The processor time of them all so far."""
        return cpu_s(self.tree())

    def memory_bytes(self) -> int:
        """What they have in memory, shared pages by their share."""
        total = 0
        for pid in self.tree():
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
            total += int(re.findall(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)[0]) * 1024
        return total


def cpu_s(pids: list[int]) -> float:
    """The processor time of some processes so far."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = _stat(Path(f"/proc/{pid}/stat"))
            total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def _stat(path: Path) -> list[str]:
    """The fields behind the name, which may hold anything."""
    text: str = path.read_text(encoding="utf-8", errors="replace")
    return text.rpartition(")")[2].split()


@contextlib.contextmanager
def running(home: Path, *words: str) -> Iterator[Verb]:
    """Run a verb until the block ends."""
    began = time.perf_counter()
    with subprocess.Popen([*RUN, *words], env=environment_of(home), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Verb(process, began)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()


def ask(url: str) -> Any:  # noqa: ANN401  it is JSON
    """Ask it over HTTP."""
    with urllib.request.urlopen(url, timeout=120) as answer:
        return json.load(answer)


def asked_until(url: str, key: str) -> Any:  # noqa: ANN401  as above
    """Ask until there is something under a key."""
    ends = time.perf_counter() + WAIT_S
    while time.perf_counter() < ends:
        with contextlib.suppress(URLError):
            if found := ask(url).get(key):
                return found
        time.sleep(LOOK_S)
    raise RuntimeError(f"{url} had no {key} within {WAIT_S:g} s")
