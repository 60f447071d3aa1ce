"""Where an MQTT server is and who we are to it, read from the letters of `roost pub` and `roost sub`."""

from __future__ import annotations

import argparse
import os
import ssl
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from roost.errors import BadConfig

PASSWORD_VARIABLE: Final = "ROOST_MQTT_PASSWORD"  # noqa: S105  the name of a variable, no password
_SCHEMES: Final = {"mqtt": (False, False), "mqtts": (True, False), "ws": (False, True), "wss": (True, True)}
_PORT: Final = 1883
_TLS_PORT: Final = 8883


@dataclass(frozen=True, slots=True)
class Server:
    """An address and what to show there; `topic` is the one in a URL."""

    host: str
    port: int
    transport: str
    tls: ssl.SSLContext | None
    user: str | None
    password: bytes | None
    topic: str | None

    def __str__(self) -> str:
        return self.host if self.transport == "unix" else f"{self.host}:{self.port}"


def server_of(options: argparse.Namespace) -> Server:
    """Read the letters; raises `BadConfig` for what contradicts itself."""
    if options.unix is not None and (options.host is not None or options.url is not None):
        raise BadConfig("--unix says where the server is, and so do -h and -L: leave them out")
    host, port, user, password, topic = "localhost", None, None, None, None
    tls = web = False
    if options.url is not None:
        host, port, user, password, topic, tls, web = _read_url(options.url)
    host = host if options.host is None else options.host
    port = port if options.port is None else options.port
    tls = tls or port == _TLS_PORT or any((options.cafile, options.capath, options.tls_use_os_certs, options.cert))
    if port is None:
        port = _TLS_PORT if tls else _PORT
    if not 1 <= port <= 0xFFFF:
        raise BadConfig(f"-p {port}: a port is 1 to 65535")
    if options.unix is not None:
        host, tls = options.unix, False
    if options.insecure and not tls:
        raise BadConfig("--insecure goes with TLS: give --cafile, --capath or --tls-use-os-certs")
    user = options.username if options.username is not None else user
    secret = _password(options, password, named=user is not None)
    if secret is not None and user is None:
        raise BadConfig("a password goes with a user: give -u")
    transport = "unix" if options.unix is not None else "websockets" if web or options.ws else "tcp"
    return Server(host, port, transport, _context(options) if tls else None, user, secret, topic)


def _read_url(url: str) -> tuple[str, int | None, str | None, str | None, str | None, bool, bool]:
    """Not `urlsplit`: a filter may hold '#' and '?'."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() not in _SCHEMES:
        raise BadConfig(f"-L {url}: the scheme is one of {', '.join(_SCHEMES)}")
    authority, _, topic = rest.partition("/")
    identity, at, place = authority.rpartition("@")
    host, _, port = place.rpartition(":") if place.rpartition(":")[2].isdigit() else (place, "", "")
    host = host.removeprefix("[").removesuffix("]")
    if not host or (port and len(port) > 5):
        raise BadConfig(f"-L {url}: write mqtt://[user[:password]@]host[:port]/topic")
    user, colon, password = identity.partition(":")
    tls, web = _SCHEMES[scheme.lower()]
    return (
        host,
        int(port) if port else None,
        unquote(user) if at else None,
        unquote(password) if colon else None,
        topic or None,
        tls,
        web,
    )


def _password(options: argparse.Namespace, from_url: str | None, *, named: bool) -> bytes | None:
    """The most explicit one: of the letters, then of the URL, then of the environment, if there is a user at all."""
    if sum((options.password is not None, options.password_file is not None, options.ask_password)) > 1:
        raise BadConfig("-P, --password-file and --ask-password all give the password: use one of them")
    if options.password is not None:
        return os.fsencode(options.password)
    if options.password_file is not None:
        lines = options.password_file.read_bytes().splitlines()
        if not lines:
            raise BadConfig(f"--password-file {options.password_file}: there is no line in it")
        return bytes(lines[0])
    if options.ask_password:
        import getpass

        return getpass.getpass("MQTT password: ").encode(errors="surrogateescape")
    if from_url is not None:
        return from_url.encode()
    if named and PASSWORD_VARIABLE in os.environ:
        return os.fsencode(os.environ[PASSWORD_VARIABLE])
    return None


def _context(options: argparse.Namespace) -> ssl.SSLContext:
    """What TLS trusts: what the letters say, else what the system trusts."""
    for letter in ("cafile", "capath", "cert", "key"):
        path = getattr(options, letter)
        if path is not None and not path.exists():
            raise BadConfig(f"--{letter} {path}: there is no such file")
    if options.key is not None and options.cert is None:
        raise BadConfig("--key is the key of a certificate: give that with --cert")
    try:
        context = ssl.create_default_context(cafile=options.cafile, capath=options.capath)
        if options.tls_use_os_certs:
            context.load_default_certs()
        if options.cert is not None:
            _load_certificate(context, options)
        if options.ciphers is not None:
            context.set_ciphers(options.ciphers)
    except ssl.SSLError as error:
        raise BadConfig(f"what --cafile, --capath and --ciphers give cannot be used: {error}") from None
    if options.tls_alpn is not None:
        context.set_alpn_protocols([options.tls_alpn])
    newest = options.tls_version == "tlsv1.3"
    context.minimum_version = ssl.TLSVersion.TLSv1_3 if newest else ssl.TLSVersion.TLSv1_2
    context.check_hostname = not options.insecure
    return context


def _load_certificate(context: ssl.SSLContext, options: argparse.Namespace) -> None:
    try:
        context.load_cert_chain(options.cert, options.key)
    except ssl.SSLError as error:
        if options.key is None:
            raise BadConfig(
                f"--cert {options.cert}: there is no certificate with its key in it; give the key with --key"
            ) from None
        raise BadConfig(
            f"--cert {options.cert} and --key {options.key} are no certificate and its key in PEM form: {error.reason}"
        ) from None
