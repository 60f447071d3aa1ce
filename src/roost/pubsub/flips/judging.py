"""Whose content of a topic is believed: those whom the trust schema allows, by certificates that are here already.

Content of a topic counts as a reading of a stream: `home/temp` below the root `/house` is signed by whoever may sign
`/house/home/temp/seq=…`. hICN carries no certificates, only the digest of the key, so certificates come with the trust
that is configured (`roost init --join`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.naming import Name
from roost.naming.component import SEQUENCE, Component
from roost.pubsub.flips.identifiers import FIRST_CONTENT
from roost.trust.keys import PublicKey, load_public
from roost.trust.verdict import Accepted
from roost.trust.verifier import Verifier
from roost.wire.certificate import Certificate


def reading_name(root: Name, topic: str) -> Name:
    """The name that stands for content of a topic where the schema is asked."""
    name = root
    for level in topic.split("/"):
        name = name / Component(level.encode())
    return name / Component.numbered(FIRST_CONTENT, SEQUENCE)


class SchemaJudge:
    """Callable, as `HicnFlips` wants it: who signed with a key, and the key, if that one may sign the topic."""

    def __init__(self, verifier: Verifier, certificates: Iterable[Certificate], root: Name) -> None:
        self._verifier: Final = verifier
        self._root: Final = root
        self._held: Final[dict[bytes, list[tuple[Certificate, PublicKey]]]] = {}  # bound: the certificates given
        for certificate in (*verifier.anchors, *certificates):
            key = load_public(certificate.public_key)
            self._held.setdefault(key.digest, []).append((certificate, key))

    def __call__(self, topic: str, key_id: bytes, now: int) -> tuple[str, PublicKey] | None:
        """Find the key with this id that may sign the topic now."""
        name = reading_name(self._root, topic)
        for certificate, key in self._held.get(key_id, ()):
            if self._verifier.schema.rule_for(name, certificate.name) is None or not certificate.valid_at(now):
                continue
            if isinstance(self._verifier.check(certificate.data, now), Accepted):
                return str(certificate.key_name), key
        return None
