"""Certificates at hand, not yet believed: found by key name, by certificate name or by KeyDigest, bounded.

Anyone can answer an Interest for a certificate, so several may claim one key name; all are kept (a few per key), and
the verifier believes the one that a chain of signatures holds. The least recently used make room.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from typing import Final

from roost.errors import BadName
from roost.naming import Name
from roost.wire import SignatureInfo
from roost.wire.certificate import Certificate, key_name_of

PER_KEY: Final = 4


class CertificateStore:
    """At most `limit` certificates, at most `PER_KEY` of one key name."""

    def __init__(self, limit: int) -> None:
        self._limit: Final = limit
        self._held: Final[OrderedDict[bytes, Certificate]] = OrderedDict()  # by wire: one name may come in two versions
        self._of_key: Final[dict[bytes, list[Certificate]]] = {}
        self._of_digest: Final[dict[bytes, list[Certificate]]] = {}
        self.evicted = 0

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, certificate: Certificate) -> bool:
        return certificate.wire in self._held

    def put(self, certificate: Certificate) -> None:
        """Take a certificate, the newest of its key last."""
        if certificate.wire in self._held:
            self._held.move_to_end(certificate.wire)
            return
        same_key = self._of_key.setdefault(certificate.key_name.value, [])
        if len(same_key) >= PER_KEY:
            self.evicted += 1
            self.drop(same_key[0])
            same_key = self._of_key.setdefault(certificate.key_name.value, [])
        same_key.append(certificate)
        self._of_digest.setdefault(sha256(certificate.public_key).digest(), []).append(certificate)
        self._held[certificate.wire] = certificate
        if len(self._held) > self._limit:
            self.evicted += 1
            self.drop(next(iter(self._held.values())))

    def drop(self, certificate: Certificate) -> None:
        """Forget a certificate."""
        if self._held.pop(certificate.wire, None) is None:
            return
        for index, key in (
            (self._of_key, certificate.key_name.value),
            (self._of_digest, sha256(certificate.public_key).digest()),
        ):
            left = [held for held in index.get(key, []) if held.wire != certificate.wire]
            if left:
                index[key] = left
            else:
                index.pop(key, None)

    def find(self, info: SignatureInfo) -> list[Certificate]:
        """The certificates of the key that a KeyLocator means, newest first."""
        if info.key_digest is not None:
            found = self._of_digest.get(info.key_digest, [])
        elif info.key_name is not None:
            found = self._named(info.key_name)
        else:
            found = []
        for certificate in found:
            self._held.move_to_end(certificate.wire)
        return sorted(found, key=lambda held: -held.version)

    def _named(self, locator: Name) -> list[Certificate]:
        try:
            return self._of_key.get(key_name_of(locator).value, [])
        except BadName:
            return []
