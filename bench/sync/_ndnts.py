"""NDNts in a process of its own, for as long as a benchmark lasts: it times its batches itself, warm."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.figure import progress

HERE = Path(__file__).parent
PACKAGES = HERE.parent.parent / "tests/interop/ndnts-2024/node_modules"


class Ndnts:
    """The running process; see `_ndnts.mjs` for the requests."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, request: str, **parameters: object) -> Any:  # noqa: ANN401  JSON is what the request makes it
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"request": request, **parameters}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"NDNts ended instead of answering {request!r}; what it said is above")
        return json.loads(answer)


@contextlib.contextmanager
def ndnts() -> Iterator[Ndnts | None]:
    """Start NDNts if it is there; None, and a sentence, if not."""
    node = shutil.which("node")
    if node is None or not (PACKAGES / "@ndn/psync").is_dir():
        progress("NDNts is not installed, its figures are left out; `scripts/prepare peers` installs it")
        yield None
        return
    command = [node, str(HERE / "_ndnts.mjs"), str(PACKAGES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Ndnts(process)
        finally:
            process.kill()
