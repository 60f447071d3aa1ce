"""Localisation as a service, the paper's figures 15 to 18: more beacons place somebody better, at linear cost.

The fixture is ours, for the paper has none: TX 0 dBm, K 40 dB, ETA 2.5, SIG 4 dB, eight beacons, a walk of 40 points
along an S, and 20 seeds for the fading.
"""

from __future__ import annotations

import json
import math
from random import Random
from statistics import median

from tests.tiers import JAVASCRIPT, tiers  # noqa: F401  every test runs both ways
from tests.unit.test_process_engines import BEACONS, FIGURE_15, rssi_at

from roost.process.engine import Limits, Program
from roost.process.reference import Reference
from roost.process.sample import Plain, Sample

SIG = 4
CELLS = 100
PATH = [(50 + 40 * math.sin(2 * math.pi * step / 39), 95 - 90 * step / 39) for step in range(40)]
RSSI = Reference("person/rssi")


CLAMPED = FIGURE_15.replace("fade = TX", "d = Math.max(d, 1); fade = TX")


def program_of(code: str, beacons: list[tuple[int, int]] = BEACONS) -> Program:
    program = JAVASCRIPT.load(code % json.dumps(beacons), Limits(time_ms=5000))
    assert program.explore() == (RSSI,)
    return program


def ran(program: Program, heard: list[Plain]) -> list[float]:
    outcome = program.run({RSSI: [Sample(RSSI.topic, 0, heard)]}, 0, 0, b"")
    assert outcome.payload is not None, outcome.failure
    found = json.loads(outcome.payload)
    assert isinstance(found, list)
    return found


def test_the_median_error_falls_with_every_pair_of_beacons() -> None:
    program = program_of(FIGURE_15)
    medians: list[float] = []
    for beacons in (2, 4, 6, 8):
        errors: list[float] = []
        for seed in range(1, 21):
            fading = Random(seed)
            for x, y in PATH:
                heard: list[Plain] = [float(str(rx)) + fading.gauss(0, SIG) for rx in rssi_at(x, y, beacons)]
                found = ran(program, heard)
                errors.append(math.hypot(found[0] - x, found[1] - y))
        medians.append(median(errors))
    assert medians == sorted(medians, reverse=True), medians
    assert medians[-1] < medians[0] / 2, medians


def test_as_many_densities_are_worked_out_as_there_are_cells_for_each_beacon() -> None:
    counting = FIGURE_15.replace("result[b][j][i] = pdf", "result[b][j][i] = pdf; densities++")
    counting = counting.replace("return max_pos", "return [densities]").replace(
        "var beacons", "densities = 0; var beacons"
    )
    program = program_of(counting)
    for beacons in range(1, 9):
        assert ran(program, rssi_at(50, 50, beacons)) == [CELLS * beacons]


def test_there_is_no_place_where_every_product_underflows() -> None:
    """The running maximum of figure 15 starts at 0, and nothing is above that: an erratum of the paper."""
    deaf: list[Plain] = [-400.0] * len(BEACONS)
    assert ran(program_of(FIGURE_15), deaf) == [None, None]


def test_somebody_right_under_a_beacon_is_looked_for_elsewhere_unless_the_distance_is_clamped() -> None:
    """A distance of 0 gives the true cell a density of 0: another one."""
    beacons = [(5, 95), (95, 5), (5, 5)]
    distances = [math.hypot(5 - x, 95 - y) for x, y in beacons]
    heard: list[Plain] = [-40 - 25 * math.log10(max(1, each)) for each in distances]
    assert ran(program_of(FIGURE_15, beacons), heard) != [5, 95]
    assert ran(program_of(CLAMPED, beacons), heard) == [5, 95]
