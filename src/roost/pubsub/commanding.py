"""The producer's side of insertion: commands to the repos of a group, each signed anew, and answers that are believed.

    commander.insert(name, start, end, then, now)     the repo fetches from us; checked once a second until it is done
    commander.delete(name, start, end, then, now)
    commander.insert_batch(packets, then, now)        the streaming insert; `then` gets the receipt

`then(answer, reason, now)`: the reason is empty if all was done as asked; the answer is None if none was believed.

A command counts once at a repo, so it is never sent twice: every try has a fresh time and nonce. And an answer is
believed only if a repo of the group has signed it. The trust schema alone cannot see to that: the Insertion
Protocol answers under the very name of the command, which a panel may sign, because commands are its to sign; with a
rule for the name only, any panel could confirm what no repo has kept, and the producer would forget it [NDN-PS §III-E].

Whoever accepts an insert is asked about it under its own prefix: another repo would not know of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, TypeAlias, TypeVar

from roost.errors import BadPacket
from roost.forwarding.endpoint_effects import OVERFLOWED, Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import MS, SECOND, Effect, Randomness
from roost.machine.timetable import Timetable
from roost.naming import Component, Name
from roost.pubsub.asking import Asking
from roost.pubsub.repos.permission import is_repo, signer_of
from roost.repo.batch import ALL_KEPT, INSERT_BATCH, Receipt, encode_batch
from roost.repo.commands import (
    ACCEPTED,
    COMPLETE,
    DELETE,
    IN_PROGRESS,
    INSERT,
    INSERT_CHECK,
    CommandParameter,
    CommandResponse,
)
from roost.wire import Data, Signer, sign_interest

MAX_CHECKED: Final = 1024
CHECK_EVERY: Final = SECOND
LIFETIME_MS: Final = 2000
TRIES: Final = 3

Answer = TypeVar("Answer")
_Heard: TypeAlias = Callable[[CommandResponse | None, Name, str, int], list[Effect]]  # the answer, and whose it is
Responded: TypeAlias = Callable[[CommandResponse | None, str, int], list[Effect]]
Receipted: TypeAlias = Callable[[Receipt | None, str, int], list[Effect]]


class Commander:
    """Commands to the repos that answer under a prefix, from the holder of one key."""

    def __init__(
        self,
        asking: Asking,
        signer: Signer,
        randomness: Randomness,
        group: Name,
        prefix: Name,
        *,
        lifetime_ms: int = LIFETIME_MS,
        tries: int = TRIES,
    ) -> None:
        self.asking: Final = asking
        self.group: Final = group
        self.prefix: Final = prefix
        self.lifetime_ms: Final = lifetime_ms
        self.tries: Final = tries
        self.overflowed = 0
        self.forged = 0  # answers that no repo of the group has signed
        self._signer: Final = signer
        self._randomness: Final = randomness
        self._last_ms = 0
        self._next_check = 0
        self._checks: Final[dict[int, _Check]] = {}  # bound: MAX_CHECKED
        self._timers: Final = Timetable()

    # -- commands

    def insert(self, name: Name, start: int | None, end: int | None, then: Responded, now: int) -> list[Effect]:
        """Have the repo fetch a Data, or with `start` its segments, up to `end` or where it ends."""
        if len(self._checks) >= MAX_CHECKED:
            self.overflowed += 1
            return then(None, f"{MAX_CHECKED} inserts are under way, which is the limit", now)
        parameter = CommandParameter(name, start, end)
        return self._command(self.prefix, INSERT, parameter, partial(self._accepted, name, then), now)

    def delete(self, name: Name, start: int | None, end: int | None, then: Responded, now: int) -> list[Effect]:
        """Have the repo delete a Data, or segments."""
        parameter = CommandParameter(name, start, end, self._randomness.getrandbits(64))
        return self._command(self.prefix, DELETE, parameter, partial(_completed, then), now)

    def insert_batch(
        self, packets: Sequence[Data], then: Receipted, now: int, *, copies: int = 1, prefix: Name | None = None
    ) -> list[Effect]:
        """Have the repo keep these, at most what a batch holds (`roost.repo.batch`); with `prefix`, this one repo."""
        try:
            parameters = encode_batch([data.wire for data in packets], copies)
        except BadPacket as error:
            return then(None, str(error), now)
        name = (prefix or self.prefix) / INSERT_BATCH
        return _Command(self, name, parameters, Receipt.decode, partial(_receipted, then)).send(now)

    def tick(self, now: int) -> list[Effect]:
        """Check what is to be checked."""
        effects: list[Effect] = []
        for number in self._timers.overdue(now):
            check = self._checks[number]
            then = partial(self._checked, number)
            effects += self._command(check.repo, INSERT_CHECK, check.parameter, then, now)
        return effects

    def deadline(self) -> int | None:
        """When the next check is due."""
        return self._timers.deadline()

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {"checked": (len(self._checks), MAX_CHECKED)}

    def write(self, name: Name, parameters: bytes, now: int) -> bytes:
        """Write a signed Interest, later than all before it; without a Nonce, which the endpoint gives it.

        Receipts have a longer name than their command; it has parameters, other commands have none.
        """
        self._last_ms = max(now // MS, self._last_ms + 1)
        return sign_interest(
            name,
            self._signer,
            signature_nonce=self._randomness.getrandbits(64).to_bytes(8, "big"),
            time_ms=self._last_ms,
            can_be_prefix=bool(parameters),
            lifetime_ms=self.lifetime_ms,
            parameters=parameters,
        )

    # -- what becomes of an insert

    def _command(self, prefix: Name, verb: str, parameter: CommandParameter, then: _Heard, now: int) -> list[Effect]:
        name = prefix / verb / Component(parameter.encode())
        return _Command(self, name, b"", CommandResponse.decode, then).send(now)

    def _accepted(
        self, name: Name, then: Responded, response: CommandResponse | None, repo: Name, reason: str, now: int
    ) -> list[Effect]:
        if response is None:
            return then(None, reason, now)
        if response.code != ACCEPTED or response.process is None:
            return then(response, _said(repo, response.code, response.text), now)
        if len(self._checks) >= MAX_CHECKED:
            self.overflowed += 1
            return then(response, f"{MAX_CHECKED} inserts are being checked, which is the limit", now)
        self._next_check += 1
        parameter = CommandParameter(name, process=response.process)
        self._checks[self._next_check] = _Check(repo, parameter, then)
        self._timers.set(self._next_check, now + CHECK_EVERY)
        return []

    def _checked(
        self, number: int, response: CommandResponse | None, repo: Name, reason: str, now: int
    ) -> list[Effect]:
        check = self._checks[number]
        if response is not None and response.code == IN_PROGRESS and repo == check.repo:
            self._timers.set(number, now + CHECK_EVERY)
            return []
        del self._checks[number]
        return _completed(check.then, response, repo, reason, now)


@dataclass(frozen=True, slots=True)
class _Check:
    """An insert that a repo has accepted."""

    repo: Name
    parameter: CommandParameter
    then: Responded


class _Command(Generic[Answer]):
    """One command until it is answered: written anew for every try."""

    __slots__ = ("_commander", "_decode", "_name", "_parameters", "_then", "_tried")

    def __init__(
        self,
        commander: Commander,
        name: Name,
        parameters: bytes,
        decode: Callable[[bytes], Answer],
        then: Callable[[Answer | None, Name, str, int], list[Effect]],
    ) -> None:
        self._commander: Final = commander
        self._name: Final = name
        self._parameters: Final = parameters
        self._decode: Final = decode
        self._then: Final = then
        self._tried = 0

    def send(self, now: int) -> list[Effect]:
        """Try once more."""
        self._tried += 1
        try:
            wire = self._commander.write(self._name, self._parameters, now)
        except BadPacket as error:  # with its signature it does not fit a packet
            return self._then(None, Name(), str(error), now)
        return self._commander.asking.ask(Question(self._name, wire=wire), self._answered, now)

    def _answered(self, event: Delivered | Failed, now: int) -> list[Effect]:
        if isinstance(event, Delivered):
            return self._commander.asking.check(event.data, partial(self._checked, event.data), now)
        if event.kind != OVERFLOWED and self._tried < self._commander.tries:
            return self.send(now)
        return self._then(None, Name(), event.reason, now)

    def _checked(self, data: Data, refusal: str, now: int) -> list[Effect]:
        commander = self._commander
        who = signer_of(data.signature)
        if not refusal and (who is None or not is_repo(who, commander.group)):
            refusal = f"{data.name} is signed by {who}, only a repo of {commander.group} confirms [rule confirmation]"
        if refusal or who is None:
            commander.forged += 1
            return [commander.asking.rejected(data, refusal), *self._then(None, Name(), refusal, now)]
        try:
            answer = self._decode(data.content)
        except BadPacket as error:
            return [commander.asking.rejected(data, str(error)), *self._then(None, who, str(error), now)]
        return self._then(answer, who, "", now)


def _completed(then: Responded, response: CommandResponse | None, repo: Name, reason: str, now: int) -> list[Effect]:
    if response is None:
        return then(None, reason, now)
    return then(response, "" if response.code == COMPLETE else _said(repo, response.code, response.text), now)


def _receipted(then: Receipted, receipt: Receipt | None, repo: Name, reason: str, now: int) -> list[Effect]:
    if receipt is None:
        return then(None, reason, now)
    text = receipt.text or (receipt.refused[0][1] if receipt.refused else "")
    return then(receipt, "" if receipt.code == ALL_KEPT else _said(repo, receipt.code, text), now)


def _said(repo: Name, code: int, text: str) -> str:
    return f"{repo} says {code}" + (f": {text}" if text else "")
