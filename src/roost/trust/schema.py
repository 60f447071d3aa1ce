"""A trust schema: which key may sign which name, written in Light VerSec.

`rule_for` is the question asked for every packet, `keys_for` the one asked when no key fits, `nearest` the one asked
when a name fits no rule. Names are data names, or Interest names without their parameters digest; keys are asked for by
the name of their certificate. The NDN-PS schema is in `building.py`; signatures and chains are the verifier's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from roost.errors import BadConfig
from roost.naming import Component, Name
from roost.naming.component import GENERIC, IMPLICIT_DIGEST, PARAMETERS_DIGEST
from roost.trust.versec import Bindings, Node, compile_text, components, take, walk

REMEMBERED: Final = 8192  # decisions of `rule_for`; all are forgotten when it is full

_BELOW_KEY: Final = 2  # issuer and version: what a certificate name has beyond its key's name


@dataclass(frozen=True, slots=True)
class AllowedKey:
    """A kind of key that may sign a name: by which rule, under which rule of its own, and what it is called."""

    rule: str
    key_rule: str
    pattern: str  # the certificate's name, known parts filled in: /BigCompany/Building1/KEY/<any>/<any>/<any>

    @property
    def identity(self) -> str:
        """The pattern up to the KEY component."""
        return self.pattern.split("/KEY/")[0]


class Schema:
    """A compiled trust schema; pure, and the same answer for the same question always."""

    def __init__(self, text: str) -> None:
        self.text: Final = text
        self._nodes: Final = compile_text(text)
        self._numbered: Final[dict[int, Node]] = {node.number: node for node in self._nodes}
        self._decided: Final[dict[tuple[bytes, int, bytes], str]] = {}
        self._signers: Final = frozenset(signer for node in self._nodes for signer in node.signers)
        self._roots: Final = frozenset(number for number in self._signers if not self._numbered[number].signers)
        if not self._roots:
            raise BadConfig("trust schema: no rule is an anchor; one rule that signs others must have no '<=' itself")

    @property
    def anchors(self) -> list[str]:
        """The rules that an anchor's certificate name must fit."""
        return sorted(self._numbered[number].rule for number in self._roots)

    @property
    def rules(self) -> list[str]:
        """All rules."""
        return sorted({rule for node in self._nodes for rule in node.rules})

    def is_anchor_name(self, certificate: Name) -> bool:
        """Whether a certificate of this name may be an anchor."""
        return any(node.number in self._roots for node, _ in self._walk(certificate))

    def rules_of(self, name: Name) -> list[str]:
        """The rules that a name fits."""
        return sorted({rule for node, _ in self._walk(bare(name)) for rule in node.rules})

    def rule_for(self, name: Name, certificate: Name) -> str | None:
        """The rule by which the key of this certificate may sign `name`, None if there is none.

        Readings of a stream differ only in their number, so a yes is remembered for all of them where the rule looks
        at no more than the last component's type.
        """
        name = bare(name)
        cuts = name.cuts
        if len(cuts) < 2:
            return None
        cut = cuts[-2]
        question = (name.value[:cut], name.value[cut], certificate.value)
        rule = self._decided.get(question)
        if rule is None:
            node = self._decide(name, certificate)
            if node is None:
                return None
            rule = node.rule
            if node.blind and question[1] < 253:
                if len(self._decided) >= REMEMBERED:
                    self._decided.clear()
                self._decided[question] = rule
        return rule

    def rule_for_issuer(self, certificate: Name, issuer: Name) -> str | None:
        """As `rule_for`, for a certificate that is to sign others: a rule for mere data does not make an issuer."""
        for node, bound in self._walk(certificate):
            if node.number in self._signers and any(key.number in node.signers for key, _ in self._walk(issuer, bound)):
                return node.rule
        return None

    def rule_for_key(self, name: Name, key: Name) -> str | None:
        """As `rule_for`, when only the key's name is known: whether some certificate of it could do."""
        for node, bound in self._walk(bare(name)):
            for key_node, _ in walk(self._nodes[0], components(key), bound):
                if node.signers & {below.number for below in _below(key_node, _BELOW_KEY)}:
                    return node.rule
        return None

    def keys_for(self, name: Name) -> list[AllowedKey]:
        """What may sign a name, by every rule that the name fits."""
        found = {
            AllowedKey(node.rule, signer.rule, signer.shown(bound))
            for node, bound in self._walk(bare(name))
            for signer in (self._numbered[number] for number in node.signers)
        }
        return sorted(found, key=lambda key: (key.rule, key.key_rule, key.pattern))

    def nearest(self, name: Name) -> str:
        """Say how far a name that fits no rule got, and what would have to follow."""
        parts = components(bare(name))
        depth, nodes = _deepest(self._nodes[0], parts)
        expected = sorted({label for node in nodes for label in _next_labels(node)})
        rules = sorted({rule for node in nodes for below in _all_below(node) for rule in below.rules})
        good = "/" + "/".join(str(Name(part).at(0)) for part in parts[:depth])
        wanted = " or ".join(expected[:6]) if expected else "nothing more"
        found = str(Name(parts[depth]).at(0)) if depth < len(parts) else "the end of the name"
        of = f" ({', '.join(rules[:4])})" if rules else ""
        return f"the name fits rules{of} up to {good}; then {wanted} should follow, not {found}"

    def _decide(self, name: Name, certificate: Name) -> Node | None:
        found: Node | None = None
        for node, bound in self._walk(name):
            if node.signers and any(key.number in node.signers for key, _ in self._walk(certificate, bound)):
                if node.blind:
                    return node
                found = found or node
        return found

    def _walk(self, name: Name, bound: Bindings | None = None) -> Iterator[tuple[Node, Bindings]]:
        return walk(self._nodes[0], components(name), bound or {})

    def __repr__(self) -> str:
        return f"<Schema of {len(self.rules)} rules, anchors {', '.join(self.anchors)}>"


