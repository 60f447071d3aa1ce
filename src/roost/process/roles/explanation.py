"""What a user gets of a topic, and why, line by line: the text of `roost role explain USER TOPIC`.

    user: bob
    topic: home/hall
    roles: customer
    document: home/+, rather than the less specific #
        developer: raw (default), {topic}/anonymize
      > customer: {topic}/anonymize (default)
    gets: Noctua/home/hall/anonymize, for {topic}/anonymize is the default of role 'customer'
    refused: home/hall

The lines follow the way of the decision; `>` marks the rows that are for the user. Of a result that no document names
they say what it is made of. Nothing is decided here, and what the ordinary permissions say comes on top.
"""

from __future__ import annotations

from collections.abc import Sequence

from roost.process.definition import PREFIX
from roost.process.roles.decision import Decision, Roles
from roost.process.roles.derived import InputsOf, no_inputs, sees_all
from roost.process.roles.policy import Policy
from roost.process.roles.specification import Row, Specification, stream_topic


def explain(
    policy: Policy, user: str, topic: str, roles: Roles, why: str = "", inputs_of: InputsOf = no_inputs
) -> list[str]:
    """Say it; `why` is what the look-up said if the roles are not known."""
    lines = [f"user: {user or '(anonymous)'}", f"topic: {topic}", f"roles: {_roles(roles, why)}"]
    decision = policy.decide(topic, roles)
    if decision is None:
        return [*lines, "document: none", *_derived(policy, topic, roles, inputs_of)]
    document = policy.documents[decision.document]
    origins = () if topic in policy.documents else policy.origins(topic)
    if origins:
        lines.append(f"stream of: {', '.join(origins)}")
    lines.append(_document(policy, document, topic, origins))
    own = [] if roles is None else document.rows_of(roles)
    lines += [f"  {'>' if row in own else ' '} {row_line(row)}" for row in document.rows]
    gets = "nothing" if decision.stream is None else decision.stream
    lines.append(f"gets: {gets}, for {decision.reason}")
    return lines if origins else lines + _others(document, decision)


def _derived(policy: Policy, topic: str, roles: Roles, inputs_of: InputsOf) -> list[str]:
    inputs = inputs_of(topic) if topic.startswith(PREFIX) else None
    if inputs is None:
        return [f"gets: {topic}, if the permissions grant it, for roles do not matter here"]
    hidden = [each for each in inputs if not sees_all(policy, [each], roles, inputs_of)]
    gets = f"{topic}, for the roles may see all of that"
    if hidden:
        gets = f"nothing, for the roles may not see {', '.join(hidden)}"
    return [f"made of: {', '.join(inputs)}", f"gets: {gets}"]


def _roles(roles: Roles, why: str) -> str:
    if roles is None:
        return f"not known: {why}" if why else "not known"
    return ", ".join(sorted(roles)) or "none"


def _document(policy: Policy, document: Specification, topic: str, origins: Sequence[str]) -> str:
    if origins:
        return f"document: {document.topic}"
    others = [each.topic for each in policy.governing(topic) if each is not document]
    rather = f", rather than the less specific {', '.join(others)}" if others else ""
    return f"document: {document.topic}{rather}"


def row_line(row: Row) -> str:
    """What a role may see, on one line."""
    streams = [f"{stream} (default)" if stream == row.default else stream for stream in row.streams]
    return f"{row.role}: {', '.join(streams) or 'nothing'}"


def _others(document: Specification, decision: Decision) -> list[str]:
    """The streams of the topic beside what the user gets: those to be had for the asking, and those not."""
    streams = dict.fromkeys([stream_topic(stream, decision.topic) for stream in document.streams])
    asked = [stream for stream in decision.permitted if stream != decision.stream]
    refused = [stream for stream in streams if stream not in decision.permitted]
    lines = [f"may ask for: {', '.join(asked)}"] if asked else []
    return [*lines, f"refused: {', '.join(refused)}"] if refused else lines
