"""The building of the demo: what people, sun and air do to each other, the same for the same seed."""

from __future__ import annotations

import pytest

from roost.sim.physics import HOUR_S, OUTSIDE_CO2, Badge, Climate, Conditions

ROOMS = [f"room{number}" for number in range(1, 13)]


def at(hour: float, seed: int = 7, people_per_room: int = 2) -> Climate:
    return Climate(ROOMS, seed, start_s=hour * HOUR_S, people_per_room=people_per_room)


def mean(climate: Climate, what: str) -> float:
    return float(sum(getattr(climate.of(room), what) for room in ROOMS) / len(ROOMS))


def day(seed: int) -> list[Conditions]:
    climate = at(6, seed)
    found: list[Conditions] = []
    for _ in range(24):
        climate.step(HOUR_S)
        found += [climate.of(room) for room in ROOMS]
    return found


def test_a_seed_gives_the_same_day_and_another_one_another() -> None:
    assert day(7) == day(7)
    assert day(7) != day(8)


def test_every_value_of_a_day_could_be_one_of_a_building() -> None:
    for conditions in day(7):
        assert 12 < conditions.temp < 30
        assert 15 < conditions.hum < 80
        assert 0 <= conditions.light < 3000
        assert OUTSIDE_CO2 - 1 < conditions.co2 < 3000
        assert 0 <= conditions.occupancy <= 2 * len(ROOMS)


def test_people_come_in_the_morning_and_are_gone_at_night() -> None:
    assert mean(at(3), "occupancy") == 0
    assert mean(at(10.5), "occupancy") > 1
    assert mean(at(23), "occupancy") == 0


def test_people_move_between_rooms() -> None:
    climate = at(10)
    seen = set()
    for _ in range(120):
        climate.step(60)
        seen.add(tuple(climate.of(room).occupancy for room in ROOMS))
    assert len(seen) > 10


def test_who_is_there_makes_the_air_stale_and_moist_and_fresh_air_mends_it() -> None:
    with_people, without = at(11), at(11, people_per_room=0)
    assert mean(with_people, "co2") > mean(without, "co2") + 100
    assert mean(without, "co2") == pytest.approx(OUTSIDE_CO2)
    assert mean(with_people, "hum") > mean(without, "hum")
    with_people.step(16 * HOUR_S)  # three in the night
    assert mean(with_people, "co2") < OUTSIDE_CO2 + 20


def test_rooms_are_heated_by_day_and_cool_down_at_night() -> None:
    noon, night = at(12), at(12)
    night.step(15 * HOUR_S)
    assert mean(noon, "temp") > mean(night, "temp") + 1


def test_light_comes_from_the_sun_and_in_the_dark_from_lamps_where_somebody_is() -> None:
    assert mean(at(12), "light") > 300
    assert mean(at(1), "light") == 0
    evening = at(18.2)
    for room in ROOMS:
        conditions = evening.of(room)
        assert conditions.occupancy or conditions.light < 800


def test_long_steps_are_as_many_short_ones() -> None:
    once, often = at(8), at(8)
    once.step(600)
    for _ in range(10):
        often.step(60)
    assert [once.of(room) for room in ROOMS] == [often.of(room) for room in ROOMS]


def test_a_badge_is_heard_best_by_the_beacon_that_is_nearest_most_of_the_time() -> None:
    badge = Badge(3)
    right = 0
    for _ in range(200):
        badge.step(5)
        strengths = badge.strengths()
        x, y = badge.place
        assert 0 <= x <= 100
        assert 0 <= y <= 100
        far = [((x - bx) ** 2 + (y - by) ** 2) for bx, by in badge.BEACONS]
        right += strengths.index(max(strengths)) == far.index(min(far))
    assert right > 140
