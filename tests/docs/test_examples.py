"""Documentation runs: the Python of a page as one program, its commands one after another in one home.

A command that is meant to fail says so: `# status 1`. A ```text``` block right behind commands is what they print.
Pages that say `<!-- in order -->` are run by tests/spark, parts of programs (`title="In a program"`) by test_fragments.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.docs.printed import compare

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^```sh\n(.*?)^```(?:\n+```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#]+)(?:#[^)]*)?\)")


def blocks(page: Path, language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home of its own, a passphrase file, and `roost` on PATH as the interpreter under test sees it."""
    tools = tmp_path / "bin"
    tools.mkdir()
    tool = tools / "roost"
    tool.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "from roost.cli import main; raise SystemExit(main())" "$@"\n'
    )
    tool.chmod(0o755)
    (tmp_path / "passphrase").write_text("correct horse battery staple\n")
    kept = {name: value for name, value in os.environ.items() if name != "NDN_CLIENT_TRANSPORT"}
    source = [str(ROOT / part) for part in kept.get("PYTHONPATH", "").split(":") if part]
    return kept | {
        "HOME": str(tmp_path),
        "ROOST_HOME": str(tmp_path / "home"),
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": ":".join(source),
    }


STORIES = [page for page in PAGES if "<!-- in order -->" in page.read_text(encoding="utf-8")]
PROGRAMS = [page for page in PAGES if blocks(page, "python") and page not in STORIES]
COMMANDS = [page for page in PAGES if blocks(page, "sh") and page not in STORIES]


def run_program(program: str, folder: Path, environment: dict[str, str], timeout_s: float = 60) -> None:
    script = folder / "example.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, script],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "an example shows something"


def logged(folder: Path) -> str:
    """What the programs that a page left running wrote last."""
    logs = sorted(folder.glob("*.log"))
    return "".join(f"--- {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in logs)


@contextlib.contextmanager
def commands(folder: Path, environment: dict[str, str], timeout_s: float = 60) -> Iterator[Callable[[str], str]]:
    """Run commands one by one, for what they print, and end in the end what they left running."""
    started: list[int] = []

    def run(command: str) -> str:
        with subprocess.Popen(
            ["/bin/sh", "-c", command],
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            started.append(process.pid)
            said, _ = process.communicate(timeout=timeout_s)
        expected = int(command.partition("# status ")[2] or 0)
        assert process.returncode == expected, f"{command}\n{said}{logged(folder)}"
        return said

    try:
        yield run
    finally:
        for group in started:  # of a command, and of what it left running
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


@pytest.mark.parametrize("page", PROGRAMS, ids=[page.stem for page in PROGRAMS])
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    run_program("\n".join(blocks(page, "python")), tmp_path, environment)


@pytest.mark.parametrize("page", COMMANDS, ids=[page.stem for page in COMMANDS])
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    with commands(tmp_path, environment) as run:
        for block, told in COMMAND.findall(page.read_text(encoding="utf-8")):
            compare(told, "".join([run(line) for line in block.splitlines()]))


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_readme_example_has_twenty_lines_at_most() -> None:
    (example,) = blocks(ROOT / "README.md", "python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 20
