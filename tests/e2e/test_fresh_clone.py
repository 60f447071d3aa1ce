"""A fresh clone of what is committed: `make run` sets itself up, lives for a while and keeps its promises.

The other command of the README is what runs these tests; in the clone it is begun: it would set up nothing more for
them than peers, and finds all of them. Nothing is compiled, which a clone does as this folder did, so this is about
what a clone lacks: a file nobody added, a tool nobody named.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_make_run_in_a_fresh_clone_runs_the_campus_and_keeps_its_promises(tmp_path: Path) -> None:
    clone = tmp_path / "roost"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    left_out = {"PYTHONPATH", "VIRTUAL_ENV", "ROOST_RUN", "ROOST_HOME", "MAKEFLAGS", "MAKELEVEL"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    run = subprocess.Popen(
        ["make", "run", "FOR=20s"],
        cwd=clone,
        env=kept | {"ROOST_PURE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complaints = run.communicate(timeout=1200)
    finally:
        with contextlib.suppress(ProcessLookupError):  # what a campus leaves that is not done in time
            os.killpg(run.pid, signal.SIGKILL)
    assert run.returncode == 0, f"{said[-4000:]}\n{complaints[-4000:]}"
    assert "http://127.0.0.1:" in said
    assert "\nkept      lineage: " in said, said[-4000:]  # so there was Java, and a pipeline
    assert "NOT CHECKED" not in said
    begun = subprocess.run(
        [".venv/bin/pytest", "--collect-only", "-q", "-p", "no:cacheprovider"],
        cwd=clone,
        env=kept,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert begun.returncode == 0, begun.stdout[-4000:]
    there = {path.relative_to(clone / "tests").parts[0] for path in (clone / "tests").rglob("test_*.py")}
    assert there == {line.split("/")[1] for line in begun.stdout.splitlines() if line.startswith("tests/")}


def test_ci_runs_what_the_readme_names() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "    make test " in readme
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().endswith("make test")
