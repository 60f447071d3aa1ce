"""Pipelines as text: YAML, read strictly and written back the same.

    pipeline: hall
    tables:
      floor: {pi1: floor1, pi2: floor1, pi3: floor2}
    stages:
      floors:
        read: {group: /Campus/Hall/Env, subscribe: +/+/temp, window: 1m, key: "{floor:panel}/{metric}"}
        aggregate:
          outputs: {mean: mean, max: max, warm: hours_where(value > 26)}
          interval: 10s
        publish: {group: /Campus/Hall/Floors, panel: hierarchy}

A key that is not known is an error that says where it stands and which there are. `read` is one input, or a list of
inputs with names. Lengths of time are text: `250ms`, `10s`, `1m`, `24h`. Beside `aggregate` there are `join` (the same
without parts), `filter: {where: …}`, `map: {value: …}`, `sql: {text: …}`, `function: {path: package.module:name}` and
`macro:` one definition of a macro, a list of them, or `{file: macros.yaml}` for those with `engine: spark` of a file.
`hierarchy.yaml` beside this file is a whole one: what `roost.pipeline.hierarchy` makes for the hall of the examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Final

import yaml

from roost.errors import BadConfig
from roost.machine import MS, SECOND
from roost.machine.times import duration
from roost.naming import Name
from roost.pipeline.graph import Output, Pipeline, Stage
from roost.pipeline.input import DEADLINE, Input
from roost.pipeline.macros_file import read_macros
from roost.pipeline.operations import KINDS, Macro, Operation, kind_of, text_of

MAX_BYTES: Final = 1_000_000
_READ: Final = ("group", "subscribe", "name", "window", "step", "deadline", "key")
_PUBLISH: Final = tuple(each.name for each in fields(Output))
_UNITS: Final = (("d", 86_400 * SECOND), ("h", 3600 * SECOND), ("m", 60 * SECOND), ("s", SECOND), ("ms", MS))
_DEFAULT_NAME: Final = "readings"


def load(path: Path) -> Pipeline:
    """Read a file."""
    if path.stat().st_size > MAX_BYTES:
        raise BadConfig(f"{path} is larger than {MAX_BYTES} bytes, that is no pipeline")
    try:
        return loads(path.read_text(encoding="utf-8"), path.parent)
    except (BadConfig, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: {error}") from None


def loads(text: str, folder: Path | None = None) -> Pipeline:
    """Read text; raises `BadConfig` that says where and what. Files of macros lie beside it, in a folder."""
    try:
        said = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadConfig(f"this is no YAML: {' '.join(str(error).split())}") from None
    root = _mapping(said, "the file", ("pipeline", "version", "tables", "stages"))
    tables = {
        name: {_text(key, f"tables.{name}"): _text(each, f"tables.{name}.{key}") for key, each in entries.items()}
        for name, entries in _mapping(root.get("tables") or {}, "tables").items()
        if isinstance(_mapping(entries, f"tables.{name}"), dict)
    }
    stages = _mapping(root.get("stages"), "stages")
    return Pipeline(
        _text(_needed(root, "pipeline", "the file"), "pipeline"),
        _text(root.get("version", "1"), "version"),
        tuple(_stage(name, said, tables, folder or Path()) for name, said in stages.items()),
        tables,
    )


def dumps(pipeline: Pipeline) -> str:
    """Write it; what is as by default is left out."""
    said: dict[str, Any] = {"pipeline": pipeline.name, "version": pipeline.version}
    if pipeline.tables:
        said["tables"] = {name: dict(entries) for name, entries in pipeline.tables.items()}
    said["stages"] = {stage.name: _written(stage) for stage in pipeline.stages}
    return yaml.safe_dump(said, sort_keys=False, default_flow_style=None, allow_unicode=True, width=120)


def length(ns: int) -> str:
    """A length of time as people write it."""
    for unit, size in _UNITS:
        if ns and ns % size == 0:
            return f"{ns // size}{unit}"
    return f"{ns / MS:g}ms"


# -- reading


def _stage(name: object, said: object, tables: Mapping[str, Mapping[str, str]], folder: Path) -> Stage:
    where = f"stages.{name}"
    entries = _mapping(said, where, ("read", "publish", *KINDS))
    kinds = [kind for kind in KINDS if kind in entries]
    if len(kinds) != 1:
        raise BadConfig(f"{where}: a stage does one of {', '.join(KINDS)}; this one says {', '.join(kinds) or 'none'}")
    reads = _needed(entries, "read", where)
    several = reads if isinstance(reads, list) else [reads]
    inputs = tuple(
        _input(each, f"{where}.read" + (f"[{at}]" if reads is several else ""), tables)
        for at, each in enumerate(several)
    )
    does = f"{where}.{kinds[0]}"
    operation: Operation
    if KINDS[kinds[0]] is Macro:
        operation = Macro(tuple(text_of(each) for each in read_macros(entries[kinds[0]], does, folder)))
    else:
        operation = _operation(kinds[0], entries[kinds[0]], does)
    return Stage(_text(name, where), inputs, operation, _output(_needed(entries, "publish", where), f"{where}.publish"))


def _input(said: object, where: str, tables: Mapping[str, Mapping[str, str]]) -> Input:
    entries = _mapping(said, where, _READ)
    wishes = entries.get("subscribe", "#")
    key = _text(entries.get("key", "{stream}"), f"{where}.key")
    used = {name: tables[name] for name in sorted(tables) if f"{{{name}:" in key}
    return Input(
        str(Name.parse(_text(_needed(entries, "group", where), f"{where}.group"))),
        tuple(_text(wish, f"{where}.subscribe") for wish in (wishes if isinstance(wishes, list) else [wishes])),
        _text(entries.get("name", _DEFAULT_NAME), f"{where}.name"),
        _ns(entries, "window", where),
        _ns(entries, "step", where),
        _ns(entries, "deadline", where, DEADLINE),
        key,
        used,
    )


def _operation(kind: str, said: object, where: str) -> Operation:
    made = KINDS[kind]
    known = {each.name.removesuffix("_ns"): each for each in fields(made)}
    if kind == "join":
        del known["scope"], known["counted"]
    entries = _mapping(said, where, tuple(known))
    values: dict[str, Any] = {}
    for name, each in known.items():
        if name not in entries:
            if each.default is MISSING:
                _needed(entries, name, where)
        elif each.name.endswith("_ns"):
            values[each.name] = _ns(entries, name, where)
        elif name == "outputs":
            outputs = _mapping(entries[name], f"{where}.{name}")
            values[name] = {str(key): _text(text, f"{where}.{name}.{key}") for key, text in outputs.items()}
        elif isinstance(each.default, bool):
            values[name] = _boolean(entries[name], f"{where}.{name}")
        else:
            values[name] = _text(entries[name], f"{where}.{name}")
    return made(**values)


def _output(said: object, where: str) -> Output:
    entries = _mapping(said, where, _PUBLISH)
    for name in ("group", "panel"):
        _needed(entries, name, where)
    texts = {name: _text(value, f"{where}.{name}") for name, value in entries.items() if name != "units"}
    units = _mapping(entries.get("units") or {}, f"{where}.units")
    named = {str(key): _text(unit, f"{where}.units.{key}") for key, unit in units.items()}
    return Output(**{**texts, "group": str(Name.parse(texts["group"]))}, units=named)


def _mapping(said: object, where: str, known: Sequence[str] | None = None) -> dict[Any, Any]:
    if not isinstance(said, dict):
        raise BadConfig(f"{where}: entries by name are expected here, not {said!r}")
    if known is not None:
        for key in said:
            if key not in known:
                raise BadConfig(f"{where}: {key!r} is unknown; there are {', '.join(known)}")
    return said


def _needed(entries: Mapping[str, Any], name: str, where: str) -> Any:  # noqa: ANN401  whatever YAML has there
    if name not in entries:
        raise BadConfig(f"{where}: {name!r} is missing")
    return entries[name]


def _text(said: object, where: str) -> str:
    if isinstance(said, bool) or not isinstance(said, str | int | float):
        raise BadConfig(f"{where}: a text is expected here, not {said!r}")
    return str(said)


def _boolean(said: object, where: str) -> bool:
    if not isinstance(said, bool):
        raise BadConfig(f"{where}: true or false is expected here, not {said!r}")
    return said


def _ns(entries: Mapping[str, Any], name: str, where: str, default: int = 0) -> int:
    return duration(_text(entries[name], f"{where}.{name}"), f"{where}.{name}") if name in entries else default


# -- writing


def _written(stage: Stage) -> dict[str, Any]:
    reads = [_written_input(each) for each in stage.inputs]
    output = {name: getattr(stage.output, name) for name in _PUBLISH if getattr(stage.output, name)}
    if "units" in output:
        output["units"] = dict(output["units"])
    return {
        "read": reads[0] if len(reads) == 1 else reads,
        kind_of(stage.operation): _written_operation(stage.operation),
        "publish": output,
    }


def _written_operation(operation: Operation) -> object:
    if isinstance(operation, Macro):
        return [each.mapping() for each in operation.definitions]
    said: dict[str, Any] = {}
    for each in fields(operation):
        value = getattr(operation, each.name)
        if value != each.default:
            text = length(value) if each.name.endswith("_ns") else dict(value) if isinstance(value, Mapping) else value
            said[each.name.removesuffix("_ns")] = text
    return said


def _written_input(wanted: Input) -> dict[str, Any]:
    lengths = {"window": (wanted.window_ns, 0), "step": (wanted.step_ns, 0), "deadline": (wanted.deadline_ns, DEADLINE)}
    said: dict[str, Any] = {"group": wanted.group}
    if wanted.wishes != ("#",):
        said["subscribe"] = wanted.wishes[0] if len(wanted.wishes) == 1 else list(wanted.wishes)
    if wanted.name != _DEFAULT_NAME:
        said["name"] = wanted.name
    said |= {name: length(ns) for name, (ns, default) in lengths.items() if ns != default}
    if wanted.key != "{stream}":
        said["key"] = wanted.key
    return said
