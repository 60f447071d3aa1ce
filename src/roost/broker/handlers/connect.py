"""CONNECT: who is there, may it come in, and which session does it get (sections 3.1 and 3.2).

    CONNECT ─▶ checked ─▶ who is it? ─Authenticate … authenticated─▶ admitted ─▶ session ─▶ CONNACK ─▶ its messages

A client id names one session; the link that has it is ended when another asks for it [MQTT-3.1.4-3]. But nothing
proves a client id, and a user does not end, take or learn of another's session: whoever asks for its id is refused for
as long as it lasts. A session of nobody, the anonymous of this machine, gives way to a user, who starts clean: else it
could keep a user out. CONNACK waits for the disk when a session that was there goes on or is thrown away: a crash must
not undo what the client was told.
"""

from __future__ import annotations

from typing import Final

from roost.broker import lifetimes, orphans, vouching
from roost.broker.access import ANONYMOUS
from roost.broker.adopting import adopt
from roost.broker.core import Core
from roost.broker.delivery import resume
from roost.broker.effects import Authenticate
from roost.broker.handlers.welcome import welcome
from roost.broker.link import CONNECTED, WAITING, Link
from roost.broker.memory import charge, has_room_for_session, has_room_for_will, set_will
from roost.broker.packet_sizes import largest_of_address, largest_of_client
from roost.broker.packets.connect import Connect, parse_connect
from roost.broker.packets.reasons import (
    CLIENT_IDENTIFIER_NOT_VALID,
    NOT_AUTHORIZED,
    PACKET_TOO_LARGE,
    QOS_NOT_SUPPORTED,
    QUOTA_EXCEEDED,
    RETAIN_NOT_SUPPORTED,
    SESSION_TAKEN_OVER,
    Malformed,
)
from roost.broker.session import Session

_ASSIGNED_BITS: Final = 96


def handle(core: Core, link: Link, frame: bytes, now: int) -> None:
    """Check a CONNECT, and find out who it is."""
    connect = parse_connect(frame)
    link.version = connect.version
    link.connect = connect
    link.connect_bytes = len(frame)
    properties = connect.properties
    link.explains = connect.version >= 5 and properties.request_problem != 0
    if properties.maximum_packet_bytes > 0:
        link.max_packet_bytes = properties.maximum_packet_bytes
    if len(connect.client_id) > core.settings.max_client_id_bytes:
        raise Malformed(
            CLIENT_IDENTIFIER_NOT_VALID, f"a client id has at most {core.settings.max_client_id_bytes} bytes"
        )
    will = connect.will
    if will is not None:
        if will.qos > core.maximum_qos:
            raise Malformed(QOS_NOT_SUPPORTED, "the will's QoS is above the server's maximum [MQTT-3.2.2-12]")
        if will.retain and not core.retain_available:
            raise Malformed(RETAIN_NOT_SUPPORTED, "the will is to be retained [MQTT-3.2.2-13]")
    link.client = connect.client_id or _assign(core)
    method = properties.auth_method
    if method is not None:
        link.method = method
        _ask(core, link, connect, method, properties.auth_data or b"")
    elif link.peer.user is not None:
        admit(core, link, link.peer.user, b"", now)
    elif connect.user is not None or connect.password is not None:
        _ask(core, link, connect, b"", b"")
    else:
        admit(core, link, b"", b"", now)


def _assign(core: Core) -> bytes:
    """Make a client id that nobody has [MQTT-3.1.3-6, 3.2.2-16]."""
    while True:
        client = b"auto-%024x" % core.randomness.getrandbits(_ASSIGNED_BITS)
        if client not in core.sessions:
            return client


def _ask(core: Core, link: Link, connect: Connect, method: bytes, data: bytes) -> None:
    link.state = WAITING
    link.asked = True
    core.effects.append(Authenticate(link.id, link.client, connect.user, connect.password, method, data))


def admit(core: Core, link: Link, user: bytes, data: bytes, now: int) -> None:
    """Let a client in whose name is known, if it may; raises what stands against it."""
    connect = link.connect
    assert connect is not None  # noqa: S101  whoever asks has parsed one
    link.user = user
    if not core.access.may_connect(user, loopback=link.peer.loopback):
        raise Malformed(NOT_AUTHORIZED, "the user may not connect")
    if connect.will is not None and not core.access.may_publish(user, link.client, connect.will.topic):
        raise Malformed(NOT_AUTHORIZED, "the will's topic may not be published to")
    session = core.sessions.get(link.client)
    if session is not None and not _gives_way(session, user, now):
        core.stats.sessions_refused += 1
        raise Malformed(CLIENT_IDENTIFIER_NOT_VALID, "the client id is another user's; choose another one")
    if session is None and len(core.sessions) >= core.settings.max_sessions:
        core.stats.sessions_refused += 1
        raise Malformed(QUOTA_EXCEEDED, f"there are {len(core.sessions)} sessions, which is the limit")
    if (session is None or session.user != user) and not has_room_for_session(core, user):
        core.stats.sessions_refused += 1
        core.stats.sessions_refused_user += 1
        raise Malformed(QUOTA_EXCEEDED, f"the user has {core.owned[user]} sessions, which is the limit")
    if connect.will is not None and not has_room_for_will(core, session, connect.will):
        core.stats.wills_refused += 1
        raise Malformed(QUOTA_EXCEEDED, "the wills of all clients together are too large for one more")
    if not core.limiter.enter(user):
        core.stats.links_refused += 1
        raise Malformed(QUOTA_EXCEEDED, core.limiter.why)
    link.entered = True
    _start(core, link, connect, data, now)


