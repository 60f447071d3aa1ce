"""The multicast strategy of a group, chosen at the forwarder: asked again where that helps, else left to people."""

from __future__ import annotations

import asyncio
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from roost.errors import RoostError, TimedOut
from roost.forwarding.control import ControlResponse
from roost.forwarding.pending import Question
from roost.forwarding.requests import CommandWriter
from roost.host import choosing
from roost.host.session import Session
from roost.machine import MS, SECOND
from roost.naming import Name
from roost.wire import Data, DigestSigner, Interest, make_data

NOW = 1_800_000_000 * SECOND
PREFIX = Name.parse("/g/v=3")


class Face:
    """A session whose forwarder says what the test says."""

    def __init__(self, *answers: int | RoostError, local: bool = True) -> None:
        self.is_local = local
        self.endpoint = SimpleNamespace(where="tcp4://elsewhere")
        self.journal = SimpleNamespace(warn=self._warn)
        self.times_ms: list[int] = []
        self.warnings: list[str] = []
        self._answers = list(answers)

    def clock(self) -> int:
        return NOW

    async def exchange(self, question: Question) -> Data:
        interest = Interest.decode(question.wire)
        assert interest.name.starts_with(Name.parse("/localhost/nfd/strategy-choice/set"))
        assert interest.signature is not None
        self.times_ms.append(interest.signature.time_ms or 0)
        answer = self._answers.pop(0)
        if isinstance(answer, RoostError):
            raise answer
        return make_data(interest.name, ControlResponse(answer, "as the test says").encode(), DigestSigner())

    def _warn(self, message: str, *arguments: Any) -> None:  # noqa: ANN401  as the journal's
        self.warnings.append(message % arguments)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "_PAUSES_S", (0, 0, 0))


def choose(face: Face) -> None:
    commands = CommandWriter(DigestSigner(), Random(1))
    asyncio.run(choosing.choose_multicast(cast(Session, face), commands, PREFIX))


def test_it_is_chosen_once() -> None:
    face = Face(200)
    choose(face)
    assert (len(face.times_ms), face.warnings) == (1, [])


def test_who_was_overtaken_by_another_program_asks_again_with_a_later_time() -> None:
    face = Face(403, 403, 200)
    choose(face)
    assert face.times_ms == [NOW // MS, NOW // MS + 1, NOW // MS + 2]
    assert face.warnings == []


@pytest.mark.parametrize(
    ("answers", "asked", "said"),
    [
        ((403, 403, 403, 403), 4, "403 as the test says"),
        ((404,), 1, "404 as the test says"),
        ((TimedOut("nobody answered"),), 1, "nobody answered"),
    ],
)
def test_what_cannot_be_chosen_is_said_once(answers: tuple[int | RoostError, ...], asked: int, said: str) -> None:
    face = Face(*answers)
    choose(face)
    assert len(face.times_ms) == asked
    (line,) = face.warnings
    assert line.startswith("the multicast strategy of /g/v=3 is to be set by hand: ")
    assert said in line


def test_a_forwarder_elsewhere_is_not_commanded() -> None:
    face = Face(local=False)
    choose(face)
    assert face.times_ms == []
    assert face.warnings == ["/g/v=3 needs the multicast strategy on tcp4://elsewhere: set it there"]
