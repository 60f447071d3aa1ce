"""FLIPS with real processes: one publisher, twenty subscribers, on hosts of their own or on one, with loss; kill -9."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from tests import lossy_relay
from tests.namespaces import Host, Lan
from tests.verbs import RUN, background, environment_of, roost

SUBSCRIBERS = 20
TOPIC = "home/temp"
LOSSES = ("0", "0.01", "0.05", "0.1")
CONTENTS = 10  # with each loss


class Program:
    """A program in a host, by its lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    @property
    def out(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def until(self, word: str) -> str:
        for line in self.out:
            if line.startswith(word):
                return line
        raise AssertionError(f"{self.process.args!r} ended without {word!r}")


@contextmanager
def programs(environment: dict[str, str]) -> Iterator[Callable[..., Program]]:
    started: list[subprocess.Popen[str]] = []

    def start(host: Host, *arguments: str | Path) -> Program:
        process = subprocess.Popen(
            host.program(arguments), env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        started.append(process)
        return Program(process)

    try:
        yield start
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def published(publisher: Program, low: int, high: int) -> list[str]:
    for number in range(low, high):
        publisher.say(f"content {number}")
        publisher.until("published")
    return [f"content {number}" for number in range(low, high)]


def received(subscriber: Program, count: int) -> list[str]:
    return [subscriber.out.readline().split(" ", 2)[2].rstrip() for _ in range(count)]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    made = environment_of(tmp_path)
    assert roost(made, "init").returncode == 0
    return made


VERB = RUN[1:]


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("placement", ["separate hosts", "one host"])
def test_twenty_subscribers_get_all_at_every_loss(placement: str, environment: dict[str, str]) -> None:
    with Lan() as lan, programs(environment) as start:
        home, router = lan.host(), lan.host()
        at, relay_at = f"{home.address}:9695", f"{router.address}:9695"
        relay = start(router, lossy_relay.__file__, relay_at, at)
        relay.until("ready")
        publisher = start(home, *VERB, "flips", "pub", TOPIC, "--interval", "0.05", "--listen", at)
        publisher.say("content 0")
        publisher.until("published")
        following = [["flips", "sub", TOPIC, *(["--patient"] if number % 2 else [])] for number in range(SUBSCRIBERS)]
        if placement == "one host":
            host = lan.host()
            forwarder = start(
                host,
                *VERB,
                "hicn",
                "--udp",
                f"{host.address}:9696",
                "--udp",
                "127.0.0.1:9695",
                "--route",
                f"abcd::/16={relay_at}",
            )
            forwarder.until("ready")
            subscribers = [start(host, *VERB, *each) for each in following]
        else:
            hosts = [lan.host() for _ in range(SUBSCRIBERS)]
            subscribers = [
                start(host, *VERB, *each, "--peer", relay_at) for host, each in zip(hosts, following, strict=True)
            ]
        assert [received(each, 1) for each in subscribers] == [["content 0"]] * SUBSCRIBERS
        for part, loss in enumerate(LOSSES):
            relay.say(loss)
            low = 1 + part * CONTENTS
            contents = published(publisher, low, low + CONTENTS)
            assert [received(each, CONTENTS) for each in subscribers] == [contents] * SUBSCRIBERS
        relay.say("0")
        lost = [int(relay.out.readline().split()[0]) for _ in range(len(LOSSES) + 1)]
        assert lost[1] == 0
        assert lost[-1] > 0


def test_publisher_that_was_killed_has_all_it_said_was_published(tmp_path: Path) -> None:
    environment = environment_of(tmp_path)
    with background(environment, "hicn", "--udp", "127.0.0.1:0", until="listening") as lines:
        at = lines[0].rpartition("//")[2]
        command = [*RUN, "flips", "pub", TOPIC, "--at", at]
        with subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as first:
            program = Program(first)
            published(program, 0, 5)
            first.send_signal(signal.SIGKILL)
        with background(environment, "flips", "pub", TOPIC, "after", "--at", at, until="published"):
            done = roost(environment, "flips", "sub", TOPIC, "--at", at, "--after", "99", "-C", "6")
    assert done.returncode == 0, done.stderr
    shown = [line.split(" ", 2) for line in done.stdout.decode().splitlines()]
    assert [content for _, _, content in shown] == [*(f"content {number}" for number in range(5)), "after"]
    assert [int(number) for _, number, _ in shown] == [
        100,
        101,
        102,
        103,
        104,
        1105,
    ]  # 1000 passed over


@pytest.mark.usefixtures("namespaces")
def test_names_travel_as_raw_ipv6_through_tun_devices(environment: dict[str, str]) -> None:
    with Lan() as lan, programs(environment) as start:
        here, there = lan.host(), lan.host()
        for number, host in enumerate((here, there)):
            host.do(f"ip -6 addr add fd77::{number}/64 dev eth0 nodad")
            host.shell("echo 1 > /proc/sys/net/ipv6/conf/all/forwarding")
        far = start(here, *VERB, "hicn", "--tun", "hicn0=fd00:1::1")
        near = start(there, *VERB, "hicn", "--tun", "hicn0=fd00:2::1,abcd::/16")
        for forwarder in (far, near):
            forwarder.until("ready")
        for host in (here, there):
            host.do("ip link set hicn0 up")
        here.do("ip -6 route add abcd::/16 dev hicn0")
        here.do("ip -6 route add fd00:2::/64 via fd77::1")
        there.do("ip -6 route add fd00:2::/64 dev hicn0")
        there.do("ip -6 route add abcd::/16 via fd77::0 dev eth0")
        publisher = start(here, *VERB, "flips", "pub", TOPIC)
        contents = published(publisher, 0, 3)
        subscriber = start(there, *VERB, "flips", "sub", TOPIC, "--patient", "--after", "99")
        assert received(subscriber, 3) == contents
        publisher.say("content 3")
        assert received(subscriber, 1) == ["content 3"]
