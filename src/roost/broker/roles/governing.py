"""Other documents, or other roles, while everything goes on: they count from the next message.

Sessions and subscriptions stay as they are, for what they bring is decided anew with every route. What was queued for a
session before is delivered as it was decided then.
"""

from __future__ import annotations

from collections.abc import Iterable

from roost.broker.core import Core
from roost.broker.roles import answering
from roost.broker.roles.documents import Documents
from roost.broker.roles.keeper import RoleKeeper
from roost.broker.roles.sources import Source, TopicRoles
from roost.process.roles.specification import Specification


def begin(core: Core, keeper: RoleKeeper) -> None:
    """Go by documents and roles from the start; comes before the rows of the last run."""
    core.roles = keeper
    core.router.heard_on = keeper.heard_on
    if core.macros is not None:
        keeper.inputs_of = core.macros.inputs_of
    _bind(core, keeper.source)


def go_by(core: Core, keeper: RoleKeeper, documents: Documents) -> None:
    """Have these documents hold; raises `BadConfig`, and nothing has changed."""
    policy = documents.policy()
    keeper.documents = documents
    keeper.policy = policy
    core.router.forget()


def reload(core: Core, keeper: RoleKeeper, base: Iterable[Specification], source: Source | None) -> None:
    """Go by what the files say now; raises `BadConfig`, and nothing has changed. A source outside stays what it is."""
    go_by(core, keeper, keeper.documents.on(base))
    if source is not None and keeper.source is not None:
        keeper.source = source
        _bind(core, source)
        keeper.changed()


def change(core: Core, keeper: RoleKeeper, topic: str, document: Specification | None) -> None:
    """Put a document in at run time, or take one back; raises `BadConfig`, and nothing has changed."""
    documents = keeper.documents.with_change(topic, document)
    go_by(core, keeper, documents)
    core.ledger.save_document(topic.encode(), documents.row(topic))


def find_again(core: Core, keeper: RoleKeeper, user: str, now: int) -> None:
    """The roles of a user are others than they were, says who knows."""
    keeper.changed()
    core.router.forget()
    answering.take_in(core, keeper, keeper.lookup.changed(user, now), now)


def _bind(core: Core, source: Source | None) -> None:
    if isinstance(source, TopicRoles):
        source.retained = core.retained
