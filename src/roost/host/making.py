"""A new key store, whole or not at all: built in a hidden folder of its home, put in its place by renames.

    <home>/.init   being built: of no use to anyone, swept away by whoever makes a store next
    <home>/.made   built and on disk: only moves into its place are left, `schema.lvs` last; `finish` does the rest

The home itself cannot be renamed into place, because a node's socket may be in it already. A lock on it, which ends
with its process, keeps two makers apart.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roost.errors import BadConfig
from roost.host.keystore import KeyStore, sync_directory

PARTS: Final = ("anchors", "certificates", "keys", "schema.lvs")  # in this order: without its schema it is no store

_BUILT_IN: Final = ".init"
_MADE: Final = ".made"


@contextlib.contextmanager
def new_store(home: Path) -> Iterator[KeyStore]:
    """Fill a new key store; it is there when the block ends, and nothing of it is when the block is left otherwise."""
    there_before = home.exists()
    with _locked(home):
        _refuse_existing(home)
        home.chmod(0o700)
        building = home / _BUILT_IN
        shutil.rmtree(building, ignore_errors=True)
        try:
            building.mkdir(mode=0o700)
            store = KeyStore(building)
            store.create()
            yield store
            sync_directory(building)
            building.rename(home / _MADE)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            if not there_before:
                with contextlib.suppress(OSError):
                    home.rmdir()
            raise
        _move(home)


def finish(home: Path) -> bool:
    """Finish what was made and not put in its place, the machine having stopped in between; whether there was any."""
    if not (home / _MADE).exists():
        return False
    with _locked(home):
        _move(home)
    return True


def _move(home: Path) -> None:
    made = home / _MADE
    sync_directory(home)
    for part in PARTS:
        with contextlib.suppress(FileNotFoundError):  # it has been moved before
            (made / part).rename(home / part)
    sync_directory(home)
    made.rmdir()


def _refuse_existing(home: Path) -> None:
    for path in (home / _MADE, *[home / part for part in PARTS]):
        if path.is_file() or (path.is_dir() and any(path.iterdir())):
            raise BadConfig(
                f"{home} already holds keys: `roost up` runs its node; one more key there, as of another repo, is made "
                "by `roost key make GROUP/Repo/Repo2`; for a new home name another directory with ROOST_HOME, or move "
                "this one away"
            )


@contextlib.contextmanager
def _locked(home: Path) -> Iterator[None]:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise BadConfig(f"{home} cannot be used: {error.strerror}; name another directory with ROOST_HOME") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadConfig(f"another `roost init` is at work in {home}; wait for it") from None
        yield
    finally:
        os.close(descriptor)
