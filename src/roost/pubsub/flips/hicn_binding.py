"""FLIPS over hybrid ICN: a topic hash is the name's prefix, a control number its suffix [FLIPS §III].

A forwarder finds next hops by the longest prefix and never sends an Interest back. So the route of a topic's own hash
would keep this machine's probes from leaving: on probation it is there only while no probe of ours is out, and while
one is, the table of the forwarder answers nobody else's either [E10].

Data may be signed, by one key or by that of each topic. With `judge` given, Data counts only if it is signed by the key
that `judge` finds for the topic and the key id; a THCD_REP is not signed for a topic, so it is believed as it is: it
can do no more than refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from roost.errors import BadConfig, BadPacket
from roost.hicn.name import HicnName, Prefix
from roost.hicn.packet import Data, Interest, encode
from roost.hicn.signing import sign, verify
from roost.machine import MS, Effect, Rejected, earliest
from roost.machine.disk import Saved
from roost.pubsub.flips.flips import Flips
from roost.pubsub.flips.hicn_effects import AddRoute, RemoveRoute, SendPacket
from roost.pubsub.flips.identifiers import COLLISION, FIRST_CONTENT, FLIPS_CODE, HASH_BYTES, TopicHash
from roost.pubsub.flips.payload import HEAD_BYTES
from roost.pubsub.flips.port import Attract, DataArrived, InterestArrived, Release, SendData, SendInterest
from roost.pubsub.flips.settings import SIGNED_SEGMENT_BYTES
from roost.trust.keys import PrivateKey, PublicKey
from roost.trust.secret import HmacKey

FLIPS_PREFIX: Final = Prefix(FLIPS_CODE + bytes(HASH_BYTES - len(FLIPS_CODE)), 16)

Event: TypeAlias = Interest | Data | Saved
Key: TypeAlias = PrivateKey | HmacKey
Keys: TypeAlias = Callable[[str, int], Key | None]  # topic, time
Judge: TypeAlias = Callable[[str, bytes, int], tuple[str, PublicKey | HmacKey] | None]  # topic, key id, time


class HicnFlips:
    """A FLIPS machine that speaks hICN; commands go to `flips`, and what they return through `act`."""

    def __init__(self, flips: Flips, key: Key | Keys | None = None, judge: Judge | None = None) -> None:
        self.flips: Final = flips
        self.sent_interests = 0
        self.sent_data = 0
        self._keys: Final = _keys_of(flips.settings.segment_bytes, key)
        self._judge: Final = judge
        self._probing: Final[dict[TopicHash, int | None]] = {}  # when its route is due, None: now; bound: topics

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Nothing happens before a command."""
        return self.act(self.flips.start(now), now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in a packet, or that something is on the disk."""
        if isinstance(event, Saved):
            return self.act(self.flips.receive(event, now), now)
        name = event.name
        if name.prefix[: len(FLIPS_CODE)] != FLIPS_CODE:
            return [Rejected(str(name), "no name of FLIPS")]
        if isinstance(event, Interest):
            effects: list[Effect] = []
            for number in event.manifest.wanted() if event.manifest else [name.suffix]:
                asked = InterestArrived(name.prefix, number, event.lifetime_ms, event.payload)
                effects += self.act(self.flips.receive(asked, now), now)
            return effects
        try:
            signer = self._signer_of(event, now)
        except BadPacket as error:
            return [Rejected(str(name), str(error), event.payload[:64])]
        return self.act(self.flips.receive(DataArrived(name.prefix, name.suffix, event.payload, signer), now), now)

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        effects: list[Effect] = []
        for topic, due in self._probing.items():
            if due is not None and due <= now:
                self._probing[topic] = None
                effects.append(AddRoute(_host(topic)))
        return effects + self.act(self.flips.tick(now), now)

    def deadline(self) -> int | None:
        """When the machine wants to be called, or a probe has expired."""
        return earliest(self.flips.deadline(), *self._probing.values())

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {"probing": (len(self._probing), self.flips.settings.topics), **self.flips.sizes()}

    # -- out

    def act(self, effects: list[Effect], now: int) -> list[Effect]:
        """Turn what the machine wants into packets and routes."""
        out: list[Effect] = []
        for effect in effects:
            if isinstance(effect, SendInterest):
                out += self._interest(effect, now)
            elif isinstance(effect, SendData):
                out.append(self._data(effect, now))
            elif isinstance(effect, Attract):
                out += self._attract(effect)
            elif isinstance(effect, Release):
                self._probing.pop(effect.hash, None)
                out.append(RemoveRoute(_host(effect.hash)))
            else:
                out.append(effect)
        return out

    def _interest(self, effect: SendInterest, now: int) -> list[Effect]:
        self.sent_interests += 1
        out: list[Effect] = []
        if effect.number == COLLISION:
            if self._probing.get(effect.hash, 0) is None:
                out.append(RemoveRoute(_host(effect.hash)))
            self._probing[effect.hash] = now + effect.lifetime_ms * MS
        interest = Interest(HicnName(effect.hash, effect.number), effect.lifetime_ms, effect.payload)
        return [*out, SendPacket(interest)]

    def _data(self, effect: SendData, now: int) -> SendPacket:
        self.sent_data += 1
        data = Data(HicnName(effect.hash, effect.number), effect.payload, effect.lifetime_ms)
        key = self._key_for(effect, now)
        return SendPacket(data if key is None else sign(data, key, now // MS))

    def _key_for(self, effect: SendData, now: int) -> Key | None:
        """The key that signs, if one does; what was published before there were keys may leave no room for that."""
        row = self.flips.publishing.table.get(effect.hash)
        if self._keys is None or row is None or effect.number == COLLISION:
            return None
        return self._keys(row.topic, now) if len(effect.payload) <= HEAD_BYTES + SIGNED_SEGMENT_BYTES else None

    def _attract(self, effect: Attract) -> list[Effect]:
        if effect.on_probation:
            self._probing[effect.hash] = 0  # the first probe says when
            return []
        self._probing.pop(effect.hash, None)
        return [AddRoute(_host(effect.hash))]

    # -- in

    def _signer_of(self, data: Data, now: int) -> str:
        """Whose Data it is, as far as that was asked for; raises `BadPacket`."""
        followed = self.flips.subscribing.table.get(data.name.prefix)
        if self._judge is None or followed is None or data.name.suffix == COLLISION:
            return ""
        if data.signature is None:
            raise BadPacket("the Data is not signed, and only signed Data counts here")
        found = self._judge(followed.topic, data.signature.key_id, now)
        if found is None:
            raise BadPacket(f"no key with id {data.signature.key_id.hex()[:16]}… may sign {followed.topic}")
        signer, key = found
        if not verify(data, key):
            raise BadPacket(f"the signature is not that of {signer}")
        return signer


def _host(topic: TopicHash) -> Prefix:
    return Prefix(topic, 8 * HASH_BYTES)


def _keys_of(segment_bytes: int, key: Key | Keys | None) -> Keys | None:
    if key is None:
        return None
    if callable(key):
        if segment_bytes > SIGNED_SEGMENT_BYTES:
            raise BadConfig(f"segment_bytes={segment_bytes}: signed segments hold {SIGNED_SEGMENT_BYTES} at most")
        return key
    _check_room(segment_bytes, key)
    single = key
    return lambda topic, now: single  # noqa: ARG005  one for all topics and times


def _check_room(segment_bytes: int, key: Key) -> None:
    largest = Data(HicnName(FLIPS_PREFIX.address, FIRST_CONTENT), bytes(HEAD_BYTES + segment_bytes))
    try:
        encode(sign(largest, key, 0))
    except BadPacket as error:
        raise BadConfig(f"segment_bytes={segment_bytes} leaves no room for a signature: {error}") from None
