"""Whether what an offer says and a grant brings can be believed, before anything of it is kept.

The code proves that offer and grant come from who made it. That they are whole and fit together is checked all the
same: a key that nobody would believe is of no use to who holds it.
"""

from __future__ import annotations

from roost.errors import Untrusted
from roost.naming.component import Component
from roost.naming.conventions import KEY, version
from roost.trust.enrolment_messages import KeyOffer
from roost.trust.keys import PrivateKey, load_public
from roost.trust.schema import Schema
from roost.trust.verdict import Rejection, Wanted
from roost.trust.verifier import Verifier
from roost.wire.certificate import Certificate, told_of


def check_offer(offer: KeyOffer, now: int) -> Schema:
    """Make sure that the anchor is one of the schema, is valid, and that the schema has keys of this name."""
    schema = Schema(offer.schema)
    anchor = offer.anchor
    if not schema.is_anchor_name(anchor.name):
        raise Untrusted(f"{anchor.name} is not named as the anchors of the schema that came with it are")
    data = anchor.data
    if not anchor.is_self_signed or not load_public(anchor.public_key).verify(
        data.signed_portion, data.signature_value
    ):
        raise Untrusted(f"the anchor {anchor.name} is not signed by its own key")
    _check_period(anchor, now)
    wanted = offer.name / KEY / Component(b"key") / Component(b"NA") / version(0)
    if not schema.keys_for(wanted):
        raise Untrusted(f"no rule of the schema knows keys of {offer.name}: {schema.nearest(wanted)}")
    return schema


def check_grant(offer: KeyOffer, certificate: Certificate | None, key: PrivateKey, schema: Schema, now: int) -> None:
    """Make sure that a certificate is of this key, and that the schema and the anchor bear it out."""
    if certificate is None:
        raise Untrusted("no certificate came with the grant: use the same version of Roost on both sides")
    if certificate.key_name != key.name or certificate.public_key != key.public.spki:
        raise Untrusted(f"the certificate {certificate.name} is of another key than {key.name}, which was made here")
    _check_period(certificate, now)
    verifier = Verifier(schema, [offer.anchor])
    for above in offer.above:
        verifier.learn(above.data, now)
    verdict = verifier.check(certificate.data, now)
    if isinstance(verdict, Rejection):
        raise Untrusted(f"the certificate {certificate.name} cannot be believed: {verdict}")
    if isinstance(verdict, Wanted):
        raise Untrusted(f"a certificate above {certificate.name} is missing: {verdict.name}")


def _check_period(certificate: Certificate, now: int) -> None:
    if not certificate.valid_at(now):
        raise Untrusted(
            f"{certificate.name} is valid from {told_of(certificate.not_before)} to {told_of(certificate.not_after)}, "
            f"and here it is {told_of(now)}: set the clock, or have it issued anew"
        )
