"""Where runs take place: a publisher's host, a broker's, twenty hosts with one subscriber, one host with twenty."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from tests.namespaces import Host, Lan, within

from bench.figure import progress
from bench.mqtt._brokers import found_mosquitto

MOST: Final = 20
SEPARATE: Final = "separate"  # hosts
ONE: Final = "one_host"
_ROOST: Final = ["-c", "import sys; from roost.cli import main; sys.exit(main())"]

_MOSQUITTO: Final = """\
listener 1883 0.0.0.0
allow_anonymous true
max_queued_messages 0
set_tcp_nodelay true
user root
"""


class End:
    """A program of `_end` or `_sniffer`, by its lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process: Final = process

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self, word: str = "") -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(word):
                return line
        raise RuntimeError(f"{self.process.args!r} ended without saying {word!r}")


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a run: latencies of all contents at all subscribers, and Interests that reached the publisher."""

    ages_us: list[float]
    questions: int


class Site:
    """Within its block all programs run; nobody does anything but in a run."""

    def __init__(self, schemes: tuple[str, ...], *, radio: bool = True) -> None:
        self._schemes: Final = schemes
        self._stack: Final = ExitStack()
        self._lan: Final = Lan(radio=radio)
        self._topics: Final = count(1)
        self._ends: Final[dict[tuple[str, str], tuple[End, list[End]]]] = {}

    def __enter__(self) -> Self:
        stack = self._stack
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self._environment = os.environ | {"ROOST_HOME": str(self._folder / "home")}
        subprocess.run([sys.executable, *_ROOST, "init"], env=self._environment, check=True, capture_output=True)
        lan = stack.enter_context(self._lan)
        publisher, broker, single = lan.host(), lan.host(), lan.host()
        apart = [lan.host() for _ in range(MOST)]
        hosts = {SEPARATE: apart, ONE: [single] * MOST}
        at = f"{publisher.address}:9695"
        for scheme in self._schemes:
            progress(f"starting programs of {scheme}")
            ways: dict[str, list[str]]
            if scheme == "mqtt":
                self._mosquitto(broker)
                way = ["mqtt", f"{broker.address}:1883"]
                ways = {SEPARATE: way, ONE: way}
                leading = self._end(publisher, "publisher", *way)
            elif scheme == "ndn":
                self._roost(publisher, "node", "--udp", f"{publisher.address}:6363", "--tcp", "127.0.0.1:6363")
                ways = {SEPARATE: ["ndn", f"udp4://{publisher.address}:6363"]}
                leading = self._end(publisher, "publisher", "ndn", "tcp4://127.0.0.1:6363")
            else:
                durable = [str(self._folder / "content")] if scheme == "durable" else []
                inside = f"{publisher.address}:9696" if durable else at  # a port for each publisher of this host
                leading = self._end(publisher, "publisher", "inside", inside, *durable)
                ways = {SEPARATE: ["inside", inside]}
                if scheme == "flips":
                    listen = ["--udp", f"{single.address}:9695", "--udp", "127.0.0.1:9695"]
                    self._roost(single, "hicn", *listen, "--route", f"abcd::/16={at}")
                    ways[ONE] = ["at", "127.0.0.1:9695"]
            for placement, way in ways.items():
                subscribers = [self._end(host, "subscriber", *way) for host in hosts[placement]]
                self._ends[scheme, placement] = leading, subscribers
        for end in dict.fromkeys(end for leading, ends in self._ends.values() for end in (leading, *ends)):
            end.hear("up")
        self._sniffer = self._start([*within(lan.pid), sys.executable, "-m", "bench.flips._sniffer", publisher.port])
        self._sniffer.hear("up")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def run(self, scheme: str, placement: str, subscribers: int, contents: int, interval_ms: int, qos: int = 0) -> Run:
        """One publisher, so many subscribers, so many contents."""
        topic = f"bench/{next(self._topics)}"
        publisher, all_of_them = self._ends[scheme, placement]
        ends = all_of_them[:subscribers]
        publisher.say(f"go {topic} {contents} {interval_ms} {qos}")
        publisher.hear("ready")
        self._sniffer.say("")
        self._sniffer.hear()
        at = int(time.time()) + 1.1  # in one second, so that those behind one forwarder ask as one
        for end in ends:
            end.say(f"go {topic} {contents} {at} {qos}")
        for end in ends:
            end.hear("subscribed")
        publisher.say("run")
        publisher.hear("done")
        ages = [age for end in ends for age in json.loads(end.hear("["))]
        self._sniffer.say("")
        questions = int(self._sniffer.hear())
        publisher.say("over")
        publisher.hear("over")
        return Run(ages, questions)

    def _end(self, host: Host, *arguments: str) -> End:
        return self._start(host.program(["-m", "bench.flips._end", *arguments]))

    def _roost(self, host: Host, *arguments: str) -> None:
        self._start(host.program([*_ROOST, *arguments])).hear("ready")

    def _mosquitto(self, host: Host) -> None:
        file = self._folder / "mosquitto.conf"
        file.write_text(_MOSQUITTO)
        self._start([*within(host.pid), found_mosquitto() or "mosquitto", "-c", str(file)])

    def _start(self, command: list[str]) -> End:
        errors: IO[str] = self._stack.enter_context((self._folder / "stderr").open("a"))
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True, env=self._environment)
        self._stack.callback(_end, process)
        return End(process)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
