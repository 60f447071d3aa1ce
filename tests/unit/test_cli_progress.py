"""How far something long has come: on a terminal, in a file, and not at all where it is quick."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator
from io import StringIO
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from roost.cli._progress import Progress, progress_of
from roost.cli._watched import WatchedChecker, WatchedSource, ticking
from roost.naming import Name
from roost.trust.acceptance import AcceptAny

if TYPE_CHECKING:
    from roost.pipeline.archive.ports import Source
    from roost.wire import Data


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_is_quick_is_not_told() -> None:
    stream = Terminal()
    assert list(Progress(stream, Clock()).over(range(1000), "readings", 1000)) == list(range(1000))
    assert stream.getvalue() == ""


def test_a_terminal_shows_one_line_that_is_wiped_in_the_end() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress(stream, clock)
    clock.now = 2.0
    progress.say(1234, "readings", 5000)
    progress.say(1235, "readings", 5000)
    assert stream.getvalue() == "\r\x1b[K1,234 of 5,000 readings"
    progress.end()
    progress.end()
    assert stream.getvalue().endswith("readings\r\x1b[K")


def test_elsewhere_there_is_a_line_per_tenth() -> None:
    stream, clock = StringIO(), Clock()
    progress = Progress(stream, clock)
    clock.now = 2.0
    for done in (50, 120, 150, 330):
        progress.say(done, "readings", 1000)
    progress.say(7, "readings read")
    assert stream.getvalue() == "120 of 1,000 readings\n330 of 1,000 readings\n"


def test_a_bar_shows_the_share_that_is_done() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress(stream, clock, with_bar=True)
    clock.now = 2.0
    progress.say(3, "readings", 4)
    assert stream.getvalue() == f"\r\x1b[K[{'█' * 18}{'·' * 6}] 3 of 4 readings"
    clock.now = 3.0
    progress.say(5, "packets")
    assert stream.getvalue().endswith("\r\x1b[K5 packets")


@pytest.mark.parametrize(
    ("error", "output", "as_json", "told"),
    [
        (Terminal(), StringIO(), False, True),
        (Terminal(), Terminal(), False, False),
        (Terminal(), StringIO(), True, False),
        (StringIO(), StringIO(), False, False),
    ],
    ids=["terminal", "output there too", "json", "no terminal"],
)
def test_a_verb_tells_its_progress_on_a_terminal_only(
    error: StringIO, output: StringIO, as_json: bool, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setattr("roost.cli._progress._QUICK_S", 0.0)
    progress = progress_of(argparse.Namespace(json=as_json), output)
    progress.say(1, "readings", 2)
    assert bool(error.getvalue()) == told


class Stretches:
    """A source of four readings in two pieces."""

    def read(self, _: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(packets=[1, 2, 3])
        yield SimpleNamespace(packets=[4])


def test_what_is_read_and_checked_on_its_way_is_counted() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress(stream, clock)
    clock.now = 2.0
    source = WatchedSource(cast("Source", Stretches()), progress)
    stretches = [(Name.parse("/G/P/D/M"), 1, 4)]
    shown = []
    for _ in source.read(stretches):
        clock.now += 1.0
        shown.append(stream.getvalue())
    assert shown == ["", "\r\x1b[K3 of 4 readings"]
    clock.now += 1.0
    checker = WatchedChecker(AcceptAny(), progress, 9)
    checker.check(cast("Data", None), 0)
    assert stream.getvalue().endswith("1 of 9 readings")


def test_what_cannot_tell_is_asked_now_and_then() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress(stream, clock)
    clock.now = 2.0
    asked = threading.Event()

    def done() -> int:
        asked.set()
        return 7

    with ticking(progress, done, "readings", every_s=0.001):
        assert asked.wait(30)
    assert "7 readings" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")
