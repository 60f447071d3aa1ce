"""What to do when an MQTT server is not reached or does not answer: which letters to give, and which to leave out.

A server rarely says what it expected: one for TLS, for WebSocket or for certificates just closes the connection. So
what is named here is what our own letters leave possible.
"""

from __future__ import annotations

import socket
import ssl
from typing import Final

from paho.mqtt.client import WebsocketConnectionError

from roost.cli._mqtt_server import Server

OTHER_VERSIONS: Final = {3: "-V 311 or 5", 4: "-V 5", 5: "-V 311"}  # by the one that was spoken

_NO_TLS: Final = ("UNEXPECTED_EOF_WHILE_READING", "WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL")
_OTHER_NAME: Final = (62, 63, 64)  # OpenSSL: the host, the mail address or the IP address is not in the certificate
_EXPIRED: Final = (9, 10)  # not valid yet, or no more
_ANOTHER_PORT: Final = "or give its other port with -p"


def why_unreachable(server: Server, error: OSError) -> str:
    """Say why there is no connection, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS with {server} failed: {error.verify_message.rstrip('.')}; {_about_certificate(error.verify_code)}"
    if server.tls is not None and _is_no_tls(error):
        return (
            f"{server} was reached, but does not speak TLS: leave out --cafile and the other letters of TLS, "
            f"{_ANOTHER_PORT}"
        )
    if isinstance(error, ssl.SSLError):
        return f"TLS with {server} failed: {_words_of(error)}; {_about_refusal(error)}"
    if isinstance(error, WebsocketConnectionError):
        secure = "" if server.tls is not None else "; if it expects TLS too, give --cafile FILE"
        return (
            f"{server} was reached, but does not speak WebSocket: leave out --ws, correct --ws-path, {_ANOTHER_PORT}"
            f"{secure}"
        )
    said = f"cannot reach {server}: {error.strerror or error}"
    if isinstance(error, (ConnectionRefusedError, FileNotFoundError)):
        place = "--unix PATH" if server.transport == "unix" else "-h HOST and -p PORT"
        return f"{said}; nothing listens there: start a server (`roost up`), or say where it is with {place}"
    if isinstance(error, socket.gaierror):
        return f"{said}; correct the host, which is given with -h or -L"
    return said


def what_it_may_expect(server: Server, version: int, *, certified: bool) -> str:
    """Say what a server may expect that closed the connection, said nothing or something that is not MQTT."""
    ways: list[str] = []
    if server.tls is None and server.transport != "unix":
        ways.append("if it expects TLS, give --cafile FILE or --tls-use-os-certs")
    if server.tls is not None and not certified:
        ways.append("if it requires a certificate, give --cert FILE and --key FILE")
    if server.transport == "tcp":
        ways.append("if it expects WebSocket, give --ws")
    ways.append(f"if it does not know this version of MQTT, use {OTHER_VERSIONS[version]}")
    return "; ".join(ways)


def _is_no_tls(error: OSError) -> bool:
    if isinstance(error, ssl.SSLError):
        return error.reason in _NO_TLS
    return isinstance(error, ConnectionResetError) or "handshake operation timed out" in str(error)


def _words_of(error: ssl.SSLError) -> str:
    return error.reason.replace("_", " ").lower() if error.reason else str(error)


def _about_certificate(code: int) -> str:
    if code in _OTHER_NAME:
        return "its certificate is for another name: give -h as the certificate has it"
    if code in _EXPIRED:
        return "the server needs another certificate, or this machine the right time"
    return "give the certificate of the authority that signed the server's with --cafile FILE"


def _about_refusal(error: ssl.SSLError) -> str:
    if "ALERT" in (error.reason or ""):
        return "if it requires a certificate, give one that it trusts with --cert FILE and --key FILE"
    return "see --tls-version and --ciphers"
