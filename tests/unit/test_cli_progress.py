"""How far something long has come: on a terminal, in a file, and not at all where it is quick."""

from __future__ import annotations

from io import StringIO

from roost.cli._progress import Progress


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
