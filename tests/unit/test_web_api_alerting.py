"""Alerts without a clock: what holds long enough is told, what comes and goes is not."""

from __future__ import annotations

from roost.machine import SECOND
from roost.web.alerting import CRITICAL, REPO, STALE, WARNING, Alerting, Condition

START = 1_790_000_000 * SECOND


def condition(
    subject: str = "a", severity: str = WARNING, text: str = "it is silent", since: int = 0, wait: int = 0
) -> Condition:
    return Condition(STALE, severity, subject, text, "look at it", "#/streams", since, wait)


def subjects(alerting: Alerting) -> list[str]:
    return [each.subject for each, _ in alerting.told()]


def test_a_condition_is_an_alert_while_it_holds_and_tells_once_that_it_is() -> None:
    alerting = Alerting()
    assert alerting.take([condition()], START)
    assert not alerting.take([condition()], START + SECOND), "nothing has changed"
    assert alerting.told() == [(condition(), START)]
    assert alerting.take([], START + 2 * SECOND)
    assert alerting.told() == []
    assert alerting.raised == 1


def test_what_has_to_hold_is_no_alert_before_it_has_and_none_that_is_over_before_it_was_away_as_long() -> None:
    alerting = Alerting()
    lagging = condition(wait=10 * SECOND)
    assert not alerting.take([lagging], START)
    assert not alerting.take([], START + 5 * SECOND), "it went away in time"
    assert not alerting.take([lagging], START + 6 * SECOND)
    assert not alerting.take([lagging], START + 15 * SECOND)
    assert alerting.take([lagging], START + 16 * SECOND)
    assert alerting.told() == [(lagging, START + 6 * SECOND)], "since when it held, not since when it was told"
    assert not alerting.take([], START + 20 * SECOND)
    assert subjects(alerting) == ["a"], "it may come back"
    assert alerting.take([], START + 26 * SECOND)
    assert subjects(alerting) == []


def test_a_text_or_severity_that_changes_is_told_and_the_beginning_stays() -> None:
    alerting = Alerting()
    alerting.take([condition(since=START - 5 * SECOND)], START)
    worse = condition(severity=CRITICAL, text="all of it is silent")
    assert alerting.take([worse], START + SECOND)
    assert alerting.told() == [(worse, START - 5 * SECOND)]


def test_the_worst_come_first_and_then_the_oldest() -> None:
    alerting = Alerting()
    alerting.take([condition("new", since=3), condition("old", since=1), condition("bad", CRITICAL, since=9)], START)
    assert subjects(alerting) == ["bad", "old", "new"]


def test_another_kind_of_trouble_of_the_same_thing_is_another_alert() -> None:
    alerting = Alerting()
    alerting.take([condition("a"), Condition(REPO, WARNING, "a", "it lags", "wait", "#/campus")], START)
    assert sorted(each.id for each, _ in alerting.told()) == ["repo:a", "stale:a"]


def test_more_than_there_is_room_for_are_counted_and_have_their_turn_when_others_end() -> None:
    alerting = Alerting(max_alerts=2)
    alerting.take([condition(each) for each in "abc"], START)
    assert (subjects(alerting), alerting.left_out) == (["a", "b"], 1)
    alerting.take([condition("c")], START + SECOND)
    assert alerting.left_out == 1
    alerting.take([condition("c")], START + 2 * SECOND)
    assert (subjects(alerting), alerting.left_out) == (["c"], 0)
