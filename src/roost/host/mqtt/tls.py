"""TLS between a socket and the machine, by OpenSSL in memory: 1.2 or later, with client certificates if wanted.

Whoever shows a certificate that the given authority signed is the user that it names
(`roost.host.mqtt.certificate_user`). The context belongs to the listener; a new one counts for connections that come
after it, and those that are there stay as they are.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.errors import BadConfig
from roost.host.mqtt.certificate_user import user_of

_CHUNK_BYTES: Final = 64 * 1024
_NO_TLS: Final = "the client does not speak TLS here: have it use TLS, or a listener without"
_MEANT: Final = {  # what OpenSSL's reasons mean to whoever reads the log
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "HTTP_REQUEST": _NO_TLS,
    "TLSV1_ALERT_UNKNOWN_CA": "the client does not know who signed our certificate: give it that authority",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client shows no certificate, and `require_certificate` wants one",
}


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Where a listener's certificate is, and whose clients it asks for theirs."""

    certificate: Path
    key: Path
    clients: Path | None = None  # the authorities whose certificates name users
    require: bool = False  # whether who has none is sent away
    user_from: str = "CN"  # one of `certificate_user.SOURCES`


class Tls:
    """One connection."""

    __slots__ = ("_incoming", "_outgoing", "_source", "_tls", "ended", "ready", "user")
    is_foreign = False
    forwarded_for = ""
    held_bytes = 0

    def __init__(self, context: ssl.SSLContext, user_from: str = "CN") -> None:
        self._incoming: Final = ssl.MemoryBIO()
        self._outgoing: Final = ssl.MemoryBIO()
        self._tls: Final = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._source: Final = user_from
        self.ready = False
        self.ended = ""
        self.user: bytes | None = None

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Decrypt; before that, shake hands."""
        plain: list[bytes] = []
        self._incoming.write(data)
        try:
            if not self.ready:
                self._tls.do_handshake()
                self.ready = True
                self.user = user_of(self._tls.getpeercert(), self._source)
            while chunk := self._tls.read(_CHUNK_BYTES):
                plain.append(chunk)
            self.ended = "the other end closed it"
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = "the other end closed it"
        except ssl.SSLError as error:
            reason = error.reason or str(error)
            self.ended = f"TLS failed: {_MEANT.get(reason, reason)}"
        return b"".join(plain), self._outgoing.read()

    def wrap(self, data: bytes) -> bytes:
        """Encrypt; who has not shaken hands, or has gone, gets nothing."""
        if not self.ready or self.ended or not data:
            return b""
        try:
            self._tls.write(data)
        except ssl.SSLError as error:
            self.ended = f"TLS failed: {error.reason or error}"
        return self._outgoing.read()

    def farewell(self) -> bytes:
        """Say that nothing more comes, so that nobody can cut a connection short unseen [RFC 8446 §6.1]."""
        if self.ready and not self.ended:
            with suppress(ssl.SSLError):  # it wants to wait for the other's farewell, which we do not need
                self._tls.unwrap()
        return self._outgoing.read()


def make_context(files: TlsFiles, protocol: str) -> ssl.SSLContext:
    """Read the files; raises `BadConfig` that says which cannot be used. `protocol` is what clients may ask for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols([protocol])
    for path in filter(None, (files.certificate, files.key, files.clients)):
        try:
            path.read_bytes()  # OpenSSL does not say which file it could not read
        except OSError as error:
            raise BadConfig(f"{path} cannot be read: {error.strerror}; give a file in PEM form") from None
    try:
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
    except ssl.SSLError as error:
        raise BadConfig(
            f"{files.certificate} and {files.key} are no certificate and its key ({error.reason or 'not PEM'}): "
            "give a chain and an unencrypted private key, both in PEM form"
        ) from None
    if files.clients is not None:
        try:
            context.load_verify_locations(files.clients)
        except ssl.SSLError:
            raise BadConfig(f"{files.clients} has no certificate: give the clients' authority in PEM form") from None
        context.verify_mode = ssl.CERT_REQUIRED if files.require else ssl.CERT_OPTIONAL
    return context


def _no_password() -> str:
    """Have an encrypted key refused, where OpenSSL would ask at the terminal."""
    return ""
