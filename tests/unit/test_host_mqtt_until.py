"""Waiting for what a machine does later: told when it is so, and not for ever."""

from __future__ import annotations

import asyncio

import pytest
from tests.loops import run

from roost.errors import Unreachable
from roost.host.mqtt import until as module
from roost.host.mqtt.until import Until


def test_who_waits_is_told_when_it_is_so() -> None:
    async def test() -> None:
        until, done = Until(), asyncio.Event()
        waits = asyncio.create_task(until.so(done.is_set))
        await asyncio.sleep(0)
        until.look()
        assert not waits.done()
        done.set()
        until.look()
        await waits
        assert until.waiting == []

    run(test)


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.01)

    async def test() -> None:
        until = Until()
        with pytest.raises(Unreachable, match="not kept"):
            await until.so(lambda: False)
        until.look()
        assert until.waiting == []

    run(test)
