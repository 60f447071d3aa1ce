"""What FLIPS over hybrid ICN wants of its driver: packets to be sent, routes to be made. Made by `hicn_binding`."""

from __future__ import annotations

from dataclasses import dataclass

from roost.hicn.name import Prefix
from roost.hicn.packet import Data, Interest
from roost.machine import Effect


@dataclass(frozen=True, slots=True)
class SendPacket(Effect):
    """Write a packet to the forwarder, behind the changes of routes that came before."""

    packet: Interest | Data


@dataclass(frozen=True, slots=True)
class AddRoute(Effect):
    """Have the forwarder send Interests under a prefix here."""

    prefix: Prefix


@dataclass(frozen=True, slots=True)
class RemoveRoute(Effect):
    """Have it send them here no longer."""

    prefix: Prefix
