"""The broker's packets are served within asyncio's wait, which ends when asyncio has something to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from roost.host.mqtt.turnstile import BrokerLoop, first_place


class Script:
    """Somebody who is served first: does what a test wants, one wake-up after the other."""

    def __init__(self, *acts: Callable[[], bool]) -> None:
        self.acts = list(acts)
        self.waits: list[float] = []

    def serve(self, timeout_s: float) -> bool:
        self.waits.append(timeout_s)
        return self.acts.pop(0)()


def test_wake_ups_follow_each_other_until_asyncio_has_something_to_do() -> None:
    loop = BrokerLoop()
    loop.turnstile.first = script = Script(lambda: False, lambda: False, lambda: True)
    assert loop.turnstile.select(None) == []
    assert script.waits == [-1.0, -1.0, -1.0]
    loop.turnstile.first = None
    loop.close()


def test_waiting_ends_in_time() -> None:
    loop = BrokerLoop()
    loop.turnstile.first = script = Script(lambda: False)
    assert loop.turnstile.select(0) == []
    assert script.waits == [0.0]
    loop.turnstile.first = None
    loop.close()


@pytest.mark.parametrize("how", ["soon", "later"])
def test_what_serving_puts_into_the_loop_is_called_at_once(how: str) -> None:
    async def test() -> None:
        loop, called = asyncio.get_running_loop(), asyncio.Event()
        turnstile = first_place(loop)
        assert turnstile is not None

        def act() -> bool:
            if how == "soon":
                loop.call_soon(called.set)
            else:
                loop.call_later(0, called.set)
            return False

        def stop() -> bool:
            turnstile.first = None
            return False

        script = turnstile.first = Script(act, stop)
        await called.wait()
        assert script.waits[0] == -1.0, "nothing else would have ended the wait"

    with asyncio.Runner(loop_factory=BrokerLoop) as runner:
        runner.run(test())


def test_who_goes_first_may_step_back_while_it_is_served() -> None:
    loop = BrokerLoop()

    def step_back() -> bool:
        loop.turnstile.first = None
        return False

    loop.turnstile.first = script = Script(step_back)
    assert loop.turnstile.select(None) == []
    assert script.waits == [-1.0]
    loop.close()
