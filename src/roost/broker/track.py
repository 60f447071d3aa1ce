"""What a node knows of the messages of one stream, for one shared subscription: chosen for, open, or done.

    … ──────────────── low ──────────────────────────────────────── high ──▶
      nothing is known     chosen for: open, or done if it is not open

`open` may name messages below `low` too, which an earlier run chose for. Who is chosen is decided in
`roost.broker.choosing`; all tracks together are `roost.broker.sharing`'s.
"""

from __future__ import annotations

from typing import Final

from roost.broker.beat import MAX_NUMBERS, Share

SOMEWHERE: Final = b"?"  # the panel of a node that is to be heard of first


class Open:
    """A message that a member is to get: which one, and at which node it is; `panel` is empty for this one."""

    def __init__(self, qos: int, holder: bytes, panel: bytes) -> None:
        self.qos: Final = qos
        self.holder = holder
        self.panel = panel
        self.is_taken = False  # that node said that it has it
        self.is_free = False  # whoever had it does not any more


class Track:
    """One of them."""

    def __init__(self, number: int) -> None:
        self.low = number
        self.high = number
        self.open: dict[int, Open] = {}  # bound: `sharing.MAX_OPEN` in all
        self.told: dict[bytes, Share] = {}  # what nodes said last, by panel; bound: `nodes.MAX_NODES`

    def share(self, filter_: bytes, stream: bytes) -> Share:
        """What is said of it: as much as can be named, from the first on."""
        held: list[int] = []
        awaited: list[int] = []
        high = self.high
        for number in sorted(self.open):
            opened = self.open[number]
            named = awaited if opened.panel or opened.is_free else held
            if len(named) >= MAX_NUMBERS // 2:
                high = number - 1
                break
            named.append(number)
        return Share(filter_, stream, self.low, high, tuple(held), tuple(awaited))
