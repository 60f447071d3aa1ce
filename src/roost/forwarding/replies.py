"""What the command handlers of management share: the request they are given and the reply they return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from roost.forwarding.commands import Command
from roost.forwarding.control import ControlParameters, ControlResponse, Form
from roost.machine import Effect
from roost.naming import Name


@dataclass(frozen=True, slots=True)
class Asked:
    """A command that may be carried out: from whom, under which name it is answered, with which parameters."""

    command: Command
    token: bytes
    parameters: ControlParameters

    @property
    def name(self) -> Name:
        """The name the answer has."""
        return self.command.interest.name

    def target(self) -> int:
        """The face that is meant: the one named, or the one the command came from."""
        return self.parameters.face or self.command.face


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, None where it comes later, and what the driver is to do."""

    response: ControlResponse | None
    effects: Sequence[Effect] = ()


Handler = Callable[[Asked, int], Reply]
Handlers = dict[tuple[str, str], tuple[Form, Handler]]
