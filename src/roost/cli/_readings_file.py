"""Readings that an author has in a file, to test macros on: JSON lines, or CSV. What is wrong is told with its line.

    {"topic": "home/tempF", "time": "2026-05-01T08:00:00Z", "value": 162.5, "unit": "F"}
    {"topic": "home/tempF", "time": 1777622401000000000, "payload": "163.1"}

    topic,time,value
    home/tempF,2026-05-01T08:00:00Z,162.5

A time is ISO 8601, in UTC unless it says otherwise, or nanoseconds since 1970; a reading without one comes a second
after the one before it. A `value` is taken as it is, a `payload` is read as one that came over MQTT. The values of CSV
are payloads; the columns `unit` and `quality` may follow. Which form it is, the first character says: `{` is JSON.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Final

from roost.errors import BadConfig, BadTopic
from roost.machine import SECOND
from roost.naming.topic import name_of_topic
from roost.process.parsing import sample_of
from roost.process.sample import GOOD, Sample
from roost.wire.values import format_of

BEGIN: Final = 1_767_225_600 * SECOND  # 2026-01-01, for a file that has no times
_KEYS: Final = ("topic", "time", "value", "payload", "unit", "quality")
_COLUMNS: Final = ("topic", "time", "value", "unit", "quality")
_NEEDED: Final = 3  # of the columns
_NANOSECONDS: Final = re.compile(r"\d{1,19}")
_MOST: Final = 2**63
_SPACE: Final = "\ufeff \t\r\n"  # a byte order mark is one


def read_readings(lines: Iterable[str]) -> Iterator[Sample]:
    """Read a file's lines; raises `BadConfig` with the line and what to write."""
    rest = iter(lines)
    begun: list[str] = []
    for line in rest:
        begun.append(line)
        if line.strip(_SPACE):
            break
    every = chain(begun, rest)
    is_json = begun and begun[-1].lstrip(_SPACE).startswith("{")
    time = BEGIN - SECOND
    for number, said in _objects(every) if is_json else _rows(every):
        try:
            sample = _sample(said, time + SECOND)
        except (BadConfig, BadTopic) as error:
            raise BadConfig(f"line {number}: {error}") from None
        time = sample.time
        yield sample


def _objects(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, object]]]:
    for number, line in enumerate(lines, 1):
        if not line.strip(_SPACE):
            continue
        try:
            said = json.loads(line.lstrip("\ufeff"))
        except (ValueError, RecursionError) as error:
            raise BadConfig(f"line {number}: it is no JSON ({error}); write one object per line") from None
        if not isinstance(said, dict):
            raise BadConfig(f'line {number}: write an object such as {{"topic": "home/tempF", "value": 162.5}}')
        yield number, said


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, object]]]:
    reader = csv.reader(lines, strict=True)
    columns: tuple[str, ...] = _COLUMNS
    begun = False
    try:
        for row in reader:
            if not any(each.strip(_SPACE) for each in row):
                continue
            is_first, begun = not begun, True
            if is_first and row[0].strip(_SPACE).lower() == "topic":
                columns = _header(row, reader.line_num)
                continue
            if not _NEEDED <= len(row) <= len(columns):
                raise BadConfig(f"line {reader.line_num}: it has {len(row)} columns; write {','.join(columns)}")
            said: dict[str, object] = dict(zip(columns, row, strict=False))
            said["payload"] = said.pop("value")
            yield reader.line_num, said
    except csv.Error as error:
        raise BadConfig(f"line {reader.line_num}: it is no CSV: {error}") from None


def _header(row: list[str], line: int) -> tuple[str, ...]:
    columns = tuple(each.strip(_SPACE).lower() for each in row)
    if len({*columns}) < len(columns) or not {*_COLUMNS[:_NEEDED]} <= {*columns} <= {*_COLUMNS}:
        raise BadConfig(
            f"line {line}: the columns are topic, time and value, maybe unit and quality, not {', '.join(row)}"
        )
    return columns


def _sample(said: dict[str, object], usual: int) -> Sample:
    for key in said:
        if key not in _KEYS:
            raise BadConfig(f"a reading has no {key!r}; it has {', '.join(_KEYS)}")
    texts = {key: said.get(key, usual_text) for key, usual_text in (("topic", ""), ("unit", ""), ("quality", ""))}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise BadConfig(f"{key} is text, not {text!r:.40}")
    topic, unit, quality = str(texts["topic"]), str(texts["unit"]), str(texts["quality"])
    name_of_topic(topic)
    if ("value" in said) == ("payload" in said):
        raise BadConfig("a reading has a value, or a payload")
    time = _time(said.get("time"), usual)
    if "value" in said:
        return Sample(topic, time, said["value"], unit, quality or GOOD)  # type: ignore[arg-type]  # JSON gave it
    payload = said["payload"]
    if not isinstance(payload, str):
        raise BadConfig(f"payload is text, not {payload!r:.40}; a value can be anything")
    content = payload.encode()
    parsed = sample_of(topic, time, format_of(content), content)
    return parsed._replace(unit=unit or parsed.unit, quality=quality or parsed.quality)


def _time(said: object, usual: int) -> int:
    if said is None or said == "":
        return usual
    if isinstance(said, str) and _NANOSECONDS.fullmatch(said):
        said = int(said)
    if isinstance(said, int) and not isinstance(said, bool):
        time = said
    else:
        try:
            when = datetime.fromisoformat(str(said).strip())
        except ValueError:
            raise BadConfig(
                f"time {said!r:.40} is none: write 2026-05-01T08:00:00Z, or nanoseconds since 1970"
            ) from None
        passed = (when if when.tzinfo is not None else when.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
        time = ((passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds) * 1000
    if not 0 <= time < _MOST:
        raise BadConfig(f"time {said!r:.40} is before 1970, or too far ahead")
    return time
