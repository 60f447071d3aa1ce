"""How the messages of a run look: MQTT 3.1.1 PUBLISH packets of one size, so that numpy makes and checks them in bulk.

The payload says who sent it, as which number, and when; the rest of it is zero. Topics have one length too.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.void]  # one PUBLISH each
Numbers = NDArray[np.integer[Any]]

STAMP_BYTES: Final = 16  # of the payload
LAST_ID: Final = 65_535
ALL_TOPICS: Final = b"b/+"


class Lost(Exception):
    """The broker lost, doubled, disordered or damaged a message."""


class Layout:
    """The PUBLISH packets of one run."""

    def __init__(self, qos: int, payload_bytes: int) -> None:
        if payload_bytes < STAMP_BYTES:
            raise ValueError(f"a payload has at least {STAMP_BYTES} bytes, for the stamp")
        self.qos: Final = qos
        self.kind: Final = 0x30 | qos << 1
        topic = topic_of(0)
        remaining = 2 + len(topic) + (2 if qos else 0) + payload_bytes
        self._length = bytes([remaining]) if remaining < 128 else bytes([remaining % 128 | 128, remaining // 128])
        fields: list[tuple[str, str]] = [("kind", "u1"), ("length", f"S{len(self._length)}"), ("topic_bytes", ">u2")]
        fields += [("topic", f"S{len(topic)}")]
        self.id_at: Final = sum(np.dtype(kind).itemsize for _, kind in fields)
        fields += [("id", ">u2")] if qos else []
        fields += [("publisher", "<u2"), ("unused", "<u2"), ("number", "<u4"), ("time_ns", "<u8")]
        self.front_bytes: Final = sum(np.dtype(kind).itemsize for _, kind in fields)
        self.front: Final = np.dtype(fields)
        self.row: Final = np.dtype([*fields, ("rest", f"V{payload_bytes - STAMP_BYTES}")])
        self.size: Final = self.row.itemsize

    def rows(self, publisher: int, count: int) -> Rows:
        """The first messages of a publisher, numbers 0 to count - 1."""
        topic = topic_of(publisher)
        made = np.zeros(count, self.row)
        made["kind"], made["length"], made["topic_bytes"], made["topic"] = self.kind, self._length, len(topic), topic
        made["publisher"] = publisher
        self.renumber(made, np.arange(count))
        return made

    def renumber(self, rows: Rows, numbers: Numbers) -> None:
        """Give them other numbers, and the packet identifiers that go with these."""
        rows["number"] = numbers
        if self.qos:
            rows["id"] = ids_of(numbers)


class Check:
    """What one subscriber has seen: of every publisher, all messages so far, once and in order."""

    def __init__(self, layout: Layout, publishers: int) -> None:
        self._kind = layout.kind
        self._next = np.zeros(publishers, np.int64)

    def see(self, rows: Rows) -> None:
        """Take the next ones, in the order in which they came."""
        if not len(rows):
            return
        if not (rows["kind"] == self._kind).all():
            raise Lost(f"a packet of a kind other than {self._kind:#x} came where a message was due")
        publishers = rows["publisher"]
        order = np.argsort(publishers, kind="stable")  # of 16 bits each: a radix sort
        who, numbers = publishers[order].astype(np.int64), rows["number"][order].astype(np.int64)
        firsts = np.flatnonzero(np.diff(who, prepend=-1))
        counts = np.diff(firsts, append=len(who))
        due = np.repeat(self._next[who[firsts]] - firsts, counts) + np.arange(len(who))
        if not (numbers == due).all():
            at = int(np.flatnonzero(numbers != due)[0])
            raise Lost(f"of publisher {who[at]} message {due[at]} was due, {numbers[at]} came")
        self._next[who[firsts]] += counts


def topic_of(publisher: int) -> bytes:
    return b"b/%04d" % publisher


def ids_of(numbers: Numbers) -> Numbers:
    """Packet identifiers of messages: 1 to 65,535, over and over."""
    return numbers % LAST_ID + 1
