"""What a whole forwarder has seen, and what it dropped and why."""

from __future__ import annotations


class Counters:
    """Packets in and out, and what became of the Interests."""

    __slots__ = (
        "in_data",
        "in_interests",
        "in_nacks",
        "out_data",
        "out_interests",
        "out_nacks",
        "satisfied",
        "unsatisfied",
        "unsolicited",
    )

    def __init__(self) -> None:
        self.in_interests = 0
        self.in_data = 0
        self.in_nacks = 0
        self.out_interests = 0
        self.out_data = 0
        self.out_nacks = 0
        self.satisfied = 0
        self.unsatisfied = 0
        self.unsolicited = 0
