"""A building that could be real: sun, people who come, move about and leave, and what both do to the air of its rooms.

    climate = Climate(["room1", "room2"], seed=7)
    climate.step(60)                      # seconds
    climate.of("room1").temp              # degrees Celsius

Everything follows from the seed and the steps, so two climates of one seed that took the same steps agree to the bit.
Each room is one well-mixed volume of air with its walls and furniture: people give it heat, moisture and CO2, the sun
heat and light, a radiator heat until it is as warm as it should be, and fresh air takes from all of it. A person has a
room of their own, works there by day, goes to others for a while and to lunch, and home in the evening. `Badge` is
somebody who walks through a hall with four radio beacons, and what the badge receives of them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

DAY_S: Final = 86_400
HOUR_S: Final = 3_600
MAX_STEP_S: Final = 60.0  # what is longer is taken in several steps

OUTSIDE_CO2: Final = 420.0  # ppm
_VOLUME_M3: Final = 75.0
_CAPACITY_J: Final = 2_500_000.0  # per kelvin: the air, and what of walls and furniture goes with it
_LOSS_W: Final = 60.0  # per kelvin, through the walls to the outside
_BETWEEN_W: Final = 40.0  # per kelvin, to the rooms next to it
_RADIATOR_W: Final = 2_500.0
_RADIATOR_BAND_K: Final = 2.0  # below the wanted temperature, in which it opens all the way
_SUN_W: Final = 700.0  # through the window of a room in full sun
_LAMPS_W: Final = 120.0
_PERSON_W: Final = 100.0
_PERSON_CO2: Final = 18e-3 / HOUR_S  # m³/s
_PERSON_WATER: Final = 50.0 / HOUR_S  # g/s
_AIR_J: Final = 1_210.0  # per m³ and kelvin
_FRESH: Final = 0.4 / HOUR_S  # of the volume per second, always; the ventilation adds to it while it is day
_VENTILATED: Final = 1.6 / HOUR_S
_DAYLIGHT_LX: Final = 1_800.0
_LAMPS_LX: Final = 420.0
_DARK_LX: Final = 380.0  # below which somebody switches the lamps on
_MORNING, _EVENING = 7.0, 19.0  # hours
_WARM, _COOL = 21.5, 18.0  # what is wanted by day, and by night
_ABOUT_S: Final = 45 * 60.0  # how long somebody stays where they are, on average
_AWAY: Final = ""


class Conditions(NamedTuple):
    """What sensors of a room would say."""

    temp: float  # °C
    hum: float  # %RH
    light: float  # lx
    co2: float  # ppm
    occupancy: int


@dataclass(slots=True)
class _Room:
    name: str
    sunny: float  # how much of the sun its window gets, 0 to 1
    late: float  # hours by which the sun comes later: a window to the west
    temp: float
    water: float  # g/m³
    co2: float
    people: int = 0
    lamps: bool = False


@dataclass(slots=True)
class _Person:
    home: str
    comes: float  # hour of the day
    goes: float
    at: str = _AWAY
    until_s: float = 0.0


class Climate:
    """Some rooms, and the people in them."""

    def __init__(
        self, rooms: Sequence[str], seed: int, *, start_s: float = 10 * HOUR_S, people_per_room: int = 2
    ) -> None:
        """Begin at a time of the day, as if that day had gone its way so far."""
        self.now_s = start_s - 4 * HOUR_S
        self._draw: Final = random.Random(seed)  # noqa: S311  people who move are no secrets
        draw = self._draw
        self._rooms: Final = {
            name: _Room(name, draw.uniform(0.3, 1.0), draw.uniform(-2, 3), draw.uniform(19, 21), 7.5, OUTSIDE_CO2)
            for name in rooms
        }
        self._people: Final = [
            _Person(name, draw.uniform(7.0, 9.5), draw.uniform(16.0, 18.5))
            for name in rooms
            for _ in range(people_per_room)
        ]
        self.step(4 * HOUR_S)

    @property
    def hour(self) -> float:
        """The time of the day, in hours."""
        return self.now_s / HOUR_S % 24

    @property
    def outside(self) -> float:
        """The temperature outside: coldest at five in the morning."""
        return 8.0 - 5.0 * math.cos((self.hour - 5.0) / 24 * 2 * math.pi)

    def step(self, seconds: float) -> None:
        """Go on by so much."""
        left = seconds
        while left > 0:
            step = min(left, MAX_STEP_S)
            self.now_s += step
            self._move()
            self._breathe(step)
            left -= step

    def of(self, room: str) -> Conditions:
        """What it is like in a room."""
        it = self._rooms[room]
        light = self._daylight(it) * _DAYLIGHT_LX + (_LAMPS_LX if it.lamps else 0.0)
        return Conditions(it.temp, _relative(it.water, it.temp), light, it.co2, it.people)

    def _move(self) -> None:
        names = list(self._rooms)
        for person in self._people:
            is_here = person.comes <= self.hour < person.goes
            if not is_here:
                person.at, person.until_s = _AWAY, 0.0
            elif self.now_s >= person.until_s:
                person.until_s = self.now_s + self._draw.expovariate(1 / _ABOUT_S)
                chance = self._draw.random()
                is_lunch = 11.75 <= self.hour < 13.25
                if chance < (0.5 if is_lunch else 0.06):
                    person.at = _AWAY
                else:
                    person.at = person.home if chance < 0.75 else self._draw.choice(names)
        counts = dict.fromkeys(names, 0)
        for person in self._people:
            if person.at:
                counts[person.at] += 1
        for name, count in counts.items():
            self._rooms[name].people = count

    def _breathe(self, step: float) -> None:
        is_day = _MORNING <= self.hour < _EVENING
        fresh = _FRESH + (_VENTILATED if is_day else 0.0)
        wanted, outside = (_WARM if is_day else _COOL), self.outside
        mean = sum([each.temp for each in self._rooms.values()]) / len(self._rooms)
        for room in self._rooms.values():
            daylight = self._daylight(room)
            room.lamps = room.people > 0 and daylight * _DAYLIGHT_LX < _DARK_LX
            open_by = min(1.0, max(0.0, (wanted - room.temp) / _RADIATOR_BAND_K))
            watts = open_by * _RADIATOR_W + room.people * _PERSON_W + daylight * _SUN_W
            watts += _LAMPS_W if room.lamps else 0.0
            watts += _LOSS_W * (outside - room.temp) + _BETWEEN_W * (mean - room.temp)
            warmed = 0.3 if outside < room.temp else 1.0  # what comes in is warmed by what goes out
            watts += warmed * fresh * _VOLUME_M3 * _AIR_J * (outside - room.temp)
            room.temp += watts * step / _CAPACITY_J
            room.co2 += (room.people * _PERSON_CO2 / _VOLUME_M3 * 1e6 + fresh * (OUTSIDE_CO2 - room.co2)) * step
            room.water += (room.people * _PERSON_WATER / _VOLUME_M3 + fresh * (6.0 - room.water)) * step

    def _daylight(self, room: _Room) -> float:
        height = math.sin((self.hour - room.late - 6.0) / 12 * math.pi)
        return room.sunny * max(0.0, height)


class Badge:
    """Somebody who walks through a hall of 100 by 100, and how strongly the badge receives four beacons, in dBm."""

    BEACONS: Final = ((6, 96), (96, 6), (6, 6), (96, 96))

    def __init__(self, seed: int) -> None:
        self._draw: Final = random.Random(seed)  # noqa: S311  noise is no secret
        self._walked_s = 0.0

    @property
    def place(self) -> tuple[float, float]:
        """Where they are: round and round, never the same way twice."""
        turn = self._walked_s / 120
        return 50 + 40 * math.sin(2 * math.pi * turn), 50 + 40 * math.sin(2 * math.pi * turn * 0.618 + 1)

    def step(self, seconds: float) -> None:
        """Walk on."""
        self._walked_s += seconds

    def strengths(self) -> list[float]:
        """What the badge receives: weaker with the distance, and noisy."""
        fades = [-40 - 25 * math.log10(max(1.0, math.dist(self.place, beacon))) for beacon in self.BEACONS]
        return [round(fade + self._draw.gauss(0, 2), 1) for fade in fades]


def _relative(water: float, temp: float) -> float:
    """The relative humidity of air with so many g/m³ of water (Magnus)."""
    pressure = 6.112 * math.exp(17.62 * temp / (243.12 + temp))  # hPa, saturated
    saturated = 216.7 * pressure / (273.15 + temp)
    return min(100.0, 100 * water / saturated)
