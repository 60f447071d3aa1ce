"""When the broker leaves its subscribers alone for a moment, and how long."""

from roost.host.mqtt.respite import MANY, Respite

ONE = [(1, b"m" * 40)]


def acknowledgements(count: int) -> list[tuple[int, bytes]]:
    return [(number, b"\x40\x02\x00\x01") for number in range(count)]


def test_one_message_to_many_is_followed_by_a_respite_that_grows_with_them() -> None:
    assert 0 < Respite().due_s(MANY, ONE) < Respite().due_s(2 * MANY, ONE)


def test_a_respite_has_a_longest_time() -> None:
    assert Respite().due_s(10_000, ONE) == Respite().due_s(20_000, ONE) <= 0.001


def test_few_are_taken_one_by_one() -> None:
    assert Respite().due_s(MANY - 1, ONE) == 0


def test_what_came_from_many_is_no_message_to_many() -> None:
    assert Respite().due_s(100, acknowledgements(100)) == 0


def test_a_wake_up_that_brought_much_is_followed_by_the_next_at_once() -> None:
    assert Respite().due_s(100, [(1, b"m" * 4096)]) == 0


def test_many_who_have_not_acknowledged_yet_are_waited_for_once_more_and_no_longer() -> None:
    respite = Respite()
    first = respite.due_s(3 * MANY, ONE)
    assert 0 < respite.due_s(0, acknowledgements(MANY)) < first
    assert respite.due_s(0, acknowledgements(1)) == 0


def test_nobody_waits_for_the_last_few() -> None:
    respite = Respite()
    respite.due_s(2 * MANY, ONE)
    assert respite.due_s(0, acknowledgements(MANY + 1)) == 0
