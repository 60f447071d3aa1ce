"""Receipts: QoS 2 messages that a node of a group has taken and that their clients may send again, at any node.

    a reading with a packet identifier ──▶ noted ──▶ told to be released, or replaced ──▶ forgotten
    PUBLISH, DUP, an identifier that is new here ──▶ noted, and the same message? ──▶ it was received [MQTT-4.3.3-10]

A client that lost its node sends again, at another one, what was not acknowledged to it. The reading that the message
became says whose it is and which identifier it had, so that every node knows of it that has the reading. Which are not
released the node that has the session says in every announcement (`held`). What is not named is done with: what that
node took before it said so, and what others took before the client came to it. Nothing but a repetition (DUP) of the
very same message is ever taken for one that is noted, and in doubt none is noted: then a message may come twice.
Nothing of this is kept over a restart.
"""

from __future__ import annotations

from typing import Final, NamedTuple

MAX_RECEIPTS: Final = 100_000
MAX_TOLD: Final = 100_000  # clients of which it is known what was told, times groups


class Receipt(NamedTuple):
    """The reading that a message became, and when it was taken, by the clock of the node that took it."""

    stream: bytes
    number: int
    time: int


class Told(NamedTuple):
    """What a node said of a session: its panel, when the client came, when it said so, and what is not released."""

    panel: bytes
    began: int
    time: int
    held: frozenset[int]

    def leaves(self, packet_id: int, receipt: Receipt) -> bool:
        """Whether a message can still be sent again."""
        before = self.time if receipt.stream.startswith(self.panel) else self.began
        return packet_id in self.held or receipt.time >= before


class Receipts:
    """Those of all clients."""

    def __init__(self) -> None:
        self.recognised = 0  # messages that were sent again
        self.turned_away = 0  # receipts, by MAX_RECEIPTS
        self._count = 0
        self._noted: Final[dict[bytes, dict[int, Receipt]]] = {}  # by client and identifier; bound: MAX_RECEIPTS in all
        self._told: Final[dict[tuple[bytes, bytes], Told]] = {}  # the latest by client and group; bound: MAX_TOLD

    def __len__(self) -> int:
        return self._count

    def note(self, client: bytes, packet_id: int, receipt: Receipt) -> None:
        """A message of a client became a reading; the last one with an identifier counts, whichever stream is first."""
        known = self.find(client, packet_id)
        if known is not None and known.time > receipt.time:
            return
        self.release(client, packet_id)
        while self._count >= MAX_RECEIPTS:
            self.turned_away += self.forget(next(iter(self._noted)))
        self._noted.setdefault(client, {})[packet_id] = receipt
        self._count += 1

    def is_open(self, client: bytes, packet_id: int, group: bytes, receipt: Receipt) -> bool:
        """Whether a message that comes from another node can still be sent again, by what was told."""
        told = self._told.get((client, group))
        return told is None or told.leaves(packet_id, receipt)

    def find(self, client: bytes, packet_id: int) -> Receipt | None:
        """The last message with an identifier, if it is not released."""
        return self._noted.get(client, {}).get(packet_id)

    def held(self, client: bytes) -> list[int]:
        """The identifiers that are not released."""
        return list(self._noted.get(client, ()))

    def release(self, client: bytes, packet_id: int) -> bool:
        """An identifier is free; whether it was not."""
        noted = self._noted.get(client)
        if noted is None or packet_id not in noted:
            return False
        del noted[packet_id]
        self._count -= 1
        if not noted:
            del self._noted[client]
        return True

    def hear(self, client: bytes, group: bytes, told: Told, *, is_latest: bool) -> None:
        """A node told what is not released: of what it took itself, and of all if it has the session."""
        for packet_id, receipt in list(self._noted.get(client, {}).items()):
            concerned = receipt.stream.startswith(group if is_latest else told.panel)
            if concerned and not told.leaves(packet_id, receipt):
                self.release(client, packet_id)
        if is_latest:
            if (client, group) not in self._told and len(self._told) >= MAX_TOLD:
                del self._told[next(iter(self._told))]
            self._told[client, group] = told

    def forget(self, client: bytes) -> int:
        """A session is over, and with it all that its client could send again; returns how much that was."""
        count = len(self._noted.pop(client, ()))
        self._count -= count
        return count
