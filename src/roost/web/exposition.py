"""Metrics as text, in the two forms that Prometheus reads: its own 0.0.4, and OpenMetrics 1.0 for who asks for it.

    # HELP roost_mqtt_sessions Sessions, also of clients that are away
    # TYPE roost_mqtt_sessions gauge
    roost_mqtt_sessions 12

A counter's name ends in _total; OpenMetrics leaves that out where it names the family. Units are base units and last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from roost.host.http.timing import Histogram

COUNTER: Final = "counter"
GAUGE: Final = "gauge"
HISTOGRAM: Final = "histogram"

TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_TOTAL: Final = "_total"


@dataclass(frozen=True, slots=True)
class Sample:
    """One value, or one histogram, and what it is of."""

    value: float | Histogram
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Family:
    """All values of one name."""

    name: str
    kind: str
    help: str
    samples: Sequence[Sample]


def exposed(families: Iterable[Family], *, open_metrics: bool) -> str:
    """Write families, each with at least one sample."""
    lines: list[str] = []
    for family in families:
        if not family.samples:
            continue
        head = family.name.removesuffix(_TOTAL) if open_metrics and family.kind == COUNTER else family.name
        lines += (f"# HELP {head} {_escaped(family.help)}", f"# TYPE {head} {family.kind}")
        for sample in family.samples:
            if isinstance(sample.value, Histogram):
                lines += _histogram(family.name, sample.value, sample.labels)
            else:
                lines.append(f"{family.name}{_labels(sample.labels)} {_number(sample.value)}")
    if open_metrics:
        lines.append("# EOF")
    return "\n".join(lines) + "\n"


def _histogram(name: str, histogram: Histogram, labels: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    seen = 0
    for bound, count in zip((*histogram.bounds, float("inf")), histogram.counts, strict=True):
        seen += count
        up_to = "+Inf" if bound == float("inf") else _number(bound)
        lines.append(f"{name}_bucket{_labels({**labels, 'le': up_to})} {seen}")
    said = _labels(labels)
    return [*lines, f"{name}_sum{said} {_number(histogram.sum)}", f"{name}_count{said} {seen}"]


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    pairs = [f'{name}="{_escaped(value, quotes=True)}"' for name, value in labels.items()]
    return f"{{{','.join(pairs)}}}"


def _escaped(text: str, *, quotes: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    text = text.replace('"', '\\"') if quotes else text
    return text.encode(errors="replace").decode()


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
