"""The key chain on disk: keys, certificates, anchors and the trust schema, in one directory.

    <home>/                0700   ROOST_HOME, or ~/.roost
      keys/<id>.key        0600   the key's name on a line, then PKCS#8 in PEM
      certificates/<id>.cert      base64 of the TLV, as ndnsec writes it; ours and those we have met
      anchors/<id>.cert           the certificates that are trusted by being here
      schema.lvs                  who may sign what, in Light VerSec

Every file appears whole or not at all: written beside its place, synced, renamed, and the directory synced. A key that
others could read is refused, not repaired: who has read it meanwhile cannot be known.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives import serialization

from roost.errors import BadConfig, BadPacket, InvalidInput, NoKey
from roost.naming import Name
from roost.trust import Identity, KeyChain, Policy, PrivateKey, Schema, Verifier, load_private
from roost.wire.certificate import Certificate
from roost.wire.safebag import from_text, to_text
from roost.wire.tlv import element

MAX_FILES: Final = 10_000  # of one kind; a directory with more is not a key store
MAX_FILE_BYTES: Final = 65_536

_OPEN_TO_OTHERS: Final = 0o077


class KeyStore:
    """Reads and writes one directory; `create` makes it."""

    def __init__(self, home: Path) -> None:
        self.home: Final = home
        self._keys: Final = home / "keys"
        self._certificates: Final = home / "certificates"
        self._anchors: Final = home / "anchors"
        self._schema: Final = home / "schema.lvs"

    @property
    def exists(self) -> bool:
        """Whether there is a key store here."""
        return self._schema.exists() or self._keys.exists()

    @property
    def changed(self) -> int:
        """When a key, a certificate, an anchor or the schema last came or went, in ns; 0 where there is nothing."""
        found = [each for each in (self._keys, self._certificates, self._anchors, self._schema) if each.exists()]
        return max([each.stat().st_mtime_ns for each in found], default=0)

    def create(self) -> None:
        """Make the directories, for their owner only; an existing key store is never touched."""
        if self.exists:
            raise BadConfig(f"{self.home} already holds keys; name another directory with ROOST_HOME, or move it away")
        for directory in (self.home, self._keys, self._certificates, self._anchors):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.chmod(0o700)

    def check(self) -> None:
        """Refuse a store that is not there or that others can enter."""
        if not self.exists:
            raise NoKey(
                f"there is no key store in {self.home}; make one with: roost init, "
                "or, to trust what another machine trusts: roost init --join ANCHOR --schema FILE"
            )
        if not self._keys.is_dir():
            raise BadConfig(
                f"{self._keys} is missing: restore it, or, if there are to be no keys here: mkdir -m 700 {self._keys}"
            )
        for directory in (self.home, self._keys):
            _refuse_open(directory, "chmod 700")

    # -- reading ------------------------------------------------------------------------------------------------------

    def private_keys(self) -> list[PrivateKey]:
        """All private keys."""
        self.check()
        return [_read_key(path) for path in _files(self._keys, ".key")]

    def certificates(self) -> list[Certificate]:
        """All certificates that are not anchors."""
        return [_read_certificate(path) for path in _files(self._certificates, ".cert")]

    def anchors(self) -> list[Certificate]:
        """The anchors."""
        return [_read_certificate(path) for path in _files(self._anchors, ".cert")]

    def chain_of(self, certificate: Certificate) -> list[Certificate]:
        """A certificate and those above it, as far as they are here; the anchor is everybody's own."""
        by_key = {each.key_name: each for each in sorted(self.certificates(), key=lambda each: each.version)}
        chain = [certificate]
        while (above := by_key.get(chain[-1].issued_by or Name())) is not None and above not in chain:
            chain.append(above)
        return chain

    @property
    def schema_file(self) -> Path:
        """Where the trust schema is, for who wants to edit it."""
        return self._schema

    def schema(self) -> Schema:
        """The trust schema; errors name the file and the line."""
        try:
            return Schema(self._schema.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BadConfig(f"{self._schema} is not there; `roost init` writes one") from None
        except BadConfig as error:
            raise BadConfig(f"{self._schema}: {error}") from None

    def identities(self) -> list[Identity]:
        """Every key with every certificate of it."""
        certified: dict[bytes, list[Certificate]] = {}
        for certificate in (*self.anchors(), *self.certificates()):
            certified.setdefault(certificate.key_name.value, []).append(certificate)
        return [Identity(key, held) for key in self.private_keys() for held in certified.get(key.name.value, [])]

    def keychain(self) -> KeyChain:
        """What signs: the schema and our identities."""
        return KeyChain(self.schema(), self.identities())

    def verifier(self, now: int, policy: Policy | None = None) -> Verifier:
        """What checks: the schema, the anchors, and the certificates that are here already."""
        self.check()
        verifier = Verifier(self.schema(), self.anchors(), policy)
        for certificate in self.certificates():
            verifier.learn(certificate.data, now)
        return verifier

    # -- writing ------------------------------------------------------------------------------------------------------

    def save_key(self, key: PrivateKey) -> Path:
        """Store a private key, readable by its owner only."""
        pem = key.raw.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return _write(self._keys / f"{_id(key.name)}.key", f"{key.name}\n".encode() + pem, 0o600)

    def save_certificate(self, certificate: Certificate) -> Path:
        """Store a certificate."""
        return _write(self._certificates / f"{_id(certificate.name)}.cert", to_text(certificate.wire).encode(), 0o644)

    def save_anchor(self, certificate: Certificate) -> Path:
        """Store an anchor: from now on it is trusted."""
        return _write(self._anchors / f"{_id(certificate.name)}.cert", to_text(certificate.wire).encode(), 0o644)

    def save_identity(self, identity: Identity) -> None:
        """Store a key and its certificate."""
        self.save_key(identity.key)
        self.save_certificate(identity.certificate)

    def save_schema(self, text: str) -> Path:
        """Store the trust schema, after making sure that it is one."""
        Schema(text)
        return _write(self._schema, text.encode(), 0o644)

    def __repr__(self) -> str:
        return f"<KeyStore {self.home}>"


def read_packet_file(path: Path) -> bytes:
    """Read a packet from a file: raw TLV, or base64 of it."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadPacket(f"{path} has more than {MAX_FILE_BYTES} bytes, a packet file is smaller")
        content = path.read_bytes()
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}") from None
    if content[:1] in {b"\x05", b"\x06", b"\x80"}:  # Interest, Data, SafeBag; base64 text never begins so
        return content
    try:
        return from_text(content.decode("ascii"))
    except (UnicodeDecodeError, BadPacket):
        raise BadPacket(f"{path} is neither a packet (raw TLV) nor the base64 of one") from None


def read_packets_file(path: Path) -> list[bytes]:
    """Read packets one behind the other, at least one: a certificate and those above it, say."""
    wire = read_packet_file(path)
    found: list[bytes] = []
    while wire or not found:
        _, _, end = element(wire, 0, len(wire))
        found.append(wire[:end])
        wire = wire[end:]
    return found


def write_file(path: Path, content: bytes, mode: int = 0o600) -> Path:
    """Write a file whole or not at all."""
    return _write(path, content, mode)


def sync_directory(path: Path) -> None:
    """Have the names in a directory on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _id(name: Name) -> str:
    return sha256(name.value).hexdigest()[:32]


def _files(directory: Path, suffix: str) -> list[Path]:
    try:
        found = sorted(path for path in directory.iterdir() if path.suffix == suffix and not path.name.startswith("."))
    except FileNotFoundError:
        return []
    if len(found) > MAX_FILES:
        raise BadConfig(f"{directory} holds {len(found)} files, at most {MAX_FILES} are read; move old ones away")
    return found


def _refuse_open(path: Path, remedy: str, descriptor: int | None = None) -> None:
    mode = (path.stat() if descriptor is None else os.fstat(descriptor)).st_mode & 0o777
    if mode & _OPEN_TO_OTHERS:
        raise BadConfig(
            f"{path} is open to other users (mode {mode:04o}), so its keys may be known to them;"
            f" if they are not: {remedy} {path}, otherwise make new keys"
        )


def _read_key(path: Path) -> PrivateKey:
    with path.open("rb") as file:  # looked at and read through one descriptor, so it is the same file
        _refuse_open(path, "chmod 600", file.fileno())
        content = file.read(MAX_FILE_BYTES)
    first, _, pem = content.partition(b"\n")
    try:
        name = Name.parse(first.decode("ascii"))
        raw = from_text("".join(line for line in pem.decode("ascii").splitlines() if not line.startswith("-----")))
        return load_private(name, raw)
    except (InvalidInput, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} is not a key file of ours ({error}); restore it, or move it away") from None


def _read_certificate(path: Path) -> Certificate:
    try:
        return Certificate.decode(read_packet_file(path))
    except InvalidInput as error:
        raise BadConfig(f"{path} is not a certificate ({error}); restore it, or move it away") from None


def _write(path: Path, content: bytes, mode: int) -> Path:
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise BadConfig(f"{path} cannot be written: {error.strerror}") from None
    sync_directory(path.parent)
    return path
