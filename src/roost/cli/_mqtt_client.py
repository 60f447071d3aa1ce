"""One MQTT connection of a verb, on paho-mqtt: a single thread that waits for the network, for files and for signals.

paho speaks the protocol; this says what to wait for, turns refusals into sentences, and connects anew for a verb that
wants to stay. Callbacks run inside `turn`, so a verb needs no locks.
"""

from __future__ import annotations

import argparse
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Self

from paho.mqtt import MQTTException
from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from roost.cli import note
from roost.cli._mqtt_hints import OTHER_VERSIONS, what_it_may_expect, why_unreachable
from roost.cli._mqtt_paho import connect, make_client, version_of
from roost.cli._mqtt_properties import check_properties, properties_of
from roost.cli._mqtt_server import server_of
from roost.errors import BadConfig, Disconnected, Refused, Unreachable

ANSWER_S: Final = 20.0
RETRY_S: Final = 1.0

_V3_CODES: Final = {132: 1, 133: 2, 136: 3, 134: 4, 135: 5}  # paho tells those of MQTT 5
_OTHER_VERSION: Final = 132
_PASSING: Final = (136, 137, 139, 141)  # the server is unavailable, busy, shutting down, or has not heard from us
_STOP: Final = (signal.SIGINT, signal.SIGTERM)


