"""`roost sub -t FILTER …`: subscribe at an MQTT server and show what comes, as `mosquitto_sub` does.

A lost connection is made anew, with the same subscriptions. `--since` asks a Roost server for the past: by the user
property `since` of SUBSCRIBE under MQTT 5, by the filter `$since/WHEN/FILTER` before.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from typing import Final

from paho.mqtt.client import Client, MQTTMessage, MQTTMessageInfo
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from roost.broker.packets.reasons import Malformed
from roost.broker.since import read_since
from roost.cli._mqtt_client import ANSWER_S, MqttClient
from roost.cli._mqtt_format import Format
from roost.cli._mqtt_message import message_of
from roost.cli._mqtt_properties import properties_of
from roost.errors import BadConfig, Disconnected, Refused
from roost.naming.topic import TopicFilter, name_of_topic

COMMANDS: Final = ("connect", "subscribe", "unsubscribe", "disconnect", "will")
TIMED_OUT: Final = 27  # as mosquitto_sub

_UNSPECIFIED: Final = 128  # all that MQTT 3.1.1 can say
_UNSAID: Final = "no permission, or no such filter"


def subscribe(options: argparse.Namespace) -> int:
    """Show messages until there were enough; the exit code."""
    if options.no_retained and options.retained_only:
        raise BadConfig("-R shows no retained messages and --retained-only shows nothing else: give one of them")
    if options.count is not None and options.count < 1:
        raise BadConfig("-C is at least 1")
    if options.wait is not None and options.wait < 1:
        raise BadConfig("-W is at least 1 second")
    if not 0 < options.random_filter <= 100:
        raise BadConfig("--random-filter is more than 0, and at most 100 per cent")
    if options.since is not None:
        _check_since(options.since)
    with MqttClient(options, COMMANDS) as client:
        subscribing = Subscribing(client, options)
        client.open()
        return subscribing.run()


class Subscribing:
    """The subscriptions, and what was shown of them."""

    def __init__(self, client: MqttClient, options: argparse.Namespace) -> None:
        topics = [*options.topic, *([client.server.topic] if client.server.topic is not None else [])]
        if not topics:
            raise BadConfig("there is nothing to subscribe to: give -t FILTER")
        for topic in (*topics, *options.unsubscribe):
            TopicFilter(topic)
        if options.since is not None and client.version != 5:
            topics = [f"$since/{options.since}/{topic}" for topic in topics]
        self._client: Final = client
        self._options: Final = options
        self._topics: Final = topics
        self._hidden: Final = [TopicFilter(topic) for topic in options.filter_out]
        self._format: Final = _format(options)
        self._end: Final = b"" if options.no_newline else b"\n"
        self._done = False
        self._shown = 0
        self._refusal: Refused | None = None
        self._removals: Final[list[MQTTMessageInfo]] = []  # those that the server has not acknowledged
        self._aliases: Final[dict[int, bytes]] = {}  # bounded by the topic-alias-maximum that -D asked for
        client.on_open = self._subscribe
        client.paho.on_subscribe = self._subscribed
        client.paho.on_message = self._arrived

    def run(self) -> int:
        """Go on until it is done, a signal comes or the time is over."""
        wait_s = self._options.wait
        limit = None if wait_s is None else time.monotonic() + wait_s
        while not self._done and not self._client.stopped:
            if limit is not None and time.monotonic() >= limit:
                self._client.tell(f"timed out after {wait_s} s")
                return TIMED_OUT
            try:
                self._client.turn(limit)
            except Disconnected as error:
                self._client.tell(f"{error}; trying again")
                self._client.reopen(limit)
        if self._refusal is not None:
            raise self._refusal
        self._finish_removals()
        return 0

    def _subscribe(self) -> None:
        options = self._options
        self._aliases.clear()
        if self._client.version == 5:
            properties = properties_of("subscribe", options.properties)
            if options.since is not None:
                properties.UserProperty = ("since", options.since)
            wanted = SubscribeOptions(
                qos=options.qos,
                retainAsPublished=options.retain_as_published,
                retainHandling=SubscribeOptions.RETAIN_DO_NOT_SEND
                if options.no_retained and not options.remove_retained
                else SubscribeOptions.RETAIN_SEND_ON_SUBSCRIBE,
            )
            self._client.paho.subscribe([(topic, wanted) for topic in self._topics], properties=properties)
        else:
            self._client.paho.subscribe([(topic, options.qos) for topic in self._topics])
        for topic in options.unsubscribe:
            self._client.paho.unsubscribe(topic, properties_of("unsubscribe", options.properties))

    def _subscribed(
        self, _client: Client, _data: object, _number: int, reasons: list[ReasonCode], _properties: Properties
    ) -> None:
        refused = [(topic, reason) for topic, reason in zip(self._topics, reasons, strict=False) if reason.is_failure]
        for topic, reason in refused:
            why = _UNSAID if reason.value == _UNSPECIFIED else reason.getName().lower()
            self._client.tell(f"{self._client.server} refuses {topic}: {why} (code {reason.value})")
        if len(refused) == len(self._topics):
            code = refused[-1][1].value
            self._refusal = Refused(f"{self._client.server} refuses all subscriptions", code)
        self._done = self._done or self._refusal is not None or self._options.leave

    def _arrived(self, _client: Client, _data: object, arrived: MQTTMessage) -> None:
        options = self._options
        if self._done:
            return
        if options.retained_only and not arrived.retain:
            self._done = True
            return
        self._resolve(arrived)
        name = name_of_topic(arrived.topic)
        if any(hidden.matches(name) for hidden in self._hidden):
            return
        if options.remove_retained and arrived.retain:
            self._removals[:] = [sent for sent in self._removals if not sent.is_published()]
            self._removals.append(self._client.paho.publish(arrived.topic, b"", 1, retain=True))
        if options.no_retained and arrived.retain:
            return
        if options.random_filter == 100 or random.random() * 100 < options.random_filter:  # noqa: S311  no secret
            self._show(arrived)
        self._shown += 1
        self._done = self._shown == options.count

    def _resolve(self, arrived: MQTTMessage) -> None:
        """Give a message with a topic alias its topic, which paho does not [MQTT 5 §3.3.2.3.4]."""
        alias = getattr(arrived.properties, "TopicAlias", None)
        if alias is not None and arrived.topic:
            self._aliases[alias] = arrived.topic.encode()
        elif alias is not None:
            arrived.topic = self._aliases.get(alias, b"")

    def _show(self, arrived: MQTTMessage) -> None:
        message = message_of(arrived)
        if self._format is not None:
            shown = self._format.show(message, time.time_ns(), self._client.tell) + self._end
        elif message.payload:
            shown = (message.topic + b" " if self._options.verbose else b"") + message.payload + self._end
        else:  # mosquitto_sub shows an empty message only together with its topic
            shown = message.topic + b" (null)\n" if self._options.verbose and self._end else b""
        sys.stdout.buffer.write(shown)
        sys.stdout.buffer.flush()

    def _finish_removals(self) -> None:
        """Leave when the server has cleared what it was asked to."""
        limit = time.monotonic() + ANSWER_S
        while time.monotonic() < limit and not all(sent.is_published() for sent in self._removals):
            self._client.turn(limit)


def _check_since(when: str) -> None:
    """Read it as a server will, which could only refuse the subscription."""
    try:
        read_since(os.fsencode(when), time.time_ns())
    except Malformed as error:
        raise BadConfig(f"--{error}") from None


def _format(options: argparse.Namespace) -> Format | None:
    if options.form is None:
        return None
    return Format(options.form, pretty=options.pretty)
