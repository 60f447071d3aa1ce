"""A fresh clone of what is committed: `make run` sets itself up, lives for a while and keeps its promises.

The other command of the README is what runs these tests; that CI calls it is looked at here. Nothing is compiled, which
a clone does as this folder did, so this is about what a clone lacks: a file nobody added, a tool nobody named.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_make_run_in_a_fresh_clone_runs_the_campus_and_keeps_its_promises(tmp_path: Path) -> None:
    clone = tmp_path / "roost"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    left_out = {"PYTHONPATH", "VIRTUAL_ENV", "ROOST_RUN", "ROOST_HOME", "MAKEFLAGS", "MAKELEVEL"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    done = subprocess.run(
        ["make", "run", "FOR=20s"],
        cwd=clone,
        env=kept | {"ROOST_PURE": "1"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    assert "http://127.0.0.1:" in done.stdout


def test_ci_runs_what_the_readme_names() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "    make test " in readme
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip().endswith("make test")
