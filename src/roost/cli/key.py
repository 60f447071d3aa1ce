"""`roost key`: list, make, certify, export and import keys and certificates.

`roost keys` is the same: it was called so before.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.cli._key_making import issuer_of, made, made_lines
from roost.cli._output import add_json, show
from roost.cli._page import Page
from roost.cli._passphrase import add_passphrase, passphrase_of
from roost.cli._readings import time_of
from roost.errors import BadConfig, NoKey

if TYPE_CHECKING:
    from roost.host.keystore import KeyStore
    from roost.naming import Name
    from roost.wire.certificate import Certificate

SUMMARY = "List, make, certify, export and import keys."
PAGE: Final = Page(
    examples=(
        ("roost key list", "keys, certificates and anchors of this home, and until when they hold"),
        ("roost key make /BigCompany/Building1/Electricity/Panel2", "a key for another panel"),
        (
            "roost key certify panel3.request panel3.cert",
            "where the issuer's key is: certify what the other machine asks for",
        ),
        ("roost key certificate /BigCompany/BMS anchor.cert", "the anchor's certificate, for another machine"),
        ("roost key import panel3.cert", "take the certificate, where the key is"),
        (
            "roost key export /BigCompany/BMS anchor.safebag --passphrase-file passphrase",
            "the anchor's key, encrypted, to be put in a safe",
        ),
    ),
    text="Keys are in ROOST_HOME (default ~/.roost), readable for you only. Passphrases come from --passphrase-file, "
    "from ROOST_PASSPHRASE or from a prompt; never from the command line, where every user of the machine could read "
    "them.",
    see=("init", "trust", "docs/trust.md", "docs/second-machine.md"),
)
_KINDS: Final = ("ecdsa", "ed25519", "rsa")
_WHICH: Final = "an identity, a key or a certificate name"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="show keys, certificates and anchors")
    listing.set_defaults(act=_list)
    make = actions.add_parser("make", help="make a key, and certify it if its issuer's key is here")
    make.add_argument("identity", metavar="NAME", type=_name, help="who the key is for, e.g. /BigCompany/Building1")
    make.add_argument("--kind", choices=_KINDS, default="ecdsa", help="the kind of key (default: ecdsa)")
    make.add_argument("--request", type=Path, metavar="FILE", help="where a request is written (default: here)")
    make.add_argument("--another", action="store_true", help="make one more key for an identity that has one")
    make.set_defaults(act=_make)
    certify = actions.add_parser("certify", help="sign the certificate that a request asks for")
    certify.add_argument("request", metavar="FILE", type=Path, help="what `roost key make` wrote on the other machine")
    certify.add_argument(
        "output", metavar="OUTPUT", type=Path, help="where to write the certificate, and those above it"
    )
    certify.set_defaults(act=_certify)
    # No abbreviations: `--passphrase secret` would be taken for a file's name, and repeated in the error.
    export = actions.add_parser(
        "export", help="write a key and its certificate as a SafeBag (for ndnsec import, too)", allow_abbrev=False
    )
    export.add_argument("identity", metavar="NAME", type=_name, help=_WHICH)
    export.add_argument("file", metavar="FILE", type=Path, help="where to write it")
    add_passphrase(export)
    export.set_defaults(act=_export)
    other = actions.add_parser("certificate", help="write a certificate, without any key: what others may have")
    other.add_argument("identity", metavar="NAME", type=_name, help=f"{_WHICH}, e.g. the anchor's")
    other.add_argument("file", metavar="FILE", type=Path, help="where to write it")
    other.set_defaults(act=_certificate)
    bring = actions.add_parser(
        "import", help="take a SafeBag (from ndnsec export, too) or certificates", allow_abbrev=False
    )
    bring.add_argument("file", metavar="FILE", type=Path, help="the SafeBag, or the certificates")
    bring.add_argument("--anchor", action="store_true", help="trust this certificate as an anchor")
    add_passphrase(bring)
    bring.set_defaults(act=_import)
    for action in (listing, make, certify, export, other, bring):
        add_json(action)


def run(options: argparse.Namespace) -> int:
    """Run one action on the key store."""
    from roost.host.keystore import KeyStore
    from roost.host.paths import home

    store = KeyStore(home())
    store.check()
    return int(options.act(store, options))


def _list(store: KeyStore, options: argparse.Namespace) -> int:
    now = time.time_ns()
    certified = {identity.key.name for identity in store.identities()}
    held = {key.name for key in store.private_keys()}
    found = [_about("anchor", anchor, now) for anchor in store.anchors()]
    found += [
        _about("key" if certificate.key_name in held else "certificate", certificate, now)
        for certificate in store.certificates()
    ]
    lines = [f"{each['kind']:<11}  {each['name']}  {each.pop('period')}" for each in found]
    found += [{"kind": "uncertified", "name": str(name)} for name in sorted(held - certified)]
    lines += [f"uncertified  {name}" for name in sorted(held - certified)]
    return show(options, found, lines)


def _about(kind: str, certificate: Certificate, now: int) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": str(certificate.name),
        "identity": str(certificate.identity),
        "not_before": time_of(certificate.not_before),
        "not_after": time_of(certificate.not_after),
        "valid": certificate.valid_at(now),
        "period": _period(certificate, now),
    }


def _make(store: KeyStore, options: argparse.Namespace) -> int:
    told = made(store, options.identity, options.kind, another=options.another, request_file=options.request)
    return show(options, told, made_lines(told))


def _certify(store: KeyStore, options: argparse.Namespace) -> int:
    from roost.host.keystore import read_packet_file, write_file
    from roost.trust import certify_request
    from roost.wire.certificate import Certificate, told_of
    from roost.wire.safebag import to_text

    now = time.time_ns()
    asked = Certificate.decode(read_packet_file(options.request))
    certificate = certify_request(issuer_of(store.keychain(), asked.key_name, now), asked, now)
    store.save_certificate(certificate)
    chain = store.chain_of(certificate)
    write_file(options.output, to_text(b"".join(each.wire for each in chain)).encode(), 0o644)
    above = [str(each.name) for each in chain[1:]]
    told = {"certificate": str(certificate.name), "until": time_of(certificate.not_after), "with": above}
    lines = [f"certificate {certificate.name}, until {told_of(certificate.not_after)}, in {options.output}"]
    lines += [f"with it     {each}" for each in above]
    return show(options, told | {"file": str(options.output)}, lines)


def _export(store: KeyStore, options: argparse.Namespace) -> int:
    from roost.host.keystore import write_file
    from roost.trust import export_safebag
    from roost.wire.safebag import to_text

    wanted: Name = options.identity
    held = [one for one in store.identities() if wanted in {one.name, one.key.name, one.certificate.name}]
    if not held:
        raise NoKey(f"there is no key of {wanted} in {store.home}; see: roost key list")
    newest = max(held, key=lambda identity: identity.certificate.version)
    passphrase = passphrase_of(options, f"passphrase for {newest.key.name}: ", twice=True)
    write_file(options.file, to_text(export_safebag(newest, passphrase)).encode())
    told = {"certificate": str(newest.certificate.name), "file": str(options.file)}
    return show(options, told, [f"wrote {newest.certificate.name} with its key, encrypted, to {options.file}"])


def _certificate(store: KeyStore, options: argparse.Namespace) -> int:
    from roost.host.keystore import write_file
    from roost.wire.safebag import to_text

    wanted: Name = options.identity
    held = [
        one for one in (*store.anchors(), *store.certificates()) if wanted in {one.identity, one.key_name, one.name}
    ]
    if not held:
        raise NoKey(f"there is no certificate of {wanted} in {store.home}; see: roost key list")
    newest = max(held, key=lambda certificate: certificate.version)
    write_file(options.file, to_text(newest.wire).encode(), 0o644)
    digest = newest.data.implicit_digest.hex()
    told = {"certificate": str(newest.name), "file": str(options.file), "sha256": digest}
    return show(options, told, [f"wrote {newest.name} to {options.file}", f"SHA-256 {digest}"])


def _import(store: KeyStore, options: argparse.Namespace) -> int:
    from roost.host.keystore import read_packets_file
    from roost.trust import Identity, import_safebag
    from roost.wire.certificate import Certificate
    from roost.wire.safebag import SAFE_BAG

    wire, *rest = read_packets_file(options.file)
    above = [Certificate.decode(each) for each in rest]
    identity: Identity | None = None
    if wire.startswith(bytes([SAFE_BAG])):
        identity = import_safebag(wire, passphrase_of(options, f"passphrase of {options.file}: "))
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
    names = [str(each.name) for each in above]
    told = {"certificate": str(certificate.name), "anchor": options.anchor, "key": identity is not None, "with": names}
    lines = [f"took {'anchor' if options.anchor else 'certificate'} {certificate.name}"]
    return show(options, told, [*lines, *[f"with it {each}" for each in names]])


def _name(text: str) -> Name:
    from roost.errors import BadName
    from roost.naming import Name

    try:
        return Name.parse(text)
    except BadName as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _period(certificate: Certificate, now: int) -> str:
    from roost.wire.certificate import told_of

    if certificate.valid_at(now):
        return f"until {told_of(certificate.not_after)}"
    return f"NOT VALID NOW, {told_of(certificate.not_before)} to {told_of(certificate.not_after)}"
