"""What FLIPS calls things: topic hashes, and what a control number is for [FLIPS §III-A, table I].

    topic hash        MD5 of the topic's UTF-8 bytes, the first two of which are replaced by FLIPS_CODE: an IPv6 address
    control number    0 collision detection · 1–99 reserved · 100–1 500 000 000 content · above: subscription, Unix time

A topic is hashed exactly as it is given: no Unicode normalisation, no trimming. So the composed and the decomposed form
of one letter are two topics. U+0000 is kept for streams of several publishers.

MD5 is the paper's choice. Two of n topics share a hash by chance with about n²/2¹¹³ (a pair with 1/2¹¹²), but MD5
collisions can be made on purpose: a hash says nothing about who publishes, signatures do.
"""

from __future__ import annotations

from hashlib import md5
from typing import Final, TypeAlias

from roost.errors import BadTopic
from roost.machine import SECOND

FLIPS_CODE: Final = b"\xab\xcd"
HASH_BYTES: Final = 16
COLLISION: Final = 0
FIRST_CONTENT: Final = 100
LAST_CONTENT: Final = 1_500_000_000
FIRST_SUBSCRIPTION: Final = LAST_CONTENT + 1
LAST_SUBSCRIPTION: Final = 0xEFFF_FFFE  # numbers above are forwarders' own (probes of hicn-light, and "invalid")
MAX_TOPIC_BYTES: Final = 1440  # what fits into one hICN packet
SEPARATOR: Final = "\0"

TopicHash: TypeAlias = bytes


def checked_topic(topic: str) -> str:
    """A topic as applications may name it; raises `BadTopic`."""
    if SEPARATOR in topic:
        raise BadTopic(f"{topic!r} holds U+0000, which FLIPS keeps for the streams of several publishers")
    topic_bytes(topic)
    return topic


def topic_bytes(topic: str) -> bytes:
    """The UTF-8 form, as it is."""
    try:
        found = topic.encode()
    except UnicodeEncodeError:
        raise BadTopic(f"{topic!r} holds half a surrogate pair, it has no UTF-8 form") from None
    if not 1 <= len(found) <= MAX_TOPIC_BYTES:
        raise BadTopic(f"a topic of FLIPS has 1 to {MAX_TOPIC_BYTES} bytes, this one has {len(found)}")
    return found


def topic_hash(topic: str, bits: int = 112) -> TopicHash:
    """The hash that stands for a topic; fewer `bits` than all 112 force collisions, for tests."""
    digest = md5(topic_bytes(topic), usedforsecurity=False).digest()
    kept = int.from_bytes(digest[len(FLIPS_CODE) :], "big") >> (112 - bits) << (112 - bits)
    return FLIPS_CODE + kept.to_bytes(HASH_BYTES - len(FLIPS_CODE), "big")


def is_content(number: int) -> bool:
    """Whether a control number names content."""
    return FIRST_CONTENT <= number <= LAST_CONTENT


def is_subscription(number: int) -> bool:
    """Whether a control number begins a subscription."""
    return FIRST_SUBSCRIPTION <= number <= 0xFFFF_FFFF


def subscription_number(now: int, started: int) -> int:
    """The number of a SUB_REQ: Unix time, or uptime above the range of content while the clock is not set."""
    uptime = max(0, now - started) // SECOND
    return min(LAST_SUBSCRIPTION, max(now // SECOND, FIRST_SUBSCRIPTION + uptime))
