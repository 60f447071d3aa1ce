"""The port itself, and the two answers that need no file."""

import pytest

from roost.broker.access import ALLOW_ALL, ANONYMOUS, LOOPBACK_ONLY, NOTHING, WHOLE, Access


def test_what_a_subclass_forgets_stays_shut() -> None:
    access = Access()
    assert not access.may_publish(b"alice", b"c", b"a")
    assert not access.may_receive(b"alice", b"c", b"a")
    assert access.reach(b"alice", b"c", b"a") == NOTHING


@pytest.mark.parametrize("loopback", [True, False])
def test_by_default_a_proved_user_connects_and_nobody_else(loopback: bool) -> None:
    assert Access().may_connect(b"alice", loopback=loopback)
    assert not Access().may_connect(ANONYMOUS, loopback=loopback)


@pytest.mark.parametrize("user", [ANONYMOUS, b"alice"])
def test_without_configuration_only_this_machine_is_let_in(user: bytes) -> None:
    assert LOOPBACK_ONLY.may_connect(user, loopback=True)
    assert not LOOPBACK_ONLY.may_connect(user, loopback=False)
    assert ALLOW_ALL.may_connect(user, loopback=False)


@pytest.mark.parametrize("access", [ALLOW_ALL, LOOPBACK_ONLY])
def test_who_is_let_in_by_them_may_do_everything(access: Access) -> None:
    assert access.may_publish(ANONYMOUS, b"c", b"$SYS/x")
    assert access.may_receive(ANONYMOUS, b"c", b"$SYS/x")
    assert access.reach(ANONYMOUS, b"c", b"#") == WHOLE
