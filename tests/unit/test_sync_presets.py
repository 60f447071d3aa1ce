"""Presets: the constants of the fact sheet, the ladder of an adaptive group, and settings that cannot be [PSync §3]."""

from __future__ import annotations

from typing import Any

import pytest

from roost.errors import BadConfig
from roost.sync.iblt import CELL_BYTES, cells_for
from roost.sync.presets import (
    CPP_FULL,
    CPP_PARTIAL,
    MAX_IBLT_BYTES,
    NDNTS_FULL,
    NDNTS_PARTIAL,
    ROOST_FULL,
    FullPreset,
    PartialPreset,
)


def test_the_defaults_are_those_of_the_cpp_library() -> None:
    full, partial = CPP_FULL, CPP_PARTIAL
    assert (full.expected, full.iblt_compression, full.content_compression) == (80, "zlib", "zlib")
    assert (full.doubtful_freshness_ms, full.suppression_ms) == (10, 100)
    assert (partial.expected, partial.iblt_compression, partial.threshold) == (40, "none", 20)
    assert (partial.content_compression, partial.bloom_count, partial.bloom_p_milli) == ("none", 6, 1)
    for preset in (full, partial):
        assert (preset.sync_lifetime_ms, preset.reply_freshness_ms, preset.segment_bytes) == (1000, 1000, 4400)
        assert (preset.resend_low_ms, preset.resend_high_ms) == (100, 500)
        assert not preset.adaptive


def test_ndnts_compresses_nothing_by_default_and_expects_80_elements() -> None:
    assert (NDNTS_FULL.expected, NDNTS_FULL.iblt_compression, NDNTS_FULL.content_compression) == (80, "none", "none")
    assert (NDNTS_PARTIAL.expected, NDNTS_PARTIAL.threshold, NDNTS_PARTIAL.bloom_count) == (80, 40, 16)


def test_a_preset_that_is_not_adaptive_has_one_size() -> None:
    assert CPP_FULL.ladder == (80,)
    assert CPP_FULL.max_cells == 120
    assert [cells for cells in range(500) if CPP_FULL.accepts(cells)] == [120]


def test_an_adaptive_preset_doubles_within_its_bounds() -> None:
    assert ROOST_FULL.ladder == (20, 40, 80, 160, 320)
    assert ROOST_FULL.max_cells == 480
    assert [cells for cells in range(1000) if ROOST_FULL.accepts(cells)] == [30, 60, 120, 240, 480]
    assert FullPreset(adaptive=True, min_expected=80, max_expected=100).ladder == (80,)


@pytest.mark.parametrize("preset", [CPP_FULL, CPP_PARTIAL, NDNTS_FULL, NDNTS_PARTIAL, ROOST_FULL])
def test_the_names_of_every_preset_leave_room_in_a_packet(preset: FullPreset | PartialPreset) -> None:
    tables = 1 if isinstance(preset, FullPreset) else 2
    assert tables * CELL_BYTES * cells_for(preset.ladder[-1]) <= MAX_IBLT_BYTES


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"expected": 0}, "expected=0"),
        ({"max_streams": 0}, "max_streams=0"),
        ({"max_waiting": -1}, "max_waiting=-1"),
        ({"suppression_ms": 0}, "suppression_ms=0"),
        ({"iblt_compression": "zstd"}, "iblt_compression='zstd': use one of none, zlib"),
        ({"content_compression": ""}, "content_compression=''"),
        ({"resend_low_ms": 600}, "resend_low_ms=600 lies above resend_high_ms=500"),
        ({"suppression_ms": 601}, "suppression_ms=601 is longer than the 600 ms"),
        ({"max_kept_packets": 99}, "max_kept_packets=99 would not hold one reply of max_reply_packets=100"),
        ({"expected": 50, "adaptive": True}, "expected=50 is none of the sizes of an adaptive IBLT: 20, 40, 80"),
        ({"expected": 640}, "choose a smaller expected"),
        ({"adaptive": True, "max_expected": 640}, "choose a smaller max_expected"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadConfig, match=reason):
        FullPreset(**settings)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"bloom_p_milli": 1000}, "Bloom filter"),
        ({"bloom_count": 10_000}, "Bloom filter"),
        ({"hello_lifetime_ms": 0}, "hello_lifetime_ms=0"),
        ({"expected": 320}, "IBLTs for 320 elements may take 11520 bytes"),
    ],
    ids=str,
)
def test_partial_settings_that_cannot_be_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadConfig, match=reason):
        PartialPreset(**settings)
