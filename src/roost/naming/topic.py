"""MQTT topics ⇄ names, one to one, and topic filters as matchers over names [MQTT-4.7].

Each level of a topic is one generic component, verbatim in UTF-8: `a//$x` ⇄ `/a/.../%24x`, and a leading or trailing
slash makes an empty level. So every topic that MQTT allows has exactly one name, and every non-empty name of generic
UTF-8 components without '/', '+', '#' and NUL in them has exactly one topic. What has no partner is refused with the
reason. Filters follow MQTT: '+' is one level, '#' is the rest including none, neither matches a first level that
starts with '$' [MQTT-4.7.2-1]. Shared subscriptions (`$share/…`) are the broker's.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadTopic
from roost.naming.component import GENERIC, Component
from roost.naming.name import Name
from roost.naming.number import var

MAX_TOPIC_BYTES: Final = 65_535
_FORBIDDEN: Final = (("\x00", "a NUL"), ("+", "the wildcard '+'"), ("#", "the wildcard '#'"))


def name_of_topic(topic: str) -> Name:
    """Give the name of a topic."""
    encoded = _encoded(topic, "topic")
    for character, what in _FORBIDDEN:
        if character in topic:
            raise BadTopic(f"topic {topic!r} holds {what}, a topic to publish on cannot")
    return Name(b"".join([b"\x08" + var(len(level)) + level for level in encoded.split(b"/")]))


def topic_of_name(name: Name) -> str:
    """Give the topic of a name, the way back of `name_of_topic`."""
    if not name:
        raise BadTopic("the empty name has no topic, a topic has at least one character")
    topic = "/".join([_level(component, name) for component in name])
    if not topic:
        raise BadTopic(f"{name} has no topic: one empty level would be the empty topic, which MQTT forbids")
    _encoded(topic, "topic")
    return topic


class TopicFilter:
    """A subscription pattern such as `Building1/+/Panel1/#`, matched against names."""

    __slots__ = ("_levels", "_rest", "text")

    def __init__(self, text: str) -> None:
        levels = _encoded(text, "topic filter").split(b"/")
        if "\x00" in text:
            raise BadTopic(f"topic filter {text!r} holds a NUL")
        self._rest: Final = levels[-1] == b"#"
        if self._rest:
            levels.pop()
        for level in levels:
            if b"#" in level:
                raise BadTopic(f"topic filter {text!r}: '#' stands alone in the last level")
            if b"+" in level and level != b"+":
                raise BadTopic(f"topic filter {text!r}: '+' stands alone in its level")
        self.text: Final = text
        self._levels: Final = levels

    @property
    def prefix(self) -> Name:
        """The longest name that starts every name the filter can match: what to subscribe to."""
        fixed = self._levels[: self._levels.index(b"+")] if b"+" in self._levels else self._levels
        return Name(b"".join([b"\x08" + var(len(level)) + level for level in fixed]))

    def matches(self, name: Name) -> bool:
        """Whether the topic of this name matches; a name without a topic matches nothing."""
        count = len(name)
        wanted = self._levels
        if count < len(wanted) or (count > len(wanted) and not self._rest) or not count:
            return False
        try:
            topic = topic_of_name(name)
        except BadTopic:
            return False
        levels = topic.encode().split(b"/")
        if topic[0] == "$" and (not wanted or wanted[0] == b"+"):
            return False
        return all(level in (b"+", found) for level, found in zip(wanted, levels, strict=False))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TopicFilter) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"TopicFilter({self.text!r})"


def _encoded(text: str, what: str) -> bytes:
    if not text:
        raise BadTopic(f"a {what} has at least one character [MQTT-4.7.3-1]")
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise BadTopic(f"{what} {text!r} holds half a surrogate pair, which has no UTF-8 form [MQTT-1.5.4-1]") from None
    if len(encoded) > MAX_TOPIC_BYTES:
        raise BadTopic(f"a {what} has at most {MAX_TOPIC_BYTES} bytes of UTF-8, this one has {len(encoded)}")
    return encoded


def _level(component: Component, name: Name) -> str:
    if component.type != GENERIC:
        raise BadTopic(f"{name} has no topic: {component} is a typed component, topic levels are generic ones")
    try:
        level = component.value.decode()
    except UnicodeDecodeError:
        raise BadTopic(f"{name} has no topic: {component} is not UTF-8") from None
    for character, what in (*_FORBIDDEN, ("/", "the level separator '/'")):
        if character in level:
            raise BadTopic(f"{name} has no topic: {component} holds {what}")
    return level
