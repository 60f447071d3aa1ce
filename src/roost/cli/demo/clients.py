"""Ordinary MQTT clients, on paho-mqtt: they keep a session, know two gates, and go to the other when theirs is gone.

Each has a thread of paho's, which only appends to lists; whoever asks reads them from the loop of the demo.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

SESSION_S: Final = 3600
AGAIN_S: Final = 1  # before a client that lost its gate tries the other
V3: Final = MQTTProtocolVersion.MQTTv311
V5: Final = MQTTProtocolVersion.MQTTv5


class Said(NamedTuple):
    """A message. Devices count in their payload; of a sensor's, the user property `time` says which one it is."""

    topic: str
    payload: str
    time: str = ""


class GateClient:
    """One client, which begins at the first of some ports."""

    def __init__(self, name: str, ports: Sequence[int], version: MQTTProtocolVersion = V5) -> None:
        self.name: Final = name
        self.welcomes: Final[list[bool]] = []  # of each connection, whether its session was there already
        self.refusals: Final[list[str]] = []
        self._ports: Final = ports
        self._at = 0
        self._leaving = False
        self._properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        self._properties.SessionExpiryInterval = SESSION_S
        is_v5 = version == V5
        self.paho: Final = Client(
            CallbackAPIVersion.VERSION2, name, clean_session=None if is_v5 else False, protocol=version
        )
        self.paho.reconnect_delay_set(AGAIN_S, AGAIN_S)
        self.paho.on_connect = self._welcomed
        self.paho.on_disconnect = self._lost
        self.paho.on_connect_fail = lambda _client, _data: self._go_to_next()

    def open(self) -> None:
        """Connect, and stay connected."""
        self._go()
        self.paho.loop_start()

    def close(self) -> None:
        """Leave."""
        self._leaving = True
        self.paho.disconnect()
        self.paho.loop_stop()

    @property
    def port(self) -> int:
        """Where it is, or tries to be."""
        return self._ports[self._at]

    def _go(self) -> None:
        self.paho.connect_async("127.0.0.1", self.port, clean_start=False, properties=self._properties)

    def _go_to_next(self) -> None:
        self._at = (self._at + 1) % len(self._ports)
        self._go()

    def _welcomed(
        self, _client: Client, _data: object, flags: ConnectFlags, reason: ReasonCode, _properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self.refusals.append(str(reason))
        else:
            self.welcomes.append(flags.session_present)

    def _lost(
        self, _client: Client, _data: object, _flags: DisconnectFlags, _reason: ReasonCode, _why: Properties | None
    ) -> None:
        if not self._leaving:
            self._go_to_next()


class Device(GateClient):
    """A module that publishes at QoS 1: what it was not told to be safe, it says again."""

    def __init__(self, name: str, ports: Sequence[int], version: MQTTProtocolVersion) -> None:
        super().__init__(name, ports, version)
        self._sent: Final[dict[int, Said]] = {}  # by packet id; bound: 65,535
        self._answered: Final[list[int]] = []
        self.paho.on_publish = self._acknowledged

    def publish(self, topic: str, payload: str) -> None:
        """Say something; while there is no connection it waits."""
        self._sent[self.paho.publish(topic, payload, qos=1).mid] = Said(topic, payload)

    @property
    def sent(self) -> list[Said]:
        """All it said."""
        return list(self._sent.values())

    @property
    def acknowledged(self) -> list[Said]:
        """What is safe."""
        return [self._sent[number] for number in self._answered.copy()]

    def _acknowledged(
        self, _client: Client, _data: object, number: int, reason: ReasonCode, _properties: Properties
    ) -> None:
        if reason.is_failure:
            self.refusals.append(str(reason))
        else:
            self._answered.append(number)


class Subscriber(GateClient):
    """A client that takes everything a filter matches; with `since`, the past first."""

    def __init__(self, name: str, ports: Sequence[int], filter_: str, since: str = "") -> None:
        super().__init__(name, ports)
        self.arrived: Final[list[Said]] = []  # bound: the story
        self._filter: Final = filter_
        self._since: Final = since
        self.paho.on_message = self._took
        self.paho.on_subscribe = self._subscribed

    def _welcomed(
        self, client: Client, data: object, flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        super()._welcomed(client, data, flags, reason, properties)
        if not flags.session_present and not reason.is_failure:
            wanted = Properties(PacketTypes.SUBSCRIBE)  # type: ignore[no-untyped-call]
            if self._since:
                wanted.UserProperty = ("since", self._since)
            client.subscribe(self._filter, qos=1, properties=wanted)

    def _subscribed(
        self, _client: Client, _data: object, _number: int, reasons: list[ReasonCode], _properties: Properties
    ) -> None:
        self.refusals.extend(str(reason) for reason in reasons if reason.is_failure)

    def _took(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        pairs = dict(getattr(message.properties, "UserProperty", ()))
        payload = message.payload.decode(errors="replace")
        time = "" if payload.startswith("{") else pairs.get("time", "")  # the past has one, and the present not always
        self.arrived.append(Said(message.topic, payload, time))
