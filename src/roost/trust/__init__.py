"""Who may say what: keys, certificates, signers, verifiers, trust schema, content encryption.

The way of a packet: `KeyChain.signer_for(name, now)` picks the key by the `Schema`; `Verifier.check(packet, now)`
follows its certificates to an anchor. `Sealer` and `Opener` encrypt what only some may read. All of it is pure; key
files and the fetching of certificates are `roost.host`'s.
"""

from roost.trust.access import KeyData, KeyWanted, Opened, Opener, Sealed, Sealer
from roost.trust.building import building_rules, building_schema
from roost.trust.generate import KINDS, Entropy, Kind, generate
from roost.trust.identity import Identity, certify, certify_request, export_safebag, import_safebag, self_sign
from roost.trust.keychain import KeyChain
from roost.trust.keys import PrivateKey, PublicKey, load_private, load_public
from roost.trust.replay import ReplayGuard, ReplayRules
from roost.trust.schema import Schema
from roost.trust.secret import HmacKey
from roost.trust.verdict import Accepted, Rejection, Verdict, Wanted
from roost.trust.verifier import Policy, Verifier
from roost.trust.wrapping import Receiver, Recipient

__all__ = [
    "KINDS",
    "Accepted",
    "Entropy",
    "HmacKey",
    "Identity",
    "KeyChain",
    "KeyData",
    "KeyWanted",
    "Kind",
    "Opened",
    "Opener",
    "Policy",
    "PrivateKey",
    "PublicKey",
    "Receiver",
    "Recipient",
    "Rejection",
    "ReplayGuard",
    "ReplayRules",
    "Schema",
    "Sealed",
    "Sealer",
    "Verdict",
    "Verifier",
    "Wanted",
    "building_rules",
    "building_schema",
    "certify",
    "certify_request",
    "export_safebag",
    "generate",
    "import_safebag",
    "load_private",
    "load_public",
    "self_sign",
]
