"""The user that a TLS client's certificate names: its subject's common name, or an alternative name of one kind.

Works on what `ssl` tells of a certificate that it has verified (`getpeercert()`), and only on that. The name must be
there once and be a user's name (`encoded_name`): of two names nobody could say which one counts, so there is none, and
who has none is anonymous or sends a password.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from roost.errors import BadConfig
from roost.host.mqtt.users import encoded_name

SOURCES: Final = ("CN", "DNS", "email", "URI")  # the subject's common name, or a kind of subjectAltName [RFC 5280]


def user_of(certificate: Mapping[str, Any] | None, source: str) -> bytes | None:
    """Whom the certificate names, None if there is none, or if it names nobody or several."""
    if not certificate:
        return None
    if source == "CN":
        pairs = [pair for step in certificate.get("subject", ()) for pair in step]
        found = [value for kind, value in pairs if kind == "commonName"]
    else:
        found = [value for kind, value in certificate.get("subjectAltName", ()) if kind == source]
    if len(found) != 1:
        return None
    try:
        return encoded_name(found[0])
    except BadConfig:
        return None
