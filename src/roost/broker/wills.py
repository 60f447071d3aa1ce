"""What a client leaves to be said when it is gone: kept with the session, published when the link is lost.

MQTT 5.0 section 3.1.2.5, 3.1.1 section 3.1.2.5. A will waits for its delay, and is dropped when the client is back
before [MQTT-3.1.3-9]; when the session ends first it is published then [MQTT-3.1.2-8]. A DISCONNECT that says so
deletes it [MQTT-3.1.2-10, 3.14.4-3]. One on a topic that is the server's own is taken and never spoken.
"""

from __future__ import annotations

from roost.broker.core import Core
from roost.broker.memory import set_will
from roost.broker.message import Message
from roost.broker.packets.connect import Will
from roost.broker.routing import publish_anywhere
from roost.broker.session import Session
from roost.machine.contract import SECOND


def lost(core: Core, session: Session, now: int) -> None:
    """The link is lost without a goodbye: publish the will, now or later."""
    will = session.will
    if will is None:
        return
    delay_s = will.properties.delay_s
    if delay_s <= 0 or not session.persistent:
        speak(core, session, now)
    else:
        session.will_due = now + delay_s * SECOND


def speak(core: Core, session: Session, now: int) -> None:
    """Publish the will, once."""
    will = session.will
    set_will(core, session, None)
    session.will_due = 0
    if will is not None:
        execute(core, session.client, session.user, will, now)


def execute(core: Core, client: bytes, user: bytes, will: Will, now: int) -> None:
    """Publish the will of a client, if its user still may; what others hear of the client comes behind it."""
    reserved = core.is_reserved(will.topic)  # as the wills of mosquitto's bridges are
    if reserved or not core.access.may_publish(user, client, will.topic):  # which may have changed
        core.stats.denied += 1
        return
    expiry_s = will.properties.expiry_s
    expires = now + expiry_s * SECOND if expiry_s >= 0 else 0
    message = Message(will.topic, will.payload, will.qos, will.retain, will.properties.kept, expires, client, now)
    roaming = core.roaming
    ticket = publish_anywhere(core, message, now, spread=roaming is not None and roaming.accompanied())
    if ticket and roaming is not None:
        roaming.wait_for(client, ticket, now)
