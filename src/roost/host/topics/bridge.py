"""Between topics and groups: contents of a FLIPS topic as readings of a stream, and a stream as a FLIPS topic.

Into a group: the gateway's panel signs the readings, and each says in its lineage where it comes from: the content
`/flips/<topic>/seq=<number>`, and in `job` whose signature it had, if that was verified. So the stream itself is the
bridge's place, and after a restart it goes on behind the last content that is in the group. Beside the stream is
`<stream>/Overdue`: 1 when the publisher has not kept its time, 0 when it is back, for subscribers and macros; a 1 that
the last run has left there is taken back with the first content.

Out of a group: the value of each reading as text, or the signed Data whole, so that its maker can be verified there.

What cannot be on the other side (content larger than a reading, a reading that is sealed) is passed over: `Skips`.
"""

from __future__ import annotations

import math
import re
from hashlib import sha256
from typing import Final

from roost.errors import BadPacket, InvalidInput, RoostError
from roost.host.publishing import RunningPanel
from roost.host.streams import StreamGroup
from roost.host.subscribing import Subscription
from roost.host.topics.feed import Content
from roost.host.topics.topics import Topics
from roost.naming import Name, NameLike
from roost.naming.component import SEQUENCE, Component
from roost.pubsub.consumers.arrival import Arrival
from roost.pubsub.flips.identifiers import is_content
from roost.pubsub.flips.port import BegunAnew, Missed, Revived, WentStale
from roost.pubsub.flips.settings import Following

ROOT: Final = Name.parse("/flips")
OVERDUE: Final = "Overdue"
PROGRAM: Final = sha256(b"roost.host.topics.bridge 1").digest()  # what a content becomes does not depend on its code

_NUMBER: Final = re.compile(r"[ \t\r\n]*(-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?)[ \t\r\n]*")  # JSON's
_MAX_NUMBER_CHARACTERS: Final = 400
_WHOLE: Final = range(-(1 << 63), 1 << 64)  # what a reading holds as a whole number


class Skips:
    """How much could not be bridged; the first of it is said in the log."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, topics: Topics, what: str, why: RoostError) -> None:
        """Pass over one."""
        self.count += 1
        if self.count == 1:
            topics.warn("%s is passed over, as will be others like it without a word: %s", what, why)


def content_name(topic: str, number: int) -> Name:
    """What the lineage of a reading calls a content."""
    name = ROOT
    for level in topic.split("/"):
        name = name / Component(level.encode())
    return name / Component.numbered(number, SEQUENCE)


def content_of(arrival: Arrival | None, topic: str) -> int | None:
    """The number of the content that a reading was made of; None if it was made of something else."""
    lineage = None if arrival is None or arrival.reading is None else arrival.reading.lineage
    for name in () if lineage is None else lineage.inputs:
        number = name.at(-1).number() if name.at(-1).type == SEQUENCE else 0
        if is_content(number) and name == content_name(topic, number):
            return number
    return None


async def into_group(
    topics: Topics,
    topic: str,
    group: StreamGroup,
    panel: RunningPanel,
    stream: NameLike,
    *,
    unit: str = "",
    skips: Skips | None = None,
) -> None:
    """Publish every content of a topic as a reading, until cancelled; a number where it is one, else text or bytes.

    `topics` follow this topic for nobody else: another bridge of it is at another place.
    """
    await panel.flush()  # what the last run left
    place = content_of(await group.latest(panel.stream(stream)), topic)
    overdue = panel.stream(stream) / Component(OVERDUE.encode())
    said = await group.latest(overdue)
    is_overdue = said is not None and said.value == 1
    feed = topics.subscribe(topic, following=Following(after=place, patient=True, adaptive=True), events=True)
    skips = skips or Skips()
    try:
        async for item in feed:
            if isinstance(item, (Content, WentStale, Revived)) and is_overdue != isinstance(item, WentStale):
                is_overdue = not is_overdue
                await panel.publish(overdue, int(is_overdue))
            if isinstance(item, Content):
                name = content_name(topic, item.number)
                job = f"flips, signed by {item.signer}" if item.signer else "flips, not verified"
                try:
                    value = value_of(item.content)
                    await panel.publish(stream, value, unit=unit, inputs=[name], program=PROGRAM, job=job)
                except BadPacket as error:  # it is too large
                    skips.add(topics, f"content {item.number} of {topic}", error)
            elif isinstance(item, Missed):
                topics.warn("%s: contents %d to %d could not be had", topic, item.low, item.high)
            elif isinstance(item, BegunAnew):
                topics.warn("%s: its publisher lost content %d, and begins anew", topic, item.place)
    finally:
        feed.close()


async def out_of_group(
    subscription: Subscription,
    topics: Topics,
    topic: str,
    *,
    interval_ms: int = 0,
    whole: bool = False,
    skips: Skips | None = None,
) -> None:
    """Publish every reading of a subscription as content of a topic, until cancelled; the topic is let go then."""
    await topics.register(topic, interval_ms)
    skips = skips or Skips()
    try:
        async for arrival in subscription:
            try:
                content = arrival.data.wire if whole else text_of(arrival)
            except (BadPacket, InvalidInput) as error:
                skips.add(topics, f"{arrival.stream} {arrival.number} for {topic}", error)
            else:
                await topics.publish(topic, content)
    finally:
        if not topics.closed:
            topics.unregister(topic)


def value_of(content: bytes) -> int | float | str | bytes:
    """A number where the content is one as JSON writes it, text where it is that, else the bytes."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return content
    found = _NUMBER.fullmatch(text) if len(text) <= _MAX_NUMBER_CHARACTERS else None
    if found is None:
        return text
    if found[2] is None and found[3] is None:
        whole = int(found[1])
        return whole if whole in _WHOLE else text
    number = float(found[1])
    return number if math.isfinite(number) else text


def text_of(arrival: Arrival) -> bytes:
    """The value as text; bytes as they are."""
    if arrival.sealed:
        raise InvalidInput(f"{arrival.stream} is sealed, and no key here opens it: publish it whole")
    if not arrival.values:
        if arrival.reading is None:
            raise BadPacket(f"{arrival.stream} {arrival.number} is no reading: publish it whole")
        return arrival.reading.payload
    value = arrival.value
    return value if isinstance(value, bytes) else str(value).encode()
