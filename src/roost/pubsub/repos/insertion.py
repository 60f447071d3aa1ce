"""Insertion at a repo, under the group's service prefix and under its own alike: who tells it what, and who answers.

    <prefix>/insert | insert check | delete /<parameter>/<digest>      repo-ng's commands [repo.md §2], here
    <prefix>/insert | delete /notify/<digest>                          ndn-python-repo's [§3], `handshake`
    <prefix>/insert check | delete check /<digest>                     its checks
    <prefix>/insert batch/<digest>                                     the streaming insert, ours, `streaming`

A command is a signed Interest, checked by the trust schema and good once only; a replay is refused like a wrong key.
Whatever is kept was verified first, and nobody hears of it before it is on the disk. An insert is answered at once with
the number of a process; what became of it, and why not, is told to whoever checks.

What is not a command (`None`) is for somebody else to answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from roost.errors import BadPacket
from roost.forwarding.endpoint_effects import Asked
from roost.machine import SECOND, Effect, Randomness
from roost.naming import Component, Name
from roost.naming.component import GENERIC, PARAMETERS_DIGEST
from roost.pubsub.asking import Asking
from roost.pubsub.repos.answering import Answering
from roost.pubsub.repos.handshake import MAX_NONCES, Handshake
from roost.pubsub.repos.intake import Intake, Pace, Target
from roost.pubsub.repos.permission import Permission
from roost.pubsub.repos.processes import MAX_PROCESSES, Process, Processes
from roost.pubsub.repos.removal import Removal
from roost.pubsub.repos.shelf_port import ShelfPort
from roost.pubsub.repos.streaming import Copier, Streaming
from roost.repo import commands
from roost.repo.batch import INSERT_BATCH
from roost.repo.commands import CommandParameter, CommandResponse
from roost.wire import Signer

WINDOW: Final = 12
LIFETIME_MS: Final = 4000
MAX_LIFETIME_MS: Final = 60_000
TRIES: Final = 3
NO_END_FOR: Final = 10 * SECOND
KEEP_FOR: Final = 10 * SECOND
_NOTIFY: Final = Component.text("notify")
_VERBS: Final = {
    verb.encode(): verb
    for verb in (commands.INSERT, commands.INSERT_CHECK, commands.DELETE, commands.DELETE_CHECK, INSERT_BATCH)
}
_CHECKED: Final = {commands.INSERT_CHECK: commands.INSERT, commands.DELETE_CHECK: commands.DELETE}


class Insertion:
    """The repo's side of all three protocols; `prefixes` are where it is commanded, `group` is what it keeps."""

    def __init__(
        self,
        asking: Asking,
        shelf: ShelfPort,
        signer: Signer,
        randomness: Randomness,
        group: Name,
        prefixes: Sequence[Name],
        *,
        copier: Copier | None = None,
        max_processes: int = MAX_PROCESSES,
    ) -> None:
        self.permission: Final = Permission(group, prefixes)
        self.processes: Final = Processes(max_processes)
        answering = Answering(signer, str(group))
        self.streaming: Final = Streaming(asking, shelf, self.permission, answering, copier)
        self.handshake: Final = Handshake(asking, shelf, self.permission, answering, self.processes)
        self._asking: Final = asking
        self._shelf: Final = shelf
        self._randomness: Final = randomness
        self._answering: Final = answering
        self._prefixes: Final = sorted(prefixes, key=len, reverse=True)

    def asked(self, asked: Asked, now: int) -> list[Effect] | None:
        """Take in an Interest; None if it is no command."""
        name = asked.interest.name
        for prefix in self._prefixes:
            if name.starts_with(prefix):
                break
        else:
            return None
        rest = list(name.suffix(len(prefix)))
        verb = _VERBS.get(rest[0].value) if rest and rest[0].type == GENERIC else None
        if verb is None:
            return None
        if len(rest) == 2 and rest[1].type == PARAMETERS_DIGEST:
            if verb == INSERT_BATCH:
                return self.streaming.asked(asked, now)
            if verb in _CHECKED:
                return self.handshake.checked(asked, _CHECKED[verb], now)
        elif len(rest) == 3 and rest[2].type == PARAMETERS_DIGEST:
            if rest[1] == _NOTIFY and verb in {commands.INSERT, commands.DELETE}:
                return self.handshake.notified(asked, name.prefix(len(prefix) + 1), verb, now)
            if rest[1].type == GENERIC and verb in {commands.INSERT, commands.INSERT_CHECK, commands.DELETE}:
                then = partial(self._commanded, asked, verb, rest[1].value)
                return self._asking.check(asked.interest, then, now, repeatable=False)
        return [
            self._asking.rejected(asked.interest, f"{name} is no command: it lacks its parameter, or is not signed")
        ]

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        return self.processes.tick(now)

    def deadline(self) -> int | None:
        """When a process is to be stopped or forgotten."""
        return self.processes.deadline()

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "processes": (len(self.processes), self.processes.limit),
            "nonces": (len(self.handshake), MAX_NONCES),
            "batches": (self.streaming.open, self.streaming.limit),
        }

    # -- repo-ng's commands

    def _commanded(self, asked: Asked, verb: str, wire: bytes, refusal: str, now: int) -> list[Effect]:
        if refusal:
            return self._refuse(asked, commands.REFUSED, refusal, now)
        try:
            parameter = CommandParameter.decode(wire)
        except BadPacket as error:
            return self._refuse(asked, commands.REFUSED, str(error), now)
        if parameter.name is None:
            return self._refuse(asked, commands.FIELD_MISSING, f"{verb} needs a Name", now)
        if verb == commands.INSERT:
            return self._insert(asked, parameter.name, parameter, now)
        if verb == commands.DELETE:
            return self._delete(asked, parameter.name, parameter, now)
        return self._check(asked, parameter, now)

    def _insert(self, asked: Asked, name: Name, parameter: CommandParameter, now: int) -> list[Effect]:
        refusal = self.permission.to_keep(name)
        if refusal:
            return self._refuse(asked, commands.REFUSED, refusal, now)
        if self.processes.full:
            text = f"{self.processes.limit} processes are there, which is the limit: try again later"
            return self._answer(asked, CommandResponse(commands.BUSY, text=text), now)
        lifetime_ms = max(1, min(parameter.lifetime_ms or LIFETIME_MS, MAX_LIFETIME_MS))
        job = Intake(
            self._asking, self._shelf, self.permission, _target(name, parameter), Pace(WINDOW, lifetime_ms, TRIES)
        )
        number = self._randomness.getrandbits(64)
        accepted = CommandResponse(commands.ACCEPTED, number, parameter.start, parameter.end, 0)
        effects = self._answer(asked, accepted, now)
        return effects + self.processes.add(_key(number), [job], now, keep=KEEP_FOR, wait=NO_END_FOR)

    def _check(self, asked: Asked, parameter: CommandParameter, now: int) -> list[Effect]:
        if parameter.process is None:
            return self._refuse(asked, commands.FIELD_MISSING, "a check needs a ProcessId", now)
        process = self.processes.find(_key(parameter.process), now)
        if process is None:
            return self._answer(asked, CommandResponse(commands.NO_SUCH_PROCESS, parameter.process), now)
        return self._answer(asked, _response(process, parameter.process), now)

    def _delete(self, asked: Asked, name: Name, parameter: CommandParameter, now: int) -> list[Effect]:
        removal = Removal(self._shelf, self.permission, _target(name, parameter), asked.interest.signature)
        return removal.start(partial(self._deleted, asked, removal, parameter), now)

    def _deleted(self, asked: Asked, removal: Removal, parameter: CommandParameter, now: int) -> list[Effect]:
        if removal.code == commands.REFUSED:
            return self._refuse(asked, removal.code, removal.text, now)
        response = CommandResponse(
            removal.code,
            parameter.process,
            parameter.start,
            parameter.end,
            deleted=removal.deleted,
            text=removal.text,
        )
        return self._answer(asked, response, now)

    # -- answers

    def _refuse(self, asked: Asked, code: int, reason: str, now: int) -> list[Effect]:
        return [
            self._asking.rejected(asked.interest, reason),
            *self._answer(asked, CommandResponse(code, text=reason), now),
        ]

    def _answer(self, asked: Asked, response: CommandResponse, now: int) -> list[Effect]:
        return self._answering.answer(asked, response.encode(), now)


def _target(name: Name, parameter: CommandParameter) -> Target:
    start = 0 if parameter.start is None and parameter.end is not None else parameter.start
    return Target(name, start, parameter.end)


def _key(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _response(process: Process, number: int) -> CommandResponse:
    job = process.jobs[0]
    code, text = process.code or commands.IN_PROGRESS, process.text
    if code == commands.COMPLETE and job.unended:
        code, text = commands.FAILED, f"{job.target.name}: a segment is missing, and none said which is the last"
    return CommandResponse(code, number, job.target.start, job.target.end, job.inserted, text=text)
