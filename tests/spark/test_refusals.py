"""Who may not read or write is refused and told why; what may not be believed is no value; nothing is overwritten."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from tests.pipeline_world import COMPANY, JOB, RAW, ROOMS, SECOND, RepoProcess, World

from roost.host.keystore import KeyStore
from roost.host.stretches import StretchReader
from roost.naming import Name
from roost.naming.building import numbered
from roost.pipeline.options import SourceOptions
from roost.pipeline.publishing import Publisher, SinkOptions
from roost.pipeline.rows import Rows
from roost.pipeline.units import Unit
from roost.trust import Recipient, Sealer, building_rules, generate, self_sign
from roost.wire import Data, make_data
from roost.wire.reading import SENML_CBOR, Reading
from roost.wire.senml import Value, encode_values

BEGIN = 1_700_000_040 * SECOND  # a whole minute
COUNT = 7
FORGED = 3


def _time(number: int) -> int:
    return BEGIN + (number - 1) * 10 * SECOND


def _sealed(world: World) -> list[Data]:
    """Readings that the job may open, and nobody else, with the keys to do so."""
    stream = RAW.name + Name.parse("/P1/safe/power")
    signer = world.identities[RAW.panel("P1").name].signer
    sealer = Sealer(stream, os.urandom)
    sealer.authorise(Recipient(world.identities[ROOMS.panel(JOB).name].key.public.spki))
    made: list[Data] = []
    for number in (1, 2):
        content = Reading(_time(number), SENML_CBOR, encode_values([Value(number * 1.5, "W")])).encode()
        sealed = sealer.seal(numbered(stream, number), content, time.time_ns())
        made += [make_data(key.name, key.content, signer) for key in sealed.keys]
        made.append(make_data(numbered(stream, number), sealed.content, signer, freshness_ms=1000))
    return made


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("world"))
    readings = [world.reading("P1/d1/power", number, float(number), _time(number)) for number in range(1, COUNT + 1)]
    forged = world.packet("P1/d1/power", FORGED, readings[FORGED - 1].content, panel="P2")
    world.fill("Repo1", [*readings[: FORGED - 1], forged, *readings[FORGED:], *_sealed(world)])
    return world


@pytest.fixture(scope="module")
def repo(world: World) -> Iterator[RepoProcess]:
    with world.repo() as repo:
        yield repo


@pytest.fixture
def options(world: World, repo: RepoProcess) -> dict[str, str]:
    return {"group": str(RAW.name), "repos": repo.uri, "home": str(world.home(JOB)), "timeout": "3"}


def _read(spark: SparkSession, options: dict[str, str], **more: str) -> list[Row]:
    return spark.read.format("roost").options(**{**options, **more}).load().orderBy("stream", "seq").collect()


# -- what is read


def test_a_forged_reading_is_no_value_and_is_missing_in_its_window(
    spark: SparkSession, options: dict[str, str]
) -> None:
    rows = {row.seq: row for row in _read(spark, options, subscribe="P1/d1/power", verify="always")}
    refused = rows.pop(FORGED)
    assert (refused.quality, refused.value, refused.payload, refused.verified) == ("refused", None, None, False)
    assert {(row.quality, row.value == row.seq, row.verified) for row in rows.values()} == {("good", True, True)}
    windows = spark.read.format("roost").options(**options, subscribe="P1/d1/power", verify="always", window="1m")
    first = windows.load().where(f"window_start = timestamp_micros({BEGIN // 1000})")
    (found,) = first.agg(f.sum("expected"), f.sum("received"), f.sum("value")).collect()
    assert tuple(found) == (6, 5, 1.0 + 2 + 4 + 5 + 6)


def test_a_job_that_trusts_another_company_gets_no_value(
    spark: SparkSession, options: dict[str, str], tmp_path: Path
) -> None:
    foreign = KeyStore(tmp_path / "foreign")
    foreign.create()
    foreign.save_anchor(self_sign(generate(COMPANY.root.name, secrets.token_bytes), time.time_ns()).certificate)
    foreign.save_schema(building_rules(COMPANY))
    options |= {"home": str(foreign.home), "verify": "always", "timeout": "1"}
    with pytest.raises(PySparkException, match=f"no repo of {RAW.name} answered .* or none that {foreign.home} trusts"):
        _read(spark, options)
    # Nor would it believe the readings, if it knew of them.
    read = SourceOptions.read(options)
    with StretchReader(read.access) as reader:
        unit = Unit(read.inputs[0].name, "P1/d1/power", 1, COUNT)
        (batch,) = Rows({wanted.name: wanted for wanted in read.inputs}, windowed=False).read([unit], reader)
    assert batch.column("quality").to_pylist() == ["refused"] * COUNT
    assert batch.column("value").null_count == batch.column("payload").null_count == COUNT


def test_a_job_without_an_anchor_is_told_so(spark: SparkSession, options: dict[str, str], tmp_path: Path) -> None:
    bare = KeyStore(tmp_path / "bare")
    bare.create()
    with pytest.raises(PySparkException, match="anchor"):
        _read(spark, options, home=str(bare.home), verify="always", subscribe="P1/d1/power")


def test_sealed_readings_have_values_for_who_has_the_key_only(
    spark: SparkSession, world: World, options: dict[str, str]
) -> None:
    mine = _read(spark, options, subscribe="P1/safe/power", verify="always")
    assert [(row.quality, row.value, row.unit) for row in mine] == [("good", 1.5, "W"), ("good", 3.0, "W")]
    others = _read(spark, options, subscribe="P1/safe/power", verify="always", home=str(world.home("Repo2")))
    assert [(row.quality, row.value, row.received) for row in others] == [("sealed", None, 0)] * 2


# -- what is written


def _results(spark: SparkSession, value: object, number: int = 1, **more: object) -> DataFrame:
    row = {
        "output": "d1/power",
        "number": number,
        "event_time": datetime(2026, 5, 1, tzinfo=UTC),
        "value": value,
        "inputs": [{"stream": f"{RAW.name}/P1/d1/power", "low": 1, "high": 6}],
    }
    made = {name: cell for name, cell in {**row, **more}.items() if cell is not None}
    return spark.createDataFrame(pa.Table.from_pylist([made]))


def _write(rows: DataFrame, options: dict[str, str], **more: str) -> None:
    sink = {**options, "group": str(ROOMS.name), "panel": JOB, **more}
    rows.write.format("roost").options(**sink).mode("append").save()


def test_a_job_without_the_panels_key_is_refused_and_told_which_it_needs(
    spark: SparkSession, world: World, repo: RepoProcess, options: dict[str, str]
) -> None:
    with pytest.raises(PySparkException, match=f"NoKey.*{ROOMS.name}/{JOB}"):
        _write(_results(spark, 1.0), options, home=str(world.home("panels")))
    assert world.published(repo, ROOMS) == {}


def test_rows_that_lack_a_column_are_an_error_that_names_it(spark: SparkSession, options: dict[str, str]) -> None:
    with pytest.raises(PySparkException, match="the rows have no column event_time"):
        _write(_results(spark, 1.0).drop("event_time"), options)
    with pytest.raises(PySparkException, match="the rows have no column number"):
        _write(_results(spark, 1.0).drop("number"), options)
    with pytest.raises(PySparkException, match="column number is an integer, not string"):
        _write(_results(spark, 1.0).withColumn("number", f.lit("one")), options)


def test_another_content_under_a_known_name_is_an_alarm_and_never_overwritten(
    spark: SparkSession, world: World, repo: RepoProcess, options: dict[str, str]
) -> None:
    _write(_results(spark, 5.0), options, onConflict="fail")
    _write(_results(spark, 5.0), options, onConflict="fail")
    before = world.published(repo, ROOMS)
    assert len(before) == 1
    with pytest.raises(PySparkException, match="another content is published already"):
        _write(_results(spark, 6.0), options, onConflict="fail")
    _write(_results(spark, 6.0).union(_results(spark, 7.0, number=2)), options)
    assert {name: before.get(name) for name in before} == before
    after = world.published(repo, ROOMS)
    assert before.items() < after.items()
    assert [reading.value for reading in world.read(repo, ROOMS, f"{JOB}/d1/power")] == [5.0, 7.0]
    sink = SinkOptions.read({**options, "group": str(ROOMS.name), "panel": JOB})
    report = Publisher(sink).publish(_results(spark, 6.0).toArrow().combine_chunks().to_batches()[0])
    assert (report.conflicts, report.kept) == (1, 0)
    assert "d1/power" in report.alarms[0]
