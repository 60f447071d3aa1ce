"""The view of a group, with a watch that is made up: what it asks, and that it leaves nothing open."""

from __future__ import annotations

import pytest

from roost.errors import Unreachable
from roost.host.stretch_access import Access
from roost.naming import Name
from roost.pipeline import watching
from roost.pipeline.input import Input
from roost.pipeline.watching import GroupView, wishes_of

GROUP = "/Big/B1/Raw"
POWER, CURRENT = (Name.parse(f"{GROUP}/P1/d1/{metric}") for metric in ("power", "current"))


class Watch:
    """A watch of one stream; stands for the face and for the group that it is made by as well."""

    def __init__(self, *, answers: bool = True) -> None:
        self.answers = answers
        self.closed = False
        self.risen: list[dict[Name, int]] = [{POWER: 8, CURRENT: 3}, {POWER: 9}]
        self.asked: list[tuple[Name, int, int]] = []

    def group(self, _: str) -> Watch:
        return self

    def watch(self, *_: str) -> Watch:
        return self

    def ready(self, _: float) -> bool:
        return self.answers

    def news(self) -> dict[Name, int]:
        return self.risen.pop(0) if self.risen else {}

    def times(self, stream: Name, low: int, high: int) -> dict[int, int]:
        self.asked.append((stream, low, high))
        return {low: 100, high: 200}

    def close(self) -> None:
        self.closed = True


def _look(monkeypatch: pytest.MonkeyPatch, watch: Watch) -> GroupView:
    monkeypatch.setattr(watching, "face_of", lambda _: watch)
    return GroupView(Access(), Input(GROUP))


def test_where_no_repo_answers_nothing_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(answers=False)
    with pytest.raises(Unreachable, match=f"no repo of {GROUP} answered"):
        _look(monkeypatch, watch)
    assert watch.closed


def test_a_view_stays_open_until_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch()
    with _look(monkeypatch, watch) as view:
        assert view.numbers() == {"P1/d1/power": 8, "P1/d1/current": 3}
        assert view.numbers() == view.numbers() == {"P1/d1/power": 9, "P1/d1/current": 3}
        assert not watch.closed
    assert watch.closed


def test_the_times_of_a_run_are_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch()
    assert _look(monkeypatch, watch).times("P1/d1/power", 3, 8) == {3: 100, 8: 200}
    assert watch.asked == [(POWER, 3, 8)]


def test_windows_watch_what_corrects_their_streams_too() -> None:
    assert wishes_of(Input(GROUP, ("P1/d1/power", "P2/#"))) == ["P1/d1/power", "P2/#"]
    assert wishes_of(Input(GROUP, ("P1/d1/power", "P2/#"), window_ns=1000)) == [
        "P1/d1/power",
        "P2/#",
        "P1/d1/power.corrections",
    ]
