"""Who signs topics and whose are believed, as this home's keys and policy have it [FLIPS; `judging`].

A topic below a root counts as a stream: `home/temp` below `/house` is signed with the key of this home that may sign
`/house/home/temp`, if there is one. RSA keys do not: their signatures leave too little room in a packet.
"""

from __future__ import annotations

import time

from roost.errors import BadConfig, NoKey
from roost.host.keystore import KeyStore
from roost.host.paths import home
from roost.naming import Component, Name
from roost.pubsub.flips.hicn_binding import Keys
from roost.pubsub.flips.identifiers import FIRST_CONTENT, HASH_BYTES
from roost.pubsub.flips.judging import SchemaJudge, reading_name
from roost.pubsub.flips.ndn_binding import content_name
from roost.trust import KeyChain
from roost.trust.building import TOPICS
from roost.trust.keys import PrivateKey, RsaPublic


def home_keys(root: Name) -> Keys | None:
    """What chooses the key for a topic; None if this home has no keys."""
    store = KeyStore(home())
    if not store.exists:
        return None
    keychain = store.keychain()

    def choose(topic: str, now: int) -> PrivateKey | None:
        try:
            key = keychain.identity_for(reading_name(root, topic), now).key
        except NoKey:
            return None
        return None if isinstance(key.public, RsaPublic) else key

    return choose


def home_key_for(root: Name, topic: str) -> Keys | None:
    """As `home_keys`, but None if there is none for this topic now."""
    keys = home_keys(root)
    return None if keys is None or keys(topic, time.time_ns()) is None else keys


def topics_home(keychain: KeyChain) -> Name | None:
    """Below which name a key of ours may publish topics over NDN, None if none may anywhere: `<building>/flips`."""
    for identity in keychain.identities:
        for length in range(1, len(identity.name)):
            found = identity.name.prefix(length) / Component(TOPICS.encode())
            content = content_name(found, bytes(HASH_BYTES), FIRST_CONTENT)
            if keychain.schema.rule_for(content, identity.certificate.name):
                return found
    return None


def home_judge(root: Name) -> SchemaJudge:
    """What says whose content counts; raises `BadConfig` if this home has no policy."""
    store = KeyStore(home())
    if not store.exists:
        raise BadConfig("there is no policy here to verify topics by: run `roost init` first, or do not verify")
    certificates = [*store.certificates()]
    return SchemaJudge(store.verifier(time.time_ns()), certificates, root)
