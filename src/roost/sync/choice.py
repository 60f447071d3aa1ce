"""Which protocol a group speaks, as its settings: hand in `SVS3`, and the member speaks State Vector Sync version 3."""

from __future__ import annotations

from typing import Final, TypeAlias

from roost.errors import BadConfig
from roost.machine import Randomness
from roost.naming import Name
from roost.naming.conventions import segment, version
from roost.sync.ledger import Ledger
from roost.sync.port import Member
from roost.sync.presets import CPP_FULL, CPP_PARTIAL, ROOST_FULL, FullPreset, PartialPreset
from roost.sync.psync_full import PSyncFull
from roost.sync.psync_producer import PSyncProducer
from roost.sync.svs import Svs
from roost.sync.svs_settings import SvsSettings
from roost.wire import Signer

Protocol: TypeAlias = SvsSettings | FullPreset | PartialPreset

SVS3: Final = SvsSettings()
SVS2: Final = SvsSettings(version=2)
PSYNC: Final = CPP_FULL  # as the C++ library
PSYNC_ADAPTIVE: Final = ROOST_FULL  # every member is Roost
PSYNC_PARTIAL: Final = CPP_PARTIAL  # the producer's side; consumers follow

PROTOCOLS: Final[dict[str, Protocol]] = {
    "svs3": SVS3,
    "svs2": SVS2,
    "psync": PSYNC,
    "psync-adaptive": PSYNC_ADAPTIVE,
    "psync-partial": PSYNC_PARTIAL,
}


def chosen(protocol: Protocol | str) -> Protocol:
    """Take a protocol by its settings or by its name."""
    if isinstance(protocol, (SvsSettings, FullPreset, PartialPreset)):
        return protocol
    if protocol not in PROTOCOLS:
        raise BadConfig(
            f"there is no protocol {protocol!r}: use one of {', '.join(PROTOCOLS)}, or settings of your own"
        )
    return PROTOCOLS[protocol]


def make_member(group: Name, protocol: Protocol, signer: Signer, randomness: Randomness, ledger: Ledger) -> Member:
    """Make a member that speaks a protocol."""
    if isinstance(protocol, SvsSettings):
        return Svs(group, protocol, signer, randomness, ledger)
    if isinstance(protocol, FullPreset):
        return PSyncFull(group, protocol, signer, randomness, ledger)
    return PSyncProducer(group, protocol, signer, randomness, ledger)


def kind_of(protocol: Protocol) -> str:
    """The protocol's family in one word: numbers of one are no numbers of another."""
    return f"svs{protocol.version}" if isinstance(protocol, SvsSettings) else "psync"


def signed_name(group: Name, protocol: Protocol) -> Name:
    """A name such as the member will sign: by it a trust schema picks the key."""
    if isinstance(protocol, SvsSettings):
        return group / version(protocol.version)
    return group / "iblt" / "count" / version(0) / segment(0)
