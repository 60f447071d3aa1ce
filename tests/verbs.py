"""`roost` verbs as processes, for tests: a home of their own, run to the end or until the block ends."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from roost.cli import main

ROOT = Path(__file__).parents[1]
RUN = [sys.executable, "-c", "import sys; from roost.cli import main; sys.exit(main())"]


def environment_of(home: Path) -> dict[str, str]:
    """Nobody's forwarder, the keys of this home, and the roost under test in whatever folder a verb runs."""
    kept = {key: value for key, value in os.environ.items() if key != "NDN_CLIENT_TRANSPORT"}
    if source := kept.get("PYTHONPATH"):
        kept["PYTHONPATH"] = os.pathsep.join(str(ROOT / part) for part in source.split(os.pathsep) if part)
    return kept | {"HOME": str(home), "ROOST_HOME": str(home / "roost")}


def roost(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*RUN, *arguments], env=environment, capture_output=True, timeout=60, check=False)


def here(*arguments: str, given: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a verb inside this process, with its environment; `given` is what its standard input has."""
    err, status = io.StringIO(), 0
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    before = sys.stdin
    with ExitStack() as stack:
        if given is not None:
            sys.stdin = stack.enter_context(given.open(encoding="utf-8"))
            stack.callback(setattr, sys, "stdin", before)
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        try:
            status = main(arguments)
        except SystemExit as left:
            status = int(left.code or 0)
    out.seek(0)
    return subprocess.CompletedProcess(arguments, status, out.read(), err.getvalue())


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
            assert process.wait(timeout=90) == 0
