"""A run of a macro as JSON has it: what `macro test`, `macro trace` and HTTP say of it.

    {"version": 1, "time": 1777622400000000000, "took_us": 14.2,
     "cause": {"topic": "home/tempF", "time": 1777622400000000000, "value": 162.5, "unit": "F"},
     "inputs": [{"reference": {"topic": "home/tempF"}, "samples": [{"topic": …, "time": …, "value": …}]}],
     "given": 1, "log": [], "output": "72.5", "format": 0}

Instead of `output` there is `failure` with kind, message, line and column, or neither if nothing was returned. The
cause is null for a run that was due. Members that would say what goes without saying are left out: an empty unit, a
quality that is good, options of a reference that are as by default. Bytes are `{"base64": "…"}`, numbers that JSON
does not have are text.
"""

from __future__ import annotations

import math
from base64 import b64encode
from dataclasses import asdict

from roost.process.reference import Reference
from roost.process.sample import GOOD, Plain, Sample
from roost.process.trace import Run


def run_told(run: Run) -> dict[str, object]:
    """A run."""
    told: dict[str, object] = {
        "version": run.version,
        "time": run.time,
        "took_us": run.took_ns / 1000,
        "cause": sample_told(run.cause) if run.cause.topic else None,
        "inputs": [
            {"reference": reference_told(reference), "samples": [sample_told(each) for each in samples]}
            for reference, samples in run.inputs.items()
        ],
        "given": run.given,
        "log": list(run.logs),
    }
    if run.failure is not None:
        told["failure"] = asdict(run.failure)
    elif run.payload is not None:
        told["output"] = payload_told(run.payload)
        told["format"] = run.format
    return told


def replayed_told(macro: str, run: Run, state: bytes | None) -> dict[str, object]:
    """A run of a replay: whose it was, and what it keeps from then on if that is new."""
    told = {"macro": macro, **run_told(run)}
    if state is not None:
        told["state"] = payload_told(state)
    return told


def sample_told(sample: Sample) -> dict[str, object]:
    """A sample; its place in a group is not told."""
    told: dict[str, object] = {"topic": sample.topic, "time": sample.time, "value": value_told(sample.value)}
    if sample.unit:
        told["unit"] = sample.unit
    if sample.quality != GOOD:
        told["quality"] = sample.quality
    return told


def reference_told(reference: Reference) -> dict[str, object]:
    """What a macro asked for, as it is written in its code."""
    options = {"cutoff": reference.cutoff_s, "required": reference.required, "limit": reference.limit}
    usual = {"cutoff": 0, "required": 1, "limit": 1}
    return {"topic": reference.topic} | {key: value for key, value in options.items() if value != usual[key]}


def payload_told(payload: bytes) -> object:
    """A payload: text, or base64 if it is none."""
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return _bytes(payload)


def value_told(value: Plain) -> object:
    """A value with what JSON does not have written as text."""
    if isinstance(value, bytes):
        return _bytes(value)
    if isinstance(value, list):
        return [value_told(each) for each in value]
    if isinstance(value, dict):
        return {name: value_told(each) for name, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _bytes(content: bytes) -> dict[str, str]:
    return {"base64": b64encode(content).decode()}
