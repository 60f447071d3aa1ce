"""Making a key: certified if its issuer's key is here, else with a request that its issuer can certify elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from roost.errors import BadConfig, NoKey

if TYPE_CHECKING:
    from roost.host.keystore import KeyStore
    from roost.naming import Name
    from roost.trust import Identity, KeyChain


def made(
    store: KeyStore,
    identity: Name,
    kind: Literal["ecdsa", "ed25519", "rsa"] = "ecdsa",
    *,
    another: bool = False,
    request_file: Path | None = None,
) -> dict[str, Any]:
    """Make a key for an identity, and tell of it: with its certificate, or with the request and who can certify it."""
    from roost.cli._readings import time_of
    from roost.host.keystore import write_file
    from roost.trust import certify_request, generate
    from roost.trust.identity import request
    from roost.wire.certificate import text_of
    from roost.wire.safebag import to_text

    now = time.time_ns()
    key = generate(identity, os.urandom, kind)
    asked = request(key, now)
    keychain = store.keychain()
    _check(store, keychain, identity, asked.name, another=another)
    store.save_key(key)
    told: dict[str, Any] = {"key": str(key.name), "certificate": None, "until": None, "request": None, "issuers": []}
    try:
        issuer = issuer_of(keychain, key.name, now)
    except NoKey:
        file = request_file or Path(f"{'-'.join(str(part) for part in identity)}.request")
        write_file(file, to_text(asked.wire).encode(), 0o644)
        issuers = sorted({str(wanted.identity) for wanted in keychain.schema.keys_for(asked.name)})
        return told | {"request": str(file), "issuers": issuers}
    certificate = certify_request(issuer, asked, now)
    store.save_certificate(certificate)
    ends = time_of(certificate.not_after) or text_of(certificate.not_after)
    return told | {"certificate": str(certificate.name), "until": ends}


def made_lines(told: Mapping[str, Any]) -> list[str]:
    """The same for people."""
    lines = [f"made key {told['key']}"]
    if told["certificate"] is not None:
        return [*lines, f"certificate {told['certificate']}, until {told['until']}"]
    who = " or ".join(told["issuers"])
    return [
        *lines,
        f"its issuer is elsewhere: have {told['request']} certified where the key of {who} is (roost key certify),",
        "then bring the certificate here: roost key import FILE",
    ]


def issuer_of(keychain: KeyChain, key: Name, now: int) -> Identity:
    """The identity that the schema lets certify this key; issuer and version of the certificate do not matter to it."""
    from roost.naming import Component
    from roost.naming.conventions import version

    return keychain.identity_for(key / Component(b"NA") / version(0), now)


def _check(store: KeyStore, keychain: KeyChain, identity: Name, asked: Name, *, another: bool) -> None:
    if keychain.schema.is_anchor_name(asked):
        raise BadConfig(f"{identity} is an anchor, which nobody certifies; `roost init` makes one")
    if not keychain.schema.keys_for(asked):
        raise BadConfig(
            f"no rule of the schema knows keys of {identity}: {keychain.schema.nearest(asked)}; "
            f"buildings are listed in rule #site of {store.schema_file}, departments in #people: add it there, here "
            "and wherever it is to be believed"
        )
    for held in store.private_keys():
        if held.name.prefix(-2) == identity and not another:
            raise BadConfig(
                f"{identity} has a key here already, {held.name}; use that, or make one more with --another "
                "(then the one whose certificate ends last signs)"
            )
