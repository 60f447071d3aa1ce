"""`roost up` as a process: what it prints, what systemd would hear, and how to publish to it and ask it.

node = UpNode(tmp_path)                     its home is made by `roost init`
node.write(flips={...})                     the starter of `roost init`, on free ports, and what a test adds
node.start(); node.publish("t", 1, 2); node.ask("/streams"); node.end()
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
from tests.verbs import RUN, environment_of, roost

GROUP = "/MyCompany/Building1/Electricity"
PANEL = f"{GROUP}/Panel1"


class UpNode:
    """One node, over starts and ends."""

    def __init__(self, folder: Path, watchdog_us: int = 0) -> None:
        self.home = folder / "roost"
        self.file = self.home / "roost.yaml"
        self.lines: list[str] = []
        self.systemd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.systemd.bind(str(folder / "notify"))
        self.systemd.settimeout(90)
        self.environment = environment_of(folder) | {"NOTIFY_SOCKET": str(folder / "notify")}
        self.environment |= {"WATCHDOG_USEC": str(watchdog_us)} if watchdog_us else {}
        self._log = folder / "log"
        self._process: subprocess.Popen[str] | None = None
        made = roost(self.environment, "init")
        assert made.returncode == 0, made.stderr
        self.made = made.stdout.decode()

    def write(self, **more: object) -> None:
        """Write the configuration: what `roost init` wrote, on ports that are free, and more."""
        said = yaml.safe_load(self.file.read_text(encoding="utf-8"))
        said |= {"listeners": [{"tcp": "127.0.0.1:0"}], "http": "127.0.0.1:0"}
        self.file.write_text(yaml.safe_dump(said | more), encoding="utf-8")

    def start(self) -> None:
        """Start it, and wait until it says where the page is."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*RUN, "up"], env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        self.lines = []
        for line in self._process.stdout:
            self.lines.append(line.rstrip())
            if line.startswith("the page is at "):
                return
        raise AssertionError(f"it did not start: {self.log()}")

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it; the exit status. What it said last is in `lines`."""
        process, self._process = self._process, None
        assert process is not None
        assert process.stdout is not None
        process.send_signal(how)
        with process.stdout as rest:
            self.lines += [line.rstrip() for line in rest]
        return process.wait(timeout=90)

    def hang_up(self) -> None:
        """Have it read its configuration again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    def told(self, message: str) -> None:
        """Wait until systemd has been told something."""
        while message not in self.systemd.recv(4096).decode().splitlines():
            pass

    def log(self) -> str:
        """What it has complained of."""
        return self._log.read_text(encoding="utf-8")

    def uri(self, begin: str) -> str:
        """Where it listens, from the line that begins so."""
        return next(line.removeprefix(begin) for line in self.lines if line.startswith(begin))

    def publish(self, topic: str, *values: object) -> None:
        """Publish over MQTT; returns when all is acknowledged."""
        client = Client(CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", int(self.uri("MQTT: listening on ").rpartition(":")[2]))
        client.loop_start()
        try:
            for sent in [client.publish(topic, str(value), qos=1) for value in values]:
                sent.wait_for_publish(30)
                assert sent.is_published()
        finally:
            client.disconnect()
            client.loop_stop()

    def publish_and(self, topic: str, count: int, end: Callable[[], object]) -> set[int]:
        """Publish 0, 1, 2 … and do something when so many are acknowledged; all that were, up to the end."""
        client = Client(CallbackAPIVersion.VERSION2)
        connected, enough = threading.Event(), threading.Event()
        acknowledged: set[int] = set()  # packet identifiers, which paho takes in turn from 1

        def heard(_client: Client, _: object, packet: int, *_rest: object) -> None:
            acknowledged.add(packet - 1)
            if len(acknowledged) >= count:
                enough.set()

        client.on_connect = lambda *_: connected.set()
        client.on_publish = heard
        client.connect("127.0.0.1", int(self.uri("MQTT: listening on ").rpartition(":")[2]))
        client.loop_start()
        try:
            assert connected.wait(60)
            for value in range(10 * count):
                assert client.publish(topic, str(value), qos=1).mid == value + 1
            assert enough.wait(60)
            end()
        finally:
            client.loop_stop()
        return acknowledged

    def values(self, stream: str) -> list[object]:
        """The values of a stream, the oldest first."""
        found: list[object] = []
        path = f"/history?limit=1000&stream={stream}"
        after = ""
        while True:
            status, answer = self.ask(path + after)
            assert status == 200, answer
            found += [row["value"] for row in answer["items"]]
            if answer["next"] is None:
                return found
            after = f"&after={quote(answer['next'])}"

    def ask(self, path: str) -> tuple[int, Any]:
        """The status and the JSON of what a path answers."""
        try:
            with urllib.request.urlopen(self.uri("HTTP: listening on ") + path, timeout=90) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def counts(self) -> dict[str, int]:
        """How many readings each topic has."""
        status, answer = self.ask("/streams")
        assert status == 200, answer
        return {each["topic"]: each["count"] for each in answer["items"]}

    def close(self) -> None:
        """End it for good."""
        if self._process is not None:
            self.end(signal.SIGKILL)
        self.systemd.close()
