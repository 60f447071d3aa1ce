"""FLIPS over NDN names: the same machine, another binding (the paper's first open question).

    content            <home>/<topic hash, 16 bytes>/seq=<number>
    subscription       <home>/<topic hash>/t=<Unix seconds>                       MustBeFresh
    collision          <home>/<topic hash>/32=thcd/<parameters digest>            MustBeFresh; parameters: the topic

The digest of the parameters is part of an Interest's name, so two topics of one hash do not share a THCD_REQ here, and
nobody gets the answer to another's question [E9]. Freshness is the Data's lifetime. A route to `<home>` that leads out
must be inherited by the routes to topics below it, or a probe would never leave the machine [E10].

This is a `Part` (`roost.pubsub.resident`); `Attract` and `Release` come out as they are, with `prefix_of` their names.
Data is believed if its signature is, by the verifier that is handed in; who made it goes with the content. It is signed
by one signer, or by that which is found for its name: a home whose topics the trust schema knows (`building_schema`)
is `<building>/flips`, and any panel of the building may publish there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from roost.errors import BadName, NoKey
from roost.forwarding.endpoint_effects import Asked, Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import Effect, Rejected
from roost.machine.disk import Saved
from roost.naming import Name
from roost.naming.component import KEYWORD, SEQUENCE, TIMESTAMP, Component
from roost.pubsub.flips.flips import Flips
from roost.pubsub.flips.identifiers import (
    COLLISION,
    FIRST_CONTENT,
    HASH_BYTES,
    TopicHash,
    is_content,
    is_subscription,
    topic_hash,
)
from roost.pubsub.flips.port import DataArrived, InterestArrived, SendData, SendInterest
from roost.pubsub.membership import Ask, Cancel
from roost.pubsub.resident import Event
from roost.pubsub.vetting import MAX_HELD, Vetting
from roost.repo.store import Unwritten, Written
from roost.sync.port import Reply
from roost.trust.acceptance import Checker
from roost.wire import Data, Signer, encode_data

HOME: Final = Name.parse("/flips")
THCD: Final = Component(b"thcd", KEYWORD)
_MAX_ASKED: Final = 16_384

Signers: TypeAlias = Callable[[Name], Signer]  # raises `NoKey`


class NdnFlips:
    """A FLIPS machine that speaks NDN; commands go to `flips`, and what they return through `act`."""

    def __init__(self, flips: Flips, signer: Signer | Signers, verifier: Checker, home: Name = HOME) -> None:
        self.flips: Final = flips
        self.home: Final = home
        self.overflowed = 0
        self._signer_for: Final = signer if callable(signer) else _always(signer)
        self._vetting: Final = Vetting(verifier, self._ask_certificate)
        self._asked: Final[dict[int, tuple[TopicHash, int] | Name]] = {}  # ticket → for what; bound: _MAX_ASKED
        self._tickets: Final[dict[tuple[TopicHash, int], int]] = {}  # the last of each name; bound: as above
        self._next_ticket = 1

    @property
    def prefixes(self) -> tuple[Name, ...]:
        """Under which Interests are ours."""
        return (self.home,)

    @property
    def routes(self) -> tuple[Name, ...]:
        """None from the beginning: `Attract` asks for them."""
        return ()

    def prefix_of(self, topic: TopicHash) -> Name:
        """Under which a topic is published; the key that signs it may be named below."""
        return self.home / Component(topic)

    def check_key(self, topic: str) -> None:
        """See that we may sign content of a topic; raises `NoKey`."""
        hashed = topic_hash(topic, self.flips.settings.hash_bits)
        self._signer_for(content_name(self.home, hashed, FIRST_CONTENT))

    def start(self, now: int) -> list[Effect]:
        """Nothing happens before a command."""
        return self.act(self.flips.start(now), now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, an answer, or that something is on the disk."""
        if isinstance(event, Asked):
            return self._interest(event, now)
        if isinstance(event, Saved):
            return self.act(self.flips.receive(event, now), now)
        return [] if isinstance(event, (Written, Unwritten)) else self._answer(event, now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        return self.act(self.flips.tick(now), now)

    def deadline(self) -> int | None:
        """When the machine wants to be called."""
        return self.flips.deadline()

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "asked": (len(self._asked), _MAX_ASKED),
            "held": (len(self._vetting), MAX_HELD),
            **self.flips.sizes(),
        }

    def act(self, effects: list[Effect], now: int) -> list[Effect]:  # noqa: ARG002  as other parts have it
        """Turn what the machine wants into questions and answers of a face."""
        out: list[Effect] = []
        for effect in effects:
            if isinstance(effect, SendInterest):
                out += self._ask(effect)
            elif isinstance(effect, SendData):
                out += self._reply(effect)
            else:
                out.append(effect)
        return out

    # -- out

    def _ask(self, effect: SendInterest) -> list[Effect]:
        key = (effect.hash, effect.number)
        out: list[Effect] = []
        before = self._tickets.pop(key, None)
        if before is not None:
            del self._asked[before]
            out.append(Cancel(before))
        prefix = self.prefix_of(effect.hash)
        if effect.number == COLLISION:
            question = Question(
                prefix / THCD, must_be_fresh=True, lifetime_ms=effect.lifetime_ms, parameters=effect.payload
            )
        elif is_subscription(effect.number):
            name = prefix / Component.numbered(effect.number, TIMESTAMP)
            question = Question(name, must_be_fresh=True, lifetime_ms=effect.lifetime_ms)
        else:
            question = Question(content_name(self.home, *key), lifetime_ms=effect.lifetime_ms)
        ask = self._ticket(question, key)
        if ask:
            self._tickets[key] = self._next_ticket - 1
        return out + ask

    def _ticket(self, question: Question, what: tuple[TopicHash, int] | Name) -> list[Effect]:
        if len(self._asked) >= _MAX_ASKED:
            self.overflowed += 1
            return []
        self._asked[self._next_ticket] = what
        self._next_ticket += 1
        return [Ask(self._next_ticket - 1, question)]

    def _reply(self, effect: SendData) -> list[Effect]:
        if not isinstance(effect.token, tuple):  # nobody asked: a forwarder of NDN takes no such Data
            return []
        name, token = effect.token
        try:
            signer = self._signer_for(name)
        except NoKey as error:
            return [Rejected(str(self.home), str(error))]
        return [Reply(encode_data(name, effect.payload, signer, freshness_ms=effect.lifetime_ms), token)]

    # -- in

    def _interest(self, asked: Asked, now: int) -> list[Effect]:
        interest = asked.interest
        key = self._key_of(interest.name)
        if key is None:
            return [Rejected(str(self.home), f"{interest.name} is no name of FLIPS", interest.wire[:64])]
        payload = (interest.parameters or b"") if key[1] == COLLISION else b""
        event = InterestArrived(*key, interest.lifetime_ms, payload, (interest.name, asked.token))
        return self.act(self.flips.receive(event, now), now)

    def _answer(self, event: Delivered | Failed, now: int) -> list[Effect]:
        what = self._asked.pop(event.ticket, None)
        if what is None:
            return []
        if isinstance(what, Name):
            if isinstance(event, Delivered):
                return self._vetting.arrived(what, event.data, now)
            return self._vetting.missed(what, now)
        self._tickets.pop(what, None)
        return self._vet(event.data, what, now) if isinstance(event, Delivered) else []

    def _vet(self, data: Data, key: tuple[TopicHash, int], now: int) -> list[Effect]:
        def then(refusal: str, now: int) -> list[Effect]:
            if refusal:
                return [Rejected(str(self.home), refusal, data.wire[:64])]
            signer = str(data.signature.key_name or "")
            return self.act(self.flips.receive(DataArrived(*key, data.content, signer), now), now)

        return self._vetting.check(data, then, now)

    def _ask_certificate(self, name: Name, now: int) -> list[Effect]:  # noqa: ARG002  the shape of `Vetting`
        return self._ticket(Question(name, can_be_prefix=True, lifetime_ms=2000, tries=2), name)

    def _key_of(self, name: Name) -> tuple[TopicHash, int] | None:
        depth = len(self.home)
        if len(name) < depth + 2 or len(name.at(depth).value) != HASH_BYTES:
            return None
        topic, last = name.at(depth).value, name.at(depth + 1)
        if last == THCD:
            return topic, COLLISION
        try:
            number = last.number()
        except BadName:
            return None
        right = is_content(number) if last.type == SEQUENCE else last.type == TIMESTAMP and is_subscription(number)
        return (topic, number) if right and len(name) == depth + 2 else None


def content_name(home: Name, topic: TopicHash, number: int) -> Name:
    """What content is called."""
    return home / Component(topic) / Component.numbered(number, SEQUENCE)


def _always(signer: Signer) -> Signers:
    return lambda name: signer  # noqa: ARG005  one for all names
