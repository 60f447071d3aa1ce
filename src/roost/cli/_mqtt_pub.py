"""`roost pub -t TOPIC …`: publish to an MQTT server, as `mosquitto_pub` does.

It ends when the server has acknowledged everything, at QoS 0 when everything is sent. With `-l` it stays while standard
input does: it reads on only while few messages wait, and connects anew when the connection is lost; a message at QoS 1
or 2 is sent again then.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import deque
from typing import Final

from paho.mqtt.client import Client, MQTTMessageInfo
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from roost.cli._mqtt_client import MqttClient
from roost.cli._mqtt_properties import properties_of
from roost.errors import BadConfig, Disconnected, Refused
from roost.naming.topic import name_of_topic

COMMANDS: Final = ("connect", "publish", "disconnect", "will")
MAX_MESSAGE_BYTES: Final = 268_435_455
MAX_WAITING: Final = 1000

_CHUNK_BYTES: Final = 16_384
_INTERRUPTED: Final = 130


def publish(options: argparse.Namespace) -> int:
    """Publish all there is; the exit code."""
    if sum((options.message is not None, options.file is not None, options.lines, options.whole, options.null)) != 1:
        raise BadConfig(
            "give one message: -m MESSAGE, -f FILE, -l (lines of standard input), -s (all of it) or -n (none)"
        )
    if options.repeat < 1 or not options.repeat_delay >= 0:
        raise BadConfig("--repeat is at least 1, and --repeat-delay is not negative")
    payload = None if options.lines else _payload(options)
    with MqttClient(options, COMMANDS) as client:
        publishing = _Publishing(client, options)
        client.open()
        if payload is None:
            publishing.publish_lines()
        else:
            publishing.publish(payload)
        if publishing.refusal is not None:
            raise Refused(
                f"{client.server} did not take {publishing.refused} of the messages: "
                f"{publishing.refusal.getName().lower()} (code {publishing.refusal.value})",
                publishing.refusal.value,
            )
        return _INTERRUPTED if client.stopped else 0


class _Publishing:
    """What goes to the topic; `refused` messages were refused, the last one for the reason `refusal`."""

    def __init__(self, client: MqttClient, options: argparse.Namespace) -> None:
        if options.topic is not None and client.server.topic is not None:
            raise BadConfig("-t and the URL of -L both have a topic: leave one of them out")
        topic = options.topic if options.topic is not None else client.server.topic
        if topic is None:
            raise BadConfig("the URL of -L has no topic behind the host: add it, or give -t")
        name_of_topic(topic)
        self.refusal: ReasonCode | None = None
        self.refused = 0
        self._client: Final = client
        self._options: Final = options
        self._topic: Final[str] = topic
        self._properties: Final = properties_of("publish", options.properties)
        self._waiting: Final[deque[MQTTMessageInfo]] = deque()  # as many as one chunk has lines, beyond MAX_WAITING
        client.paho.on_publish = self._acknowledged

    def publish(self, payload: bytes) -> None:
        """Publish one message as often as wanted, each time when the one before is acknowledged."""
        for number in range(self._options.repeat):
            limit = time.monotonic() + (self._options.repeat_delay if number else 0.0)
            while time.monotonic() < limit and not self._client.stopped:
                self._client.turn(limit)
            if self._client.stopped:
                return
            self._send(payload)
            while not self._settled() and not self._client.stopped:
                self._client.turn()

    def publish_lines(self) -> None:
        """Publish each line of standard input as it comes."""
        source = sys.stdin.fileno()
        line = bytearray()
        ended = False
        while not self._client.stopped and not (self._settled() and ended):
            busy = ended or len(self._waiting) >= MAX_WAITING or self._client.paho.want_write()
            try:
                ready = self._client.turn(None, () if busy else (source,))
            except Disconnected as error:
                self._client.tell(f"{error}; trying again")
                self._client.reopen()
                continue
            if ready:
                chunk = os.read(source, _CHUNK_BYTES)
                ended = not chunk
                *whole, rest = chunk.split(b"\n")
                for end in whole:
                    self._send(bytes(line + end))
                    line.clear()
                line += rest
                if len(line) > MAX_MESSAGE_BYTES:
                    raise BadConfig(f"a line of standard input is longer than a message, {MAX_MESSAGE_BYTES} bytes")
                if ended and line:
                    self._send(bytes(line))

    def _send(self, payload: bytes) -> None:
        options = self._options
        self._waiting.append(
            self._client.paho.publish(self._topic, payload, options.qos, options.retain, self._properties)
        )

    def _settled(self) -> bool:
        """Whether nothing waits any more. What was handed in while the connection was lost waits for the next."""
        while self._waiting and _is_published(self._waiting[0]):
            self._waiting.popleft()
        return not self._waiting

    def _acknowledged(
        self, _client: Client, _data: object, _number: int, reason: ReasonCode, _properties: Properties
    ) -> None:
        if reason.is_failure:
            self.refusal = reason
            self.refused += 1


def _is_published(sent: MQTTMessageInfo) -> bool:
    try:
        return sent.is_published()
    except RuntimeError:  # the connection was lost meanwhile, which `turn` tells
        return False


def _payload(options: argparse.Namespace) -> bytes:
    if options.message is not None:
        payload = os.fsencode(options.message)
    elif options.file is not None:
        payload = options.file.read_bytes()
    elif options.whole:
        payload = sys.stdin.buffer.read()
        if not payload:
            raise BadConfig("standard input is empty; -n publishes an empty message")
    else:
        payload = b""
    if len(payload) > MAX_MESSAGE_BYTES:
        raise BadConfig(f"a message has at most {MAX_MESSAGE_BYTES} bytes, this one has {len(payload)}")
    return payload
