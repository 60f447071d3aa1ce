"""A client of Paho on its own thread, with everything it hears kept and waited for."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Self

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions
from tests.interop.mqtt_server import WAIT_S, MqttServer, fresh

V4: Final = MQTTProtocolVersion.MQTTv311
V5: Final = MQTTProtocolVersion.MQTTv5
versions: Final = pytest.mark.parametrize("version", [V4, V5], ids=["v3.1.1", "v5"])

Will = tuple[str, bytes, Mapping[str, object]]  # topic, payload, properties
Heard = tuple[str, bytes]

_NONE: Final[Mapping[str, object]] = {}


def properties_of(packet: int, said: Mapping[str, object]) -> Properties | None:
    """Properties by Paho's names for them."""
    if not said:
        return None
    made = Properties(packet)  # type: ignore[no-untyped-call]
    for name, value in said.items():
        setattr(made, name, value)
    return made


class PahoClient:
    """Connects when it is made, or is refused; a context manager that says goodbye."""

    def __init__(
        self,
        server: MqttServer,
        version: MQTTProtocolVersion,
        name: str = "",
        *,
        transport: str = "tcp",
        clean: bool = True,
        will: Will | None = None,
        user: tuple[str, str] | None = None,
        certificate: Sequence[str] = (),
        manual: bool = False,
        keep_alive_s: int = 60,
        properties: Mapping[str, object] = _NONE,
    ) -> None:
        self.version: Final = version
        self.messages: list[Any] = []  # MQTTMessage, whose properties mypy does not know
        self.present = False
        self.told: Any = None  # the properties of CONNACK
        self.reason: int | None = None  # of CONNACK
        self.ended: int | None = None  # why the connection is over: the reason of a DISCONNECT, or 0x80
        self._changed: Final = threading.Condition()
        self._answers: Final[dict[int, list[int]]] = {}
        self._client: Final = paho.Client(
            CallbackAPIVersion.VERSION2,
            name,
            protocol=version,
            transport="websockets" if transport in {"ws", "wss"} else "tcp",
            clean_session=None if version == V5 else clean,
            reconnect_on_failure=False,
            manual_ack=manual,
        )
        if transport in {"tls", "wss"}:
            context = ssl.create_default_context(cafile=server.authority)
            if certificate:
                context.load_cert_chain(*certificate)
            self._client.tls_set_context(context)
        if user is not None:
            self._client.username_pw_set(*user)
        if will is not None:
            self._client.will_set(will[0], will[1], 1, properties=properties_of(PacketTypes.WILLMESSAGE, will[2]))
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect
        self._client.on_message = self._on_message
        self._client.on_publish = lambda _, __, mid, reason, ___: self._answer(mid, [reason])
        self._client.on_subscribe = lambda _, __, mid, reasons, ___: self._answer(mid, reasons)
        self._client.on_unsubscribe = lambda _, __, mid, reasons, ___: self._answer(mid, reasons)
        more: dict[str, Any] = {}
        if version == V5:
            more = {"clean_start": clean, "properties": properties_of(PacketTypes.CONNECT, properties)}
        self._client.connect("127.0.0.1", server.ports[transport], keep_alive_s, **more)
        self._client.loop_start()
        self.until(lambda: self.reason is not None or self.ended is not None)

    def __enter__(self) -> Self:
        assert self.reason == 0, f"refused with {self.reason}"
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something that this client hears."""
        with self._changed:
            assert self._changed.wait_for(holds, WAIT_S), f"waited in vain; ended: {self.ended}, {len(self.messages)}"

    def close(self, *, with_will: bool = False, **properties: object) -> None:
        """Say goodbye."""
        name = "Disconnect with will message" if with_will else "Normal disconnection"
        reason = ReasonCode(PacketTypes.DISCONNECT, name) if self.version == V5 else None
        self._client.disconnect(reason, properties_of(PacketTypes.DISCONNECT, properties))
        self._leave()

    def freeze(self) -> None:
        """Stay connected, and do nothing any more."""
        self._client.loop_stop()

    def cut(self) -> None:
        """End the connection without a goodbye."""
        socket: Any = self._client.socket()
        socket.shutdown(2)
        self.until(lambda: self.ended is not None)
        self._leave()

    def subscribe(self, *filters: str, qos: int = 0, identifier: int = 0, **options: Any) -> list[int]:  # noqa: ANN401
        """Subscribe with SubscribeOptions, in MQTT 5; what SUBACK says."""
        if self.version == V5:
            wanted: Any = [(each, SubscribeOptions(qos, **options)) for each in filters]
            said: dict[str, object] = {"SubscriptionIdentifier": identifier} if identifier else {}
        else:
            wanted, said = [(each, qos) for each in filters], {}
        _, mid = self._client.subscribe(wanted, properties=properties_of(PacketTypes.SUBSCRIBE, said))
        return self._answered(mid)

    def unsubscribe(self, *filters: str) -> list[int]:
        _, mid = self._client.unsubscribe(list(filters))
        return self._answered(mid)

    def publish(
        self, topic: str, payload: bytes = b"", qos: int = 0, *, retain: bool = False, **properties: object
    ) -> int:
        """Publish, and wait for the acknowledgement, whose reason is returned."""
        return self._answered(self.publish_on(topic, payload, qos, retain=retain, **properties))[0]

    def publish_on(
        self, topic: str, payload: bytes, qos: int, *, retain: bool = False, **properties: object
    ) -> int | None:
        """Publish without waiting."""
        return self._client.publish(topic, payload, qos, retain, properties_of(PacketTypes.PUBLISH, properties)).mid

    def take(self, count: int = 1) -> list[Any]:
        """The next messages."""
        self.until(lambda: len(self.messages) >= count)
        with self._changed:
            taken, self.messages = self.messages[:count], self.messages[count:]
        return taken

    def heard(self, count: int = 1) -> list[Heard]:
        """The next messages, as topics and payloads."""
        return [(message.topic, message.payload) for message in self.take(count)]

    def nothing_more(self) -> bool:
        """Whether nothing came: what was on its way comes before the answer to a question."""
        self.unsubscribe("nothing/of/this/name")
        return not self.messages

    def acknowledge(self, message: paho.MQTTMessage) -> None:
        self._client.ack(message.mid, message.qos)

    def _answered(self, mid: int | None) -> list[int]:
        assert mid is not None
        self.until(lambda: mid in self._answers or self.ended is not None)
        assert mid in self._answers, f"disconnected with {self.ended} instead of an answer"
        return self._answers.pop(mid)

    def _leave(self) -> None:
        self._client.loop_stop()
        self._client._reset_sockets()  # or the next garbage collection finds them open

    def _answer(self, mid: int, reasons: Sequence[Any]) -> None:
        with self._changed:
            self._answers[mid] = [reason.value for reason in reasons]
            self._changed.notify_all()

    def _on_connect(self, _: object, __: object, flags: Any, reason: Any, told: object) -> None:  # noqa: ANN401
        with self._changed:
            self.present, self.reason, self.told = flags.session_present, reason.value, told
            self._changed.notify_all()

    def _on_disconnect(self, _: object, __: object, ___: object, reason: Any, ____: object) -> None:  # noqa: ANN401
        with self._changed:
            if self.ended is None:
                self.ended = reason.value
            self._changed.notify_all()

    def _on_message(self, _: object, __: object, message: paho.MQTTMessage) -> None:
        with self._changed:
            self.messages.append(message)
            self._changed.notify_all()


def staying(server: MqttServer, version: MQTTProtocolVersion, name: str = "", **more: Any) -> PahoClient:  # noqa: ANN401
    """A client whose session outlives its connection."""
    properties = {"SessionExpiryInterval": 3600} if version == V5 else {}
    return PahoClient(server, version, name or fresh(), clean=False, properties=properties, **more)
