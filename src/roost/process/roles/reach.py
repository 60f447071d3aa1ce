"""What a subscription brings under a policy, wildcards and all: where it listens, and which messages it is given.

A filter stands for every topic that it matches, one by one. Of each it brings what subscribing to that topic would: the
default stream of the roles, or nothing, under the name of the topic. And it brings results that it matches itself, if
the roles may see them. A message that comes both ways is brought once.

    F = home/+, a customer, who has {topic}/anonymize by default:
    home/hall                         no, another stream is the default
    Noctua/home/hall/anonymize        as home/hall: F matches that, and this is its stream
    home/clock                        as home/clock, if nothing governs it: the ordinary permissions decide

A stream that serves a whole filter comes to who subscribed to a topic as that topic, and to who subscribed to a filter
as itself. `$raw/F` stands for what F matches as it is published, default or not, as far as the roles may see it.

These functions hold nothing. What they ask of the policy per message is remembered there.
"""

from __future__ import annotations

from typing import Final

from roost.process.definition import PREFIX
from roost.process.roles.decision import Roles
from roost.process.roles.derived import InputsOf, no_inputs, sees_derived
from roost.process.roles.patterns import intersects
from roost.process.roles.policy import Policy
from roost.process.roles.specification import RAW, Specification, stream_topic
from roost.process.wildcards import covers, is_wild, matches

DIRECT: Final = "$raw/"  # before a topic or filter: what is published there, and no stream in its place


def candidates(policy: Policy, wanted: str) -> tuple[str, ...]:
    """The topics and filters on which anything can come for a subscription, whatever the roles: itself first.

    For a topic that nothing governs this is the topic alone. A topic costs the same whatever the policy holds; a filter
    is held against every document.
    """
    if wanted.startswith(DIRECT):
        return (wanted.removeprefix(DIRECT),)
    found: dict[str, None] = {wanted: None}
    for document in _documents(policy, wanted):
        topic = document.topic if is_wild(wanted) else wanted
        found.update(dict.fromkeys([stream_topic(stream, topic) for stream in document.streams if stream != RAW]))
    return tuple(found)


def presented(policy: Policy, wanted: str, topic: str, roles: Roles, inputs_of: InputsOf = no_inputs) -> str | None:
    """As which topic a message comes to a subscriber with these roles to a topic or filter; None if it does not."""
    if wanted.startswith(DIRECT):
        is_seen = matches(wanted.removeprefix(DIRECT), topic) and sees(policy, topic, roles, inputs_of)
        return topic if is_seen else None
    for origin in policy.origins(topic):
        if intersects(wanted, origin):
            decision = policy.decide(origin if is_wild(wanted) else wanted, roles)
            if decision is not None and decision.stream == topic:
                return wanted if not is_wild(wanted) else topic if is_wild(origin) else origin
    if not matches(wanted, topic):
        return None
    decision = policy.decide(topic, roles)
    if decision is None:
        return topic if sees_derived(policy, topic, roles, inputs_of) else None
    return topic if decision.stream == topic else None


def admits(policy: Policy, wanted: str, topic: str, roles: Roles, inputs_of: InputsOf = no_inputs) -> bool:
    """Whether a message on a topic is for a subscriber with these roles to a topic or filter."""
    return presented(policy, wanted, topic, roles, inputs_of) is not None


def sees(policy: Policy, topic: str, roles: Roles, inputs_of: InputsOf = no_inputs) -> bool:
    """Whether the roles may have what is published on a topic, as it is."""
    decision = policy.decide(topic, roles)
    return sees_derived(policy, topic, roles, inputs_of) if decision is None else topic in decision.permitted


def matters(policy: Policy, wanted: str, inputs_of: InputsOf = no_inputs) -> bool:
    """Whether it depends on roles what a subscription to a topic or filter brings, or who gets what is on a topic."""
    if not policy.documents:
        return False
    wanted = wanted.removeprefix(DIRECT)
    if not is_wild(wanted):
        return policy.decide(wanted, None) is not None or (wanted.startswith(PREFIX) and inputs_of(wanted) is not None)
    return bool(_documents(policy, wanted)) or intersects(wanted, PREFIX + "#")


def refused(policy: Policy, wanted: str, roles: Roles, inputs_of: InputsOf = no_inputs) -> bool:
    """Whether a subscription can bring nothing at all to these roles, as things are.

    Of a filter that is so if a document for all of it denies them, and no other for a part of it gives them anything.
    """
    bare = wanted.removeprefix(DIRECT)
    if not is_wild(bare):
        if bare != wanted:
            return not sees(policy, bare, roles, inputs_of)
        decision = policy.decide(bare, roles)
        return not sees_derived(policy, bare, roles, inputs_of) if decision is None else decision.denied
    documents = _documents(policy, bare)
    if not any(covers(document.topic, bare) for document in documents):
        return False
    for document in documents:
        decision = policy.decide(document.topic, roles)
        if decision is not None and (document.topic in decision.permitted if bare != wanted else not decision.denied):
            return False
    return True


def _documents(policy: Policy, wanted: str) -> list[Specification]:
    if is_wild(wanted):
        return [document for topic, document in policy.documents.items() if intersects(topic, wanted)]
    return policy.governing(wanted)[:1]
