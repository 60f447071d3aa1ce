"""What a subscription brings under a policy, wildcards and all: where it listens, and which messages it is given.

A filter stands for every topic that it matches, one by one. Of each it brings what subscribing to that topic would: the
default stream of the roles, or nothing. And it brings results that it matches itself, if the roles may see them. A
message that comes both ways is brought once.

    F = home/+, a customer, who has {topic}/anonymize by default:
    home/hall                         no, another stream is the default
    Noctua/home/hall/anonymize        yes, F matches home/hall and this is its stream
    home/clock                        yes, if nothing governs it: the ordinary permissions decide

These functions hold nothing. What they ask of the policy per message is remembered there.
"""

from __future__ import annotations

from roost.process.roles.decision import Roles
from roost.process.roles.patterns import intersects
from roost.process.roles.policy import Policy
from roost.process.roles.specification import RAW, Specification, stream_topic
from roost.process.wildcards import is_wild


def candidates(policy: Policy, wanted: str) -> tuple[str, ...]:
    """The topics and filters on which anything can come for a subscription, whatever the roles: itself first.

    For a topic that nothing governs this is the topic alone. A topic costs the same whatever the policy holds; a filter
    is held against every document.
    """
    found: dict[str, None] = {wanted: None}
    for document in _documents(policy, wanted):
        topic = document.topic if is_wild(wanted) else wanted
        found.update(dict.fromkeys([stream_topic(stream, topic) for stream in document.streams if stream != RAW]))
    return tuple(found)


def admits(policy: Policy, wanted: str, topic: str, roles: Roles) -> bool:
    """Whether a message on a topic is for a subscriber with these roles to a topic or filter."""
    if intersects(wanted, topic):
        decision = policy.decide(topic, roles)
        if decision is None or decision.stream == topic:
            return True
    for origin in policy.origins(topic):
        if intersects(wanted, origin):
            decision = policy.decide(origin if is_wild(wanted) else wanted, roles)
            if decision is not None and decision.stream == topic:
                return True
    return False


def _documents(policy: Policy, wanted: str) -> list[Specification]:
    if is_wild(wanted):
        return [document for topic, document in policy.documents.items() if intersects(topic, wanted)]
    return policy.governing(wanted)[:1]
