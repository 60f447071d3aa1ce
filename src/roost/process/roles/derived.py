"""Results that no document names: who may see all that a macro reads, as it is published, may see what it makes of it.

Without this, whoever may write macros could give away what a document keeps back. What a macro reads, the owner of the
macros says (`InputsOf`): its filters, or None for a topic that is no macro's result. An input that is itself a result
without a document counts as its own inputs. An input with wildcards counts as all topics that it could match; if there
are results among these, only who may see every stream of every document is let through.

Documents alone are asked. Whether the ordinary permissions let a user read the inputs is not: they say who may read the
result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from roost.process.definition import PREFIX
from roost.process.roles.decision import Roles
from roost.process.roles.patterns import intersects
from roost.process.roles.policy import Policy
from roost.process.roles.specification import Specification, stream_topic
from roost.process.wildcards import is_wild

InputsOf: TypeAlias = Callable[[str], Sequence[str] | None]


def no_inputs(_topic: str) -> Sequence[str] | None:
    """There are no macros."""
    return None


def sees_derived(policy: Policy, topic: str, roles: Roles, inputs_of: InputsOf) -> bool:
    """Whether the roles may see what is on a topic that no document governs."""
    inputs = inputs_of(topic) if topic.startswith(PREFIX) else None
    return inputs is None or sees_all(policy, inputs, roles, inputs_of)


def sees_all(policy: Policy, inputs: Sequence[str], roles: Roles, inputs_of: InputsOf) -> bool:
    """Whether the roles may see all of these, as published; each is looked at once, however many lead to it."""
    wanted = dict.fromkeys(inputs)
    for each in (ahead := list(wanted)):  # grows as it goes, by what is not wanted yet
        if is_wild(each):
            if not _sees_filter(policy, each, roles):
                return False
            continue
        decision = policy.decide(each, roles)
        if decision is not None:
            if each not in decision.permitted:
                return False
            continue
        further = inputs_of(each) if each.startswith(PREFIX) else None
        new = [one for one in further or () if one not in wanted]
        wanted.update(dict.fromkeys(new))
        ahead += new
    return True


def _sees_filter(policy: Policy, wanted: str, roles: Roles) -> bool:
    if intersects(wanted, PREFIX + "#"):
        return all(_sees_streams(policy, each, each.streams, roles) for each in policy.documents.values())
    touched = [each for each in policy.documents.values() if intersects(each.topic, wanted)]
    return all(_sees_streams(policy, each, (), roles) for each in touched)


def _sees_streams(policy: Policy, document: Specification, streams: Sequence[str], roles: Roles) -> bool:
    """Whether the roles may see the topic of a document as it is published, and these streams of it."""
    decision = policy.decide(document.topic, roles)
    permitted = () if decision is None else decision.permitted
    topics = [document.topic, *[stream_topic(stream, document.topic) for stream in streams]]
    return all(topic in permitted for topic in topics)
