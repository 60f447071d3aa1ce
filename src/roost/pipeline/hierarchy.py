"""The building hierarchy as a ready pipeline: raw readings → rooms → floors → building → campus, each a group.

| level    | device     | streams                                                                                   |
| -------- | ---------- | ----------------------------------------------------------------------------------------- |
| room     | the device | `temp_mean _min _max _sum _count _anomaly`, `power_energy`, `comfort_hours`               |
| floor    | the floor  | `temp_mean _min _max _sum _count _anomaly`, `power_energy`, `comfort_hours` (room-hours)  |
| building | its name   | as a floor, without anomalies                                                             |
| campus   | `campus`   | as a building                                                                             |

Means are of readings at every level: sums and counts are carried upwards, and a mean is the one through the other, so a
room with many sensors weighs what it has. What is expected and received is counted in raw readings, once.

An anomaly in a room is a value out of its metric's range; on a floor it is rooms whose means are further apart than
`spread`. A room is comfortable in a window if its mean temperature and humidity are in range, and the window's length
counts. All of that follows from the readings alone, so that whoever computes it again gets the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from roost.machine.times import duration
from roost.naming import Name
from roost.pipeline.graph import Pipeline
from roost.pipeline.yaml_form import length

ROOMS: Final = "Rooms"
FLOORS: Final = "Floors"
BUILDING: Final = "Building"
REPORT: Final = "Report"
CAMPUS: Final = "campus"

_PARTS: Final = {"sum": "total", "count": "readings", "min": "lowest", "max": "highest", "mean": "average"}
_CARRIED: Final = {
    "mean": "total.sum / readings.sum",
    "min": "lowest.min",
    "max": "highest.max",
    "sum": "total.sum",
    "count": "readings.sum",
}
_COUNTED: Final = "readings"


@dataclass(frozen=True, slots=True)
class Comfort:
    """When a room is comfortable: the metrics, and their ranges."""

    temperature: str = "temp"
    humidity: str = "hum"
    degrees: tuple[float, float] = (20.0, 26.0)
    percent: tuple[float, float] = (30.0, 60.0)

    def condition(self) -> str:
        """As SQL over the means of a room."""
        warm, humid = f"{self.temperature}_mean.mean", f"{self.humidity}_mean.mean"
        return (
            f"{warm} between {self.degrees[0]} and {self.degrees[1]} "
            f"and {humid} between {self.percent[0]} and {self.percent[1]}"
        )


@dataclass(frozen=True, slots=True)
class Measures:
    """What is measured: units by metric, which of them are power in W, their ranges, and what else follows."""

    units: Mapping[str, str]
    power: Sequence[str] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    spread: Mapping[str, float] = field(default_factory=dict)
    comfort: Comfort | None = None

    def totals(self) -> list[str]:
        """The streams of a room that are added up as they are."""
        return [*(f"{metric}_energy" for metric in self.power), *(["comfort_hours"] if self.comfort else [])]


def hierarchy(
    raw: str,
    floors: Mapping[str, str],
    measures: Measures,
    *,
    window: str = "1m",
    deadline: str = "10s",
    interval: str = "10s",
    campus: str = "",
    panel: str = "hierarchy",
    version: str = "1",
) -> Pipeline:
    """Make the pipeline; `floors` says for each room on which floor it is, rooms without one end at their level.

    Groups are called as `raw` with another last part, `/Campus/Hall/Env` → `/Campus/Hall/Rooms`; the campus-wide one is
    `campus`, by default two levels up: `/Campus/Report`. `interval` is how often raw readings come, for energy. Each
    level waits a `deadline` longer than the one before.
    """
    site = Name.parse(raw).prefix(-1)
    building = str(site.at(-1)) if site else BUILDING
    campus = campus or str(site.prefix(-1) / REPORT)
    parts = {f"{metric}_{made}": part for metric in measures.units for made, part in _PARTS.items()}
    metrics = {f"{metric}_{made}": metric for metric in measures.units for made in _PARTS}
    made = (
        Pipeline(f"{building.lower()}-hierarchy", version)
        .table("floor", floors)
        .table("part", parts)
        .table("measure", metrics)
    )
    builder = _Builder(made, measures, window, deadline, panel)
    builder.rooms(raw, f"{site}/{ROOMS}", interval)
    builder.level(2, "floors", f"{site}/{ROOMS}", f"{site}/{FLOORS}", "{floor:device}", spread=True)
    builder.level(3, "building", f"{site}/{FLOORS}", f"{site}/{BUILDING}", building)
    builder.level(4, "campus", f"{site}/{BUILDING}", campus, CAMPUS)
    return builder.made


class _Builder:
    """Adds the stages of one level after the other."""

    def __init__(self, made: Pipeline, measures: Measures, window: str, deadline: str, panel: str) -> None:
        self.made = made
        self._measures: Final = measures
        self._window: Final = window
        self._deadline_ns: Final = duration(deadline, "deadline")
        self._panel: Final = panel

    def rooms(self, raw: str, rooms: str, interval: str) -> None:
        """From raw readings to rooms."""
        measures = self._measures
        outputs = {each: each for each in ("mean", "min", "max", "sum", "count")}
        if measures.ranges:
            cases = [
                f"when '{metric}' then min < {low} or max > {high}" for metric, (low, high) in measures.ranges.items()
            ]
            outputs["anomaly"] = f"flag(case metric {' '.join(cases)} else false end)"
        read = self._read(1)
        wishes = [f"+/+/{metric}" for metric in measures.units]
        draft = self.made.stage("rooms").read(raw, *wishes, key="{device}/{metric}", **read)
        self.made = draft.aggregate(outputs, names=True).publish(rooms, self._panel)
        if measures.power:
            wishes = [f"+/+/{metric}" for metric in measures.power]
            draft = self.made.stage("rooms-energy").read(raw, *wishes, key="{device}/{metric}", **read)
            self.made = draft.aggregate(energy="energy", interval=interval).publish(rooms, self._panel)
        if measures.comfort:
            comfort = measures.comfort
            wishes = [f"+/+/{metric}_mean" for metric in (comfort.temperature, comfort.humidity)]
            draft = self.made.stage("rooms-comfort").read(rooms, *wishes, key="{device}", **self._read(2))
            hours = f"case when {comfort.condition()} then hours else 0 end"
            self.made = draft.aggregate(comfort_hours=hours).publish(rooms, self._panel, unit="h")

    def _read(self, height: int) -> dict[str, str]:
        return {"window": self._window, "deadline": length(height * self._deadline_ns)}

    def level(self, height: int, name: str, below: str, group: str, place: str, *, spread: bool = False) -> None:
        """From one level to the one above; `place` is the key of where that is."""
        measures = self._measures
        outputs = dict(_CARRIED)
        carried = [*_CARRIED]
        if spread and measures.spread:
            cases = [
                f"when '{metric}' then average.max - average.min > {most}" for metric, most in measures.spread.items()
            ]
            outputs["anomaly"] = f"flag(case measure {' '.join(cases)} else false end)"
        else:
            carried.remove("mean")
        device = "{floor}" if "{" in place else place
        wishes = [f"+/+/{metric}_{each}" for metric in measures.units for each in carried]
        draft = self.made.stage(name).read(below, *wishes, key=f"{place}/{{measure:metric}}", **self._read(height))
        draft = draft.aggregate(outputs, scope="{part:metric}", counted=_COUNTED)
        self.made = draft.publish(group, self._panel, device=device)
        if totals := measures.totals():
            wishes = [f"+/+/{each}" for each in totals]
            read = self._read(height + 1)  # comfort is one later
            draft = self.made.stage(f"{name}-totals").read(below, *wishes, key=f"{place}/{{metric}}", **read)
            self.made = draft.aggregate(total="sum").publish(group, self._panel, device=device, metric="{metric}")
