"""Runs of macros as people read them, from what is told of them (`roost.process.telling`), by this process or a node.

2026-05-01T08:00:00.000Z  celsius  72.5  ← home/tempF 162.5 F
2026-05-01T08:00:01.000Z  celsius  failed: TypeError: not a function, line 2, column 14
  2 |   return t.toFixed(1)
    |            ^
  given  home/tempF  2026-05-01T08:00:01.000Z  "n/a"
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from roost.host.mqtt.macro_checking import excerpt

_MAX_TEXT: Final = 200  # letters of a value, or a payload
_MAX_GIVEN: Final = 20  # samples that are shown of each reference


def run_lines(macro: str, told: Mapping[str, Any], code: str = "", *, full: bool = False) -> Iterator[str]:
    """Show a run; its log always, its inputs if it failed, or if all is wanted."""
    failure = told.get("failure")
    cause = told.get("cause")
    why = f"{cause['topic']} {_sample(cause)}" if cause else "it was due"
    took = f"  ({told['took_us']:.0f} µs)" if told.get("took_us") and full else ""
    if failure is None:
        yield f"{iso(told['time'])}  {macro}  {brought(told)}  ← {why}{took}"
    else:
        yield f"{iso(told['time'])}  {macro}  {failed(failure)}{took}"
        yield from excerpt(code, failure.get("line", 0), failure.get("column", 0))
    for line in told.get("log", ()):
        yield f"  log    {line}"
    if failure is not None or full:
        yield from given_lines(told)


def given_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Show what a run was given."""
    shown = 0
    for each in told.get("inputs", ()):
        samples: Sequence[Mapping[str, Any]] = each["samples"]
        if not samples:
            yield f"  given  {each['reference']['topic']}  nothing"
        for sample in samples[:_MAX_GIVEN]:
            yield f"  given  {sample['topic']}  {iso(sample['time'])}  {_sample(sample)}"
        shown += min(len(samples), _MAX_GIVEN)
    if told.get("given", 0) > shown:
        yield f"  given  … and {told['given'] - shown:,} more"


def brought(told: Mapping[str, Any] | None) -> str:
    """What a run came to, on one line."""
    if told is None:
        return "did not run"
    if told.get("failure") is not None:
        return failed(told["failure"])
    if "output" not in told:
        return "nothing"
    output = told["output"]
    return _cut(output if isinstance(output, str) else _hex(output))


def failed(failure: Mapping[str, Any]) -> str:
    """Why a run failed, and where."""
    where = f", line {failure['line']}, column {failure['column']}" if failure.get("line") else ""
    kind = "" if failure["kind"] == "error" else f" ({failure['kind']})"
    return f"failed{kind}: {failure['message']}{where}"


def iso(time: int) -> str:
    """A time in UTC, to the millisecond, or to the nanosecond if it has any."""
    from datetime import UTC, datetime

    seconds, rest = divmod(time, 1_000_000_000)
    digits = f"{rest:09}" if rest % 1_000_000 else f"{rest // 1_000_000:03}"
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{digits}Z"
    except (ValueError, OverflowError):
        return f"{time} ns"


def _sample(sample: Mapping[str, Any]) -> str:
    value = sample["value"]
    is_bytes = isinstance(value, dict) and value.keys() == {"base64"}
    text = _hex(value) if is_bytes else json.dumps(value, ensure_ascii=False)
    unit = f" {sample['unit']}" if sample.get("unit") else ""
    quality = f" ({sample['quality']})" if sample.get("quality", "good") != "good" else ""
    return f"{_cut(text)}{unit}{quality}"


def _hex(told: Mapping[str, str]) -> str:
    return f"0x{b64decode(told['base64']).hex()}"


def _cut(text: str) -> str:
    line = text.replace("\n", "\\n")
    return line if len(line) <= _MAX_TEXT else f"{line[:_MAX_TEXT]}…"
