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
    inheriting,
    keeping,
    lifetimes,
    loading,
    orphans,
    recalling,
    reloading,
    stepping,
    system,
    vouching,
)
from roost.broker.access import Access
from roost.broker.core import Core
from roost.broker.effects import Verdict
from roost.broker.handlers import dispatch
from roost.broker.limits import Limits
from roost.broker.link import Peer
from roost.broker.macros import claiming, processing
from roost.broker.macros.macros import Macros
from roost.broker.message import Message
from roost.broker.packets.reasons import SERVER_SHUTTING_DOWN
from roost.broker.recall import History
from roost.broker.roaming import Roaming
from roost.broker.roles import answering, governing
from roost.broker.roles.keeper import RoleKeeper
from roost.broker.roles.sources import Source
from roost.broker.routes import Trees
from roost.broker.routing import publish_anywhere
from roost.broker.settings import BrokerSettings
from roost.broker.settling import settle
from roost.broker.statistics import Statistics
from roost.broker.timers import earlier
from roost.machine.contract import Effect, Randomness
from roost.process.definition import Definition
from roost.process.roles.specification import Specification
from roost.trust.wrapping import Recipient


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
        roles: RoleKeeper | None = None,
        macros: Macros | None = None,
    ) -> None:
        self.core: Final = Core(settings, access, randomness, now, gateway, Limits() if limits is None else limits)
        self.core.macros = macros
        if macros is not None:
            macros.watch(self.core.router.decide_anew)
        if roles is not None:
            governing.begin(self.core, roles)
        loading.load(self.core, rows)
        if roles is not None:
            governing.go_by(self.core, roles, roles.documents)
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
        if core.macros is not None and core.macros.tree is None:
            claiming.begin(core.macros, now)
        return self.tick(now)

    def knocked(self, link: int, address: str, now: int) -> list[Effect]:
        """There is a new connection, which has to shake hands before it is `opened`; limits count it from now on."""
        return lifetimes.knock(self.core, link, address, now)

    def opened(self, link: int, peer: Peer, now: int) -> list[Effect]:
        """There is a new connection, or one that had knocked is ready."""
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
        else:
            lifetimes.turn_back(self.core, link)
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
            if core.roles is not None and core.roles.heard(topic):
                core.router.decide_anew()
        if core.roles is not None:
            answering.take_in(core, core.roles, core.roles.lookup.tick(now), now)
            core.roles.telling.tick(core, now)
        if core.macros is not None:
            processing.tick(core, core.macros, now)
            claiming.tick(core, core.macros, now)
        if core.ledger.retry and core.ledger.retry <= now:
            core.ledger.try_again()
        if core.roaming is not None:
            vouching.tell(core, now)
            inheriting.tick(core, now)
            settle(core, now)
        if core.orphaned:
            orphans.tick(core, now)
        if self._system_due and self._system_due <= now:
            system.tell(core, now)
            self._system_due = system.next_time(core, now)
        return self._finish(now)

    def stepped(self, by: int, now: int) -> list[Effect]:
        """The clock was set forward to now: comes before the `tick` that sees it."""
        stepping.step(self.core, by, now)
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
            due = earlier(earlier(due, core.roaming.deadline()), core.vows.deadline())
            due = earlier(earlier(due, core.roaming.inherit_at), orphans.deadline(core))
        if core.roles is not None:
            due = earlier(earlier(due, core.roles.lookup.deadline()), core.roles.telling.tell_at)
        if core.macros is not None:
            due = earlier(due, core.macros.deadline())
        return earlier(due, core.ledger.retry) if core.ledger.retry else due

    def owing(self) -> int:
        """How many links the last call sent something to that have messages to acknowledge."""
        return self.core.owing

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
        vouching.inserted(self.core, ticket, now)
        if self.core.macros is not None:
            processing.inserted(self.core, self.core.macros, ticket, refusal, now)
        if self.core.roles is not None:
            self.core.roles.telling.inserted(self.core, ticket, refusal, now)
        return self._finish(now)

    def join(self, history: History, roaming: Roaming | None, now: int) -> list[Effect]:
        """Groups are there: go on with the pasts that a restart interrupted."""
        loading.join(self.core, history, roaming)
        if self.core.macros is not None:
            claiming.begin(self.core.macros, now)
            claiming.tick(self.core, self.core.macros, now)
        if self.core.roles is not None:
            self.core.roles.telling.tell(self.core, now)
        return self._finish(now)

    @property
    def began(self) -> int:
        """When it first had groups."""
        return self.core.began

    @property
    def positions(self) -> Mapping[bytes, int]:
        """How far streams of groups were handed on by the last run."""
        return self.core.positions

    def stored(
        self,
        messages: list[Message],
        positions: Mapping[bytes, int],
        now: int,
        past: Mapping[bytes, int] | None = None,
    ) -> list[Effect]:
        """Messages came out of groups, local and remote alike; so far their streams are handed on.

        `past` are streams of which history came, with the last number before it.
        """
        if past:
            recalling.look_again(self.core, messages, past)
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

    # -- macros, where they are configured

    def define_macro(self, definition: Definition, now: int) -> list[Effect]:
        """Have a macro, or have it do something else from the next message on; raises `BadMacro`."""
        if self.core.macros is not None:
            claiming.define(self.core, self.core.macros, definition, now)
        return self._finish(now)

    def delete_macro(self, name: str, now: int) -> list[Effect]:
        """Have a macro no more from the next message on; raises `NoMacro`."""
        if self.core.macros is not None:
            claiming.delete(self.core, self.core.macros, name, now)
        return self._finish(now)

    def macros_reloaded(self, definitions: list[Definition], now: int) -> list[Effect]:
        """The files have these macros now; what cannot run is noted, and stays as it was."""
        macros = self.core.macros
        if macros is not None:
            macros.want(definitions)
            if macros.look_at is None and macros.started:  # else it is to look soon
                macros.look_at = now
            claiming.tick(self.core, macros, now)
        return self._finish(now)

    # -- roles, where they are configured

    def roles_found(self, number: int, roles: frozenset[str], now: int, until: int | None = None) -> list[Effect]:
        """The answer to a `LookUp`; `until` is when the source says that it ends."""
        if self.core.roles is not None:
            keeper = self.core.roles
            answering.take_in(self.core, keeper, keeper.lookup.answered(number, roles, now, until), now)
        return self._finish(now)

    def roles_missed(self, number: int, why: str, now: int) -> list[Effect]:
        """A `LookUp` has no answer."""
        if self.core.roles is not None:
            keeper = self.core.roles
            answering.take_in(self.core, keeper, keeper.lookup.failed(number, why, now), now)
        return self._finish(now)

    def roles_changed(self, user: str, now: int) -> list[Effect]:
        """The roles of a user are others than they were, says the source."""
        if self.core.roles is not None:
            governing.find_again(self.core, self.core.roles, user, now)
        return self._finish(now)

    def roles_reloaded(self, base: Iterable[Specification], source: Source | None, now: int) -> list[Effect]:
        """The files say other things than before; raises `BadConfig`, and all stays as it was."""
        if self.core.roles is not None:
            governing.reload(self.core, self.core.roles, base, source, now)
        return self._finish(now)

    def readers_changed(
        self, readers: Mapping[bytes, tuple[Recipient, ...]], nodes: tuple[Recipient, ...], now: int
    ) -> list[Effect]:
        """Have these users keys of their own, and these other nodes: what is sealed in groups is for them too."""
        if self.core.roles is not None:
            self.core.roles.read_by(readers, nodes)
            self.core.router.decide_anew()
        return self._finish(now)

    def document_changed(self, topic: str, document: Specification | None, now: int) -> list[Effect]:
        """Have a document hold from now on, or none; raises `BadConfig`, and all stays as it was."""
        if self.core.roles is not None:
            governing.change(self.core, self.core.roles, topic, document, now)
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

    def counts(self) -> dict[str, int]:
        """All numbers below `$SYS/broker/`, as they are now, by the ends of their topics."""
        return system.counts(self.core)

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return system.sizes(self.core)

    # -- inside

    def _finish(self, now: int) -> list[Effect]:
        """End a call: go on with pasts and retained messages, hang up on whom the call doomed, hand out everything."""
        self._now = now
        core = self.core
        self._eager = False
        if core.macros is not None and core.macros.samples:
            processing.proceed(core, core.macros, now)
        if core.roles is not None:
            answering.ask(core, core.roles, now)
        if core.recalling:
            self._eager = recalling.proceed(core, now)
        if core.handing or core.resting:
            self._eager = handing.proceed(core, now) or self._eager
        if core.roaming is not None:
            core.roaming.schedule(now)
            core.vows.schedule(now)
        while core.doomed:
            doomed = core.doomed
            core.doomed = []
            for link, reason, why in doomed:
                lifetimes.hang_up(core, link, reason, why, now)
        return core.take()
