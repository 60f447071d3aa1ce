"""`roost mqtt reload`: SIGHUP to the broker that has a store, and its answer, which comes in a file of that store.

The answer has the time when the broker began to read its files, on the clock that all processes of a machine share, so
whoever asks knows an answer to an earlier signal from its own. A broker without a folder has nowhere to put one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Final

from roost.errors import BadConfig
from roost.host.keystore import write_file
from roost.host.mqtt.rows import owner_of

ANSWER_S: Final = 30.0

_FILE: Final = "reloaded"
_LOOK_S: Final = 0.05
_DONE: Final = "done"
_REFUSED: Final = "refused"


def forget_answers(store: Path | None) -> None:
    """At the start: an answer from before the machine started has a time of another clock."""
    if store is not None:
        (store / _FILE).unlink(missing_ok=True)


def answer(store: Path | None, began: int, said: str, *, done: bool) -> None:
    """Say what came of a reload that began then; a disk that is full keeps no broker from reloading."""
    if store is not None:
        with contextlib.suppress(BadConfig):
            write_file(store / _FILE, f"{began} {_DONE if done else _REFUSED}\n{said}".encode())


def request(store: Path | None, answer_s: float = ANSWER_S) -> str:
    """Have the broker of this store reload; what it says. Raises `BadConfig` if it refuses or cannot be asked."""
    if store is None:
        raise BadConfig(
            "a broker with its store in memory cannot be found by it: send SIGHUP to its process, as in: "
            "kill -HUP PROCESS (pgrep -f 'roost mqtt' shows it); it answers on its standard error"
        )
    process = owner_of(store)
    if process is None:
        raise BadConfig(
            f"no node or broker has its store in {store}: start it, or name the configuration of one that runs with "
            "-c FILE (of `roost mqtt`, its folder with --store DIR)"
        )
    asked = time.monotonic_ns()
    try:
        os.kill(process, signal.SIGHUP)
    except PermissionError:
        raise BadConfig(f"process {process} belongs to somebody else: run this as the user who runs it") from None
    limit = time.monotonic() + answer_s
    while time.monotonic() < limit:
        heard = _answer_since(store, asked)
        if heard is not None:
            done, said = heard
            if not done:
                raise BadConfig(f"process {process} refuses: {said}")
            return f"process {process}: {said}"
        if owner_of(store) != process:
            raise BadConfig(f"process {process} ended without an answer: see its standard error")
        time.sleep(_LOOK_S)
    raise BadConfig(
        f"process {process} has not answered in {answer_s:g} s: see its standard error, where it says what came of it"
    )


def _answer_since(store: Path, asked: int) -> tuple[bool, str] | None:
    try:
        head, _, said = (store / _FILE).read_text(encoding="utf-8").partition("\n")
    except OSError:
        return None
    began, _, outcome = head.partition(" ")
    return (outcome == _DONE, said) if began.isdigit() and int(began) >= asked else None
