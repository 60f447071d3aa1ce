"""A bridge between two MQTT brokers: what one has is published at the other, and acknowledged once it is safe there.

    source ──QoS 1, a session that lasts──▶ bridge ──QoS 1──▶ target
       ◀────────────── PUBACK ──────────────  ◀──── PUBACK ────

The bridge keeps nothing on a disk. A message of QoS 1 or 2 is acknowledged to its broker once the other has done so,
and whatever dies on the way (either broker, the lines, the bridge), the source still has it and sends it again: it may
come twice, and nothing is missing. How much is under way is bounded by what the source may send unacknowledged.
Messages of QoS 0 go on at QoS 1; so many of them wait for a target that is away, and the rest is dropped and counted.

Those of a topic stay in order, as far as each is there for the first time. When the target is back, paho sends again
what was under way, and what came meanwhile is to follow: it waits for an answer to what is asked behind that.

Two bridges in opposite directions do not send a message round and round: each writes into a user property which broker
it took the message from, and none brings a message to a broker where it has been [MQTT 5]. MQTT 3.1.1 has no such
properties, so there only prefixes that keep the topics apart do.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final, NamedTuple

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from roost.errors import BadConfig

VIA: Final = "roost-via"  # the user property: a broker where the message has been
MAX_VIA: Final = 16  # brokers that a message may have been at
MAX_UNDER_WAY: Final = 1_000
MAX_TOPIC_BYTES: Final = 65_535
MAX_WAITING: Final = 10_000  # under way, from which on messages of QoS 0 are dropped
AGAIN_S: Final = (1, 30)  # between two tries to connect: doubled from the first to the last
_BEHIND: Final = "roost-bridge/behind"  # nobody subscribes to this; that it is not any more is what the target answers
_FOR_EVER: Final = 0xFFFFFFFF
_QUIET_PROPERTIES: Final = ("PayloadFormatIndicator", "ContentType", "ResponseTopic", "CorrelationData")


@dataclass(frozen=True, slots=True)
class End:
    """A broker; `name` is what it is called in the user property."""

    host: str
    port: int
    user: str | None = None
    password: bytes | None = None
    tls: ssl.SSLContext | None = None
    version: int = 5

    @property
    def name(self) -> str:
        """Its address."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Mapping:
    """Which topics, and what they are called at the other broker: `strip` is taken from the front, `add` put there."""

    filter: str
    strip: str = ""
    add: str = ""

    def __post_init__(self) -> None:
        if self.strip and not self.filter.startswith(self.strip):
            raise BadConfig(f"--strip {self.strip}: what {self.filter} matches does not all begin with it")
        if set(self.add) & set("+#\0"):
            raise BadConfig(f"--add {self.add!r}: this goes in front of topics, and they have no + or #")

    def topic(self, topic: str) -> str:
        """What a topic is called there."""
        return self.add + topic.removeprefix(self.strip)


class _Taken(NamedTuple):
    """A message that the target has not acknowledged: which connection brought it, under which packet id."""

    line: int
    packet: int
    qos: int
    topic: str


