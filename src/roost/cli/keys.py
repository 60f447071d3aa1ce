"""`roost keys`: list, make, certify, export and import keys and certificates.

Passphrases come from `--passphrase-file`, from ROOST_PASSPHRASE or from a prompt; never from the command line, where
every user of the machine could read them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from roost.errors import BadConfig, NoKey

if TYPE_CHECKING:  # the rest is imported where it is used: every verb is loaded for `roost --help`
    from roost.host.keystore import KeyStore
    from roost.naming import Name
    from roost.trust import Identity, KeyChain
    from roost.wire.certificate import Certificate

SUMMARY = "list, make, certify, export and import keys"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the verbs."""
    verbs = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    verbs.add_parser("list", help="show keys, certificates and anchors").set_defaults(act=_list)
    make = verbs.add_parser("make", help="make a key, and certify it if its issuer's key is here")
    make.add_argument("identity", type=_name, help="who the key is for, e.g. /BigCompany/Building1")
    make.add_argument("--kind", choices=("ecdsa", "ed25519", "rsa"), default="ecdsa")
    make.add_argument("--request", type=Path, metavar="FILE", help="where a request is written (default: here)")
    make.add_argument("--another", action="store_true", help="make one more key for an identity that has one")
    make.set_defaults(act=_make)
    certify = verbs.add_parser("certify", help="sign the certificate that a request asks for")
    certify.add_argument("request", type=Path, help="what `roost keys make` wrote on the other machine")
    certify.add_argument("output", type=Path, help="where to write the certificate, and those above it")
    certify.set_defaults(act=_certify)
    # No abbreviations: `--passphrase secret` would be taken for a file's name, and repeated in the error.
    export = verbs.add_parser(
        "export", help="write a key and its certificate as a SafeBag (for ndnsec import, too)", allow_abbrev=False
    )
    export.add_argument("identity", type=_name, help="an identity, a key or a certificate name")
    export.add_argument("file", type=Path)
    _passphrase_options(export)
    export.set_defaults(act=_export)
    show = verbs.add_parser("certificate", help="write a certificate, without any key: what others may have")
    show.add_argument("identity", type=_name, help="an identity, a key or a certificate name, e.g. the anchor's")
    show.add_argument("file", type=Path)
    show.set_defaults(act=_certificate)
    bring = verbs.add_parser(
        "import", help="take a SafeBag (from ndnsec export, too) or certificates", allow_abbrev=False
    )
    bring.add_argument("file", type=Path)
    bring.add_argument("--anchor", action="store_true", help="trust this certificate as an anchor")
    _passphrase_options(bring)
    bring.set_defaults(act=_import)


def run(options: argparse.Namespace) -> int:
    """Run one action on the key store."""
    from roost.host.keystore import KeyStore
    from roost.host.paths import home

    store = KeyStore(home())
    store.check()
    return int(options.act(store, options))


def _list(store: KeyStore, _: argparse.Namespace) -> int:
    now = time.time_ns()
    certified = {identity.key.name for identity in store.identities()}
    for anchor in store.anchors():
        print(f"anchor       {anchor.name}  {_period(anchor, now)}")
    held = {key.name for key in store.private_keys()}
    for certificate in store.certificates():
        label = "key" if certificate.key_name in held else "certificate"
        print(f"{label:<11}  {certificate.name}  {_period(certificate, now)}")
    for name in sorted(held - certified):
        print(f"uncertified  {name}")
    return 0


def _make(store: KeyStore, options: argparse.Namespace) -> int:
    from roost.host.keystore import write_file
    from roost.trust import certify_request, generate
    from roost.trust.identity import request
    from roost.wire.certificate import text_of
    from roost.wire.safebag import to_text

    now = time.time_ns()
    key = generate(options.identity, os.urandom, options.kind)
    asked = request(key, now)
    keychain = store.keychain()
    if keychain.schema.is_anchor_name(asked.name):
        raise BadConfig(f"{options.identity} is an anchor, which nobody certifies; `roost init` makes one")
    if not keychain.schema.keys_for(asked.name):
        raise BadConfig(
            f"no rule of the schema knows keys of {options.identity}: {keychain.schema.nearest(asked.name)}; "
            f"buildings are listed in rule #site of {store.schema_file}, departments in #people: add it there, here "
            "and wherever it is to be believed"
        )
    for held in store.private_keys():
        if held.name.prefix(-2) == options.identity and not options.another:
            raise BadConfig(
                f"{options.identity} has a key here already, {held.name}; use that, or make one more with --another "
                "(then the one whose certificate ends last signs)"
            )
    store.save_key(key)
    try:
        issuer = _issuer_of(keychain, key.name, now)
    except NoKey:
        file = options.request or Path(f"{'-'.join(str(part) for part in options.identity)}.request")
        write_file(file, to_text(asked.wire).encode(), 0o644)
        issuers = " or ".join(sorted({wanted.identity for wanted in keychain.schema.keys_for(asked.name)}))
        print(f"made key {key.name}")
        print(f"its issuer is elsewhere: have {file} certified where the key of {issuers} is (roost keys certify),")
        print("then bring the certificate here: roost keys import FILE")
        return 0
    certificate = certify_request(issuer, asked, now)
    store.save_certificate(certificate)
    print(f"made key {key.name}")
    print(f"certificate {certificate.name}, until {text_of(certificate.not_after)} UTC")
    return 0


