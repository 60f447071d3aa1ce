"""Windows computed exactly, second pass: from what each stream has to what each key has, and to results.

It is done on the driver, by DuckDB: what comes from the first pass is small, all of it is numbered here anyway, and a
question takes milliseconds where one to Spark takes half a second. Outputs are SQL of DuckDB's therefore, which differs
little; a division by zero gives no value.

Sums become doubles by way of their text, which is the nearest double there is, whoever computes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import duckdb
import pyarrow as pa

from roost.columns.readings import GOOD, UNCERTAIN, WITH_SUMS
from roost.errors import BadConfig
from roost.machine import SECOND
from roost.pipeline.graph import ONLY, Stage
from roost.pipeline.operations import WORDS, Aggregate, Expressions
from roost.pipeline.results import RESULT, Tables, is_unit_of_inputs
from roost.pipeline.stages_names import FIELD, OUTPUT, fields_of, filled, taken_apart
from roost.pipeline.stages_windows import PARTIAL, WINDOW, expressions_of
from roost.pipeline.sums import first_line

_COPIED: Final = ("correction", "expected", "received", "missing", "open", "inputs")
_ABSENT: Final = "{'name': concat_ws('/', panel, device, metric), 'absent': absent}"
_KEYS: Final = ", ".join(f'"{name}"' for name in WINDOW)


def aggregated(parts: pa.Table, stage: Stage, tables: Tables) -> pa.Table:
    """The results of a stage that aggregates, from its partial rows; `number` is the window."""
    expressions, outputs = expressions_of(stage)
    made = [f'try_cast(({text}) as double) as "value_{at}"' for at, text in enumerate(outputs.values())]
    keyed = totals(parts, stage, tables, expressions, made)
    found = []
    for at, output in enumerate(outputs):
        unit = _unit(keyed, stage.unit_of(output))
        found.append(_results(keyed, stage, [output] * len(keyed), keyed[f"value_{at}"].to_pylist(), unit, None))
    return pa.concat_tables(found) if found else RESULT.empty_table()


def check_outputs(stage: Stage, tables: Tables) -> None:
    """See that the outputs of a stage can be computed; raises `BadConfig`."""
    nothing = pa.schema([WITH_SUMS.field(name) for name in PARTIAL]).empty_table()
    try:
        aggregated(nothing, stage, tables)
    except duckdb.Error as error:
        _, outputs = expressions_of(stage)
        said = ", ".join(f"{output}: {text}" for output, text in outputs.items())
        raise BadConfig(f"its outputs ({said}) cannot be computed: {first_line(error)}") from None


def completed(said: pa.Table, parts: pa.Table, stage: Stage, tables: Tables) -> pa.Table:
    """The results of windows for which somebody said values, by `key, window, correction`: SQL, or a function.

    A window without a value is a result all the same; where values have names of their own, nobody knows which.
    """
    keyed = totals(parts, stage, tables, Expressions(), [])
    place = {
        tuple(row.values()): at for at, row in enumerate(keyed.select(["key", "window", "correction"]).to_pylist())
    }
    rows = [row for row in said.to_pylist() if (row["key"], row["window"], row["correction"]) in place]
    at = [place[row["key"], row["window"], row["correction"]] for row in rows]
    if OUTPUT not in said.column_names:
        left = sorted({*place.values()} - {*at})
        rows += [{} for _ in left]
        at += left
    chosen = keyed.take(pa.array(at, pa.int64()))
    follows = _unit(chosen, stage.unit_of(ONLY))
    units = [row.get("unit") or unit for row, unit in zip(rows, follows, strict=True)]
    outputs = [str(row.get(OUTPUT) or ONLY) for row in rows]
    return _results(
        chosen, stage, outputs, [row.get("value") for row in rows], units, [row.get("quality") for row in rows]
    )


def totals(parts: pa.Table, stage: Stage, tables: Tables, expressions: Expressions, made: Sequence[str]) -> pa.Table:
    """What each key's window has: aggregates, those of its parts, counts, inputs; and what is `made` of that."""
    operation = stage.operation
    scope, counted = (operation.scope, operation.counted) if isinstance(operation, Aggregate) else ("", "")
    scoped = parts.append_column("scope", pa.array(_scopes(parts, stage, scope, tables), pa.string()))
    fields = [field.name for field in fields_of(stage.key)]
    keys = parts["key"].to_pylist()
    apart = {key: taken_apart(stage.key, key) for key in dict.fromkeys(keys)}
    for name in fields:
        scoped = scoped.append_column(f"key_{name}", pa.array([apart[key].get(name) for key in keys], pa.string()))
    is_counted = f"scope = {_text(counted)}" if counted else "true"
    columns = [
        *_words("", "true"),
        *(word for part in expressions.parts for word in _words(f"{part}__", f"scope = {_text(part)}")),
        *(f"sum(matches[{at + 1}])::bigint as where_{at}" for at in range(len(expressions.conditions))),
        *(f'any_value("key_{name}") as "{name}"' for name in fields),
        f'sum(case when {is_counted} then "expected" else lost end)::bigint as "expected"',
        f'sum(case when {is_counted} then "received" else 0 end)::bigint as "received"',
        'sum("open")::bigint as "open"',
        "sum(doubtful)::bigint as doubtful",
        "list_sort(list({'stream': stream, 'low': low, 'high': high}) filter (low is not null)) as inputs",
        f'list({_ABSENT} order by stream, "input") filter (len(absent) > 0) as absent',
    ]
    length_s, interval_s = stage.window_ns / SECOND, stage.interval_ns / SECOND
    structs = [f'{_struct(part)} as "{part}"' for part in expressions.parts]
    derived = [
        *structs,
        'case when "count" > 0 then "sum" / "count" end as "mean"',
        f'"sum" * {interval_s} / 3600 as energy',
        '"expected" - "received" as "missing"',
        f"{length_s}::double as window_s, {length_s / 3600}::double as hours, {interval_s}::double as interval_s",
    ]
    # What is pasted in here is the pipeline's own text: its author may ask what he likes.
    inner = f"select {_KEYS}, {', '.join(columns)} from scoped group by {_KEYS}"  # noqa: S608  as said
    middle = f"select *, {', '.join(derived)} from ({inner})"  # noqa: S608
    outer = f"select {', '.join(['*', *made])} from ({middle}) order by {_KEYS}"  # noqa: S608
    with duckdb.connect() as database:
        database.register("scoped", scoped)
        found: pa.Table = database.sql(outer).to_arrow_table()
    return found


