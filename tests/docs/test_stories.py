"""Pages that tell a story run as they stand, with the ports they name, on machines of their own (network namespaces).

A block such as ```bash title="Second machine"``` is a terminal on that machine. A line that goes on until it is stopped
(`roost up`, `roost repo`, `roost invite`) stays in its terminal; `# Ctrl-C` stops what runs on that machine. Addresses
10.0.0.7 and 10.0.0.8 are the first machine's and the second's. A line of a ```text block after it is what is printed,
but for times, sizes and what stands for `…`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import pytest
from tests.docs.printed import compare
from tests.namespaces import Lan, within

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = ("start", "tutorial", "node", "howto/add-a-repo", "howto/write-a-macro")
BLOCK: Final = re.compile(r'^```(\w+)(?: title="([^"]*)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)
STAYS: Final = re.compile(r"^roost (up|repo|invite|mqtt|node)\b(?! (reload|check|sample))", re.MULTILINE)
PAGE_SERVED: Final = re.compile(r"^the page is at ")  # the last thing that `roost up` says
READY: Final = re.compile(r"^ready|^[0-9A-HJKMNP-TV-Z]{4}-", re.MULTILINE)


class Machine:
    """One machine of a story: a home, and what runs in its terminals."""

    def __init__(self, folder: Path, lan: Lan, tools: Path) -> None:
        host = lan.host()
        folder.mkdir()
        self.address = host.address
        self._folder = folder
        self._inside = within(host.pid)
        self._running: list[tuple[str, subprocess.Popen[str], IO[str]]] = []
        kept = {name: value for name, value in os.environ.items() if name not in {"NDN_CLIENT_TRANSPORT", "ROOST_HOME"}}
        source = [str(ROOT / part) for part in kept.get("PYTHONPATH", "").split(":") if part]
        self._environment = kept | {
            "HOME": str(folder),
            "PATH": f"{tools}:{kept['PATH']}",
            "PYTHONPATH": ":".join(source),
        }

    def run(self, script: str, typed: str) -> str:
        """Run commands to their end; what they printed."""
        done = subprocess.run(
            [*self._inside, "bash", "-ec", script],
            env=self._environment,
            cwd=self._folder,
            input=typed,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def start(self, command: str) -> str:
        """Start what goes on; what it printed until it was ready."""
        log = (self._folder / f"terminal{len(self._running)}").open("w+")
        process = subprocess.Popen(
            [*self._inside, "bash", "-c", f"exec {command}"],
            env=self._environment,
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        self._running.append((command, process, log))
        assert process.stdout is not None
        said = ""
        ready = PAGE_SERVED if command.startswith("roost up") else READY
        for line in process.stdout:
            said += line
            if ready.search(line):
                return said
        log.seek(0)
        raise AssertionError(f"{command} was not ready: {said}{log.read()}")

    def wait(self, command: str) -> None:
        """Wait until what begins so has ended by itself."""
        for each in [each for each in self._running if each[0].startswith(command)]:
            self._end(each, None)

    def stop(self) -> None:
        """Ctrl-C, in the terminals from the last one to the first."""
        while self._running:
            self._end(self._running[-1], signal.SIGINT)

    def _end(self, terminal: tuple[str, subprocess.Popen[str], IO[str]], how: signal.Signals | None) -> None:
        self._running.remove(terminal)
        command, process, log = terminal
        if how is not None:
            process.send_signal(how)
        with log:
            process.communicate(timeout=60)
            log.seek(0)
            assert process.returncode == 0, f"{command} ended with {process.returncode}: {log.read()}"


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[tuple[Machine, Machine]]:
    tools = tmp_path / "bin"
    tools.mkdir()
    tool = tools / "roost"
    tool.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "from roost.cli import main; raise SystemExit(main())" "$@"\n'
    )
    tool.chmod(0o755)
    with Lan() as lan:
        first, second = (Machine(tmp_path / name, lan, tools) for name in ("first", "second"))
        try:
            yield first, second
        finally:
            first.stop()
            second.stop()


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("page", PAGES)
def test_the_story_of_a_page_goes_as_it_is_told(page: str, machines: tuple[Machine, Machine]) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    for number, machine in enumerate(machines):
        text = text.replace(f"10.0.0.{7 + number}", machine.address)
    printed = code = ""
    told = 0
    for language, title, body in BLOCK.findall(text):
        if language == "text" and printed:
            compare(body, printed)
        if language != "bash":
            printed = ""
            continue
        told += 1
        here = machines["second machine" in title.lower()]
        printed = ""
        for part in parts(body):
            if part.startswith("# Ctrl-C"):
                here.stop()
            elif STAYS.match(part):
                printed += here.start(part)
                found = re.findall(r"^[0-9A-Z-]{26,}$", printed, re.MULTILINE)
                code = found[-1] if found else code
            else:
                printed += here.run(part, f"{code}\n" if "roost enroll" in part else "")
                if "roost enroll" in part:
                    for machine in machines:
                        machine.wait("roost invite")
    assert told


def parts(body: str) -> list[str]:
    """A terminal's lines: what stays, and what is pressed, each apart; the others together."""
    found: list[str] = []
    begin_anew = True
    for line in body.splitlines():
        alone = bool(STAYS.match(line)) or line.startswith("# Ctrl-C")
        if alone or begin_anew:
            found.append(line)
        else:
            found[-1] += f"\n{line}"
        begin_anew = alone
    return found
