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
    return _sees_inputs(policy, topic, roles, inputs_of, frozenset())


def sees_all(policy: Policy, inputs: Sequence[str], roles: Roles, inputs_of: InputsOf) -> bool:
    """Whether the roles may see all of these, as they are published."""
    return all(_sees(policy, wanted, roles, inputs_of, frozenset()) for wanted in inputs)


def _sees_inputs(policy: Policy, topic: str, roles: Roles, inputs_of: InputsOf, above: frozenset[str]) -> bool:
    inputs = inputs_of(topic) if topic.startswith(PREFIX) and topic not in above else None
    if inputs is None:
        return True
    return all(_sees(policy, wanted, roles, inputs_of, above | {topic}) for wanted in inputs)


def _sees(policy: Policy, wanted: str, roles: Roles, inputs_of: InputsOf, above: frozenset[str]) -> bool:
    if not is_wild(wanted):
        decision = policy.decide(wanted, roles)
        if decision is None:
            return _sees_inputs(policy, wanted, roles, inputs_of, above)
        return wanted in decision.permitted
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