def bare(name: Name) -> Name:
    """The name that rules speak of: without the digest that an Interest, or a full name, ends in."""
    value, cuts = name.value, name.cuts
    if len(cuts) > 1 and value[cuts[-2]] in {IMPLICIT_DIGEST, PARAMETERS_DIGEST}:
        return name.prefix(-1)
    return name


def quoted(component: Component) -> str:
    """Write a component as a Light VerSec value: its URI form, but for periods, which python-ndn takes verbatim."""
    if component.type == GENERIC and not component.value.strip(b"."):
        return '"' + "%2E" * len(component.value) + '"'
    return f'"{component}"'


def _below(node: Node, levels: int) -> Iterator[Node]:
    if levels == 0:
        yield node
        return
    for child in [*node.values.values(), *[edge.node for edge in node.edges]]:
        yield from _below(child, levels - 1)


def _all_below(node: Node) -> Iterator[Node]:
    yield node
    for child in [*node.values.values(), *[edge.node for edge in node.edges]]:
        yield from _all_below(child)


def _next_labels(node: Node) -> list[str]:
    labels = [f'"{Name(value).at(0)}"' for value in node.values]
    for edge in node.edges:
        options = [str(Name(o.value).at(0)) for group in edge.constraints for o in group if o.value is not None]
        typed = [
            Name(value).at(0)
            for group in edge.constraints
            for option in group
            for value, _ in option.arguments
            if value is not None
        ]
        types = [f"{str(example).partition('=')[0]}=<number>" for example in typed if example.type != GENERIC]
        choices = "|".join(options or types)
        labels.append(f"{edge.label} ({choices})" if choices else edge.label)
    return labels


def _deepest(root: Node, parts: list[bytes]) -> tuple[int, list[Node]]:
    frontier: list[tuple[Node, Bindings]] = [(root, {})]
    for depth, part in enumerate(parts):
        following: list[tuple[Node, Bindings]] = []
        for node, bound in frontier:
            if part in node.values:
                following.append((node.values[part], bound))
            for edge in node.edges:
                step = take(edge, part, bound)
                if step is not None:
                    following.append((edge.node, step))
        if not following:
            return depth, [node for node, _ in frontier]
        frontier = following
    return len(parts), [node for node, _ in frontier]
