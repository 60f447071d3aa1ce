"""AUTH, and the answers of whoever checks: enhanced authentication (section 4.12), and plain passwords.

    CONNECT (method) ─▶ Authenticate ─▶ verdict 0x18 ─▶ AUTH ─▶ client ─▶ AUTH ─▶ Authenticate ─▶ verdict 0 ─▶ CONNACK

The method stays the one of CONNECT [MQTT-4.12.1-1]. A client that is connected may do it again at any time; while the
answer is out it goes on as it was, and a refusal ends the link [MQTT-4.12.1-2].
"""

from __future__ import annotations

from typing import Final

from roost.broker.answers import check_size
from roost.broker.core import Core
from roost.broker.effects import Authenticate, Verdict
from roost.broker.explaining import fitting, words
from roost.broker.handlers import connect
from roost.broker.link import CONNECTED, OPENED, WAITING, Link
from roost.broker.packets.auth import auth, parse_auth
from roost.broker.packets.reasons import (
    CONTINUE_AUTHENTICATION,
    NOT_AUTHORIZED,
    PROTOCOL_ERROR,
    RE_AUTHENTICATE,
    SERVER_BUSY,
    SERVER_UNAVAILABLE,
    SUCCESS,
    UNSPECIFIED_ERROR,
    Malformed,
    name_of,
)

_OUR_OWN: Final = frozenset({UNSPECIFIED_ERROR, SERVER_UNAVAILABLE, SERVER_BUSY})  # failures that are no wrong password


def handle(core: Core, link: Link, frame: bytes) -> None:
    """Pass the client's answer, or its wish to authenticate again, to whoever checks."""
    packet = parse_auth(frame, link.version)
    if not link.method or packet.method != link.method:
        raise Malformed(PROTOCOL_ERROR, "the authentication method is not that of CONNECT [MQTT-4.12.0-1, 4.12.1-1]")
    if link.asked:
        raise Malformed(PROTOCOL_ERROR, "AUTH came while the one before was not answered")
    begins = packet.reason == RE_AUTHENTICATE
    if begins != (link.state == CONNECTED and not link.renewing):
        raise Malformed(PROTOCOL_ERROR, f"{name_of(packet.reason)} does not fit here")
    if link.state == CONNECTED:
        link.renewing = True
    else:
        link.state = WAITING
    link.asked = True
    core.effects.append(Authenticate(link.id, link.client, None, None, link.method, packet.data))


def judged(core: Core, link: Link, verdict: Verdict, now: int) -> None:
    """Act on a verdict; raises what ends the link."""
    link.asked = False
    if verdict.reason == CONTINUE_AUTHENTICATION and link.method:  # [MQTT-4.12.0-2]
        if link.state != CONNECTED:
            link.state = OPENED
        bare = auth(CONTINUE_AUTHENTICATION, link.method, verdict.challenge)
        explained = auth(CONTINUE_AUTHENTICATION, link.method, verdict.challenge, words(verdict.why))
        question = fitting(link, bare, explained)
        check_size(link, question)
        core.send(link, question)
    elif verdict.reason != SUCCESS:
        if verdict.reason not in _OUR_OWN:
            core.limiter.failed(link.peer.address, now)
        reason = NOT_AUTHORIZED if link.state == CONNECTED else verdict.reason
        raise Malformed(reason, verdict.why or name_of(verdict.reason))
    elif link.state != CONNECTED:
        connect.admit(core, link, verdict.user, verdict.challenge, now)
    else:
        link.renewing = False
        if verdict.user != link.user:
            raise Malformed(NOT_AUTHORIZED, "the client is somebody else now")
        answer = auth(SUCCESS, link.method, verdict.challenge)
        check_size(link, answer)
        core.send(link, answer)
