"""The signing process: its signatures are ours, and whoever asks is answered also when it is lost."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from functools import partial
from hashlib import sha256

import pytest
from tests.gateway_world import posted
from tests.loops import run
from tests.signing_world import Aside, key

from roost.broker.insertion import LARGE
from roost.broker.signing_effects import Sign
from roost.host import signing as module
from roost.host.signing import MAX_ASKED, SigningProcess
from roost.host.signing_child import ANSWER, REQUEST, serve
from roost.machine import Effect
from roost.trust.keys import EcdsaPrivate
from roost.wire import DigestSigner

PORTIONS = [f"portion {number}".encode() for number in range(100)]
DIGESTS = [sha256(portion).digest() for portion in PORTIONS]


class Asker:
    """Who asks, and waits for the answers."""

    def __init__(self, *command: str) -> None:
        self.whys: list[str] = []
        self.lost = asyncio.Event()
        self.answers: asyncio.Queue[list[bytes]] = asyncio.Queue()
        self.process = SigningProcess(self.lose, command) if command else SigningProcess(self.lose)

    def lose(self, why: str) -> None:
        self.whys.append(why)
        self.lost.set()

    def ask(self, signer: EcdsaPrivate | DigestSigner | None = None) -> bool:
        return self.process.sign(signer or key(), DIGESTS, self.answers.put_nowait)

    async def until_ready(self) -> None:
        """Ask in vain, which starts it."""
        assert not self.ask()
        await self.process.ready.wait()

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, how)


def signed_by(signer: EcdsaPrivate) -> list[bytes]:
    return [signer.sign(portion) for portion in PORTIONS]


def test_it_signs_digests_as_we_sign_portions_with_the_key_of_each_request_and_in_order() -> None:
    async def test() -> None:
        asker = Asker()
        await asker.until_ready()
        for number in (1, 2, 1, 3):
            assert asker.ask(key(number))
        for number in (1, 2, 1, 3):
            assert await asker.answers.get() == signed_by(key(number))
        await asker.process.end()
        assert asker.whys == []

    run(test)


def test_nobody_waits_for_it_to_start_and_other_keys_are_not_for_it() -> None:
    async def test() -> None:
        asker = Asker()
        assert not asker.ask(DigestSigner())
        assert asker.process.pid is None
        await asker.until_ready()
        assert not asker.ask(DigestSigner())
        await asker.process.end()
        assert not asker.ask()
        assert asker.answers.empty()

    run(test)


def test_one_that_is_killed_answers_everybody_with_nothing_and_is_told_of_once() -> None:
    async def test() -> None:
        asker = Asker()
        await asker.until_ready()
        asker.kill(signal.SIGSTOP)  # so that it cannot answer before
        for _ in range(MAX_ASKED):
            assert asker.ask()
        assert (asker.ask(), asker.process.turned_away) == (False, 1)
        asker.kill()
        for _ in range(MAX_ASKED):
            assert await asker.answers.get() == []
        assert not asker.ask()
        await asker.process.end()
        assert asker.whys == ["it has ended"]

    run(test)


def test_one_that_says_nothing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0)

    async def test() -> None:
        asker = Asker(sys.executable, "-c", "import os, time; os.write(1, bytes(4)); time.sleep(1000)")
        await asker.until_ready()
        assert asker.ask()
        assert await asker.answers.get() == []
        assert asker.whys == ["it said nothing for 0 s"]
        await asker.process.end()

    run(test)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["/nowhere/python"], "it cannot be started"),
        ([sys.executable, "-c", ""], "it has ended"),
        ([sys.executable, "-c", "import os; os.write(1, bytes(8)); os.read(0, 1)"], "it answers what nobody asked"),
    ],
)
def test_one_that_cannot_start_or_talks_nonsense_is_lost(command: list[str], why: str) -> None:
    async def test() -> None:
        asker = Asker(*command)
        assert not asker.ask()
        await asker.lost.wait()
        (said,) = asker.whys
        assert said.startswith(why)
        assert not asker.ask()
        await asker.process.end()

    run(test)


def test_it_minds_no_signal_that_is_for_its_parent() -> None:
    async def test() -> None:
        asker = Asker()
        await asker.until_ready()
        asker.kill(signal.SIGINT)
        asker.kill(signal.SIGTERM)
        assert asker.ask()
        assert await asker.answers.get() == signed_by(key())
        await asker.process.end()
        assert asker.whys == []

    run(test)


def test_it_ends_with_its_input_also_in_the_middle_of_a_request() -> None:
    pkcs8 = key().pkcs8()
    request = REQUEST.pack(len(pkcs8), 1) + pkcs8 + DIGESTS[0]
    answers = io.BytesIO()
    serve(io.BytesIO(request + request[:-1]), answers)
    signature = key().sign(PORTIONS[0])
    assert answers.getvalue() == ANSWER.pack(0) + ANSWER.pack(1 + len(signature)) + bytes([len(signature)]) + signature


class Driven(Aside):
    """A panel whose questions go to a real process."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self.answered = asyncio.Event()
        super().__init__()

    def do(self, effects: list[Effect]) -> None:
        super().do([effect for effect in effects if not isinstance(effect, Sign)])
        for effect in effects:
            if isinstance(effect, Sign):
                then = partial(self.take, effect.ticket)
                if not self.asker.process.sign(effect.signer, effect.digests, then):
                    asyncio.get_running_loop().call_soon(then, [])

    def take(self, ticket: int, signatures: list[bytes]) -> None:
        self.do(self.insertion.signed(ticket, signatures, self.now))
        self.save()
        self.answered.set()


def test_a_process_that_is_killed_under_load_costs_no_message_and_no_number() -> None:
    async def test() -> None:
        asker = Asker()
        await asker.until_ready()
        world = Driven(asker)
        tickets = 40
        for ticket in range(tickets):
            world.insert(ticket, *[posted("hall/temp", f"{ticket}.{number}") for number in range(LARGE)])
            if ticket == tickets // 2:
                while not world.insertion.signing.elsewhere:  # it has signed some
                    await world.answered.wait()
                    world.answered.clear()
                asker.kill()
        while not world.insertion.is_idle:
            world.go_on()
            world.save()
            await asyncio.sleep(0)
        assert [effect.ticket for effect in world.inserted] == list(range(tickets))
        assert world.numbers("hall/temp") == [(1, tickets * LARGE)]
        assert [payload for _, payload in world.seen()] == [f"{a}.{b}" for a in range(tickets) for b in range(LARGE)]
        assert world.insertion.signing.returned > 0
        await asker.process.end()
        assert asker.whys == ["it has ended"]

    run(test)
