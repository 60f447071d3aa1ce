"""Who may look on while messages go through the broker: its driver and its gateways tell, and ask nothing."""

from __future__ import annotations

from typing import Protocol

from roost.broker.effects import Insert, Inserted
from roost.broker.message import Message


class Observer(Protocol):
    """Looks on; it must not fail, nor take long."""

    def inserting(self, effect: Insert) -> None:
        """These messages are about to be put into a group."""
        ...

    def numbered(self, ticket: int) -> None:
        """The messages of a ticket have numbers and, unless another process does that, signatures."""
        ...

    def inserted(self, effect: Inserted) -> None:
        """They are as durable as was asked, or cannot be."""
        ...

    def heard(self, messages: list[Message]) -> None:
        """These messages are about to be given to whoever gets them at this node."""
        ...

    def written(self) -> None:
        """What was to be sent is written."""
        ...
