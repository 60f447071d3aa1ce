"""The constants of FLIPS, and what may be chosen: those the paper names, with our values where it has none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from roost.errors import BadConfig
from roost.pubsub.flips.identifiers import FIRST_CONTENT, LAST_CONTENT
from roost.pubsub.flips.payload import HEAD_BYTES, MAX_CONTENT_BYTES

MAX_LIFETIME_MS: Final = 16_000  # of a question to an event-driven publisher
SIGNED_SEGMENT_BYTES: Final = 1256  # as `segment_bytes`, with room for an Ed25519, ECDSA or HMAC signature
WINDOW: Final = 16  # numbers ahead of the next one that a publisher takes questions for
MAX_PARTS: Final = 4096  # packets of one content


class Sharing(Enum):
    """What a publisher does when another wants to register the topic that it publishes."""

    REFUSE = "refuse"  # the later one fails
    PAPER = "paper"  # nothing, as in the paper: UNSAFE, two contents then have one name


class Delivery(Enum):
    """What a subscription does about content that it missed."""

    LATEST = "latest"  # it goes on with the newest
    COMPLETE = "complete"  # it asks for all of it


@dataclass(frozen=True, slots=True)
class FlipsSettings:
    """How one machine speaks FLIPS; the defaults interoperate."""

    lifetime_ms: int = 2000  # of an Interest, and its time-out: equal, or aggregation is lost
    content_lifetime_ms: int = 50_000
    sub_tries: int = 5  # transmissions of a SUB_REQ in all
    probe_tries: int = 2  # of a THCD_REQ
    probe_lifetime_ms: int = 500  # a THCD_REP that takes longer is not heard: more than the slowest path takes
    probe_timeout_ms: int = 2000  # longer than that: while a probe of ours is pending, others' are not heard
    content_tries: int = 10  # of a CONTENT_REQ, before the subscription begins anew
    lead_ms: int = 500  # T: how long before next_timestamp content is asked for, at most
    jitter: float = 0.05  # of a time-out, on the late side only
    window: int = WINDOW
    cached_interests: int = 4096
    store_items: int = 10_000  # per topic
    store_bytes: int = 64 << 20  # per topic
    segment_bytes: int = 1376  # of content in one packet: 1452 bytes of hICN, whole in an IPv6 tunnel
    max_content_bytes: int = 1 << 20
    topics: int = 1024  # published, and as many subscribed
    skip: int = 1000  # numbers that are passed over after an unclean stop
    skew_ms: int = 50  # a difference of clocks below this is none
    hash_bits: int = 112  # fewer force collisions, for tests
    sharing: Sharing = Sharing.REFUSE
    push: bool = False  # hand content to the forwarder's cache although nobody asks for it

    def __post_init__(self) -> None:
        if not 1 <= self.segment_bytes <= MAX_CONTENT_BYTES:
            raise BadConfig(f"segment_bytes={self.segment_bytes}: a packet holds 1 to {MAX_CONTENT_BYTES} of content")
        self._check_largest()
        if not 0 < self.lead_ms * (1 + self.jitter) < self.lifetime_ms:
            raise BadConfig(f"lead_ms={self.lead_ms}: an Interest of {self.lifetime_ms} ms must outlive it")
        if not 0 < self.probe_lifetime_ms < self.probe_timeout_ms:
            raise BadConfig(
                f"probe_lifetime_ms={self.probe_lifetime_ms}: between two probes, probe_timeout_ms="
                f"{self.probe_timeout_ms} apart, is a time in which those of others are heard"
            )
        if not 0 <= self.hash_bits <= 112:
            raise BadConfig(f"hash_bits={self.hash_bits}: a topic hash has 112 bits")

    def _check_largest(self) -> None:
        """See that the largest content is kept and taken whole."""
        parts = -(-self.max_content_bytes // self.segment_bytes)
        most = min(MAX_PARTS, self.store_items)
        if parts > most:
            raise BadConfig(
                f"max_content_bytes={self.max_content_bytes} makes {parts} packets of segment_bytes="
                f"{self.segment_bytes}, but {most} are the most (store_items={self.store_items}, and "
                f"{MAX_PARTS} at a subscriber): have smaller content, larger segments or more items"
            )
        if self.max_content_bytes + parts * HEAD_BYTES > self.store_bytes:
            raise BadConfig(
                f"store_bytes={self.store_bytes} is less than one content of max_content_bytes="
                f"{self.max_content_bytes} takes: have smaller content or a larger store"
            )


@dataclass(frozen=True, slots=True)
class Following:
    """How one subscription is kept."""

    delivery: Delivery = Delivery.COMPLETE
    after: int | None = None  # go on behind this number, 0 for all there is; None begins with the latest content
    patient: bool = False  # go on asking when the publisher is silent, instead of giving up
    pipeline: int = 1  # numbers asked at once of an event-driven publisher
    overlap_ms: int = 0  # ask an event-driven publisher again this long before, always within `lifetime_ms`
    adaptive: bool = False  # where loss was seen, take content for lost when it is late, not when the Interest expires

    def __post_init__(self) -> None:
        if not 1 <= self.pipeline <= WINDOW:
            raise BadConfig(f"pipeline={self.pipeline}: a publisher takes questions for 1 to {WINDOW} numbers")
        if self.after is not None and not 0 <= self.after <= LAST_CONTENT:
            raise BadConfig(f"after={self.after} is no number of content: those are {FIRST_CONTENT} to {LAST_CONTENT}")
        if self.overlap_ms < 0:
            raise BadConfig(f"overlap_ms={self.overlap_ms} is negative")
