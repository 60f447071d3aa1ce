"""What comes of a publication: an item, and the effect that hands it out; or it is disbelieved."""

from __future__ import annotations

from dataclasses import dataclass

from roost.machine import Effect
from roost.naming import Name
from roost.sync.port import Stream


@dataclass(frozen=True, slots=True)
class Item:
    """A publication: who made it, its number, what the application called it, the blob, who signed it, and when.

    Who wants large blobs in pieces (`Wanted.in_pieces`) gets those of several packets without the blob: they are had
    from `pieces_at`, in order, one packet after the other, with the hints that led to the first one.
    """

    stream: Stream
    number: int
    name: Name
    blob: bytes
    signer: Name | None = None  # the key of the application's Data, as it says; None: a digest only
    published_us: int | None = None  # when, as the mapping has it; None: that did not come, or does not say
    arrived: int = 0  # when it was whole and believed, by our clock
    size_bytes: int = -1  # of the blob; -1: not known before all of it is here
    pieces_at: Name | None = None
    hints: tuple[Name, ...] = ()
    sealed: bool = False  # for others: no key of ours opens it, and the blob is left out

    @property
    def producer(self) -> Name:
        """Who published it."""
        return self.stream.name


@dataclass(frozen=True, slots=True)
class Disbelieved:
    """A publication whose packet is its producer's, while what is in it is not believed: the rule, or what is wrong."""

    reason: str


@dataclass(frozen=True, slots=True)
class Deliver(Effect):
    """A publication for a subscription."""

    subscription: int
    item: Item
