"""The broker's packets are served within asyncio's wait, which ends when asyncio has something to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from roost.host.mqtt.turnstile import BrokerLoop


class Script:
    """Somebody who is served first: does what a test wants, one wait after the other."""

    def __init__(self, *acts: Callable[[], bool]) -> None:
        self.acts = list(acts)
        self.waits: list[float] = []
        self.is_called = False

    def attend(self, timeout_s: float) -> bool:
        self.waits.append(timeout_s)
        return self.acts.pop(0)()


@pytest.mark.parametrize(("timeout", "wait"), [(None, -1.0), (0, 0.0), (-2, 0.0), (1.5, 1.5)])
def test_the_first_waits_as_long_as_asyncio_would(timeout: float | None, wait: float) -> None:
    loop = BrokerLoop()
    loop.turnstile.first = script = Script(lambda: False, lambda: True)
    assert loop.turnstile.select(timeout) == []
    assert loop.turnstile.select(timeout) == []
    assert script.waits == [wait, wait]
    loop.turnstile.first = None
    loop.close()


def test_what_is_ready_behind_the_first_is_told_only_when_it_says_so() -> None:
    loop = BrokerLoop()
    loop.turnstile.first = Script(lambda: False, lambda: True)
    loop.call_soon_threadsafe(lambda: None)  # writes to a descriptor of asyncio's own
    assert loop.turnstile.select(0) == []
    assert len(loop.turnstile.select(0)) == 1
    loop.turnstile.first = None
    loop.close()


@pytest.mark.parametrize("how", ["soon", "later"])
def test_what_is_put_into_the_loop_ends_the_wait(how: str) -> None:
    loop = BrokerLoop()
    loop.turnstile.first = script = Script()
    if how == "soon":
        loop.call_soon(lambda: None)
    else:
        loop.call_later(0, lambda: None)
    assert script.is_called
    loop.turnstile.first = None
    loop.close()
