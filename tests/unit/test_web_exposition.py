"""Metrics as text: names, escapes, histograms, and both forms read back by the parsers of Prometheus."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open_metrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from roost.host.http.timing import Histogram
from roost.web.exposition import COUNTER, GAUGE, HISTOGRAM, Family, Sample, exposed
from roost.web.metric_names import LEFT_OUT, METRICS

UNITS = ("_seconds", "_bytes", "_ratio")


def test_a_counter_ends_in_total_in_both_forms() -> None:
    family = Family("roost_runs_total", COUNTER, "Runs", [Sample(3, {"macro": "a"})])
    assert exposed([family], open_metrics=False) == (
        '# HELP roost_runs_total Runs\n# TYPE roost_runs_total counter\nroost_runs_total{macro="a"} 3\n'
    )
    assert exposed([family], open_metrics=True) == (
        '# HELP roost_runs Runs\n# TYPE roost_runs counter\nroost_runs_total{macro="a"} 3\n# EOF\n'
    )


def test_a_family_without_samples_is_left_out() -> None:
    assert not exposed([Family("a", GAUGE, "A", [])], open_metrics=False).strip()


@pytest.mark.parametrize("open_metrics", [False, True])
def test_a_histogram_counts_up_to_each_bound(open_metrics: bool) -> None:
    histogram = Histogram((0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 7.0):
        histogram.observe(seconds)
    family = Family("roost_took_seconds", HISTOGRAM, "How long", [Sample(histogram)])
    read = read_open_metrics if open_metrics else read_text
    (parsed,) = read(exposed([family], open_metrics=open_metrics))
    found = {(each.name, each.labels.get("le", "")): each.value for each in parsed.samples}
    assert found == {
        ("roost_took_seconds_bucket", "0.1"): 2,
        ("roost_took_seconds_bucket", "1.0"): 3,
        ("roost_took_seconds_bucket", "+Inf"): 4,
        ("roost_took_seconds_sum", ""): 7.65,
        ("roost_took_seconds_count", ""): 4,
    }


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])), st.floats(allow_nan=False, allow_infinity=False))
def test_labels_hold_any_text(text: str, value: float) -> None:
    family = Family("roost_a", GAUGE, "A", [Sample(value, {"name": text})])
    for read, is_open in ((read_text, False), (read_open_metrics, True)):
        (parsed,) = read(exposed([family], open_metrics=is_open))
        assert [(each.labels["name"], each.value) for each in parsed.samples] == [(text, value)]


def test_names_are_those_that_prometheus_wants() -> None:
    names = [each.name for each in METRICS.values()]
    assert len(set(names)) == len(names)
    assert not LEFT_OUT & METRICS.keys()
    for end, metric in METRICS.items():
        assert metric.name.startswith("roost_")
        assert metric.name == metric.name.lower()
        assert not metric.help.endswith(".")
        if end.endswith(("/bytes", "bytes/received", "bytes/sent")) and "ended" not in end:
            assert metric.name.removesuffix("_total").endswith("_bytes"), end
