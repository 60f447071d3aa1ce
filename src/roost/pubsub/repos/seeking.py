"""One packet by its exact name, from whichever other repo has it: asked of one after the other with a forwarding hint.

The hint is a repo's unicast prefix, so that a producer that sleeps is not bothered [NDN-PS §III-C]. Silence and absence
look alike here; bundles (`repos.retrieval`) can tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from roost.forwarding.pending import Question
from roost.machine import Effect
from roost.naming import Name
from roost.pubsub.asking import Asking
from roost.pubsub.repos.peers import Peers
from roost.wire import Data

LIFETIME_MS: Final = 1000
MAX_ASKED: Final = 4  # repos that one packet is asked of in turn

Sought: TypeAlias = Callable[[Data | None, int], list[Effect]]  # None: nobody gave it
Verified: TypeAlias = Callable[[list[Data], int], list[Effect]]


def seek(asking: Asking, peers: Peers, name: Name, first: Name | None, then: Sought, now: int) -> list[Effect]:
    """Ask for a packet, of `first` if it answers at all, then of others; who goes on gets it verified."""
    left = [peer.name for peer in peers.order(first, now)[:MAX_ASKED]]

    def ask(now: int) -> list[Effect]:
        if not left:
            return then(None, now)
        whom = left.pop(0)

        def answered(data: Data | None, _: str, now: int) -> list[Effect]:
            peer = peers.get(whom)
            if data is None:
                if peer is not None and whom == first:  # others need not have it
                    peers.was_silent(peer, now)
                return ask(now)
            if peer is not None:
                peers.answered(peer)
            return then(data, now)

        return asking.fetch(Question(name, lifetime_ms=LIFETIME_MS, hints=(whom,)), answered, now)

    return ask(now)


def verify(asking: Asking, packets: Sequence[Data], then: Verified, now: int) -> list[Effect]:
    """Verify packets that came inside another one; goes on, once all are checked, with those that are believed."""
    if not packets:
        return then([], now)
    believed: dict[int, Data] = {}  # bound: what fits a packet
    unchecked = len(packets)
    effects: list[Effect] = []

    def checked(index: int, refusal: str, now: int) -> list[Effect]:
        nonlocal unchecked
        unchecked -= 1
        rejected: list[Effect] = []
        if refusal:
            rejected.append(asking.rejected(packets[index], refusal))
        else:
            believed[index] = packets[index]
        return rejected if unchecked else rejected + then([believed[index] for index in sorted(believed)], now)

    for index, packet in enumerate(packets):
        effects += asking.check(packet, partial(checked, index), now)
    return effects
