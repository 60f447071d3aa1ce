"""From bytes to handlers: everything that a link brought, packet by packet, until one of them breaks the rules.

The first packet is CONNECT [MQTT-3.1.0-1] and there is only one [MQTT-3.1.0-2]. A packet that breaks the rules ends the
link, with a reason where the version has one [MQTT-4.8.0-1, 4.13.1-1]; the packets before it have had their effect.
"""

from __future__ import annotations

from roost.broker import handing
from roost.broker.core import Core
from roost.broker.effects import Pause, Verdict
from roost.broker.handlers import (
    auth,
    connect,
    disconnect,
    pingreq,
    puback,
    pubcomp,
    publish,
    pubrec,
    pubrel,
    subscribe,
    unsubscribe,
)
from roost.broker.link import CONNECTED, WAITING, Link
from roost.broker.memory import weigh
from roost.broker.packets import framing
from roost.broker.packets.reasons import (
    NORMAL_DISCONNECTION,
    PACKET_TOO_LARGE,
    PROTOCOL_ERROR,
    QUOTA_EXCEEDED,
    Malformed,
)


def feed_all(core: Core, arrived: list[tuple[int, bytes]], now: int) -> None:
    """Handle what came, by the numbers of links."""
    for number, data in arrived:
        link = core.links.get(number)
        if link is not None and not link.doomed:
            core.stats.received_bytes += len(data)
            _feed(core, link, data, now)
            if core.resting:
                handing.rouse(core, link)


def _feed(core: Core, link: Link, data: bytes, now: int) -> None:
    if link.state != CONNECTED:
        _feed_stranger(core, link, data, now)
        return
    held = link.framer.held
    frames = link.framer.feed(data)
    if frames:
        link.heard = now
    core.stats.received += len(frames)
    for frame in frames:
        try:
            _handle(core, link, frame, now)
        except Malformed as error:
            core.reject(link, str(error), frame)
            core.doom(link, error.reason, str(error))
        if link.doomed:
            return
    if link.framer.held != held:
        weigh(core, link)
    if link.framer.error:
        _end_framing(core, link, data)
    elif link.limited and link.rate is not None:
        until = core.limiter.spend(link.peer.address, link.rate, len(frames), len(data), now)
        if until > now:
            core.effects.append(Pause(link.id, until))
            link.heard = until  # nobody listens to it before


def judge(core: Core, link: Link, verdict: Verdict, now: int) -> None:
    """Act on what is known now of who is at a link, and on what came from it meanwhile."""
    try:
        auth.judged(core, link, verdict, now)
    except Malformed as error:
        core.reject(link, str(error), b"")
        core.doom(link, error.reason, str(error))
    if not link.doomed:
        _feed_early(core, link, now)
    handing.rouse(core, link)


def _feed_early(core: Core, link: Link, now: int) -> None:
    """Handle what came while it was not known who it came from."""
    early = link.early
    link.early = None
    link.early_bytes = 0
    if not link.doomed:
        weigh(core, link)
    for data in early or ():
        if not link.doomed:
            _feed(core, link, data, now)


def _feed_stranger(core: Core, link: Link, data: bytes, now: int) -> None:
    """Handle one packet of who is not let in; what came behind it is cut anew, for who is let in has other limits."""
    if link.state == WAITING:
        _keep_early(core, link, data)
        weigh(core, link)
        return
    held = link.framer.held
    frames = link.framer.feed(data)
    if not frames:
        if link.framer.error:
            _end_framing(core, link, data)
        weigh(core, link)
        return
    link.heard = now
    core.stats.received += 1
    try:
        _handle_first(core, link, frames[0], now)
    except Malformed as error:
        if error.version:
            link.version = error.version
        core.reject(link, str(error), frames[0])
        core.doom(link, error.reason, str(error))
    rest = data[len(frames[0]) - held :]
    if link.doomed:
        return
    link.framer.reset()
    weigh(core, link)
    if rest and not link.doomed:
        _feed(core, link, rest, now)


def _end_framing(core: Core, link: Link, data: bytes) -> None:
    if link.framer.error == PACKET_TOO_LARGE:
        core.stats.refused_large += 1
    core.reject(link, link.framer.why, data)
    core.doom(link, link.framer.error, link.framer.why)


def _keep_early(core: Core, link: Link, data: bytes) -> None:
    if link.early is None:
        link.early = []
    link.early.append(data)
    link.early_bytes += len(data)
    if link.early_bytes > core.settings.max_early_bytes:
        core.reject(link, f"{link.early_bytes} bytes came before the client was let in", data)
        core.doom(link, QUOTA_EXCEEDED, "too much before CONNACK")


def _handle_first(core: Core, link: Link, frame: bytes, now: int) -> None:
    kind = frame[0] >> 4
    if kind == framing.CONNECT and link.connect is None:
        connect.handle(core, link, frame, now)
    elif kind == framing.AUTH and link.method:
        auth.handle(core, link, frame)
    elif kind == framing.DISCONNECT and link.connect is not None:
        link.version = 0  # it waits for no CONNACK
        core.doom(link, NORMAL_DISCONNECTION, "")
    else:
        raise Malformed(PROTOCOL_ERROR, f"a packet of type {kind} came before CONNACK [MQTT-3.1.0-1, 3.1.2-30]")


def _handle(core: Core, link: Link, frame: bytes, now: int) -> None:
    kind = frame[0] >> 4
    if kind == framing.PUBLISH:
        publish.handle(core, link, frame, now)
    elif kind == framing.PUBACK:
        puback.handle(core, link, frame, now)
    elif kind == framing.PUBREC:
        pubrec.handle(core, link, frame, now)
    elif kind == framing.PUBREL:
        pubrel.handle(core, link, frame)
    elif kind == framing.PUBCOMP:
        pubcomp.handle(core, link, frame, now)
    elif kind == framing.PINGREQ:
        pingreq.handle(core, link, frame)
    elif kind == framing.SUBSCRIBE:
        subscribe.handle(core, link, frame, now)
    elif kind == framing.UNSUBSCRIBE:
        unsubscribe.handle(core, link, frame)
    elif kind == framing.DISCONNECT:
        disconnect.handle(core, link, frame, now)
    elif kind == framing.AUTH:
        auth.handle(core, link, frame)
    else:
        raise Malformed(PROTOCOL_ERROR, f"a client does not send packets of type {kind}")
