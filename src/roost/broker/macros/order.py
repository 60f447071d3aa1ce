"""The order of results that two nodes have published: those of the node that took a macro over come after the others.

Streams arrive each in its own order, and those of two nodes in any. So the first result of a node that has taken a
macro up says in its lineage (`After`) which results it knows of in other streams, and who hands on waits for these.
"""

from __future__ import annotations

from typing import Final

from roost.broker.message import Message
from roost.process.definition import PREFIX
from roost.repo.numbering import numbered
from roost.wire.lineage import read_lineage

_RESULTS: Final = PREFIX.encode()


def before(message: Message) -> list[tuple[bytes, int]]:
    """The places in other streams that come before a message of a group: stream and number."""
    if not message.lineage or not message.topic.startswith(_RESULTS):
        return []
    return [numbered(name) for name in read_lineage(message.lineage).after]
