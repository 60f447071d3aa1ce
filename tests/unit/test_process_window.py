"""The window: newest first, late ones in their place, older ones from history, nothing twice, bounded."""

from __future__ import annotations

from tests.process_world import NOW, Past

from roost.machine import SECOND
from roost.process.reference import Reference
from roost.process.sample import Sample
from roost.process.window import View, Window

TEMP = Reference("home/temp", limit=100)


def at(second: int, value: object = None, topic: str = "home/temp", stream: bytes = b"", number: int = 0) -> Sample:
    return Sample(topic, NOW + second * SECOND, second if value is None else value, stream=stream, number=number)  # type: ignore[arg-type]


def reading(number: int, second: int | None = None) -> Sample:
    return at(number if second is None else second, number, stream=b"/temp", number=number)


def values(window: Window, view: View, second: int = 1000) -> list[object]:
    return [sample.value for sample in window.read(view, NOW + second * SECOND)]


def window_of(*past: Sample, max_samples: int = 1_000_000) -> tuple[Window, Past]:
    history = Past(past)
    return Window(history, max_samples), history


def take(window: Window, *samples: Sample, filters: tuple[str, ...] = ("home/temp",)) -> None:
    for sample in samples:
        window.arrived(sample, filters)


def test_the_newest_come_first() -> None:
    window, _ = window_of()
    view = window.open(TEMP)
    take(window, at(1), at(2), at(3))
    assert values(window, view) == [3, 2, 1]


def test_late_samples_are_put_where_their_time_says() -> None:
    window, _ = window_of()
    view = window.open(TEMP)
    take(window, at(1), at(5), at(3), at(0), at(4))
    assert values(window, view) == [5, 4, 3, 1, 0]


def test_of_samples_of_one_time_the_last_to_come_is_the_newest() -> None:
    window, _ = window_of()
    view = window.open(TEMP)
    take(window, at(1, "a"), at(2, "late"), at(1, "b"), at(1, "c"))
    assert values(window, view) == ["late", "c", "b", "a"]


def test_no_more_than_the_count_is_seen_and_little_more_is_kept() -> None:
    window, _ = window_of()
    view = window.open(Reference("home/temp", limit=3))
    take(window, *[at(second) for second in range(100)])
    assert values(window, view) == [99, 98, 97]
    assert window.total <= 3 + 8


def test_what_is_too_late_for_a_full_window_is_not_kept() -> None:
    window, _ = window_of()
    view = window.open(Reference("home/temp", limit=2))
    take(window, at(8), at(9))
    assert values(window, view) == [9, 8]
    take(window, at(1))
    assert window.total == 2


def test_a_cutoff_takes_what_is_exactly_that_old_and_nothing_older() -> None:
    window, _ = window_of()
    view = window.open(Reference("home/temp", cutoff_s=60, limit=10))
    take(window, at(39), at(40), at(41))
    assert values(window, view, 100) == [41, 40]
    assert values(window, view, 101) == [41]
    assert values(window, view, 102) == []


def test_without_a_cutoff_nothing_is_too_old() -> None:
    window, _ = window_of()
    view = window.open(TEMP)
    take(window, Sample("home/temp", 0, "1970"))
    assert values(window, view, 10**9) == ["1970"]


def test_a_wildcard_sees_all_its_topics_merged() -> None:
    window, _ = window_of()
    view = window.open(Reference("home/+", limit=3))
    for sample in (at(1, topic="home/a"), at(2, topic="home/b"), at(3, topic="home/a"), at(4, topic="home/c")):
        take(window, sample, filters=("home/+",))
    assert [(each.topic, each.value) for each in window.read(view, NOW)] == [
        ("home/c", 4),
        ("home/a", 3),
        ("home/b", 2),
    ]


def test_history_is_asked_once_and_remembered() -> None:
    window, history = window_of(*[at(second) for second in range(20_000)])
    view = window.open(Reference("home/temp", required=10_000))
    take(window, at(20_000))
    assert values(window, view, 30_000) == list(range(20_000, 10_000, -1))
    take(window, at(20_001))
    assert values(window, view, 30_000)[:2] == [20_001, 20_000]
    assert history.asked == [("home/temp", 10_000)]


