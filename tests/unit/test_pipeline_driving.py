"""The driver's side closes what it has opened, also where it fails half way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from roost.errors import Unreachable
from roost.host.background import Closing
from roost.host.stretch_access import Access
from roost.pipeline.driving import Driving, Narrow
from roost.pipeline.input import Input
from roost.pipeline.options import SourceOptions
from roost.pipeline.place import Run

OPTIONS = SourceOptions.read(
    {"inputs": json.dumps([json.loads(Input("/g", name=name).to_json()) for name in ("one", "two")])}
)


class Looking(Closing):
    """A view of two readings of a stream."""

    def __init__(self) -> None:
        self.closed = 0

    def numbers(self) -> Mapping[str, int]:
        return {"P/d/m": 2}

    def holes(self) -> Mapping[str, Sequence[Run]]:
        return {}

    def boundaries(self, time_ns: int) -> Mapping[str, int]:
        return {"P/d/m": 1 if time_ns <= 0 else 3}

    def times(self, stream: str, low: int, high: int) -> Mapping[int, int]:
        raise NotImplementedError

    def close(self) -> None:
        self.closed += 1


def test_views_are_closed_with_their_driver_also_when_they_are_frozen() -> None:
    views: dict[str, Looking] = {}

    def look(_: Access, wanted: Input) -> Looking:
        return views.setdefault(wanted.name, Looking())

    with Driving(OPTIONS, look) as driving:
        (units,) = driving.stretch(Narrow())
        assert sum(unit.rows for unit in units) == 4
        driving.freeze()
        assert [view.closed for view in views.values()] == [0, 0]
    driving.close()
    assert [view.closed for view in views.values()] == [1, 1]


def test_when_one_group_cannot_be_reached_the_views_of_others_are_closed() -> None:
    first = Looking()

    def look(_: Access, wanted: Input) -> Looking:
        if wanted.name == "two":
            raise Unreachable("no repo")
        return first

    with pytest.raises(Unreachable):
        Driving(OPTIONS, look)
    assert first.closed == 1