def _certify(store: KeyStore, options: argparse.Namespace) -> int:
    from roost.host.keystore import read_packet_file, write_file
    from roost.trust import certify_request
    from roost.wire.certificate import Certificate, text_of
    from roost.wire.safebag import to_text

    now = time.time_ns()
    asked = Certificate.decode(read_packet_file(options.request))
    certificate = certify_request(_issuer_of(store.keychain(), asked.key_name, now), asked, now)
    store.save_certificate(certificate)
    chain = store.chain_of(certificate)
    write_file(options.output, to_text(b"".join(each.wire for each in chain)).encode(), 0o644)
    print(f"certificate {certificate.name}, until {text_of(certificate.not_after)} UTC, in {options.output}")
    for above in chain[1:]:
        print(f"with it     {above.name}")
    return 0


def _export(store: KeyStore, options: argparse.Namespace) -> int:
    from roost.host.keystore import write_file
    from roost.trust import export_safebag
    from roost.wire.safebag import to_text

    wanted: Name = options.identity
    held = [one for one in store.identities() if wanted in {one.name, one.key.name, one.certificate.name}]
    if not held:
        raise NoKey(f"there is no key of {wanted} in {store.home}; see: roost keys list")
    newest = max(held, key=lambda identity: identity.certificate.version)
    passphrase = _passphrase(options, f"passphrase for {newest.key.name}: ", twice=True)
    write_file(options.file, to_text(export_safebag(newest, passphrase)).encode())
    print(f"wrote {newest.certificate.name} with its key, encrypted, to {options.file}")
    return 0


def _certificate(store: KeyStore, options: argparse.Namespace) -> int:
    from roost.host.keystore import write_file
    from roost.wire.safebag import to_text

    wanted: Name = options.identity
    held = [
        one for one in (*store.anchors(), *store.certificates()) if wanted in {one.identity, one.key_name, one.name}
    ]
    if not held:
        raise NoKey(f"there is no certificate of {wanted} in {store.home}; see: roost keys list")
    newest = max(held, key=lambda certificate: certificate.version)
    write_file(options.file, to_text(newest.wire).encode(), 0o644)
    print(f"wrote {newest.name} to {options.file}")
    print(f"SHA-256 {newest.data.implicit_digest.hex()}")
    return 0


def _import(store: KeyStore, options: argparse.Namespace) -> int:
    from roost.host.keystore import read_packets_file
    from roost.trust import Identity, import_safebag
    from roost.wire.certificate import Certificate
    from roost.wire.safebag import SAFE_BAG

    wire, *rest = read_packets_file(options.file)
    above = [Certificate.decode(each) for each in rest]
    identity: Identity | None = None
    if wire.startswith(bytes([SAFE_BAG])):
        identity = import_safebag(wire, _passphrase(options, f"passphrase of {options.file}: "))
        certificate = identity.certificate
    else:
        certificate = Certificate.decode(wire)
        for key in store.private_keys():
            if key.name == certificate.key_name:
                Identity(key, certificate)  # refuses a certificate that is for another key
    if options.anchor:
        if not store.schema().is_anchor_name(certificate.name):
            raise BadConfig(f"{certificate.name} is not named as the schema's anchors are; change the schema first")
        store.save_anchor(certificate)
    else:
        store.save_certificate(certificate)
    for each in above:  # believed as far as they lead to an anchor that is here
        store.save_certificate(each)
    if identity is not None:
        store.save_key(identity.key)
    print(f"took {'anchor' if options.anchor else 'certificate'} {certificate.name}")
    for each in above:
        print(f"with it {each.name}")
    return 0


def _name(text: str) -> Name:
    from roost.errors import BadName
    from roost.naming import Name

    try:
        return Name.parse(text)
    except BadName as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _issuer_of(keychain: KeyChain, key: Name, now: int) -> Identity:
    """The identity that the schema lets certify this key; issuer and version of the certificate do not matter to it."""
    from roost.naming import Component
    from roost.naming.conventions import version

    return keychain.identity_for(key / Component(b"NA") / version(0), now)


def _period(certificate: Certificate, now: int) -> str:
    from roost.wire.certificate import text_of

    if certificate.valid_at(now):
        return f"until {text_of(certificate.not_after)}"
    return f"NOT VALID NOW, {text_of(certificate.not_before)} to {text_of(certificate.not_after)}"


def _passphrase_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--passphrase-file",
        type=Path,
        metavar="FILE",
        help="first line is the passphrase; else ROOST_PASSPHRASE, else asked",
    )


def _passphrase(options: argparse.Namespace, prompt: str, *, twice: bool = False) -> bytes:
    if options.passphrase_file:
        try:
            text = options.passphrase_file.read_text(encoding="utf-8").partition("\n")[0]
        except (OSError, UnicodeDecodeError) as error:
            why = "it is not text" if isinstance(error, UnicodeDecodeError) else error.strerror
            raise BadConfig(f"{options.passphrase_file} cannot be read: {why}") from None
    elif "ROOST_PASSPHRASE" in os.environ:
        text = os.environ["ROOST_PASSPHRASE"]
    elif not sys.stdin.isatty():
        raise BadConfig("there is no terminal to ask for a passphrase; use --passphrase-file or ROOST_PASSPHRASE")
    else:
        import getpass

        text = getpass.getpass(prompt)
        if twice and getpass.getpass("again: ") != text:
            raise BadConfig("the two passphrases differ; nothing was written")
    if not text:
        raise BadConfig("the passphrase is empty; choose a long one")
    return str(text).encode()