class Bridge:
    """One direction. It has two threads of paho's; whoever asks for counts may do so from anywhere."""

    def __init__(self, source: End, target: End, mapping: Mapping, client_id: str, say: Callable[[str], None]) -> None:
        self.passed = 0
        self.turned_back = 0  # have been there
        self.refused = 0  # by the target, or no topic is left: acknowledged to the source, or they would come for ever
        self.dropped = 0  # of QoS 0, while the target was away
        self._mapping: Final = mapping
        self._target_name: Final = target.name
        self._source_name: Final = source.name
        self._say: Final = say
        self._lock: Final = Lock()  # never held while paho is called
        self._line = 0  # which connection to the source: packet ids of an earlier one mean nothing
        self._under_way: Final[dict[int, _Taken]] = {}  # by the target's packet ids; bound: MAX_WAITING, MAX_UNDER_WAY
        self._numbers: Final[dict[int, int]] = {}  # the same by the source's packet ids, without QoS 0
        self._waiting: Final[dict[int, tuple[_Taken, MQTTMessage]]] = {}  # in order; bound: as of `_under_way`
        self._unnumbered = 0  # the last key of those of QoS 0, which have no packet id
        self._is_open = False  # the target is there, and has what was under way
        self._early: Final[dict[int, bool]] = {}  # answers that were sooner than `publish`; bound: as above
        self._target: Final = self._client(target, f"{client_id}-to", "target")
        self._source: Final = self._client(source, f"{client_id}-from", "source")
        self._source.manual_ack_set(True)  # noqa: FBT003  paho's
        self._target.on_publish = self._published
        self._target.on_unsubscribe = self._opened
        self._source.on_message = self._came
        self._source.on_subscribe = self._subscribed

    def start(self) -> None:
        """Connect to both, again and again."""
        for client in (self._target, self._source):
            client.loop_start()

    def close(self) -> None:
        """Leave both; the source keeps what was not safe."""
        for client in (self._source, self._target):
            client.disconnect()
            client.loop_stop()

    @property
    def under_way(self) -> int:
        """How many messages the target has not acknowledged."""
        return len(self._under_way) + len(self._waiting)

    def counts(self) -> dict[str, int]:
        """What happened so far."""
        return {
            "passed": self.passed,
            "turned_back": self.turned_back,
            "refused": self.refused,
            "dropped": self.dropped,
            "under_way": self.under_way,
        }

    def _client(self, end: End, client_id: str, what: str) -> Client:
        is_v5 = end.version == 5
        version = MQTTProtocolVersion.MQTTv5 if is_v5 else MQTTProtocolVersion.MQTTv311
        client = Client(
            CallbackAPIVersion.VERSION2, client_id, clean_session=None if is_v5 else False, protocol=version
        )
        if end.user is not None:
            client.username_pw_set(end.user, end.password)  # type: ignore[arg-type]  # bytes go as they are
        if end.tls is not None:
            client.tls_set_context(end.tls)
        client.reconnect_delay_set(*AGAIN_S)
        client.max_inflight_messages_set(MAX_UNDER_WAY)  # paho takes it only before it connects

        def welcomed(
            client: Client, _data: object, flags: ConnectFlags, reason: ReasonCode, _properties: Properties | None
        ) -> None:
            if reason.is_failure:
                self._say(f"{end.name} refuses the bridge: {reason}")
                return
            self._say(f"connected to {end.name}" + (", with the session of before" if flags.session_present else ""))
            if what == "source":
                self._begin(client, is_v5=is_v5)
            else:
                client.unsubscribe(_BEHIND)

        def lost(
            _client: Client, _data: object, _flags: DisconnectFlags, reason: ReasonCode, _properties: Properties | None
        ) -> None:
            if what == "target":
                with self._lock:
                    self._is_open = False
            if reason.is_failure:
                self._say(f"lost {end.name}: {reason}; tries again")

        client.on_connect = welcomed
        client.on_disconnect = lost
        properties: Properties | None = None
        if is_v5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = _FOR_EVER
            properties.ReceiveMaximum = MAX_UNDER_WAY
        client.connect_async(end.host, end.port, clean_start=False, properties=properties)
        return client

    def _begin(self, client: Client, *, is_v5: bool) -> None:
        """Subscribe, also if the session has it: the filter may be another one by now."""
        with self._lock:
            self._line += 1
        if is_v5:
            client.subscribe(
                self._mapping.filter, options=SubscribeOptions(1, retainAsPublished=True, retainHandling=1)
            )
        else:
            client.subscribe(self._mapping.filter, 1)

    def _subscribed(
        self, _client: Client, _data: object, _number: int, reasons: list[ReasonCode], _properties: Properties | None
    ) -> None:
        for reason in reasons:
            what = f"refuses {self._mapping.filter}: {reason}" if reason.is_failure else f"sends {self._mapping.filter}"
            self._say(f"{self._source_name} {what}")

    def _came(self, client: Client, _data: object, message: MQTTMessage) -> None:
        """A message of the source: publish it at the target, unless it has been there."""
        been = [value for name, value in getattr(message.properties, "UserProperty", ()) if name == VIA]
        if self._target_name in been or len(been) >= MAX_VIA:
            self.turned_back += 1
            client.ack(message.mid, message.qos)
            return
        if not message.qos and self.under_way >= MAX_WAITING:
            self.dropped += 1
            return
        taken = _Taken(self._line, message.mid, message.qos, message.topic)
        if message.dup and self._is_known(taken):
            return
        topic = self._mapping.topic(message.topic)
        if not 0 < len(topic.encode()) <= MAX_TOPIC_BYTES:  # paho would raise, in the thread that everything comes in
            self.refused += 1
            client.ack(message.mid, message.qos)
            return
        with self._lock:
            if not self._is_open:
                self._unnumbered -= not taken.qos
                self._waiting[taken.packet if taken.qos else self._unnumbered] = taken, message
                return
        self._pass_on(taken, message)

    def _opened(self, *_: object) -> None:
        """The target has what was under way: have what waits follow, then whatever comes."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._is_open = True
                    return
                taken, message = self._waiting.pop(next(iter(self._waiting)))
            self._pass_on(taken, message)

    def _pass_on(self, taken: _Taken, message: MQTTMessage) -> None:
        topic, properties = self._mapping.topic(message.topic), self._properties(message)
        info = self._target.publish(topic, message.payload, 1, message.retain, properties)
        with self._lock:
            self._under_way[info.mid] = taken
            if taken.qos:
                self._numbers[taken.packet] = info.mid
            answered = self._early.pop(info.mid, None)
        if answered is not None:
            self._settle(info.mid, is_refused=answered)

    def _is_known(self, taken: _Taken) -> bool:
        """Whether it is on its way already, since before the source's last connection: then it is not sent again."""
        with self._lock:
            number = self._numbers.get(taken.packet)
            before = None if number is None else self._under_way.get(number)
            if number is None or before is None or before.topic != taken.topic or before.packet != taken.packet:
                return False
            self._under_way[number] = taken
            return True

    def _properties(self, message: MQTTMessage) -> Properties | None:
        if self._target.protocol != MQTTProtocolVersion.MQTTv5:
            return None
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        came = message.properties
        for name in _QUIET_PROPERTIES:
            if came is not None and hasattr(came, name):
                setattr(properties, name, getattr(came, name))
        properties.UserProperty = [*getattr(came, "UserProperty", ()), (VIA, self._source_name)]
        return properties

    def _published(
        self, _client: Client, _data: object, number: int, reason: ReasonCode, _properties: Properties | None
    ) -> None:
        with self._lock:
            if number not in self._under_way:
                self._early[number] = reason.is_failure
                return
        self._settle(number, is_refused=reason.is_failure)

    def _settle(self, number: int, *, is_refused: bool) -> None:
        """The target has answered for a message: tell the source, if it is still the connection that sent it."""
        with self._lock:
            taken = self._under_way.pop(number)
            if self._numbers.get(taken.packet) == number:
                del self._numbers[taken.packet]
            is_current = taken.line == self._line
        if is_refused:
            self.refused += 1
        else:
            self.passed += 1
        if is_current and taken.qos:
            self._source.ack(taken.packet, taken.qos)
