"""Ordinary MQTT clients, on paho-mqtt: they keep a session, know two gates, and go to the other when theirs is gone.

Each has a thread of paho's, which only counts; whoever asks reads that from the loop of the demo.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from roost.cli.demo.tally import Tally

SESSION_S: Final = 3600
AGAIN_S: Final = 1  # before a client that lost its gate tries the other
MAX_IN_FLIGHT: Final = 1_000  # messages of a module that wait for their acknowledgement
V3: Final = MQTTProtocolVersion.MQTTv311
V5: Final = MQTTProtocolVersion.MQTTv5


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
    """A module that publishes at QoS 1, counting in each topic: what it was not told to be safe, it says again."""

    def __init__(self, name: str, ports: Sequence[int], version: MQTTProtocolVersion) -> None:
        super().__init__(name, ports, version)
        self.sent = 0
        self.safe = 0
        self._under_way: Final[dict[int, tuple[str, int]]] = {}  # by packet id; bound: 65,535
        self._early: Final[set[int]] = set()  # acknowledged before `publish` was back; bound: as above
        self._numbers: Final[dict[str, int]] = {}
        self._safe: Final[Tally[str]] = Tally()
        self._lock: Final = Lock()  # never held while paho is called: paho holds locks of its own when it calls
        self.paho.max_inflight_messages_set(MAX_IN_FLIGHT)
        self.paho.on_publish = self._acknowledged

    def publish(self, topic: str, payload: str) -> None:
        """Say something; while there is no connection it waits."""
        packet = self.paho.publish(topic, payload, qos=1).mid
        with self._lock:
            self.sent += 1
            number = self._numbers[topic] = self._numbers.get(topic, 0) + 1
            self._under_way[packet] = (topic, number)
            if packet in self._early:
                self._early.discard(packet)
                self._settle(packet)

    def safe_upto(self) -> dict[str, int]:
        """By topic, up to which number all is safe."""
        with self._lock:
            return {topic: self._safe.upto(topic) for topic in self._numbers}

    def _acknowledged(
        self, _client: Client, _data: object, packet: int, reason: ReasonCode, _properties: Properties
    ) -> None:
        if reason.is_failure:
            self.refusals.append(str(reason))
            return
        with self._lock:
            if packet in self._under_way:
                self._settle(packet)
            else:
                self._early.add(packet)

    def _settle(self, packet: int) -> None:
        self._safe.take(*self._under_way.pop(packet))
        self.safe += 1


class Subscriber(GateClient):
    """A client that counts everything a filter matches, by topic; `number_of` tells a message by the time in it."""

    def __init__(
        self, name: str, port: int, filter_: str, login: tuple[str, str], number_of: Callable[[int], int | None]
    ) -> None:
        super().__init__(name, [port])
        self.arrived: Final[Tally[str]] = Tally()
        self.is_subscribed = False
        self._filter: Final = filter_
        self._number_of: Final = number_of
        self.paho.username_pw_set(*login)
        self.paho.on_message = self._took
        self.paho.on_subscribe = self._subscribed

    def _welcomed(
        self, client: Client, data: object, flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        super()._welcomed(client, data, flags, reason, properties)
        if not flags.session_present and not reason.is_failure:
            client.subscribe(self._filter, qos=1)

    def _subscribed(
        self, _client: Client, _data: object, _number: int, reasons: list[ReasonCode], _properties: Properties
    ) -> None:
        self.refusals.extend(str(reason) for reason in reasons if reason.is_failure)
        self.is_subscribed = True

    def _took(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        try:
            number = self._number_of(json.loads(message.payload)["time"])
        except (ValueError, KeyError, TypeError):
            return  # somebody who joined in
        if number is not None:
            self.arrived.take(message.topic, number)
