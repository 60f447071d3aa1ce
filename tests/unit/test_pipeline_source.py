"""Readers as Spark calls them, without Spark: trouble with repos ends no query, a batch read leaves nothing open."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows

from roost.errors import Backpressure, BadConfig, NoKey, RoostError, Unreachable, Untrusted
from roost.pipeline import driving, offsets
from roost.pipeline.driving import Narrow
from roost.pipeline.options import SourceOptions
from roost.pipeline.place import Place
from roost.pipeline.source import BatchReader, StreamReader, UnitPartition
from roost.pipeline.units import Unit

OPTIONS = {"group": "/Big/B1/Raw"}
LIMIT = ReadMaxRows(10)


class Driving:
    """Stands for the driver's side: says what it is told to, or raises it."""

    opened = 0
    answers: list[RoostError | dict[str, Place]]

    def __init__(self, _: SourceOptions) -> None:
        Driving.opened += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Driving.opened -= 1

    def advance(self, _: Mapping[str, Place], __: int | None) -> Any:  # noqa: ANN401  an offset
        answer = Driving.answers.pop(0)
        if isinstance(answer, RoostError):
            raise answer
        return answer

    def stretch(self, _: Narrow) -> list[list[Unit]]:
        if Driving.answers:
            self.advance({}, None)
        return [[Unit("readings", "P/d/m", 1, 2)]]


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driving, "Driving", Driving)
    Driving.opened = 0
    Driving.answers = []


def test_trouble_with_repos_leaves_the_offset_where_it_is_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    reader = StreamReader(OPTIONS)
    start = offsets.to_json({"readings": Place(numbers={"P/d/m": 1})})
    after = {"readings": Place(numbers={"P/d/m": 2})}
    troubles: list[RoostError] = [Unreachable("away"), Untrusted("whose?"), Backpressure("too much", 100)]
    Driving.answers = [troubles[0], *troubles, after, troubles[0]]
    for _ in range(4):
        assert reader.latestOffset(start, LIMIT) == start
    assert [record.args for record in caplog.records] == [(trouble,) for trouble in troubles]
    assert reader.latestOffset(start, LIMIT) == offsets.to_json(after)
    assert reader.latestOffset(start, LIMIT) == start
    assert len(caplog.records) == 4, "told again when it comes again"


def test_what_waiting_would_not_mend_ends_the_query() -> None:
    with pytest.raises(BadConfig, match="checkpoint"):
        StreamReader(OPTIONS).latestOffset({"v": 17}, LIMIT)
    Driving.answers = [NoKey("no home")]
    with pytest.raises(NoKey):
        StreamReader(OPTIONS).latestOffset(offsets.to_json({}), LIMIT)


def test_tasks_get_a_reader_without_the_drivers_side() -> None:
    reader = StreamReader(OPTIONS)
    assert reader.driving is reader.driving
    assert pickle.loads(pickle.dumps(reader))._driving is None


def test_a_batch_read_closes_what_it_has_looked_at() -> None:
    (partition,) = BatchReader(OPTIONS).partitions()
    assert isinstance(partition, UnitPartition)
    assert [unit.high for unit in partition.units] == [2]
    assert Driving.opened == 0
    Driving.answers = [Unreachable("away")]
    with pytest.raises(Unreachable):
        BatchReader(OPTIONS).partitions()
    assert Driving.opened == 0
