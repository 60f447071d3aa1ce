"""The words in which the clauses are told: a client says something and hears the answer, a link is ended or refused.

A thin layer over `tests.broker_world`, which also checks that nothing is sent to a link that was hung up; the form of
every packet is checked by `tests.broker_packets.seen`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests import broker_world
from tests.broker_packets import Seen, connect, props, seen, unsubscribe

from roost.broker.access import NOTHING, WHOLE, Access
from roost.broker.effects import Authenticate, Verdict
from roost.broker.link import Peer
from roost.broker.routes import Trees
from roost.broker.settings import BrokerSettings


class Client(broker_world.Client):
    """One connection; `connack` is how it was let in, `heard` all it ever looked at."""

    def __init__(self, world: World, link: int, version: int) -> None:
        super().__init__(world, link, version)
        self.connack = Seen("", b"")
        self.heard: list[Seen] = []

    def say(self, *frames: bytes) -> list[Seen]:
        """Send packets, all in one piece, and take what came."""
        self.send(*frames)
        return self.hear()

    def hear(self) -> list[Seen]:
        """Take what came since the last look."""
        found = self.seen()
        self.heard.extend(found)
        return found

    def say_raw(self, data: bytes) -> bytes:
        """Send bytes, and take the bytes that came."""
        self.send(data)
        return self.hear_raw()

    def hear_raw(self) -> bytes:
        data, self.arrived = self.arrived, b""
        return data

    def say_each(self, pieces: Iterable[bytes]) -> None:
        """Send bytes piece by piece; a piece of an answer is not looked at before it is whole."""
        for piece in pieces:
            self.send(piece)
        self.hear()

    def unsubscribe(self, topic_filter: bytes) -> None:
        """Unsubscribe; the answer is there and taken."""
        only(self.say(unsubscribe(1, topic_filter, version=self.version)), "UNSUBACK")

    def is_refused(self, packet: bytes, *reasons: int) -> None:
        """This CONNECT is wrong: the link ends, in 3.1.1 without a CONNACK, in 5.0 with one of these at most."""
        answers = self.say(packet)
        assert self.closed
        assert [each.kind for each in answers] in ([], ["CONNACK"])
        if self.version == 4:
            assert answers == []
        assert {each.reason for each in answers} <= set(reasons)


class World(broker_world.World):
    """A broker with these settings, and a driver that lets everybody in unless there is a `verdict`."""

    def __init__(self, *, gateway: Trees | None = None, **settings: Any) -> None:  # noqa: ANN401  of BrokerSettings
        self.forbidden: frozenset[bytes] = frozenset()
        self.verdict: Verdict | None = None
        super().__init__(
            replace(BrokerSettings(sys_interval_s=0), **settings), access=_Fenced(frozenset()), gateway=gateway
        )
        self.judge = self._judge

    def _judge(self, asked: Authenticate) -> Verdict:
        return Verdict(0, asked.user or b"") if self.verdict is None else self.verdict

    def open(self, version: int = 4, peer: Peer | None = None) -> Client:
        client = Client(self, self._next_link, version)
        self._next_link += 1
        self.clients[client.link] = client
        self.run(self.broker.opened(client.link, Peer() if peer is None else peer, self.now))
        return client

    def link(self, version: int) -> Client:
        """A connection on which nothing was said."""
        return self.open(version)

    def client(self, client_id: bytes, version: int, **options: Any) -> Client:  # noqa: ANN401  as `connect` takes them
        """A client that was let in; what came behind its CONNACK is still to be heard."""
        client = self.open(version)
        client.send(connect(client_id, version=version, **{"keep_alive": 0, **options}))
        found = seen(client.hear_raw(), version)
        assert found, "no CONNACK came"
        client.connack = found[0]
        assert (client.connack.kind, client.connack.reason) == ("CONNACK", 0)
        client.arrived = b"".join(each.raw for each in found[1:])
        return client

    def authenticating_client(self, client_id: bytes, method: bytes, **wishes: int) -> Client:
        """A client of 5.0 that was let in by a method of its own."""
        return self.client(client_id, 5, properties=props(auth_method=method, auth_data=b"1", **wishes))

    def forbid(self, topic: bytes) -> None:
        """From now on nobody may publish or subscribe to this topic."""
        self._fence(self.forbidden | {topic})

    def permit(self, topic: bytes) -> None:
        self._fence(self.forbidden - {topic})

    def _fence(self, forbidden: frozenset[bytes]) -> None:
        self.forbidden = forbidden
        self.access = _Fenced(forbidden)
        self.run(self.broker.reloaded(self.access, self.settings, self.now))


class _Fenced(Access):
    """Everything is allowed but these topics."""

    def __init__(self, forbidden: frozenset[bytes]) -> None:
        super().__init__()
        self._forbidden = forbidden

    def may_connect(self, user: bytes, *, loopback: bool) -> bool:
        del user, loopback
        return True

    def may_receive(self, user: bytes, client: bytes, topic: bytes) -> bool:
        del user, client, topic
        return True

    def may_publish(self, user: bytes, client: bytes, topic: bytes) -> bool:
        del user, client
        return topic not in self._forbidden

    def reach(self, user: bytes, client: bytes, wanted: bytes) -> int:
        del user, client
        return NOTHING if wanted in self._forbidden else WHOLE


def only(found: list[Seen], kind: str) -> Seen:
    """The one packet that came, which is of this kind."""
    assert [each.kind for each in found] == [kind], found
    return found[0]


def ended(client: Client, found: list[Seen], *reasons: int) -> None:
    """The server ended the link; 5.0 was told one of these reasons and nothing else, 3.1.1 nothing at all."""
    assert client.closed
    if client.version == 5:
        assert only(found, "DISCONNECT").reason in reasons, found
    else:
        assert found == []
