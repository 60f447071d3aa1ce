"""Other documents, or other roles, while everything goes on: they count from the next message.

Sessions and subscriptions stay as they are, for what they bring is decided anew with every route. What was queued for a
session before is delivered as it was decided then. A document that is changed at run time holds at all nodes of the
groups of the node at which that was done (`roost.broker.roles.telling`).
"""

from __future__ import annotations

from collections.abc import Iterable

from roost.broker.core import Core
from roost.broker.roles import answering
from roost.broker.roles.document_record import decode_document_record
from roost.broker.roles.documents import Documents
from roost.broker.roles.keeper import RoleKeeper
from roost.broker.roles.sources import Source, TopicRoles
from roost.broker.roles.telling import row_of
from roost.errors import BadConfig, BadPacket
from roost.process.roles.specification import Specification


def begin(core: Core, keeper: RoleKeeper) -> None:
    """Go by documents and roles from the start; comes before the rows of the last run."""
    core.roles = keeper
    core.router.heard_on = keeper.heard_on
    if core.macros is not None:
        keeper.inputs_of = core.macros.sources_of
    _bind(core, keeper.source)


def change(core: Core, keeper: RoleKeeper, topic: str, document: Specification | None, now: int) -> None:
    """Put a document in at run time, or take one back, for all nodes; raises `BadConfig`, and nothing has changed."""
    record = keeper.documents.changed(topic, document, now)
    is_needless = record.is_file and core.roaming is None
    go_by(core, keeper, keeper.documents.without(topic) if is_needless else keeper.documents.with_change(record))
    keeper.telling.supersede(topic, None if is_needless else record)
    core.ledger.save_document(topic.encode(), None if is_needless else row_of(record, is_told=False))
    keeper.telling.tell(core, now)
    answering.go_on(core, keeper, now)


def hear(core: Core, keeper: RoleKeeper, stream: bytes, payload: bytes, now: int) -> None:
    """Take in what another node tells of a document in one of its streams; raises `BadPacket`."""
    whole = keeper.telling.parts.join(stream, payload)
    record = None if whole is None else decode_document_record(whole)
    if record is None or not record.is_later(keeper.documents.record(record.topic)):
        return
    try:
        go_by(core, keeper, keeper.documents.with_change(record))
    except BadConfig as error:
        raise BadPacket(f"a document of another node cannot hold here: {error}") from None
    keeper.telling.supersede(record.topic, None)
    core.ledger.save_document(record.topic.encode(), row_of(record, is_told=True))
    answering.go_on(core, keeper, now)


def go_by(core: Core, keeper: RoleKeeper, documents: Documents) -> None:
    """Have these documents hold; raises `BadConfig`, and nothing has changed."""
    policy = documents.policy()
    keeper.documents = documents
    keeper.policy = policy
    core.router.decide_anew()


def reload(core: Core, keeper: RoleKeeper, base: Iterable[Specification], source: Source | None, now: int) -> None:
    """Go by what the files say now; raises `BadConfig`, and nothing has changed. A source outside stays what it is."""
    go_by(core, keeper, keeper.documents.on(base))
    if source is not None and keeper.source is not None:
        keeper.source = source
        _bind(core, source)
        keeper.changed()
    answering.go_on(core, keeper, now)


def find_again(core: Core, keeper: RoleKeeper, user: str, now: int) -> None:
    """The roles of a user are others than they were, says who knows."""
    if keeper.source is not None:
        keeper.changed()
        core.router.decide_anew()
    answering.take_in(core, keeper, keeper.lookup.changed(user, now), now)


def _bind(core: Core, source: Source | None) -> None:
    if isinstance(source, TopicRoles):
        source.retained = core.retained
