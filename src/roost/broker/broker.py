"""An MQTT server as a machine, for batches: bytes of links in, bytes for links and rows for the disk out.

    opened ─▶ receive ─▶ a handler per packet ─▶ routing ─▶ delivery ─▶ Send, Hangup, Pause, Authenticate
                                     └─▶ ledger ─▶ Keep …… kept ─▶ the answers that waited for it

The verbs are here; the protocol is in `roost.broker.handlers`, one module per packet. MQTT 3.1.1 and 5.0 are one
server: where they differ, `link.version` is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from roost.broker import answers, entering, handing, hearing, lifetimes, loading, recalling, system
from roost.broker.access import Access
from roost.broker.choosing import settle
from roost.broker.core import Core
from roost.broker.delivery import pump
from roost.broker.effects import Hangup, Verdict
from roost.broker.emerging import emerge
from roost.broker.handlers import auth, dispatch
from roost.broker.limits import Limits
from roost.broker.link import CONNECTED, Link, Peer
from roost.broker.message import Message
from roost.broker.packet_sizes import largest_of_address
from roost.broker.packets.reasons import (
    NOT_AUTHORIZED,
    SERVER_SHUTTING_DOWN,
    Malformed,
)
from roost.broker.recall import History
from roost.broker.roaming import Roaming
from roost.broker.routes import Trees
from roost.broker.routing import publish_anywhere
from roost.broker.settings import BrokerSettings
from roost.broker.statistics import Statistics
from roost.machine.contract import Effect, Note, Randomness, Rejected

_SAMPLE_BYTES: Final = 64


def _earlier(one: int | None, other: int | None) -> int | None:
    """The first of two deadlines, by a C call: a driver asks after every wake-up."""
    if one is None or other is None:
        return one if other is None else other
    return one if one <= other else other  # noqa: FURB136  `min` is no C call


class Broker:
    """The machine."""

    def __init__(
        self,
        settings: BrokerSettings,
        access: Access,
        randomness: Randomness,
        rows: Iterable[tuple[bytes, bytes]] = (),
        now: int = 0,
        gateway: Trees | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.core: Final = Core(settings, access, randomness, now, gateway, Limits() if limits is None else limits)
        self._bad_rows: Final = loading.load(self.core, rows)
        handing.resume(self.core)
        self._system_due = 0
        self._eager = False  # more of a past, or of what is retained, can go out at once
        self._now = now

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Begin: tell what the rows did not say, and go on where the last run was interrupted."""
        core = self.core
        if self._bad_rows:
            core.stats.bad_rows += len(self._bad_rows)
            first = self._bad_rows[0][:_SAMPLE_BYTES].hex()
            core.effects.append(Note("rows unreadable", (("rows", len(self._bad_rows)), ("first", first))))
        if core.settings.sys_interval_s:
            self._system_due = now
        loading.wake(core, now)
        return self.tick(now)

    def opened(self, link: int, peer: Peer, now: int) -> list[Effect]:
        """There is a new connection."""
        core = self.core
        if not core.limiter.connect(peer.address, now):
            core.stats.links_refused += 1
            return [Rejected(peer.address, core.limiter.why), Hangup(link)]
        core.stats.links_opened += 1
        most = min(core.settings.max_packet_bytes, core.settings.max_connect_bytes)  # until it is let in
        largest = largest_of_address(core.limiter.limits, peer.address, most)
        new = Link(link, peer, largest, core.high_water_bytes, now)
        core.links[link] = new
        core.timers.arm_link(new, now + core.settings.connect_timeout())
        return []

    def receive(self, arrived: list[tuple[int, bytes]], now: int) -> list[Effect]:
        """Take in everything that a readiness event brought."""
        core = self.core
        links = core.links
        for number, data in arrived:
            link = links.get(number)
            if link is not None and not link.doomed:
                core.stats.received_bytes += len(data)
                dispatch.feed(core, link, data, now)
                if core.resting:
                    handing.rouse(core, link)
        return self._finish(now)

    def closed(self, link: int, now: int) -> list[Effect]:
        """A connection ended by itself."""
        gone = self.core.links.get(link)
        if gone is not None:
            lifetimes.leave(self.core, gone, now)
        return self._finish(now)

    def authenticated(self, link: int, verdict: Verdict, now: int) -> list[Effect]:
        """It is known who is at a link, or what else to ask it."""
        core = self.core
        known = core.links.get(link)
        if known is not None and known.asked:
            try:
                auth.judged(core, known, verdict, now)
            except Malformed as error:
                core.reject(known, str(error), b"")
                core.doom(known, error.reason, str(error))
            if not known.doomed:
                dispatch.feed_early(core, known, now)
            handing.rouse(core, known)
        return self._finish(now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        core = self.core
        capped = core.capped
        core.capped = []
        for link in capped:
            if link.session is not None:
                pump(core, link.session, now)
        due = core.timers.due_link(now)
        while due is not None:
            lifetimes.look_at(core, due, now)
            due = core.timers.due_link(now)
        session = core.timers.due_session(now)
        while session is not None:
            lifetimes.fire(core, session, now)
            session = core.timers.due_session(now)
        for topic in core.retained.expire(now):
            core.ledger.forget_retained(topic, sync=False)
        if core.ledger.retry and core.ledger.retry <= now:
            core.ledger.try_again()
        if core.roaming is not None:
            for tree, message in core.roaming.tick(core.sessions, now):
                core.insert(tree, message)
            settle(core, now)
        if self._system_due and self._system_due <= now:
            system.tell(core, now)
            self._system_due = system.next_time(core, now)
        return self._finish(now)

    def deadline(self) -> int | None:
        """When something is due."""
        if self.core.capped or self._eager:
            return self._now
        core = self.core
        due = _earlier(core.timers.deadline(), core.retained.deadline())
        if self._system_due:
            due = _earlier(due, self._system_due)
        if core.roaming is not None:
            due = _earlier(due, core.roaming.deadline())
        return _earlier(due, core.ledger.retry) if core.ledger.retry else due

    # -- the disk, groups and the driver's buffers

    def kept(self, ticket: int, now: int) -> list[Effect]:
        """The rows of a ticket, and of all before it, are safe."""
        core = self.core
        core.ledger.keep(ticket)
        entering.kept(core)
        for link in list(core.holding.values()):
            answers.release(core, link)
        for client in [client for client, needed in core.ending.items() if core.ledger.safe(needed)]:
            del core.ending[client]
        awaiting = core.awaiting
        core.awaiting = {}
        for session in awaiting.values():
            pump(core, session, now)
        for link in list(core.gated.values()):
            if core.ledger.safe(link.gate):
                core.unshut(link)
                if link.session is not None:
                    pump(core, link.session, now)
        return self._finish(now)

    def unkept(self, ticket: int, why: str, now: int) -> list[Effect]:
        """The rows of a ticket could not be written: what waits for them goes on waiting, and they are tried again."""
        self.core.stats.unkept += 1
        self.core.effects.append(Note("rows not written", (("reason", why),)))
        self.core.ledger.fail(ticket, now)
        return self._finish(now)

    def inserted(self, ticket: int, refusal: str, now: int) -> list[Effect]:
        """The messages of an Insert are in their group, or refused: then `refusal` says why."""
        entering.inserted(self.core, ticket, refusal)
        return self._finish(now)

    def join(self, history: History, roaming: Roaming | None, now: int) -> list[Effect]:
        """Groups are there: go on with the pasts that a restart interrupted."""
        core = self.core
        core.history = history
        core.roaming = roaming
        core.ledger.save_beginning(core.began)
        for session, filter_, since, places in core.interrupted:
            recalling.resume(core, session, filter_, since, places)
        core.interrupted = []
        if roaming is not None:
            for session in core.sessions.values():
                roaming.resume(session)
        return self._finish(now)

    @property
    def began(self) -> int:
        """When it first had groups."""
        return self.core.began

    @property
    def positions(self) -> Mapping[bytes, int]:
        """How far streams of groups were handed on by the last run."""
        return self.core.positions

    def stored(self, messages: list[Message], positions: Mapping[bytes, int], now: int) -> list[Effect]:
        """Messages came out of groups, local and remote alike; so far their streams are handed on."""
        for message in messages:
            emerge(self.core, message, now)
        hearing.catch_up(self.core, now)
        for stream, number in positions.items():
            self.core.ledger.save_position(stream, number)
        return self._finish(now)

    def drained(self, link: int, queued_bytes: int, now: int) -> list[Effect]:
        """So many bytes for a link still wait in the driver."""
        core = self.core
        known = core.links.get(link)
        if known is not None and link not in core.gated:
            congested = queued_bytes > core.high_water_bytes
            if congested != known.congested:
                known.congested = congested
                core.stats.slow += 1 if congested else -1
            known.room = core.high_water_bytes - queued_bytes
            known.mark = known.room
            if known.session is not None:
                pump(core, known.session, now)
        return self._finish(now)

    def listening(self, wanted: bool, now: int) -> None:  # noqa: FBT001  a C call
        """Whether the driver reads from anybody: while it does not, silence is no client's fault."""
        self.core.deaf = not wanted
        if wanted:
            self.core.heard = now

    def took(self, links: list[int], now: int) -> None:
        """These links are not read, for too much waits for them; but they took some of it, so they are alive."""
        for number in links:
            link = self.core.links.get(number)
            if link is not None:
                link.heard = now

    # -- commands

    def publish(self, message: Message, now: int) -> list[Effect]:
        """Publish a message of the server's own."""
        publish_anywhere(self.core, message, now)
        return self._finish(now)

    def reloaded(
        self,
        access: Access,
        settings: BrokerSettings,
        now: int,
        limits: Limits | None = None,
        gone: Iterable[bytes] = (),
    ) -> list[Effect]:
        """Go on under new permissions and settings; who is not welcome any more may be told to go.

        `gone` are users whose password is no longer what it was.
        """
        core = self.core
        core.access = access
        core.configure(settings)
        core.router.forget()
        if limits is not None:
            core.limiter.reloaded(limits, now)
        strangers = frozenset(gone)
        for link in core.links.values():
            link.routes.clear()
            if link.state != CONNECTED:
                continue
            if limits is not None:
                core.limit(link, now)
            if settings.drop_disallowed and (
                (link.by_password and link.user in strangers)
                or not access.may_connect(link.user, loopback=link.peer.loopback)
            ):
                core.doom(link, NOT_AUTHORIZED, "the user may not connect any more")
        return self._finish(now)

    def stop(self, now: int) -> list[Effect]:
        """Say goodbye to everybody; wills are spoken, sessions stay."""
        for link in list(self.core.links.values()):
            self.core.doom(link, SERVER_SHUTTING_DOWN, "")
        return self._finish(now)

    def counted(self, outside: Mapping[str, int]) -> None:
        """What the driver has counted, by the ends of the `$SYS` topics that are to tell it."""
        self.core.outside = outside

    def statistics(self) -> Statistics:
        """What is counted, and what is now."""
        system.measure(self.core)
        return self.core.stats

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return system.sizes(self.core)

    # -- inside

    def _finish(self, now: int) -> list[Effect]:
        """End a call: go on with pasts and retained messages, hang up on whom the call doomed, hand out everything."""
        self._now = now
        core = self.core
        self._eager = False
        if core.recalling:
            self._eager = recalling.proceed(core, now)
        if core.handing or core.resting:
            self._eager = handing.proceed(core, now) or self._eager
        if core.roaming is not None:
            core.roaming.schedule(now)
        while core.doomed:
            doomed = core.doomed
            core.doomed = []
            for link, reason, why in doomed:
                lifetimes.hang_up(core, link, reason, why, now)
        return core.take()