def run_verb(verb: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Run a verb of MQTT. What a server refuses is one sentence, and its reason code is the exit code."""
    try:
        return verb(options)
    except (Refused, Unreachable) as error:
        if not options.quiet:
            note(f"roost {options.verb}: {error}")
        return error.code if isinstance(error, Refused) else 1


class MqttClient:
    """A connection. In its `with` block SIGINT and SIGTERM set `stopped` and end `turn`; leaving it says goodbye."""

    def __init__(self, options: argparse.Namespace, commands: Sequence[str]) -> None:
        check_properties(options.properties, commands)
        self.version: Final = version_of(options)
        self.server: Final = server_of(options)
        self.paho: Final = make_client(options, self.server)
        self.stopped = False
        self.on_open: Callable[[], None] = lambda: None
        self._options: Final = options
        self._farewell: Final = properties_of("disconnect", options.properties)
        self._refusal: ReasonCode | None = None
        self._open = False
        self._knows_us = False  # it has agreed once, so the letters are right
        self.paho.on_connect = self._answered
        self.paho.on_disconnect = self._left

    def __enter__(self) -> Self:
        self._awake, self._alarm = socket.socketpair()
        self._alarm.settimeout(0)
        self._handlers = {number: signal.signal(number, self._stop) for number in _STOP}
        self._alarm_before = signal.set_wakeup_fd(self._alarm.fileno())
        return self

    def __exit__(self, *_raised: object) -> None:
        try:
            self._close()
        finally:
            signal.set_wakeup_fd(self._alarm_before)
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            self._awake.close()
            self._alarm.close()

    def open(self) -> None:
        """Connect and wait until the server agrees; raises `Refused` with its code, or `Unreachable`."""
        self._refusal, self._open = None, False
        try:
            connect(self.paho, self._options, self.server)
        except OSError as error:  # what `ssl` raises is an OSError
            raise Unreachable(self._unreachable(error)) from None
        except ValueError as error:
            raise BadConfig(f"this cannot be sent: {error}") from None
        limit = time.monotonic() + ANSWER_S
        while not self._open and not self.stopped:
            if self._refusal is not None:
                raise self._refused(self._refusal)
            if self.paho.socket() is None:
                raise Disconnected(f"{self.server} closed the connection instead of answering{self._hint()}")
            if time.monotonic() > limit:
                raise Unreachable(f"{self.server} does not answer: nothing came in {ANSWER_S:g} s{self._hint()}")
            self._wait(limit - time.monotonic())

    def turn(self, limit: float | None = None, files: Sequence[int] = ()) -> list[int]:
        """Wait once: for the network, these files, a signal, or this time on the monotonic clock.

        Returns the files that can be read. Raises `Disconnected` when the connection is lost, `Refused` when the
        server ended it for good.
        """
        ready = self._wait(None if limit is None else max(0.0, limit - time.monotonic()), files)
        if self.paho.socket() is None and not self.stopped:
            if self._refusal is not None and self._refusal.value not in _PASSING:
                raise self._refused(self._refusal)
            raise Disconnected(f"the connection to {self.server} was lost")
        return ready

    def reopen(self, limit: float | None = None) -> None:
        """Try every second until the server has us again, a signal comes, or the time is over."""
        while not self.stopped and (limit is None or time.monotonic() < limit):
            self._wait(RETRY_S)
            try:
                return self.open()
            except Unreachable as error:
                self.tell(f"{error}; trying again")
        return None

    def tell(self, line: str) -> None:
        """Tell the person at the terminal, unless they want to hear nothing."""
        if not self._options.quiet:
            note(f"roost {self._options.verb}: {line}")

    def _refused(self, reason: ReasonCode) -> Refused:
        code = reason.value if self.version == 5 else _V3_CODES.get(reason.value, reason.value)
        hint = f"; use {OTHER_VERSIONS[self.version]}" if reason.value == _OTHER_VERSION else ""
        return Refused(f"{self.server} refuses us: {reason.getName().lower()} (code {code}){hint}", code)

    def _unreachable(self, error: OSError) -> str:
        if self._knows_us:
            return f"cannot reach {self.server}: {error.strerror or error}"
        return why_unreachable(self.server, error)

    def _hint(self) -> str:
        """What may be wrong with our letters; nothing if the server has had us already."""
        if self._knows_us:
            return ""
        return f": {what_it_may_expect(self.server, self.version, certified=self._options.cert is not None)}"

    def _wait(self, timeout_s: float | None, files: Sequence[int] = (), *, reading: bool = True) -> list[int]:
        """One `select`; paho's own loops cannot wait for anything else than the network."""
        network: Any = self.paho.socket()
        readers: list[Any] = [self._awake, *files]
        unread = network is not None and hasattr(network, "pending") and network.pending() > 0  # decrypted already
        if network is not None:
            sign_of_life_s = max(1.0, self.paho.keepalive / 4)
            timeout_s = sign_of_life_s if timeout_s is None else min(timeout_s, sign_of_life_s)
            if reading:
                readers.append(network)
        writers = [network] if network is not None and self.paho.want_write() else []
        can_read, can_write, _ = select.select(readers, writers, [], 0 if unread else timeout_s)
        if self._awake in can_read:
            self._awake.recv(4096)
        try:
            if reading and (unread or network in can_read):
                self.paho.loop_read()
            if network in can_write:
                self.paho.loop_write()
            self.paho.loop_misc()
        except (MQTTException, IndexError, KeyError, struct.error, UnicodeDecodeError) as error:
            self.paho.disconnect()  # a malformed packet: paho says so in all these ways
            raise Disconnected(f"{self.server} sent what is no MQTT packet ({error}){self._hint()}") from None
        return [file for file in files if file in can_read]

    def _close(self) -> None:
        """Send DISCONNECT, so that the server publishes no will; paho closes behind it."""
        self.paho.disconnect(properties=self._farewell)
        limit = time.monotonic() + ANSWER_S
        while self.paho.socket() is not None and time.monotonic() < limit:
            self._wait(limit - time.monotonic(), reading=False)

    def _stop(self, _number: int, _frame: object) -> None:
        self.stopped = True

    def _answered(
        self, _client: Client, _data: object, _flags: ConnectFlags, reason: ReasonCode, _properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self._refusal = reason
        else:
            self._open = self._knows_us = True
            self.on_open()

    def _left(
        self, _client: Client, _data: object, flags: DisconnectFlags, reason: ReasonCode, _properties: Properties | None
    ) -> None:
        if flags.is_disconnect_packet_from_server:
            self._refusal = reason
