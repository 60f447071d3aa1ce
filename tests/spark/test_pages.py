"""Pages with Spark run in order: commands, one program of Python, more commands, in one folder.

YAML whose first line is a comment is the file which that names.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.docs.test_examples import BLOCK, ROOT, STORIES, commands, environment, run_program
from tests.pipeline_world import JOB, RAW, ROOMS, SECOND, World

__all__ = ["environment"]  # a fixture

README = ROOT / "README.md"
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


def test_the_few_lines_of_the_readme_publish_what_comes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (body,) = re.findall(r'^```python title="On Spark"\n(.*?)^```', README.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    world = World(tmp_path / "world")
    with world.repo() as repo:
        where = f'.option("repos", "{repo.uri}").option("home", "{world.home(JOB)}")'
        for old, new in (("Electricity", RAW), ("Checked", ROOMS)):
            body = body.replace(f'"/BigCompany/Building1/{old}")', f'"{new.name}"){where}')
        before = {query.id for query in spark.streams.active}
        exec(body.replace('"Job"', f'"{JOB}"').replace("checkpoints/", f"{tmp_path}/checkpoints/"), {"spark": spark})
        (query,) = [query for query in spark.streams.active if query.id not in before]
        try:
            world.insert(
                repo, [world.reading("P1/d1/power", number, float(number), number * SECOND) for number in (1, 2)]
            )
            query.processAllAvailable()
        finally:
            query.stop()
        assert [each.value for each in world.read(repo, ROOMS, f"{JOB}/P1-d1/power")] == [1.0, 2.0]
