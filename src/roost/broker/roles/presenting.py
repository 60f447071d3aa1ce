"""What a session is given of a message by one of its filters: the message, the same as another topic, or nothing.

Roles say which stream a filter brings (`roost.process.roles.reach`). Permissions are asked beside them, always for the
topic as which a message is given: who may read `home/#` needs no permission for results that come in its place.
"""

from __future__ import annotations

from roost.broker.core import Core
from roost.broker.message import Message
from roost.broker.roles.ancestry import is_hidden
from roost.broker.roles.keeper import RoleKeeper
from roost.broker.session import Session
from roost.process.roles.reach import DIRECT, presented, refused

RAW = DIRECT.encode()


def name_for(core: Core, keeper: RoleKeeper, session: Session, filter_: bytes, topic: bytes) -> bytes | None:
    """As which topic a session is given what is on a topic; None for not at all."""
    roles, _ = keeper.roles_of(session.user)
    name = presented(keeper.policy, filter_.decode(), topic.decode(), roles, keeper.inputs_of)
    if name is None:
        return None
    encoded = name.encode()
    return encoded if core.access.may_receive(session.user, session.client, encoded) else None


def given(core: Core, session: Session, filter_: bytes, message: Message) -> Message | None:
    """What a session whose roles are known is given of a message by a filter, without `$share/<name>/`."""
    keeper = core.roles
    if keeper is None:
        return message if core.access.may_receive(session.user, session.client, message.topic) else None
    name = name_for(core, keeper, session, filter_, message.stream or message.topic)
    if name is None or (message.lineage and is_hidden(core, keeper, keeper.roles_of(session.user)[0], message)):
        return None
    return message if name == message.topic else keeper.dress(message, name)


def is_kept_back(core: Core, session: Session, message: Message) -> bool:
    """Whether a session gets a result not by its route, for it says itself what it was made of."""
    keeper = core.roles
    return keeper is not None and is_hidden(core, keeper, keeper.roles_of(session.user)[0], message)


def is_decided(core: Core, session: Session, filter_: bytes) -> bool:
    """Whether it can be said now what a filter brings to a session; if not, its roles are asked for."""
    keeper = core.roles
    if keeper is None or keeper.is_told(session.user) or not keeper.matters(filter_):
        return True
    return keeper.is_known(session)


def is_refused(core: Core, session: Session, filter_: bytes) -> bool:
    """Whether a filter can bring nothing to a session whose roles are known."""
    keeper = core.roles
    if keeper is None:
        return False
    return refused(keeper.policy, filter_.decode(), keeper.roles_of(session.user)[0], keeper.inputs_of)


def heard_on(core: Core, filter_: bytes) -> list[bytes]:
    """The topics and filters on which anything can come for a filter, itself first."""
    return [filter_] if core.roles is None else core.roles.heard_on(filter_)
