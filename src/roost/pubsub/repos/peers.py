"""The other repos of a group, as one repo sees them: who they are, who answers, and how much to ask of each at a time.

They become known by full sync, which tells whose records there are. The window of a peer grows by one with each answer
and is halved by each silence; who was silent is asked last for a while, so that nobody waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.machine import SECOND, Randomness
from roost.naming import Name

MAX_PEERS: Final = 64
MAX_WINDOW: Final = 32
_FIRST_WINDOW: Final = 8
_SILENCE: Final = 2 * SECOND
_MAX_SILENCE: Final = 60 * SECOND


class Peer:
    """One other repo."""

    __slots__ = ("flying", "name", "silences", "silent_until", "window")

    def __init__(self, name: Name) -> None:
        self.name: Final = name
        self.window = _FIRST_WINDOW
        self.flying = 0  # what is asked of it and unanswered; kept by who asks
        self.silences = 0  # one after the other
        self.silent_until = 0


class Peers:
    """All of them, at most MAX_PEERS; ourselves we do not count among them."""

    def __init__(self, repo: Name, randomness: Randomness) -> None:
        self.turned_away = 0
        self.repo: Final = repo  # ourselves
        self._randomness: Final = randomness
        self._peers: Final[dict[Name, Peer]] = {}  # bound: MAX_PEERS

    def __len__(self) -> int:
        return len(self._peers)

    def __iter__(self) -> Iterator[Peer]:
        return iter(list(self._peers.values()))

    def __contains__(self, name: Name) -> bool:
        return name in self._peers

    def is_repo(self, name: Name) -> bool:
        """Whether this names a repo of our group, ourselves included."""
        return len(name) == len(self.repo) and name.starts_with(self.repo.prefix(-1))

    def add(self, name: Name) -> bool:
        """Take in that there is such a repo; whether it is one of our group, and there is room for it."""
        if name in self._peers:
            return True
        if name == self.repo or not self.is_repo(name):
            return False
        if len(self._peers) >= MAX_PEERS:
            self.turned_away += 1
            return False
        self._peers[name] = Peer(name)
        return True

    def get(self, name: Name) -> Peer | None:
        """The peer of this name."""
        return self._peers.get(name)

    def order(self, first: Name | None, now: int) -> list[Peer]:
        """In which order to ask: one first, then the others from a random one on; who was silent comes last."""
        peers = list(self._peers.values())
        turn = self._randomness.randint(0, len(peers) - 1) if len(peers) > 1 else 0
        peers = peers[turn:] + peers[:turn]
        return sorted(peers, key=lambda peer: (now < peer.silent_until, peer.name != first))

    def answered(self, peer: Peer) -> None:
        """It said something, whatever it was."""
        peer.silences = 0
        peer.silent_until = 0
        peer.window = min(MAX_WINDOW, peer.window + 1)

    def was_silent(self, peer: Peer, now: int) -> None:
        """Nothing came back from it."""
        peer.silent_until = now + min(_MAX_SILENCE, _SILENCE << min(peer.silences, 8))
        peer.silences += 1
        peer.window = max(1, peer.window // 2)
