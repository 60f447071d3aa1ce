"""Groups behind a broker: for each of them a panel that publishes for MQTT clients, beside a repo that keeps it all.

    clients ──▶ broker ──Insert──▶ insertion ──▶ repo ──▶ disk, other repos
    clients ◀── broker ◀──stored── succession ◀──Kept── repo ◀── other repos

The repo is this node's own, so that every subscriber is served from this machine's disk, also while the network is
down; `roost.host.repo` runs it. What it tells comes in a turn of its own, behind all else that the same turn wanted.
Where there is a second core, a process there signs what comes in large pieces (`roost.host.signing`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from roost.broker.effects import Insert, Inserted
from roost.broker.insertion import Insertion
from roost.broker.message import Message
from roost.broker.past import Past
from roost.broker.sealing import Sealing
from roost.broker.sealing_opening import Opening
from roost.broker.signing_effects import Sign
from roost.broker.since import Since
from roost.broker.succession import News, Succession
from roost.broker.trees import Tree
from roost.host.alarm import Alarm
from roost.host.clock import Clock
from roost.host.journal import Journal
from roost.host.mqtt.observing import Observer
from roost.host.repo import RunningRepo
from roost.host.signing import SigningProcess, has_another_core
from roost.machine import Effect, earliest
from roost.naming import Name
from roost.naming.building import Panel
from roost.pubsub.panels.panel import SignerFor
from roost.pubsub.repos.repo import Repo
from roost.repo.shelf_effects import Kept
from roost.trust.wrapping import Receiver

FINISH_S: Final = 5  # for what is on its way into a group when a broker ends


class Groups(Protocol):
    """What a broker's machine takes of groups: `roost.broker.broker.Broker`."""

    def inserted(self, ticket: int, refusal: str, now: int) -> list[Effect]: ...
    def stored(
        self, messages: list[Message], positions: Mapping[bytes, int], now: int, past: Mapping[bytes, int]
    ) -> list[Effect]: ...


class Driver(Protocol):
    """Who carries out what that machine wants: `roost.host.mqtt.server.Server`."""

    @property
    def clock(self) -> Clock: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def observer(self) -> Observer | None: ...

    def execute(self, effects: list[Effect], now: int) -> None: ...


@dataclass(frozen=True, slots=True)
class PanelKeys:
    """A panel of this node: who signs for it, what seals, where roles are configured, and what opens."""

    panel: Panel
    signer_for: SignerFor
    sealing: Sealing | None
    receivers: Sequence[Receiver]


class _Gateway:
    """One group."""

    def __init__(self, repo: Repo, insertion: Insertion, succession: Succession, opening: Opening) -> None:
        self.repo: Final = repo
        self.coming = 0  # messages for it that are put into it in the next turn; bound: what one turn brings
        self.coming_bytes = 0  # of their payloads
        self.insertion: Final = insertion
        self.succession: Final = succession
        self.past: Final = Past(insertion.place.group, repo, succession, opening)


