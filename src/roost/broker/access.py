"""Who may do what, as the broker asks it: the port `Access`, and the two answers that need no file.

    may_connect     when a client has shown who it is
    may_publish     for the topic of a PUBLISH, and of a will
    reach           for a filter of a SUBSCRIBE: WHOLE, PART or NOTHING of what it matches may be read
    may_receive     for the topic of a message on its way to a subscriber whose filter's reach is PART

A user is the name that was proved by a password or a certificate; `ANONYMOUS`, the empty name, is who proved none, and
no users file can hold it. Topics and filters come checked and bare: `$share/<name>/` and `$since/<when>/` are taken off
by the broker. The same question has the same answer for as long as the object lives, so answers may be kept; a reload
brings a new object, and then all kept answers are void, the reach of standing subscriptions among them.

Nothing here checks a password; permissions that are written in a file are `roost.broker.permissions`.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

ANONYMOUS: Final = b""

NOTHING: Final = 0
PART: Final = 1  # the subscription stands, and every message is asked about with `may_receive`
WHOLE: Final = 2  # every topic that the filter matches may be read: no message needs asking


@mypyc_attr(allow_interpreted_subclasses=True)
class Access:
    """The port. By itself it denies everything: what a subclass forgets stays shut."""

    def may_connect(self, user: bytes, *, loopback: bool) -> bool:
        """Whether this user may have a session; `loopback` says that the peer is this very machine."""
        del loopback
        return user != ANONYMOUS

    def may_publish(self, user: bytes, client: bytes, topic: bytes) -> bool:
        del user, client, topic
        return False

    def may_receive(self, user: bytes, client: bytes, topic: bytes) -> bool:
        del user, client, topic
        return False

    def reach(self, user: bytes, client: bytes, wanted: bytes) -> int:
        """How much of what this filter matches may be read: NOTHING, PART or WHOLE."""
        del user, client, wanted
        return NOTHING


class AllowAll(Access):
    """Everybody may do everything: for tests, benchmarks and the simulator, never for a listener."""

    def may_connect(self, user: bytes, *, loopback: bool) -> bool:
        del user, loopback
        return True

    def may_publish(self, user: bytes, client: bytes, topic: bytes) -> bool:
        del user, client, topic
        return True

    def may_receive(self, user: bytes, client: bytes, topic: bytes) -> bool:
        del user, client, topic
        return True

    def reach(self, user: bytes, client: bytes, wanted: bytes) -> int:
        del user, client, wanted
        return WHOLE


class LoopbackOnly(AllowAll):
    """What holds while nothing is configured: whoever is on this machine may do everything, nobody else connects."""

    def may_connect(self, user: bytes, *, loopback: bool) -> bool:
        del user
        return loopback


ALLOW_ALL: Final = AllowAll()
LOOPBACK_ONLY: Final = LoopbackOnly()
