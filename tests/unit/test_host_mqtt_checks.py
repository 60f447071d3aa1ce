"""Password checks beside the broker's thread: how many, who is turned away, and what is remembered."""

import threading
from collections.abc import Callable, Iterator

import pytest

from roost.host.mqtt import checks as module
from roost.host.mqtt.checks import Checks
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.host.mqtt.users import Users

ALICE = PasswordHash.make(b"wonderland", LIGHT)
BOB = PasswordHash.make(b"builder", LIGHT)


class Asking:
    """Users whose check waits until it is told to go on."""

    def __init__(self, answer: bool) -> None:
        self.running = threading.Semaphore(0)
        self.go_on = threading.Event()
        self.checked = 0
        self._answer = answer

    def users(self, hashes: dict[bytes, PasswordHash]) -> Users:
        users = Users(hashes)

        def check(user: bytes, password: bytes) -> bool:
            del user, password
            self.checked += 1
            self.running.release()
            self.go_on.wait()
            return self._answer

        users.check = check  # type: ignore[method-assign]
        return users


@pytest.fixture
def checks() -> Iterator[Callable[[int, int], Checks]]:
    made: list[Checks] = []

    def make(workers: int, max_waiting: int) -> Checks:
        made.append(Checks(workers, max_waiting))
        return made[-1]

    yield make
    for each in made:
        each.close()


def answer(checks: Checks, users: Users, user: bytes, password: bytes) -> bool:
    answered = threading.Event()
    answers: list[bool] = []

    def then(right: bool) -> None:
        answers.append(right)
        answered.set()

    assert checks.ask(users, user, password, then)
    assert answered.wait(30)
    return answers[0]


def test_so_many_run_so_many_wait_and_the_rest_is_turned_away(checks: Callable[[int, int], Checks]) -> None:
    asking = Asking(answer=False)
    users = asking.users({b"alice": ALICE})
    answered = threading.Semaphore(0)
    some = checks(2, 3)
    taken = [some.ask(users, b"alice", b"x", lambda _: answered.release()) for _ in range(7)]
    assert taken == [True] * 5 + [False] * 2
    assert some.turned_away == 2
    for _ in range(2):
        assert asking.running.acquire(timeout=30)
    assert asking.checked == 2
    asking.go_on.set()
    for _ in range(5):
        assert answered.acquire(timeout=30)
    assert some.ask(users, b"alice", b"x", lambda _: answered.release())
    assert answered.acquire(timeout=30)


def test_a_right_password_is_remembered_until_its_line_changes(checks: Callable[[int, int], Checks]) -> None:
    asking = Asking(answer=True)
    asking.go_on.set()
    users = asking.users({b"alice": ALICE})
    some = checks(1, 1)
    assert answer(some, users, b"alice", b"wonderland")
    assert answer(some, users, b"alice", b"wonderland")
    assert (asking.checked, some.remembered_hits) == (1, 1)
    assert answer(some, users, b"alice", b"wonderlane")
    assert asking.checked == 2
    assert answer(some, asking.users({b"alice": BOB}), b"alice", b"wonderland")
    assert asking.checked == 3
    assert not answer(some, Users({b"bob": BOB}), b"alice", b"wonderland")


def test_a_wrong_password_is_checked_every_time(checks: Callable[[int, int], Checks]) -> None:
    some = checks(1, 1)
    users = Users({b"alice": ALICE})
    assert not answer(some, users, b"alice", b"wrong")
    assert not answer(some, users, b"alice", b"wrong")
    assert not answer(some, users, b"nobody", b"wonderland")
    assert some.remembered_hits == 0
    assert answer(some, users, b"alice", b"wonderland")


def test_what_is_remembered_is_bounded_and_is_no_password(
    checks: Callable[[int, int], Checks], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_REMEMBERED", 2)
    asking = Asking(answer=True)
    asking.go_on.set()
    users = asking.users({b"alice": ALICE})
    some = checks(1, 1)
    for password in (b"first", b"second", b"third"):
        assert answer(some, users, b"alice", password)
    assert len(some._right) == 2
    assert not any(password in kept for kept in some._right for password in (b"first", b"second", b"third"))
    assert answer(some, users, b"alice", b"first")
    assert asking.checked == 4


@pytest.mark.parametrize("error", [MemoryError, ValueError])
def test_a_check_that_cannot_be_made_is_answered_with_no(
    checks: Callable[[int, int], Checks], monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*_: object) -> bool:
        raise error

    monkeypatch.setattr(Users, "check", fail)
    some = checks(1, 0)
    for _ in range(2):  # its place is free again
        assert not answer(some, Users({b"alice": ALICE}), b"alice", b"wonderland")
    assert some.failed == 2
