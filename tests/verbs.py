"""`roost` verbs as processes, for tests: a home of their own, run to the end or until the block ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RUN = [sys.executable, "-c", "import sys; from roost.cli import main; sys.exit(main())"]


def environment_of(home: Path) -> dict[str, str]:
    """Nobody's forwarder, and the keys of this home."""
    kept = {key: value for key, value in os.environ.items() if key != "NDN_CLIENT_TRANSPORT"}
    return kept | {"HOME": str(home), "ROOST_HOME": str(home / "roost")}


def roost(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*RUN, *arguments], env=environment, capture_output=True, timeout=60, check=False)


@contextmanager
def background(environment: dict[str, str], *arguments: str, until: str) -> Iterator[list[str]]:
    """Run a verb until the block ends; the lines it printed, up to the one that says it is ready, then all."""
    with subprocess.Popen([*RUN, *arguments], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line.rstrip())
            if line.startswith(until):
                break
        try:
            yield lines
        finally:
            process.send_signal(signal.SIGTERM)
            lines += [line.rstrip() for line in process.stdout]
            assert process.wait(timeout=30) == 0
