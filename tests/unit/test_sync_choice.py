"""Which protocol a group speaks, chosen by settings: the right machine, its own numbers, the right key."""

from __future__ import annotations

from random import Random

import pytest
from tests.trust_world import NOW, PANEL1, SCHEMA, World

from roost.naming import Name
from roost.sync import PSYNC, PSYNC_ADAPTIVE, PSYNC_PARTIAL, SVS2, SVS3, FullPreset, Protocol, SvsSettings
from roost.sync.choice import PROTOCOLS, kind_of, make_member, signed_name
from roost.sync.ledger import Ledger
from roost.sync.port import Express, Member
from roost.sync.psync_full import PSyncFull
from roost.sync.psync_producer import PSyncProducer
from roost.sync.svs import Svs
from roost.trust import KeyChain
from roost.wire import DigestSigner, Interest

GROUP = Name.parse("/BigCompany/Building1/Electricity")
PSYNC_GROUP = GROUP + Name.parse("/32=sync")


def made(protocol: Protocol, group: Name = GROUP) -> Member:
    return make_member(group, protocol, DigestSigner(), Random(1), Ledger("ledger", b""))


@pytest.mark.parametrize(
    ("name", "protocol", "machine"),
    [
        ("svs3", SVS3, Svs),
        ("svs2", SVS2, Svs),
        ("psync", PSYNC, PSyncFull),
        ("psync-adaptive", PSYNC_ADAPTIVE, PSyncFull),
        ("psync-partial", PSYNC_PARTIAL, PSyncProducer),
    ],
)
def test_each_word_means_a_protocol_and_each_protocol_a_machine(
    name: str, protocol: Protocol, machine: type[object]
) -> None:
    assert PROTOCOLS[name] == protocol
    member = made(protocol)
    assert type(member) is machine
    assert member.group == GROUP
    assert member.prefix.starts_with(GROUP)


def test_all_words_are_different_protocols() -> None:
    assert len(PROTOCOLS) == 5
    assert len(set(PROTOCOLS.values())) == 5


@pytest.mark.parametrize(
    ("protocol", "kind"),
    [
        (SVS3, "svs3"),
        (SvsSettings(periodic_ms=100), "svs3"),
        (SVS2, "svs2"),
        (PSYNC, "psync"),
        (FullPreset(expected=160), "psync"),
        (PSYNC_PARTIAL, "psync"),
    ],
)
def test_numbers_of_one_family_are_kept_together_whatever_the_settings(protocol: Protocol, kind: str) -> None:
    assert kind_of(protocol) == kind


@pytest.mark.parametrize(
    ("protocol", "group"),
    [(SVS3, GROUP), (SVS2, GROUP), (PSYNC, PSYNC_GROUP), (PSYNC_PARTIAL, PSYNC_GROUP)],
    ids=["svs3", "svs2", "psync", "psync-partial"],
)
def test_the_key_of_a_panel_is_picked_for_what_a_member_signs(protocol: Protocol, group: Name) -> None:
    keys = KeyChain(SCHEMA, [World()[PANEL1]])
    assert keys.identity_for(signed_name(group, protocol), NOW).name == Name.parse(PANEL1)


@pytest.mark.parametrize("protocol", [SVS3, SVS2], ids=["svs3", "svs2"])
def test_a_vector_is_signed_under_the_name_by_which_the_key_was_picked(protocol: Protocol) -> None:
    member = made(protocol)
    (express,) = member.start(NOW)
    assert isinstance(express, Express)
    evidence = member.evidence(Interest.decode(express.interest))
    assert evidence is not None
    assert evidence.name.starts_with(signed_name(GROUP, protocol))
