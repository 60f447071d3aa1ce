"""An MQTT server as a machine, for batches: bytes of links in, bytes for links and rows for the disk out.

    opened ─▶ receive ─▶ a handler per packet ─▶ routing ─▶ delivery ─▶ Send, Hangup, Pause, Authenticate
                                     └─▶ ledger ─▶ Keep …… kept ─▶ the answers that waited for it

The verbs are here; the protocol is in `roost.broker.handlers`, one module per packet. MQTT 3.1.1 and 5.0 are one
server: where they differ, `link.version` is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from roost.broker import (
    buffers,
    emerging,
    entering,
    handing,
    keeping,
    lifetimes,
    loading,
    recalling,
    reloading,
    system,
)
from roost.broker.access import Access
from roost.broker.core import Core
from roost.broker.effects import Verdict
from roost.broker.handlers import dispatch
from roost.broker.limits import Limits
from roost.broker.link import Peer
from roost.broker.message import Message
from roost.broker.packets.reasons import SERVER_SHUTTING_DOWN
from roost.broker.recall import History
from roost.broker.roaming import Roaming
from roost.broker.routes import Trees
from roost.broker.routing import publish_anywhere
from roost.broker.settings import BrokerSettings
from roost.broker.settling import settle
from roost.broker.statistics import Statistics
from roost.broker.timers import earlier
from roost.machine.contract import Effect, Randomness


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
        loading.load(self.core, rows)
        handing.resume(self.core)
        self._system_due = 0
        self._eager = False  # more of a past, or of what is retained, can go out at once
        self._now = now

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Begin: tell what the rows did not say, and go on where the last run was interrupted."""
        core = self.core
        if core.settings.sys_interval_s:
            self._system_due = now
        loading.wake(core, now)
        return self.tick(now)

    def opened(self, link: int, peer: Peer, now: int) -> list[Effect]:
        """There is a new connection."""
        return lifetimes.begin(self.core, link, peer, now)

    def receive(self, arrived: list[tuple[int, bytes]], now: int) -> list[Effect]:
        """Take in everything that a readiness event brought."""
        dispatch.feed_all(self.core, arrived, now)
        return self._finish(now)

    def closed(self, link: int, now: int) -> list[Effect]:
        """A connection ended by itself."""
        gone = self.core.links.get(link)
        if gone is not None:
            lifetimes.leave(self.core, gone, now)
        return self._finish(now)

    def authenticated(self, link: int, verdict: Verdict, now: int) -> list[Effect]:
        """It is known who is at a link, or what else to ask it."""
        known = self.core.links.get(link)
        if known is not None and known.asked:
            dispatch.judge(self.core, known, verdict, now)
        return self._finish(now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        core = self.core
        buffers.go_on(core, now)
        lifetimes.tick(core, now)
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
        due = earlier(core.timers.deadline(), core.retained.deadline())
        if self._system_due:
            due = earlier(due, self._system_due)
        if core.roaming is not None:
            due = earlier(due, core.roaming.deadline())
        return earlier(due, core.ledger.retry) if core.ledger.retry else due

    # -- the disk, groups and the driver's buffers

    def kept(self, ticket: int, now: int) -> list[Effect]:
        """The rows of a ticket, and of all before it, are safe."""
        keeping.kept(self.core, ticket, now)
        return self._finish(now)

    def unkept(self, ticket: int, why: str, now: int) -> list[Effect]:
        """The rows of a ticket could not be written: what waits for them goes on waiting, and they are tried again."""
        keeping.unkept(self.core, ticket, why, now)
        return self._finish(now)

    def inserted(self, ticket: int, refusal: str, now: int) -> list[Effect]:
        """The messages of an Insert are in their group, or refused: then `refusal` says why."""
        entering.inserted(self.core, ticket, refusal)
        return self._finish(now)

    def join(self, history: History, roaming: Roaming | None, now: int) -> list[Effect]:
        """Groups are there: go on with the pasts that a restart interrupted."""
        loading.join(self.core, history, roaming)
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
        emerging.take_in(self.core, messages, positions, now)
        return self._finish(now)

    def drained(self, link: int, queued_bytes: int, now: int) -> list[Effect]:
        """So many bytes for a link still wait in the driver."""
        buffers.drained(self.core, link, queued_bytes, now)
        return self._finish(now)

    def listening(self, wanted: bool, now: int) -> None:  # noqa: FBT001  a C call
        """Whether the driver reads from anybody: while it does not, silence is no client's fault."""
        self.core.deaf = not wanted
        if wanted:
            self.core.heard = now

    def took(self, links: list[int], now: int) -> None:
        """These links are not read, for too much waits for them; but they took some of it, so they are alive."""
        buffers.took(self.core, links, now)

    def held(self, sizes: list[tuple[int, int]], now: int) -> list[Effect]:
        """So many bytes of links wait in the driver, for they are no whole WebSocket frame yet."""
        buffers.held(self.core, sizes)
        return self._finish(now)

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
        reloading.go_by(self.core, access, settings, limits, gone, now)
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
