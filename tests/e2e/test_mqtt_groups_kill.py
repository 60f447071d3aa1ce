"""A broker with a group behind it, killed under load: nothing acknowledged is lost, and QoS 2 comes exactly once."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import yaml
from tests.mqtt_patience import V4, V5, Changes, Listener, Speaker
from tests.verbs import RUN, environment_of, roost

GROUP = "/BigCompany/Building1/Electricity"
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
        for each in [*speakers, *listeners]:
            each.go_away()