def _words(prefix: str, condition: str) -> list[str]:
    only = f"filter ({condition})"
    return [
        f'(sum("sum") {only})::varchar::double as "{prefix}sum"',
        f'coalesce(sum("count") {only}, 0)::bigint as "{prefix}count"',
        f'min("min") {only} as "{prefix}min"',
        f'max("max") {only} as "{prefix}max"',
        f'min(unit_low) {only} as "{prefix}unit_low"',
        f'max(unit_high) {only} as "{prefix}unit_high"',
    ]


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _struct(part: str) -> str:
    mean = f'case when "{part}__count" > 0 then "{part}__sum" / "{part}__count" end'
    return "{" + ", ".join(f"'{word}': " + (mean if word == "mean" else f'"{part}__{word}"') for word in WORDS) + "}"


def _scopes(parts: pa.Table, stage: Stage, scope: str, tables: Tables) -> list[str]:
    """Which part of the whole each row is."""
    columns = [parts[name].to_pylist() for name in ("panel", "device", "metric", "input")]
    known: dict[tuple[Any, ...], str] = {}
    found = []
    for row in zip(*columns, strict=True):
        if row not in known:
            names = dict(zip(("panel", "device", "metric"), row, strict=False))
            names["input"] = str(row[3]).removeprefix(f"{stage.name}.")
            known[row] = _looked_up(scope, names, tables)
        found.append(known[row])
    return found


def _looked_up(template: str, names: Mapping[str, str], tables: Tables) -> str:
    return FIELD.sub(
        lambda found: (tables[found[1]].get(names[found[2]] or "", "") if found[1] else names[found[2]]) or "", template
    )


def _unit(keyed: pa.Table, unit: str) -> list[str | None]:
    if not is_unit_of_inputs(unit):
        return [unit] * len(keyed)
    part = unit.partition(":")[2]
    low, high = (keyed[f"{part}__{name}" if part else name].to_pylist() for name in ("unit_low", "unit_high"))
    return [one if one == other else None for one, other in zip(low, high, strict=True)]


def _results(
    keyed: pa.Table,
    stage: Stage,
    outputs: Sequence[str],
    values: Sequence[Any],
    units: Sequence[str | None],
    qualities: Sequence[str | None] | None,
) -> pa.Table:
    """Results in the columns of the sink; `number` is the window until it is known where its stream begins."""
    template = f"{stage.device}/{stage.metric}"
    keys = keyed["key"].to_pylist()
    counts = [keyed[name].to_pylist() for name in ("expected", "received", "open", "doubtful")]
    derived = [GOOD if (row[0], row[2], row[3]) == (row[1], 0, 0) else UNCERTAIN for row in zip(*counts, strict=True)]
    columns = {
        "stage": pa.array([stage.name] * len(keyed), pa.string()),
        "output": pa.array(
            [
                filled(template, taken_apart(stage.key, key) | {OUTPUT: output})
                for key, output in zip(keys, outputs, strict=True)
            ],
            pa.string(),
        ),
        "number": keyed["window"],
        "event_time": keyed["window_start"],
        "value": pa.array([_finite(value) for value in values], pa.float64()),
        "unit": pa.array(units, pa.string()),
        "quality": pa.array(
            [said or own for said, own in zip(qualities or derived, derived, strict=True)], pa.string()
        ),
        "window_s": pa.array([stage.window_ns / SECOND] * len(keyed), pa.float64()),
        "missing_names": pa.array([_missing(each) for each in keyed["absent"].to_pylist()], pa.string()),
    } | {name: keyed[name] for name in _COPIED}
    return pa.table({field.name: columns[field.name] for field in RESULT}).cast(RESULT)


def _finite(value: Any) -> float | None:  # noqa: ANN401  whatever was computed
    return float(value) if value is not None and math.isfinite(value) else None


def _missing(absent: Sequence[Mapping[str, Any]] | None) -> str | None:
    """`Panel1/Heater/Voltage 101-103 107; …`."""
    return "; ".join(f"{each['name']} {_runs(each['absent'])}" for each in absent) if absent else None


def _runs(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)
