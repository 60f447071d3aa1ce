"""The certificates that others need to believe us, shown to whoever asks: ours, and those above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.naming import Name
from roost.wire import Data, Interest
from roost.wire.certificate import key_name_of
from roost.wire.interest import matches


class Credentials:
    """Some certificates, by name and by the key they are for [certificates are asked for with CanBePrefix]."""

    def __init__(self, certificates: Sequence[Data]) -> None:
        self._certificates: Final = tuple(certificates)

    def prefixes(self) -> list[Name]:
        """The names of the keys: one prefix per key, whoever certified it."""
        return list(dict.fromkeys(key_name_of(certificate.name) for certificate in self._certificates))

    def named(self, prefix: Name) -> Data | None:
        """The first whose name begins so."""
        return next((each for each in self._certificates if each.name.starts_with(prefix)), None)

    def answer(self, interest: Interest) -> Data | None:
        """Answer with the first that matches."""
        for certificate in self._certificates:
            if matches(interest, certificate.name, certificate.implicit_digest):
                return certificate
        return None
