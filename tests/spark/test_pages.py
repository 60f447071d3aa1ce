"""Pages with Spark run in order: commands, one program of Python, more commands, in one folder.

YAML whose first line is a comment is the file which that names.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.test_examples import BLOCK, STORIES, commands, environment, run_program

__all__ = ["environment"]  # a fixture

LONG_S = 300  # Spark starts


@pytest.mark.parametrize("page", STORIES, ids=[page.stem for page in STORIES])
def test_a_page_runs_in_order(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    program: list[str] = []
    with commands(tmp_path, environment, LONG_S) as run:
        for language, body in BLOCK.findall(page.read_text(encoding="utf-8")):
            if language == "python":
                program.append(body)
                continue
            if program:
                run_program("\n".join(program), tmp_path, environment, LONG_S)
                program = []
            if language == "yaml":
                (tmp_path / body.splitlines()[0].removeprefix("# ")).write_text(body)
            else:
                for command in body.splitlines():
                    run(command)
    assert not program, "commands come last"
