"""The driver of a broker: the loop's sockets and the rows' disk on one side, the `Broker` machine on the other.

Everything a wake-up brought goes to the machine in one call, and what it wants is done before the wake-up ends. Answers
of the disk, of passwords and of the clock come in turns of their own. When more waits for a disk, or for macros, than
is good, the broker stops reading until less does: then everybody waits a little, and nobody's message is lost or kept
in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, Protocol

from roost.broker.access import Access
from roost.broker.effects import Authenticate, Hangup, Heard, Insert, Keep, Pause, Send, Verdict
from roost.broker.limits import ELSEWHERE, Limits
from roost.broker.link import Peer
from roost.broker.message import Message
from roost.broker.settings import BrokerSettings
from roost.errors import BadConfig
from roost.host.address import is_loopback
from roost.host.alarm import Alarm
from roost.host.clock import Clock
from roost.host.journal import Journal
from roost.host.mqtt.authenticating import Authenticator
from roost.host.mqtt.link import Bounds, Link
from roost.host.mqtt.listener import Door, ListenerSettings
from roost.host.mqtt.loop import Owner, Poll
from roost.host.mqtt.observing import Observer
from roost.host.mqtt.reload import Reloader, Sources
from roost.host.mqtt.respite import Respite
from roost.host.mqtt.rows import Rows
from roost.host.mqtt.until import Until
from roost.machine import MS, Effect, Rejected
from roost.process.roles.lookup_port import GiveUp, LookUp

_FOREIGN: Final = {b"\x16\x03": ("TLS", "tls"), b"GET ": ("HTTP", "ws"), b"POST ": ("HTTP", "ws")}  # by how it begins


class Machine(Protocol):
    """What is driven: `roost.broker.broker.Broker`."""

    def start(self, now: int) -> list[Effect]: ...
    def knocked(self, link: int, address: str, now: int) -> list[Effect]: ...
    def opened(self, link: int, peer: Peer, now: int) -> list[Effect]: ...
    def receive(self, arrived: list[tuple[int, bytes]], now: int) -> list[Effect]: ...
    def closed(self, link: int, now: int) -> list[Effect]: ...
    def authenticated(self, link: int, verdict: Verdict, now: int) -> list[Effect]: ...
    def kept(self, ticket: int, now: int) -> list[Effect]: ...
    def unkept(self, ticket: int, why: str, now: int) -> list[Effect]: ...
    def drained(self, link: int, queued_bytes: int, now: int) -> list[Effect]: ...
    def took(self, links: list[int], now: int) -> None: ...
    def held(self, sizes: list[tuple[int, int]], now: int) -> list[Effect]: ...
    def listening(self, wanted: bool, now: int) -> None: ...  # noqa: FBT001  as the machine has it
    def counted(self, outside: Mapping[str, int]) -> None: ...
    def tick(self, now: int) -> list[Effect]: ...
    def stepped(self, by: int, now: int) -> list[Effect]: ...
    def deadline(self) -> int | None: ...
    def owing(self) -> int: ...
    def reloaded(
        self, access: Access, settings: BrokerSettings, now: int, limits: Limits | None, gone: Iterable[bytes]
    ) -> list[Effect]: ...
    def stop(self, now: int) -> list[Effect]: ...


class Server(Owner):
    """Runs one broker; made in the event loop. Who joins groups sets `insert`, `is_flooded` and `count_groups`."""

    def __init__(
        self,
        machine: Machine,
        security: Reloader,
        bounds: Bounds,
        rows: Rows | None = None,
        *,
        clock: Clock | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.machine: Final = machine
        self.security: Final = security
        self.clock: Final = clock or Clock()
        self.journal: Final = journal or Journal()
        self.poll: Final = Poll(self, self.clock, bounds)
        self.doors: Final[list[Door]] = []  # bound: the configuration
        self.insert: Callable[[Insert], None] = self._refuse_insert
        self.is_flooded: Callable[[], bool] | None = None  # whether more comes for groups than they take
        self.is_late: Callable[[], bool] | None = None  # whether macros have not come through what was read
        self.count_groups: Callable[[], dict[str, int]] = dict  # by the ends of `$SYS` topics
        self.look_up: Callable[[Effect], None] = self._ignore  # roles that are asked for elsewhere
        self.hear: Callable[[list[Message]], None] = self._overhear  # messages, while somebody listens
        self.observer: Observer | None = None
        self.until: Final = Until()
        self._rows: Final = rows
        if rows is not None:
            rows.answer = self._kept
        self.authenticator: Final = Authenticator(security, self._authenticated, self.journal)
        self._alarm: Final = Alarm(self.clock, self._tick)
        self._loop: Final = asyncio.get_running_loop()
        self._respite: Final = Respite()
        self._stopped = False
        self._was_behind = False
        self._stepped = self.clock.stepped

    def start(self) -> None:
        """Start the machine; nobody is let in before `listen`."""
        now = self.clock()
        self.execute(self.machine.start(now), now)

    def listen(self, listener: ListenerSettings, max_frame_bytes: int) -> str:
        """Let clients in; returns where. Raises `BadConfig`."""
        door = Door(listener, self.security.current.contexts.get(str(listener)), max_frame_bytes)
        self.doors.append(door)
        self.poll.add(door)
        return door.uri

    async def reload(self, sources: Sources, settings: BrokerSettings, limits: Limits | None = None) -> None:
        """Read who may come in again, and go by other limits; after `BadConfig` all stays as it was."""
        fresh = await self._loop.run_in_executor(None, self.security.read, sources)
        self.security.adopt(fresh)
        for door in self.doors:
            if str(door.settings) in fresh.contexts:
                door.renew(fresh.contexts[str(door.settings)])
        for warning in fresh.warnings:
            self.journal.warn("%s", warning)
        now = self.clock()
        self.execute(self.machine.reloaded(fresh.access, settings, now, limits, self.security.gone), now)

    async def stop(self) -> None:
        """Finish what is being kept, so that it can still be acknowledged; then say goodbye to every link."""
        self.poll.listen(wanted=False)
        self._stopped = True
        if self._rows is not None:
            await self._rows.finish()
        now = self.clock()
        self.execute(self.machine.stop(now), now)

    async def close(self) -> None:
        """Close every link, and let the disk go; `stop` comes before, if it was started."""
        self._stopped = True
        self._alarm.cancel()
        self.authenticator.close()
        self.poll.close()
        self.journal.finish()
        if self._rows is not None:
            await self._rows.close()

    def counts(self) -> dict[str, int]:
        """What is counted outside of the machine, by the ends of `$SYS` topics."""
        poll = self.poll
        connections = {
            "connections/cut": poll.outbox.cut,
            "connections/refused/descriptors": poll.exhausted,
            "connections/refused/full": poll.turned_away,
            "connections/refused/handshake": poll.ungreeted,
        }
        return connections | self.authenticator.counts() | self.count_groups()

    # -- the owner of links

    def knocked(self, link: Link) -> None:
        """Somebody is there, and has to shake hands first."""
        now = self.clock()
        self._carry_out(self.machine.knocked(link.number, link.host, now), now)

    def opened(self, link: Link) -> None:
        """Somebody is there."""
        now = self.clock()
        effects = self.machine.opened(link.number, _peer_of(link), now)
        self._carry_out(effects, now)  # the rest of the wake-up comes with `turn`
        self._alarm.set(self.machine.deadline(), now)

    def turn(self, arrived: list[tuple[int, bytes]]) -> None:
        """Hand on what a wake-up brought."""
        now = self.clock()
        for host, transport, why in self.poll.strangers:
            self.journal.complain(f"refused a connection of {host} ({transport}): ", why, now, peer=host)
        self.poll.strangers = []
        effects: list[Effect] = []
        owing = 0
        if self.poll.held:
            effects += self.machine.held(self.poll.held, now)
            self.poll.held = []
        if arrived:
            effects += self.machine.receive(arrived, now)
            owing = self.machine.owing()
        self.execute(effects, now)
        self._respite.take(owing, arrived)

    # -- what the machine wants

    def execute(self, effects: list[Effect], now: int) -> None:
        """Carry out what a call to the machine returned, and what comes of that."""
        poll, leaving, outbox = self.poll, self.poll.leaving, self.poll.outbox
        if outbox.took:
            self.machine.took(outbox.took, now)
            outbox.took = []
        self._carry_out(effects, now)
        while outbox.crossed or leaving.lost:
            crossed, outbox.crossed = outbox.crossed, []
            lost, leaving.lost = leaving.lost, []
            for link, queued_bytes in crossed:
                self._carry_out(self.machine.drained(link, queued_bytes, now), now)
            for link, why in lost:
                self.journal.say("link %d is down: %s", link, why)
                self._carry_out(self.machine.closed(link, now), now)
        if not self._stopped:
            is_behind = self.is_behind
            if is_behind != self._was_behind:
                self._was_behind = is_behind
                poll.listen(wanted=not is_behind)
                self.machine.listening(not is_behind, now)
            self._alarm.set(self.machine.deadline(), now)
        if self.until.waiting:
            self.until.look()
        if self.observer is not None:
            self.observer.written()

    def _carry_out(self, effects: list[Effect], now: int) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self.poll.send(effect.link, effect.chunks)
            elif isinstance(effect, Keep):
                self._keep(effect)
            elif isinstance(effect, Hangup):
                self.poll.hang_up(effect.link)
            elif isinstance(effect, Authenticate):
                self.authenticator.ask(effect)
            elif isinstance(effect, Pause):
                self.poll.pause(effect.link, effect.until)
            elif isinstance(effect, Insert):
                if self.observer is not None:
                    self.observer.inserting(effect)
                self.insert(effect)
            elif isinstance(effect, LookUp | GiveUp):
                self.look_up(effect)
            elif isinstance(effect, Heard):
                if self.observer is not None:
                    self.observer.heard(effect.messages)
                self.hear(effect.messages)
            else:
                self.journal.write(_explained(effect), now)

    @property
    def is_behind(self) -> bool:
        """Whether more waits for disks or macros than is good, so that nothing is read for a while."""
        if self._rows is not None and self._rows.is_behind:
            return True
        if self.is_late is not None and self.is_late():
            return True
        return self.is_flooded is not None and self.is_flooded()

    def _keep(self, effect: Keep) -> None:
        if self._rows is None:
            self._loop.call_soon(self._kept, [effect.ticket], "")
        else:
            self._rows.keep(effect)

    def _refuse_insert(self, effect: Insert) -> None:
        raise BadConfig(
            f"a message belongs to the group of tree {effect.tree}, and nobody has joined it: join it first"
        )

    def _ignore(self, effect: Effect) -> None:
        """Leave a look-up without an answer: it has a time-out, and fails closed."""

    def _overhear(self, messages: list[Message]) -> None:
        """Leave it: nobody follows."""

    # -- answers

    def _kept(self, tickets: list[int], why: str) -> None:
        now = self.clock()
        effects: list[Effect] = []
        for ticket in tickets:
            effects += self.machine.unkept(ticket, why, now) if why else self.machine.kept(ticket, now)
        if why:
            self.journal.warn("%s", why)
        self.execute(effects, now)

    def _authenticated(self, link: int, verdict: Verdict) -> None:
        if not self._stopped:
            now = self.clock()
            self.execute(self.machine.authenticated(link, verdict, now), now)

    def _tick(self, now: int) -> None:
        if self.clock.stepped != self._stepped:  # nothing is due before this: time passes here only
            by, self._stepped = self.clock.stepped - self._stepped, self.clock.stepped
            self.journal.say("the clock was set forward by %d ms: keep-alive, sessions and wills go on", by // MS)
            self._carry_out(self.machine.stepped(by, now), now)
        self.machine.counted(self.counts())
        self.execute(self.machine.tick(now), now)


def _peer_of(link: Link) -> Peer:
    """Who is at the other end. Who comes by a proxy is from where it says; if nobody does, it is one of all those."""
    pipe = link.pipe
    if pipe is None:
        user, is_foreign, origin = None, link.is_proxied, ""
    else:
        user, is_foreign, origin = pipe.user, link.is_proxied or pipe.is_foreign, pipe.forwarded_for
    is_here = is_loopback(link.host)
    address = link.host
    if link.is_proxied:
        address = origin or ELSEWHERE
    elif is_here and is_foreign:
        address = ELSEWHERE  # not what it says itself: no proxy that is known of has said it
    return Peer(address, link.transport, user, is_here and not is_foreign)


def _explained(effect: Effect) -> Effect:
    """Say what is meant when a packet is none of MQTT; no packet of it begins like these."""
    if isinstance(effect, Rejected):
        for begin, (spoken, listener) in _FOREIGN.items():
            if effect.sample.startswith(begin):
                why = f"a client speaks {spoken} here: have it use a {listener} listener"
                return replace(effect, reason=why, sample=b"")
    return effect