def test_history_is_asked_again_for_a_reference_that_wants_more() -> None:
    window, history = window_of(*[at(second) for second in range(50)])
    small = window.open(Reference("home/temp", limit=2))
    assert values(window, small) == [49, 48]
    same = window.open(Reference("home/temp", required=2))
    assert values(window, same) == [49, 48]
    assert len(history.asked) == 1
    large = window.open(Reference("home/temp", limit=5))
    assert values(window, large) == [49, 48, 47, 46, 45]
    assert values(window, small) == [49, 48]
    assert len(history.asked) == 2


def test_history_is_asked_again_for_a_reference_that_looks_further_back() -> None:
    window, _ = window_of(at(0), at(90))
    near = window.open(Reference("home/temp", cutoff_s=20, limit=5))
    assert values(window, near, 100) == [90]
    far = window.open(Reference("home/temp", cutoff_s=200, limit=5))
    assert values(window, far, 100) == [90, 0]
    ever = window.open(Reference("home/temp", limit=5))
    assert values(window, ever, 1000) == [90, 0]


def test_a_reading_that_history_and_memory_have_counts_once() -> None:
    window, _ = window_of(*[reading(number) for number in range(1, 6)])
    view = window.open(TEMP)
    take(window, reading(4), reading(5), reading(6))
    assert values(window, view) == [6, 5, 4, 3, 2, 1]


def test_a_reading_that_arrives_again_counts_once() -> None:
    window, _ = window_of()
    view = window.open(TEMP)
    take(window, reading(1), reading(2, 1), reading(3), reading(1), reading(3))
    assert values(window, view) == [3, 2, 1]


def test_readings_of_two_streams_with_one_number_are_two() -> None:
    other = at(1, "other", stream=b"/other", number=1)
    window, _ = window_of(reading(1))
    view = window.open(TEMP)
    take(window, other)
    assert values(window, view) == ["other", 1]


def test_a_plain_message_that_history_and_memory_have_counts_once() -> None:
    nan = float("nan")
    window, _ = window_of(at(1), at(2, "same"), at(2, "other"), at(3, nan), at(4, 4, stream=b"/temp", number=4))
    view = window.open(TEMP)
    take(window, at(2, "same"), at(3, float("nan")), at(4))
    assert [str(value) for value in values(window, view)] == ["4", "nan", "same", "other", "1"]


def test_two_plain_messages_that_are_alike_are_two() -> None:
    window, _ = window_of(at(1), at(1), at(1))
    view = window.open(TEMP)
    take(window, at(1), at(1))
    assert values(window, view) == [1, 1, 1]
    take(window, at(1))
    assert values(window, view) == [1, 1, 1, 1]


def test_history_that_is_ahead_brings_nothing_that_is_still_to_arrive() -> None:
    window, history = window_of(*[reading(number) for number in range(1, 101)])
    view = window.open(Reference("home/temp", limit=3))
    window.expect(reading(51), ["home/temp"])
    take(window, reading(51))
    assert values(window, view) == [51, 50, 49]
    take(window, reading(52))
    assert values(window, view) == [52, 51, 50]
    assert len({count for _, count in history.asked}) == len(history.asked) < 8


def test_what_nobody_refers_to_is_not_kept() -> None:
    window, _ = window_of()
    first, second = window.open(TEMP), window.open(Reference("home/temp", limit=2))
    take(window, *[at(number) for number in range(50)])
    assert window.total == 50
    window.close(first)
    assert (window.total, values(window, second)) == (2, [49, 48])
    window.close(second)
    assert (window.total, len(window)) == (0, 0)


def test_one_reference_of_two_macros_stays_until_both_are_gone() -> None:
    window, _ = window_of()
    first, second = window.open(TEMP), window.open(TEMP)
    take(window, at(1))
    window.close(first)
    assert values(window, second) == [1]


def test_when_there_is_no_room_what_nobody_touched_lately_is_emptied_and_comes_back_from_history() -> None:
    past = [at(second, topic=f"t/{n}") for second in range(10) for n in range(4)]
    window, history = window_of(*past, max_samples=32)
    views = [window.open(Reference(f"t/{n}", limit=10)) for n in range(4)]
    for view in views:
        assert values(window, view) == list(range(9, -1, -1))
    assert window.total <= 32
    assert window.evicted >= 10
    asked = len(history.asked)
    for view in views:
        assert values(window, view) == list(range(9, -1, -1))
    assert len(history.asked) > asked
    assert window.total <= 32


def test_one_series_has_room_whatever_its_size() -> None:
    window, _ = window_of(max_samples=10)
    view = window.open(TEMP)
    take(window, *[at(second) for second in range(50)])
    assert len(values(window, view)) == 50
