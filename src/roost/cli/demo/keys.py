"""The keys of the campus, and the home of each process with its own ones in it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from roost.host.making import new_store
from roost.naming import Name
from roost.sim import deployment
from roost.trust import Identity, KeyChain, Verifier

GROUPS: Final = (deployment.GROUP, *deployment.RESULTS, deployment.ANNEX, deployment.MACROS)


class Keys:
    """Every key there is; each process gets its own one only."""

    def __init__(self) -> None:
        now = time.time_ns()
        self.identities: Final = deployment.identities(secrets.token_bytes, now, results=True, annex=True, centre=True)
        self.schema: Final = deployment.schema()

    @property
    def anchor(self) -> Identity:
        """The root of trust."""
        return self.identities[deployment.COMPANY.root.name]

    def verifier(self) -> Verifier:
        """Believes whom the anchor vouches for."""
        return Verifier(self.schema, [self.anchor.certificate])

    def of(self, name: Name) -> KeyChain:
        """The key chain of one panel."""
        return KeyChain(self.schema, [self.identities[name]])

    def save(self, names: Iterable[Name], home: Path) -> None:
        """Make a key store with some identities in it, and the certificates above them."""
        buildings = [deployment.COMPANY.building(name).name for name in ("Hall", "Annex")]
        with new_store(home) as store:
            store.save_anchor(self.anchor.certificate)
            for name in names:
                store.save_identity(self.identities[name])
            for above in (*buildings, *[group.name for group in GROUPS]):
                store.save_certificate(self.identities[above].certificate)
            store.save_schema(deployment.rules())
