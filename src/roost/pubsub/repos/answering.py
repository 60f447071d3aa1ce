"""How a repo answers commands: signed Data, under the name of the Interest or below it, fresh for a second.

Commands have a name of their own each, so an answer is of no use to anyone else; the freshness is for checks of
ndn-python-repo, which repeat theirs [repo.md §3.1].
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.forwarding.endpoint_effects import Asked
from roost.machine import MS, Effect, Rejected
from roost.naming.conventions import version
from roost.sync.port import Reply
from roost.wire import Signer, encode_data

FRESHNESS_MS: Final = 1000
_SAMPLE_BYTES: Final = 64


class Answering:
    """Signs answers with the repo's key; `whose` names the repo where it cannot."""

    def __init__(self, signer: Signer, whose: str) -> None:
        self._signer: Final = signer
        self._whose: Final = whose

    def answer(self, asked: Asked, content: bytes, now: int, *, versioned: bool = False) -> list[Effect]:
        """Answer under the Interest's name, or one version below it."""
        name = asked.interest.name
        if versioned:
            name /= version(now // MS)
        try:
            return [Reply(encode_data(name, content, self._signer, freshness_ms=FRESHNESS_MS), asked.token)]
        except BadPacket as error:  # the name alone nearly fills a packet
            return [Rejected(self._whose, str(error), asked.interest.wire[:_SAMPLE_BYTES])]
