"""ndn-python-repo's commands at a repo: told that there is one, it fetches it, does it, and is checked [repo.md §3].

    notify ──▶ fetch the message (verified) ──▶ process: object by object ──▶ the notify is answered, empty
    check  ──▶ what became of the process

A notification is not verified, and need not be: it only has the repo ask for a message, which is a Data that the schema
binds to its panel, once per publisher and nonce. Checks tell no secret. RegisterPrefix is passed over: a repo
serves its group, and nothing else is kept.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import Final

from roost.errors import BadPacket
from roost.forwarding.endpoint_effects import Asked
from roost.forwarding.pending import Question
from roost.machine import SECOND, Effect
from roost.naming import Component, Name
from roost.pubsub.asking import Asking
from roost.pubsub.repos.answering import Answering
from roost.pubsub.repos.intake import Intake, Pace, Target
from roost.pubsub.repos.permission import Permission
from roost.pubsub.repos.processes import Job, Process, Processes
from roost.pubsub.repos.removal import Removal
from roost.pubsub.repos.shelf_port import ShelfPort
from roost.repo import pyrepo
from roost.repo.commands import COMPLETE, INSERT, REFUSED
from roost.repo.pyrepo import CommandStatus, Notification, ObjectParameter, ObjectStatus
from roost.wire import Data

MAX_NONCES: Final = 4096
NONCE_FOR: Final = 60 * SECOND
KEEP_FOR: Final = 60 * SECOND
PACE: Final = Pace(window=10, lifetime_ms=1000, tries=15)
_MESSAGE_LIFETIME_MS: Final = 1000
_MESSAGE_TRIES: Final = 3
_MAX_STATUS_BYTES: Final = 7000


class Handshake:
    """Takes notifications and checks in."""

    def __init__(
        self, asking: Asking, shelf: ShelfPort, permission: Permission, answering: Answering, processes: Processes
    ) -> None:
        self.overflowed = 0
        self.repeated = 0
        self._asking: Final = asking
        self._shelf: Final = shelf
        self._permission: Final = permission
        self._answering: Final = answering
        self._processes: Final = processes
        self._nonces: Final[OrderedDict[bytes, int]] = OrderedDict()  # → until when, in order; bound: MAX_NONCES

    def __len__(self) -> int:
        return len(self._nonces)

    def notified(self, asked: Asked, topic: Name, verb: str, now: int) -> list[Effect]:
        """Take in that there is a message for a topic, which is the repo's prefix and the verb."""
        try:
            notification = Notification.decode(asked.interest.parameters or b"")
        except BadPacket as error:
            return [self._asking.rejected(asked.interest, str(error))]
        publisher = notification.publisher
        if not publisher.starts_with(self._permission.group):
            reason = f"{publisher} is not below {self._permission.group}: it has no say here [rule group]"
            return [self._asking.rejected(asked.interest, reason)]
        refusal = self._seen(publisher.wire + notification.nonce, now) or self._no_room()
        if refusal:
            return [self._asking.rejected(asked.interest, refusal)]
        name = publisher / "msg" + topic / Component(notification.nonce)
        question = Question(name, lifetime_ms=_MESSAGE_LIFETIME_MS, tries=_MESSAGE_TRIES, hints=notification.hints)
        return self._asking.fetch(question, partial(self._told, asked, verb), now)

    def checked(self, asked: Asked, verb: str, now: int) -> list[Effect]:
        """Tell what became of a command with this verb; an insert and a delete may have the same number."""
        try:
            number = pyrepo.decode_check(asked.interest.parameters or b"")
        except BadPacket as error:
            answer = self._answering.answer(asked, CommandStatus(pyrepo.REFUSED).encode(), now)
            return [self._asking.rejected(asked.interest, str(error)), *answer]
        process = self._processes.find(verb.encode() + number, now)
        status = CommandStatus(pyrepo.UNKNOWN) if process is None else _status(process)
        content = status.encode()
        if len(content) > _MAX_STATUS_BYTES:  # many objects with long names: the sum of it has to do
            content = CommandStatus(status.code).encode()
        return self._answering.answer(asked, content, now)

    def _seen(self, nonce: bytes, now: int) -> str:
        """Why a nonce does not count, empty if it is new."""
        while self._nonces and next(iter(self._nonces.values())) <= now:
            self._nonces.popitem(last=False)
        if nonce in self._nonces:
            self.repeated += 1
            return "the nonce of this notification was seen before [rule replay.nonce]"
        if len(self._nonces) >= MAX_NONCES:
            self.overflowed += 1
            return f"{MAX_NONCES} nonces are remembered, which is the limit"
        self._nonces[nonce] = now + NONCE_FOR
        return ""

    def _no_room(self) -> str:
        return f"{self._processes.limit} processes are there, which is the limit" if self._processes.full else ""

    def _told(self, asked: Asked, verb: str, message: Data | None, reason: str, now: int) -> list[Effect]:
        if message is None:
            return [self._asking.rejected(asked.interest, f"the message could not be had: {reason}")]
        refusal = self._no_room()
        objects: list[ObjectParameter] = []
        try:
            objects = pyrepo.decode_message(message.content)
        except BadPacket as error:
            refusal = str(error)
        if refusal:
            return [self._asking.rejected(message, refusal)]
        jobs = [self._job(verb, each, message) for each in objects]
        key = verb.encode() + pyrepo.request_number(message.content)
        effects = self._processes.add(key, jobs, now, keep=KEEP_FOR)
        return effects + self._answering.answer(asked, b"", now)

    def _job(self, verb: str, wanted: ObjectParameter, message: Data) -> Job:
        start = 0 if wanted.start is None and wanted.end is not None else wanted.start
        target = Target(wanted.name, start, wanted.end, wanted.hints)
        if verb == INSERT:
            return Intake(self._asking, self._shelf, self._permission, target, PACE)
        return Removal(self._shelf, self._permission, target, message.signature)


def _status(process: Process) -> CommandStatus:
    objects = tuple(
        ObjectStatus(job.target.name, _code(job, running=place == process.place), job.inserted, job.deleted)
        for place, job in enumerate(process.jobs)
    )
    if not process.code:
        code = pyrepo.RUNNING
    else:
        code = pyrepo.DONE if all(each.code == pyrepo.DONE for each in objects) else pyrepo.FAILED
    return CommandStatus(code, objects)


def _code(job: Job, *, running: bool) -> int:
    if not job.code:
        return pyrepo.RUNNING if running else pyrepo.QUEUED
    if job.code == COMPLETE and not (job.unended and not job.inserted):
        return pyrepo.DONE
    return pyrepo.REFUSED if job.code == REFUSED else pyrepo.FAILED
