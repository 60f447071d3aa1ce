"""A broker with a group behind it, killed under load: nothing acknowledged is lost, and QoS 2 comes exactly once."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
import yaml
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from tests.verbs import RUN, environment_of, roost

GROUP = "/BigCompany/Building1/Electricity"
V4 = MQTTProtocolVersion.MQTTv311
V5 = MQTTProtocolVersion.MQTTv5
ROUND = 300


class Node:
    """`roost mqtt` with a group, on a port that it keeps over restarts."""

    def __init__(self, folder: Path) -> None:
        self.environment = environment_of(folder)
        self.port = 0
        self.is_up = threading.Event()
        self._file = folder / "mqtt.yaml"
        self._said = {
            "store": str(folder / "node"),
            "trees": [{"filter": "#", "group": GROUP}],
            "groups": [{"name": GROUP, "panel": "Gate1", "repo": "Repo1"}],
        }
        made = roost(self.environment, "init", "--company", "BigCompany", "--building", "Building1", "--repo", "Repo1")
        assert made.returncode == 0, made.stderr
        assert roost(self.environment, "keys", "make", f"{GROUP}/Gate1").returncode == 0

    def start(self) -> None:
        self._file.write_text(yaml.safe_dump(self._said | {"listeners": [{"tcp": f"127.0.0.1:{self.port}"}]}))
        command = [*RUN, "mqtt", "-c", str(self._file)]
        self._process = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        lines: list[str] = []
        for line in self._process.stdout:
            lines.append(line)
            if line.startswith("listening on mqtt://"):
                self.port = int(line.rpartition(":")[2])
            if line.startswith("ready"):
                self.is_up.set()
                return
        raise AssertionError(f"it did not start: {lines}")

    def end(self, how: signal.Signals) -> int:
        self.is_up.clear()
        self._process.send_signal(how)
        assert self._process.stdout is not None
        with self._process.stdout as rest:
            rest.read()
        return self._process.wait(timeout=30)


@contextmanager
def running(folder: Path) -> Iterator[Node]:
    node = Node(folder)
    node.start()
    try:
        yield node
    finally:
        assert node.end(signal.SIGTERM) == 0


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
    """Reconnects by itself, once its node is there.

    After an attempt in vain Paho forgets that it has PUBREC, and would send its messages once more as new ones.
    """

    is_up: threading.Event

    def reconnect(self) -> Any:  # noqa: ANN401  as Paho has it
        self.is_up.wait()
        return super().reconnect()


def lasting(node: Node, version: MQTTProtocolVersion, name: str) -> paho.Client:
    """A client with a session that persists."""
    more: dict[str, Any] = {} if version == V5 else {"clean_session": False}
    made = Patient(CallbackAPIVersion.VERSION2, name, protocol=version, **more)
    made.is_up = node.is_up
    made.reconnect_delay_set(1, 1)
    made.max_inflight_messages_set(100)
    if version == V5:
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = 3600
        made.connect("127.0.0.1", node.port, clean_start=False, properties=properties)
    else:
        made.connect("127.0.0.1", node.port)
    return made


class Speaker:
    """Publishes numbers on a topic of its own, and knows which are acknowledged."""

    def __init__(self, node: Node, version: MQTTProtocolVersion, qos: int, changes: Changes) -> None:
        self.topic = f"hall/qos{qos}"
        self.total = 0
        self.acknowledged: set[int] = set()
        self._qos = qos
        self._numbers: dict[int, int] = {}  # by mid
        self.client = lasting(node, version, f"speaker{qos}")
        self.client.on_publish = lambda _, __, mid, *___: changes.do(lambda: self.acknowledged.add(self._numbers[mid]))
        self.client.loop_start()

    def publish(self, count: int) -> None:
        for _ in range(count):
            with self.client._out_message_mutex:  # so that nobody acknowledges what has no number yet
                told = self.client.publish(self.topic, b"%d" % self.total, qos=self._qos)
                self._numbers[told.mid] = self.total
            self.total += 1


class Listener:
    """Subscribes to everything, and counts what comes."""

    def __init__(self, node: Node, version: MQTTProtocolVersion, name: str, changes: Changes) -> None:
        self.received: dict[str, list[int]] = {"hall/qos1": [], "hall/qos2": []}
        self.granted = False
        self.client = lasting(node, version, name)
        self.client.on_subscribe = lambda *_: changes.do(lambda: setattr(self, "granted", True))
        self.client.on_message = lambda _, __, message: changes.do(
            lambda: self.received[message.topic].append(int(message.payload))
        )
        self.client.loop_start()
        self.client.subscribe("hall/#", qos=2)
        changes.until(lambda: self.granted)

    def has(self, speaker: Speaker, numbers: set[int]) -> bool:
        return numbers <= set(self.received[speaker.topic])

    def go_away(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()
        self.client._reset_sockets(sockpair_only=True)  # which the next loop would leave open

    def come_back(self) -> None:
        self.client.reconnect()
        self.client.loop_start()


def first_seen(numbers: list[int]) -> list[int]:
    return list(dict.fromkeys(numbers))


def test_a_node_killed_three_times_under_load_keeps_its_promises(tmp_path: Path) -> None:
    with running(tmp_path) as node:
        changes = Changes()
        listeners = [Listener(node, V5, "new", changes), Listener(node, V4, "old", changes)]
        speakers = [Speaker(node, V5, 1, changes), Speaker(node, V4, 2, changes)]
        for away in (None, listeners[0], listeners[1]):
            if away is not None:
                away.go_away()
            for _ in range(10):
                for speaker in speakers:
                    speaker.publish(ROUND // 10)
            for speaker in speakers:
                enough = speaker.total - ROUND // 2
                changes.until(lambda speaker=speaker, enough=enough: len(speaker.acknowledged) >= enough)  # type: ignore[misc]
            node.end(signal.SIGKILL)
            promised = [(speaker, set(speaker.acknowledged)) for speaker in speakers]
            node.start()
            if away is not None:
                away.come_back()
            for listener in listeners:
                for speaker, numbers in promised:
                    changes.until(lambda of=listener, by=speaker, those=numbers: of.has(by, those))  # type: ignore[misc]
            for speaker in speakers:  # Paho sends what is new before what it has to send again
                changes.until(lambda speaker=speaker: len(speaker.acknowledged) == speaker.total)  # type: ignore[misc]
        for speaker in speakers:
            for listener in listeners:
                every = set(range(speaker.total))
                changes.until(lambda of=listener, by=speaker, every=every: of.has(by, every))  # type: ignore[misc]
        for listener in listeners:
            for speaker in speakers:
                order = first_seen(listener.received[speaker.topic])
                late = [number for before, number in pairwise(order) if number < before]
                assert late == [], f"out of order, on {speaker.topic}"
        counts = [Counter(listener.received["hall/qos2"]) for listener in listeners]
        twice = [[number for number, count in each.items() if count > 1] for each in counts]
        assert twice == [[], []], "exactly once"
        for client in [*[each.client for each in speakers], *[each.client for each in listeners]]:
            client.disconnect()
            client.loop_stop()
