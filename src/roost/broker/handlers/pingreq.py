"""PINGREQ: the client is alive, and asks whether we are [MQTT-3.12.4-1]."""

from __future__ import annotations

from roost.broker.core import Core
from roost.broker.link import Link
from roost.broker.packets.ping import PINGRESP, parse_pingreq


def handle(core: Core, link: Link, frame: bytes) -> None:
    """Answer."""
    parse_pingreq(frame)
    core.send(link, PINGRESP)
