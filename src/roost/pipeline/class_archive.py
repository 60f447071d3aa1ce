"""The class archive (AppCDS, AOT cache): what one JVM learnt about Spark's classes, so that the next starts sooner.

    no archive ──first session ends──▶ trained in the background ──▶ used by every local session after it
               └──`scripts/prepare`──▶ trained at once           ──┘

An archive is good for one Java and one installation of PySpark, jars and paths alike, so both are in its name. It lives
in the virtual environment whose PySpark it is of, and goes when that goes; elsewhere in the user's cache folder. It
appears whole or not at all (`roost.pipeline.training`). The JVM checks it on every start (`VerifySharedSpaces`), and
where it does not fit or is damaged starts without it. Without a folder that can be written there is none.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pyspark

from roost.pipeline.java import Java

_QUIET: Final = "-Xlog:disable -Xlog:all=error:stderr"  # an archive that does not fit is no news to the user
_CDS: Final = ".jsa"
_AOT: Final = ".aot"  # its successor, which also works where a runtime comes without an archive of Java's own classes
_AOT_SINCE: Final = 25
_TRAINING: Final = "roost.pipeline.training"


def folders() -> list[Path]:
    """Where an archive may be, best first."""
    cache = os.environ.get("XDG_CACHE_HOME")
    shared = (Path(cache) if cache else Path.home() / ".cache") / "roost"
    own = sys.prefix != sys.base_prefix
    return [Path(sys.prefix) / "cache" / "roost", shared] if own else [shared]


def writable() -> Path | None:
    """Give the best folder in which an archive can be made, and make that."""
    for folder in folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None


def file_name(java: Java) -> str:
    """Name the archive for this Java and this installation of PySpark."""
    installation = hashlib.sha256(f"{java.home}\n{Path(pyspark.__file__).parent}".encode()).hexdigest()[:12]
    kind = _AOT if int(java.version.split(".")[0]) >= _AOT_SINCE else _CDS
    return f"spark-{pyspark.__version__}-java-{java.version}-{installation}{kind}"


def existing(java: Java) -> Path | None:
    """Give the archive, if there is one."""
    return next((path for folder in folders() if (path := folder / file_name(java)).is_file()), None)


def options(archive: Path | None) -> str:
    """Tell a JVM to use an archive."""
    if archive is None:
        return ""
    use = f"-XX:AOTCache={archive}" if archive.suffix == _AOT else f"-XX:SharedArchiveFile={archive} -Xshare:auto"
    return f"{use} -XX:+VerifySharedSpaces {_QUIET}"


def draft_options(draft: Path) -> str:
    """Tell a JVM to write an archive when it exits."""
    return f"-XX:{'AOTCacheOutput' if draft.suffix == _AOT else 'ArchiveClassesAtExit'}={draft} {_QUIET}"


def notes(java: Java) -> list[Path]:
    """Where a training that failed has said why; it is not tried again in the background while one is there."""
    return [folder / f"{file_name(java)}.failed" for folder in folders()]


def train_later(java: Java) -> None:
    """Begin to train in the background, unless it has been tried in vain; for the end of a process."""
    if existing(java) or writable() is None or any(note.exists() for note in notes(java)):
        return
    subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-m", _TRAINING],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