def _gives_way(session: Session, user: bytes, now: int) -> bool:
    """Whether this user may have the client id of a session: it is the user's own, nobody's, or over."""
    if session.user == user or session.user == ANONYMOUS:  # noqa: PLR1714  a set of two would be made every time
        return True
    return session.link is None and 0 < lifetimes.expires(session) <= now


def _start(core: Core, link: Link, connect: Connect, data: bytes, now: int) -> None:
    orphans.release(core, link.client, now)
    before = core.sessions.get(link.client)
    bequest = None if core.roaming is None else core.roaming.bequests.withdraw(link.client, now)
    present = _make_room(core, link, connect.clean_start, now)
    session = core.sessions.get(link.client)
    if session is None:
        session = Session(link.client, core.next_number(), link.user)
        session.born = now
        core.sessions[link.client] = session
        core.numbers[session.number] = session
        charge(core, session)
        if core.roaming is not None:
            core.roaming.receipts.forget(link.client)
        if before is not None:
            _succeed(session, before)
        if bequest is not None:
            session.born = max(session.born, bequest.came + 1)
    session.expiry_s = _expiry_s(core, connect)
    session.ended = 0
    set_will(core, session, connect.will)
    session.will_due = 0  # the client is back in time [MQTT-3.1.3-9]
    elsewhere: tuple[bytes, int] | None = None
    is_back = session.abroad is not None and session.abroad.elsewhere
    if session.abroad is not None:
        if session.abroad.elsewhere and session.abroad.online:
            elsewhere = session.abroad.panel, session.abroad.began
        session.abroad.come_back(now)
        session.abroad.earlier = set(session.incoming)
        if session.abroad.replays:
            core.recalling[session.number] = session
    session.link = link
    link.session = session
    link.state = CONNECTED
    link.connect = None
    link.connect_bytes = 0
    core.stats.connected += 1
    core.stats.connected_most = max(core.stats.connected_most, core.stats.connected)
    properties = connect.properties
    if properties.receive_maximum > 0:
        link.quota = properties.receive_maximum
    link.quota = min(link.quota, core.settings.max_inflight)
    link.alias_maximum = min(max(0, properties.topic_alias_maximum), core.settings.max_sent_aliases)
    core.limit(link, now)
    limits = core.limiter.limits
    most = largest_of_address(limits, link.peer.address, core.settings.max_packet_bytes)
    link.framer.max_bytes = largest_of_client(limits, link.user, most)
    ticket = lifetimes.save(core, session)
    link.gate = ticket if present else core.ending.get(link.client, 0)
    answer = welcome(core, link, session, connect, present, data)
    if len(answer) > link.max_packet_bytes:
        core.doom(link, PACKET_TOO_LARGE, "")  # [MQTT-3.1.2-24]
        return
    is_another = before is not None and before is not session and before.abroad is not None and before.abroad.told
    vouching.welcome(core, link, elsewhere, bequest, is_news=is_another or is_back)
    if link.vows or not core.ledger.safe(link.gate):
        core.shut(link)
    core.send(link, answer)
    if link.keep_alive:
        core.timers.arm_link(link, now + link.keep_alive)
    if core.roaming is not None and (session.will is not None or (connect.client_id and not session.persistent)):
        core.roaming.come(session)
    if not link.vows:
        adopt(core, session, link)
        resume(core, session, link, now)


def _make_room(core: Core, link: Link, clean_start: bool, now: int) -> bool:  # noqa: FBT001  of the packet
    """End the link that has the client id, and the session if it is not to go on; whether one is."""
    session = core.sessions.get(link.client)
    if session is not None and session.link is not None:
        core.stats.taken_over += 1
        lifetimes.hang_up(core, session.link, SESSION_TAKEN_OVER, "", now)
        session = core.sessions.get(link.client)
    if session is None:
        return False
    fleeting = session.abroad is not None and session.abroad.fleeting  # it ends with its link, which is elsewhere
    if not clean_start and session.user == link.user and not fleeting:  # [MQTT-3.1.2-5, 3.2.2-3]
        return True
    lifetimes.end(core, session, now)  # [MQTT-3.1.2-4, 3.2.2-2]
    return False


def _succeed(session: Session, before: Session) -> None:
    """Have a new session count everywhere as later than the one it replaces, whatever the clocks of nodes say."""
    session.born = max(session.born, before.born + 1)
    abroad = before.abroad
    if abroad is not None:
        session.born = max(session.born, abroad.began + 1)
        if abroad.told or abroad.elsewhere:
            session.groups().told = True  # who knows of that one hears that it is over


def _expiry_s(core: Core, connect: Connect) -> int:
    """How long the session outlives its link: what the client asks, up to our limit."""
    if connect.version < 5:
        return 0 if connect.clean_start else core.settings.max_session_expiry_s
    return min(max(0, connect.properties.session_expiry_s), core.settings.max_session_expiry_s)