class Gateways:
    """All groups of a broker; satisfies `History` for all of them."""

    def __init__(self, machine: Groups, driver: Driver, trees: Sequence[Tree]) -> None:
        self._machine: Final = machine
        self._driver: Final = driver
        self._trees: Final = trees
        self._gateways: Final[dict[Name, _Gateway]] = {}  # by group; bound: the configuration
        self._running: RunningRepo | None = None
        self._alarm: Final = Alarm(driver.clock, self._tick)
        self._loop: Final = asyncio.get_running_loop()
        self._signing: Final = SigningProcess(self._sign_here)
        self._settled: Final = asyncio.Event()  # an insertion was told of
        self._was_behind = False  # as the driver knows it
        self._goes_on = False  # in the next turn: there is more to sign, or to hand on

    def start(
        self,
        running: RunningRepo,
        panels: Sequence[PanelKeys],
        began: int,
        positions: Mapping[bytes, int],
        *,
        alone: bool,
    ) -> None:
        """Begin: hand on what came while the broker did not run."""
        self._running = running
        by_group = {repo.place.group.name: repo for repo in running.repos}
        for each in panels:
            panel = each.panel
            repo = by_group[panel.group.name]
            opening = Opening(repo.store, each.receivers)
            insertion = Insertion(panel, repo, each.signer_for, alone=alone, sealing=each.sealing, opens=opening)
            insertion.signing.aside = has_another_core()
            succession = Succession(panel.group, repo, began, positions, insertion.fresh, opening=opening)
            self._gateways[panel.group.name] = _Gateway(repo, insertion, succession, opening)
        for tree in self._trees:
            if tree.panel is not None:
                insertion = self._gateways[tree.panel.group.name].insertion
                tree.has_room = insertion.has_room
                tree.added_bytes = None if insertion.sealing is None else insertion.added_bytes
        now = self._driver.clock()
        for gateway in self._gateways.values():
            self._hand_on(gateway.succession.begin(now), now)
        self._wake(now)

    async def finish(self) -> None:
        """Wait for what is on its way into the groups, a while."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FINISH_S):
                await asyncio.sleep(0)  # what came last is put into its group in this turn
                while not all(gateway.insertion.is_idle for gateway in self._gateways.values()):
                    self._settled.clear()
                    await self._settled.wait()
        await self._signing.end()

    def close(self) -> None:
        """End."""
        self._alarm.cancel()
        self._running = None

    def reseal(self) -> None:
        """Who may see what is decided by other things than before: have keys follow."""
        for gateway in self._gateways.values():
            if gateway.insertion.sealing is not None:
                gateway.insertion.sealing.changed()
        self._wake(self._driver.clock())

    def is_behind(self) -> bool:
        """Whether more comes than the disks of the groups take."""
        self._was_behind = self._is_behind()
        return self._was_behind

    def counts(self) -> dict[str, int]:
        """What happened so far in all groups, by the ends of `$SYS` topics."""
        insertions = [gateway.insertion for gateway in self._gateways.values()]
        full = sum([each.turned_away for each in insertions])
        sealing = [each.sealing for each in insertions if each.sealing is not None]
        return {
            "groups/messages/uncopied": sum([each.uncopied for each in insertions]),
            "groups/messages/inserted": sum([each.inserted for each in insertions]),
            "groups/messages/refused": full + sum([each.refused for each in insertions]),
            "groups/messages/refused/full": full,
            "groups/messages/passed_over": sum([each.succession.passed_over for each in self._gateways.values()]),
            "groups/messages/incomplete": sum([each.succession.incomplete for each in self._gateways.values()]),
            "groups/messages/altered": sum([each.succession.joining.refused for each in self._gateways.values()]),
            "groups/messages/sealed": sum([each.sealed for each in sealing]),
            "groups/messages/locked": sum([each.succession.locked for each in self._gateways.values()]),
            "groups/keys": sum([each.wrapped for each in sealing]),
            "groups/keys/forgotten": sum([each.forgotten for each in sealing]),
        }

    def insert(self, effect: Insert) -> None:
        """Put messages into the group of their tree, in the next turn: this one's packets are not written yet."""
        tree = self._trees[effect.tree]
        gateway = None if tree.panel is None else self._gateways.get(tree.panel.group.name)
        if gateway is not None:
            gateway.coming += len(effect.messages)
            gateway.coming_bytes += _bytes_of(effect.messages)
        self._loop.call_soon(self._insert, effect, tree, gateway)

    def _insert(self, effect: Insert, tree: Tree, gateway: _Gateway | None) -> None:
        now = self._driver.clock()
        if gateway is None:
            refusal = "the group of this topic is not served here"
            self._driver.execute(self._machine.inserted(effect.ticket, refusal, now), now)
            return
        gateway.coming -= len(effect.messages)
        gateway.coming_bytes -= _bytes_of(effect.messages)
        effects = gateway.insertion.insert(
            effect.ticket, effect.messages, tree.copies, now, again=effect.again, spread=effect.spread
        )
        if self._driver.observer is not None:
            self._driver.observer.numbered(effect.ticket)
        self._act(gateway, effects, now)

    def told(self, repo: Repo, effect: Effect, now: int) -> None:
        """Take in what a repo tells: what it keeps, and what became of an insertion."""
        gateway = self._gateways.get(repo.place.group.name)
        if gateway is None:
            return
        if isinstance(effect, Kept):
            self._hand_on(gateway.succession.stored(effect, now), now)
        elif isinstance(effect, Inserted):
            self._tell(gateway, effect, now)
        elif isinstance(effect, Sign):
            self._sign(gateway, effect)
        self._wake(now)

    # -- the past

    def streams(self, filter_: bytes) -> list[bytes]:
        """The streams with topics that a filter matches."""
        return [stream for gateway in self._gateways.values() for stream in gateway.past.streams(filter_)]

    def has(self, stream: bytes, filter_: bytes) -> bool:
        """Whether a filter matches the topic of a stream."""
        return self._past(stream).has(stream, filter_)

    def present(self, stream: bytes) -> int:
        """The last number of a stream that was handed on live."""
        return self._past(stream).present(stream)

    def first(self, stream: bytes, since: Since) -> int:
        """The first number of a stream that is wanted."""
        return self._past(stream).first(stream, since)

    def read(self, stream: bytes, low: int, high: int, limit: int) -> list[tuple[int, Message | None]]:
        """Readings low to high of a stream, as far as they are here."""
        return self._past(stream).read(stream, low, high, limit)

    def outlines(self, stream: bytes, low: int, high: int, limit: int) -> list[tuple[int, Message | None, bool]]:
        """The same without the payloads of large ones, and whether one is large."""
        return self._past(stream).outlines(stream, low, high, limit)

    def at(self, stream: bytes, time: int, limit: int) -> list[int]:
        """The numbers of readings of a stream that have this event time."""
        return self._past(stream).at(stream, time, limit)

    def _past(self, stream: bytes) -> Past:
        name = Name(stream)
        return next(gateway.past for group, gateway in self._gateways.items() if name.starts_with(group))

    # -- inside

    def _hand_on(self, news: News, now: int) -> None:
        if news.positions or news.past:
            self._driver.execute(self._machine.stored(news.messages, news.positions, now, news.past), now)

    def _act(self, gateway: _Gateway, effects: list[Effect], now: int) -> None:
        """Carry out what an insertion wants of its repo, and hear what it tells at once; signatures come later."""
        theirs: list[Effect] = []
        inserted: list[Inserted] = []
        for effect in effects:
            if isinstance(effect, Inserted):
                inserted.append(effect)
            elif isinstance(effect, Sign):
                self._sign(gateway, effect)
            else:
                theirs.append(effect)
        if theirs and self._running is not None:
            self._running.act(gateway.repo, theirs)
        for effect in inserted:
            self._tell(gateway, effect, now)
        self._wake(now)

    def _sign(self, gateway: _Gateway, effect: Sign) -> None:
        signed = partial(self._signed, gateway, effect.ticket)
        if not self._signing.sign(effect.signer, effect.digests, signed):
            self._loop.call_soon(signed, [])

    def _signed(self, gateway: _Gateway, ticket: int, signatures: list[bytes]) -> None:
        if self._running is not None:
            now = self._driver.clock()
            self._act(gateway, gateway.insertion.signed(ticket, signatures, now), now)

    def _sign_here(self, why: str) -> None:
        """Do without the signing process from now on."""
        self._driver.journal.warn("no second core signs what comes by MQTT, it is done here: signing process: %s", why)
        for gateway in self._gateways.values():
            gateway.insertion.signing.aside = False

    def _tell(self, gateway: _Gateway, effect: Inserted, now: int) -> None:
        self._settled.set()
        if effect.refusal:
            about = f"{gateway.insertion.place.group.name}: messages refused: "
            self._driver.journal.complain(about, effect.refusal + (effect.detail and f": {effect.detail}"), now)
        if self._driver.observer is not None:
            self._driver.observer.inserted(effect)
        self._driver.execute(self._machine.inserted(effect.ticket, effect.refusal, now), now)

    def _tick(self, now: int) -> None:
        for gateway in self._gateways.values():
            self._tell_uncopied(gateway.insertion, now)
            self._act(gateway, gateway.insertion.tick(now), now)
            self._hand_on(gateway.succession.tick(now), now)
        self._wake(now)

    def _tell_uncopied(self, insertion: Insertion, now: int) -> None:
        """Say that messages wait for repos that are not there; the insertion tries again every second."""
        if insertion.why_uncopied:
            about = f"{insertion.place.group.name}: messages wait for copies, unacknowledged: "
            advice = "start more repos of the group, see that node.uplinks reaches them, or lower `replicated`"
            self._driver.journal.complain(about, f"{insertion.uncopied} now ({insertion.why_uncopied}); {advice}", now)

    def _is_behind(self) -> bool:
        return any(each.insertion.is_behind(each.coming, each.coming_bytes) for each in self._gateways.values())

    def _wake(self, now: int) -> None:
        if self._is_behind() != self._was_behind:  # the driver looks when it does something
            self._driver.execute([], now)
        due: int | None = None
        for gateway in self._gateways.values():
            due = earliest(due, gateway.insertion.deadline(), gateway.succession.deadline())
        if due is not None and due <= now:
            if not self._goes_on:
                self._goes_on = True
                self._loop.call_soon(self._go_on)
        else:
            self._alarm.set(due, now)

    def _go_on(self) -> None:
        self._goes_on = False
        if self._running is not None:
            self._tick(self._driver.clock())


def _bytes_of(messages: Sequence[Message]) -> int:
    return sum([len(message.payload) for message in messages])
