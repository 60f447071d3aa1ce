"""A client of paho-mqtt, set up as the letters of `roost pub` and `roost sub` say; it is not connected yet."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
from typing import Final, Literal, cast

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode

from roost.cli import note
from roost.cli._mqtt_options import NEVER_EXPIRES, VERSIONS
from roost.cli._mqtt_properties import properties_of
from roost.cli._mqtt_server import Server
from roost.errors import BadConfig
from roost.naming.topic import name_of_topic

MAX_INFLIGHT: Final = 0xFFFF


def version_of(options: argparse.Namespace) -> int:
    """The version to speak, as the CONNECT packet numbers it: MQTT 5, which tells refusals, unless -V is given."""
    return 5 if options.properties else VERSIONS[options.version or "5"]


class _Client(Client):
    """paho's client, which believes that a PUBREC is never a refusal [MQTT-4.3.3-4]."""

    def _handle_pubrec(self) -> MQTTErrorCode:
        packet = self._in_packet["packet"]
        if self._protocol != MQTTProtocolVersion.MQTTv5 or len(packet) < 3 or packet[2] < 0x80:
            return super()._handle_pubrec()
        number = int.from_bytes(packet[:2], "big")
        with self._out_message_mutex:
            if number not in self._out_messages:
                return MQTTErrorCode.MQTT_ERR_SUCCESS
            reason = ReasonCode(PacketTypes.PUBREC, identifier=packet[2])
            return self._do_on_publish(number, reason, properties_of("publish", ()))


def make_client(options: argparse.Namespace, server: Server) -> Client:
    """Set up a client; raises `BadConfig` and `BadTopic` for letters that contradict each other or MQTT."""
    version = version_of(options)
    if not 5 <= options.keepalive <= 0xFFFF:
        raise BadConfig(f"-k {options.keepalive}: the keep-alive is 5 to 65535 seconds")
    if not 1 <= options.inflight <= MAX_INFLIGHT:
        raise BadConfig(f"-M {options.inflight}: messages in flight are 1 to {MAX_INFLIGHT}")
    client = _Client(
        CallbackAPIVersion.VERSION2,
        client_id=_client_id(options, version),
        clean_session=None if version == 5 else not options.persistent,
        protocol=MQTTProtocolVersion(version),
        transport=cast(Literal["tcp", "websockets", "unix"], server.transport),
        reconnect_on_failure=False,  # paho would try MQTT 3.1 instead
    )
    client.max_inflight_messages_set(options.inflight)
    client.ws_set_options(path=options.ws_path)
    if server.user is not None:
        client.username_pw_set(server.user, cast(str, server.password))  # bytes go as they are, as MQTT has passwords
    if server.tls is not None:
        client.tls_set_context(server.tls)
    if options.debug:
        client.on_log = lambda _client, _data, _level, line: note(line)
    if options.nodelay and server.transport == "tcp":
        client.on_socket_open = lambda _client, _data, opened: cast(socket.socket, opened).setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )
    _set_will(client, options)
    return client


def connect(client: Client, options: argparse.Namespace, server: Server) -> None:
    """Open the network connection and send CONNECT."""
    if version_of(options) != 5:
        client.connect(server.host, server.port, options.keepalive, bind_address=options.bind)
        return
    properties = properties_of("connect", options.properties)
    if expiry := _expiry(options):
        properties.SessionExpiryInterval = expiry
    client.connect(
        server.host,
        server.port,
        options.keepalive,
        bind_address=options.bind,
        clean_start=not options.persistent,
        properties=properties,
    )


def _expiry(options: argparse.Namespace) -> int:
    if options.expiry is not None:
        return int(options.expiry)
    return NEVER_EXPIRES if options.persistent else 0


def _client_id(options: argparse.Namespace, version: int) -> str:
    if options.client_id is not None and options.id_prefix is not None:
        raise BadConfig("-i and -I both give the client id: use one of them")
    if options.client_id is not None:
        return str(options.client_id)
    if options.id_prefix is not None:
        return f"{options.id_prefix}{os.getpid()}"
    if options.persistent or (version == 5 and _expiry(options) == NEVER_EXPIRES):
        raise BadConfig("a session that is kept needs a client id to come back with: give -i")
    return "" if version == 5 else f"roost-{secrets.token_hex(8)}"  # MQTT 5 servers say which one they chose


def _set_will(client: Client, options: argparse.Namespace) -> None:
    properties = properties_of("will", options.properties)
    if options.will_topic is None:
        about_it = [words for words in options.properties if words[0].lower() == "will"]
        if options.will_payload is not None or options.will_qos or options.will_retain or about_it:
            raise BadConfig("a will needs a topic: give --will-topic")
        return
    name_of_topic(options.will_topic)
    payload = os.fsencode(options.will_payload or "")
    client.will_set(options.will_topic, payload, options.will_qos, options.will_retain, properties)
