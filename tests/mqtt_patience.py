"""A publisher and a subscriber of Paho whose sessions outlive their connections, for brokers that are killed.

    changes = Changes()
    speaker, listener = Speaker(place, V5, 1, changes), Listener(place, V5, "listener", changes)
    speaker.publish(100)
    changes.until(lambda: listener.has(speaker, speaker.acknowledged))

Both reconnect by themselves, to where their place is then. A speaker publishes numbers, on a topic of its own for each
QoS.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

V4 = MQTTProtocolVersion.MQTTv311
V5 = MQTTProtocolVersion.MQTTv5


class Place(Protocol):
    """Where a broker is, and whether it is there."""

    port: int
    is_up: threading.Event


class Refuge:
    """A place that is another one when its broker is lost."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.is_up = threading.Event()
        self.is_up.set()

    def lose(self) -> None:
        """Have nobody reconnect for now."""
        self.is_up.clear()

    def find(self, port: int) -> None:
        """Have everybody reconnect there."""
        self.port = port
        self.is_up.set()


class Changes:
    """What Paho's threads report, and waiting for it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()

    def do(self, what: Callable[[], object]) -> None:
        with self._changed:
            what()
            self._changed.notify_all()

    def until(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, timeout=60)


class Patient(paho.Client):
    """Reconnects by itself, once its broker is there.

    After an attempt in vain Paho forgets that it has PUBREC, and would send its messages once more as new ones.
    """

    place: Place

    def reconnect(self) -> Any:  # noqa: ANN401  as Paho has it
        self.place.is_up.wait()
        self._port = self.place.port  # Paho lets nobody change it between two attempts
        return super().reconnect()


class _Lasting:
    """A client with a session that persists."""

    def __init__(self, place: Place, version: MQTTProtocolVersion, name: str) -> None:
        more: dict[str, Any] = {} if version == V5 else {"clean_session": False}
        self._client = Patient(CallbackAPIVersion.VERSION2, name, protocol=version, **more)
        self._client.place = place
        self._client.reconnect_delay_set(1, 1)
        self._client.max_inflight_messages_set(100)
        if version == V5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = 3600
            self._client.connect("127.0.0.1", place.port, clean_start=False, properties=properties)
        else:
            self._client.connect("127.0.0.1", place.port)

    def go_away(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()
        self._client._reset_sockets(sockpair_only=True)  # which the next loop would leave open

    def come_back(self) -> None:
        self._client.reconnect()
        self._client.loop_start()


class Speaker(_Lasting):
    """Publishes the next numbers, and knows which are acknowledged."""

    def __init__(self, place: Place, version: MQTTProtocolVersion, qos: int, changes: Changes) -> None:
        super().__init__(place, version, f"speaker{qos}")
        self.topic = f"hall/qos{qos}"
        self.total = 0
        self.acknowledged: set[int] = set()
        self._qos = qos
        self._numbers: dict[int, int] = {}  # by mid
        self._client.on_publish = lambda _, __, mid, *___: changes.do(lambda: self.acknowledged.add(self._numbers[mid]))
        self._client.loop_start()

    def publish(self, count: int) -> None:
        for _ in range(count):
            with self._client._out_message_mutex:  # so that nobody acknowledges what has no number yet
                told = self._client.publish(self.topic, b"%d" % self.total, qos=self._qos)
                self._numbers[told.mid] = self.total
            self.total += 1


class Listener(_Lasting):
    """Subscribes to every speaker, and writes down what comes."""

    def __init__(self, place: Place, version: MQTTProtocolVersion, name: str, changes: Changes) -> None:
        super().__init__(place, version, name)
        self.received: dict[str, list[int]] = {"hall/qos1": [], "hall/qos2": []}
        self._granted = False
        self._client.on_subscribe = lambda *_: changes.do(lambda: setattr(self, "_granted", True))
        self._client.on_message = lambda _, __, message: changes.do(
            lambda: self.received[message.topic].append(int(message.payload))
        )
        self._client.loop_start()
        self._client.subscribe("hall/#", qos=2)
        changes.until(lambda: self._granted)

    def has(self, speaker: Speaker, numbers: set[int]) -> bool:
        return numbers <= set(self.received[speaker.topic])
