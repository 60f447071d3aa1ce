"""DISCONNECT: the client goes, with or without its will (section 3.14)."""

from __future__ import annotations

from roost.broker.core import Core
from roost.broker.lifetimes import leave
from roost.broker.link import Link
from roost.broker.memory import set_will
from roost.broker.packets.disconnect import parse_disconnect
from roost.broker.packets.reasons import NORMAL_DISCONNECTION, PROTOCOL_ERROR, Malformed


def handle(core: Core, link: Link, frame: bytes, now: int) -> None:
    """End the link as the client wishes; it closes the connection itself, or we do [MQTT-3.14.4-3]."""
    session = link.session
    assert session is not None  # noqa: S101  a connected link has one
    wish = parse_disconnect(frame, link.version)
    if wish.session_expiry_s > 0 and session.expiry_s == 0:
        raise Malformed(PROTOCOL_ERROR, "a session that was to end with its connection cannot be kept after all")
    if wish.session_expiry_s >= 0:
        session.expiry_s = min(wish.session_expiry_s, core.settings.max_session_expiry_s)
    if wish.reason == NORMAL_DISCONNECTION:
        set_will(core, session, None)
    link.hanging = True
    link.doomed = True
    core.touch(link)
    leave(core, link, now)
