"""The key chain in memory: which of our keys signs which name. The one on disk is `roost.host.keystore`.

The trust schema picks the key, so that what we publish is what others will accept. Of several keys the one with the
longest identity signs (the least powerful that may), and of its certificates the one that ends last.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.errors import NoKey
from roost.naming import Name
from roost.trust.identity import Identity
from roost.trust.schema import Schema, bare
from roost.wire import Signer
from roost.wire.certificate import told_of

REMEMBERED: Final = 4096


class KeyChain:
    """Our identities, and the schema that says what each may sign."""

    def __init__(self, schema: Schema, identities: Iterable[Identity] = ()) -> None:
        self.schema: Final = schema
        self._identities: list[Identity] = []
        self._chosen: dict[bytes, Identity] = {}
        for identity in identities:
            self.add(identity)

    @property
    def identities(self) -> tuple[Identity, ...]:
        """All of them, in the order in which they are tried."""
        return tuple(self._identities)

    def add(self, identity: Identity) -> None:
        """Take an identity; one with the same certificate is replaced."""
        others = [held for held in self._identities if held.certificate.name != identity.certificate.name]
        self._identities = sorted(
            [*others, identity], key=lambda held: (-len(held.name), -held.certificate.not_after, held.name)
        )
        self._chosen.clear()

    def signer_for(self, name: Name, now: int) -> Signer:
        """The key that signs `name`; `NoKey` says which rule wants which key."""
        return self.identity_for(name, now).signer

    def identity_for(self, name: Name, now: int) -> Identity:
        """The identity that signs `name`; the choice is remembered per stream and asked of the schema each time."""
        name = bare(name)
        stream = name.value[: name.cuts[-2]] if name else b""
        guess = self._chosen.get(stream)
        if guess is not None and self._may(guess, name, now):
            return guess
        for identity in self._identities:
            if self._may(identity, name, now):
                if len(self._chosen) >= REMEMBERED:
                    self._chosen.clear()
                self._chosen[stream] = identity
                return identity
        raise NoKey(self._why_not(name, now))

    def holding(self, name: Name) -> list[Identity]:
        """The identities that the schema lets sign `name`, valid now or not."""
        return [held for held in self._identities if self.schema.rule_for(name, held.certificate.name)]

    def _may(self, identity: Identity, name: Name, now: int) -> bool:
        return identity.certificate.valid_at(now) and self.schema.rule_for(name, identity.certificate.name) is not None

    def _why_not(self, name: Name, now: int) -> str:
        outdated = self.holding(name)
        if outdated:
            certificate = outdated[0].certificate
            ended = certificate.not_after < now
            when = told_of(certificate.not_after if ended else certificate.not_before)
            state = "ended at" if ended else "begins at"
            return f"{name} cannot be signed: certificate {certificate.name} {state} {when}; have it issued anew"
        wanted = self.schema.keys_for(name)
        if not wanted:
            return f"{name} cannot be signed by anyone: {self.schema.nearest(name)}"
        choices = "; or ".join(
            f"rule {key.rule} wants a key of {key.identity} (rule {key.key_rule})" for key in wanted[:4]
        )
        held = ", ".join(sorted({str(identity.name) for identity in self._identities})[:8]) or "no key at all"
        makers = " or ".join(sorted({f"roost key make {key.identity}" for key in wanted[:4]}))
        return f"no key here may sign {name}: {choices}; this key chain holds {held}; to make a key: {makers}"
