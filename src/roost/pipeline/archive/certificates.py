"""What it takes to verify a reading when no repo is left: the certificates from its signer's up to the anchor.

    <archive>/certificates/<id>.cert      base64, as in the home's `certificates`: `roost trust explain` takes them

A certificate is archived when a reading that needs it is: one that is valid then, so a renewed one too. Who verifies
believes none of them for being here, but by the schema and the anchors of their own home.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Final, TypeAlias

from roost.errors import BadConfig, BadName, InvalidInput
from roost.naming import Name
from roost.pipeline.archive.folder import Folder
from roost.pipeline.archive.layout import CERTIFICATES
from roost.wire import Data
from roost.wire.certificate import Certificate, key_name_of
from roost.wire.safebag import from_text, to_text

Fetch: TypeAlias = Callable[[Name], Data | None]

MAX_DEPTH: Final = 8  # as a verifier's chains
MAX_CERTIFICATES: Final = 100_000


class Certificates:
    """The certificates of an archive; `fetch` gets those that are not here, by key or by name."""

    def __init__(self, folder: Folder, fetch: Fetch = lambda _: None) -> None:
        self.turned_away = 0  # for want of room
        self._folder: Final = folder
        self._fetch: Final = fetch
        self._of_key: Final[dict[Name, list[Certificate]]] = {}  # bound: MAX_CERTIFICATES in all
        self._count = 0
        for path in folder.files(CERTIFICATES):
            if path.endswith(".cert") and not path.rpartition("/")[2].startswith("."):
                self._take(_read(folder, path))

    def __len__(self) -> int:
        return self._count

    def all(self) -> list[Certificate]:
        """All that are here."""
        return [each for certificates in self._of_key.values() for each in certificates]

    def keep_for(self, packets: Iterable[Data], now: int) -> list[Name]:
        """Archive what verifying these takes; the signers whose chain could not be had whole."""
        locators = {packet.signature.key_name: None for packet in packets if packet.signature.key_name is not None}
        return [locator for locator in locators if not self._keep(locator, now)]

    def _keep(self, locator: Name, now: int) -> bool:
        for _ in range(MAX_DEPTH):
            certificate = self._held(locator, now) or self._fetched(locator, now)
            if certificate is None:
                return False
            above = certificate.data.signature.key_name
            if certificate.is_self_signed or above is None:
                return True
            locator = above
        return False

    def _held(self, locator: Name, now: int) -> Certificate | None:
        try:
            held = self._of_key.get(key_name_of(locator), [])
        except BadName:
            return None
        return next((each for each in held if each.valid_at(now)), None)

    def _fetched(self, locator: Name, now: int) -> Certificate | None:
        data = self._fetch(locator)
        if data is None:
            return None
        try:
            certificate = Certificate.decode(data)
        except InvalidInput:
            return None
        if self._count >= MAX_CERTIFICATES:
            self.turned_away += 1
            return None
        name = f"{CERTIFICATES}/{sha256(certificate.name.value).hexdigest()[:32]}.cert"
        self._folder.write(name, to_text(certificate.wire).encode())
        self._take(certificate)
        return certificate if certificate.valid_at(now) else None

    def _take(self, certificate: Certificate) -> None:
        held = self._of_key.setdefault(certificate.key_name, [])
        if all(each.wire != certificate.wire for each in held):
            held.append(certificate)
            self._count += 1


def _read(folder: Folder, path: str) -> Certificate:
    try:
        return Certificate.decode(from_text((folder.read(path) or b"").decode("ascii")))
    except (InvalidInput, UnicodeDecodeError) as error:
        raise BadConfig(f"{folder.where(path)} is no certificate ({error}): restore it, or move it away") from None
