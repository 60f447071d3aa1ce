"""hICN with real processes: two forwarders in a row, a producer behind the one, consumers at the other."""

from __future__ import annotations

import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.verbs import background, environment_of, roost

from roost.hicn import Data, Form, HicnName, Interest, decode, encode
from roost.hicn.control import Control, Verb

PRODUCER = """
import asyncio, sys
from roost.host.hicn import hicn_connect

async def main():
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    async with hicn_connect(int(sys.argv[1])) as face:
        async def answer(interest):
            print(interest.name, flush=True)
            if interest.name.suffix == 2:  # answered when a line comes in
                await told.wait()
            return b"reading %d" % interest.name.suffix
        async with face.serve("abcd::/16", answer):
            print("ready", flush=True)
            while await loop.run_in_executor(None, sys.stdin.readline):
                told.set()

asyncio.run(main())
"""
LIMIT_S = 30


def asking(text: str, lifetime_ms: int = 20_000) -> bytes:
    return encode(Interest(HicnName.parse(text), lifetime_ms))


@dataclass
class Row:
    """The ports of the forwarder with the consumers and of the one with the producer, and the producer."""

    near: int
    far: int
    producer: subprocess.Popen[str]

    def asked_of_the_producer(self) -> str:
        assert self.producer.stdout is not None
        return self.producer.stdout.readline().strip()

    def let_answer(self) -> None:
        assert self.producer.stdin is not None
        self.producer.stdin.write("go\n")
        self.producer.stdin.flush()


@contextmanager
def producing(environment: dict[str, str], port: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PRODUCER, str(port)]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as producer:
        assert producer.stdout is not None
        assert producer.stdin is not None
        try:
            assert producer.stdout.readline() == "ready\n"
            yield producer
        finally:
            producer.stdin.close()
            assert producer.wait(timeout=LIMIT_S) == 0


@contextmanager
def consumer(port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(LIMIT_S)
        sock.connect(("127.0.0.1", port))
        yield sock


def port_of(lines: list[str]) -> int:
    return int(lines[0].rpartition(":")[2])


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return environment_of(tmp_path)


@pytest.fixture
def row(environment: dict[str, str]) -> Iterator[Row]:
    with background(environment, "hicn", "--udp", ":0", until="ready") as far_lines:
        far = port_of(far_lines)
        route = f"abcd::/16=127.0.0.1:{far}"
        with (
            background(environment, "hicn", "--udp", ":0", "--route", route, until="ready") as near_lines,
            producing(environment, far) as producer,
        ):
            yield Row(port_of(near_lines), far, producer)
        assert near_lines[-1].startswith("stopped; ")


def fetched(sock: socket.socket, text: str) -> bytes:
    sock.send(asking(text))
    data = decode(sock.recv(2000))
    assert isinstance(data, Data)
    assert data.name == HicnName.parse(text)
    return data.payload


def test_a_reading_comes_over_two_forwarders_once_and_then_from_the_cache(row: Row) -> None:
    with consumer(row.near) as first, consumer(row.near) as second:
        assert fetched(first, "abcd::1|1") == b"reading 1"
        assert row.asked_of_the_producer() == "abcd::1|1"
        assert fetched(second, "abcd::1|1") == b"reading 1"
        assert fetched(second, "abcd::1|3") == b"reading 3"
        assert row.asked_of_the_producer() == "abcd::1|3"  # and not, before that, the first one again


def test_two_who_ask_are_one_question_to_the_producer(row: Row) -> None:
    with consumer(row.near) as first, consumer(row.near) as second:
        for sock in (first, second):
            sock.send(asking("abcd::1|2"))
            assert fetched(sock, f"abcd::1|{10 + sock.fileno()}")  # what was sent before it has been taken, too
        asked = [row.asked_of_the_producer() for _ in range(3)]
        assert asked.count("abcd::1|2") == 1
        row.let_answer()
        for sock in (first, second):
            data = decode(sock.recv(2000))
            assert (data.name.suffix, data.payload) == (2, b"reading 2")
        assert fetched(first, "abcd::1|99") == b"reading 99"
        assert row.asked_of_the_producer() == "abcd::1|99"


def test_without_a_route_there_is_silence(row: Row) -> None:
    with consumer(row.near) as sock:
        sock.send(asking("abce::1|1"))
        assert fetched(sock, "abcd::1|4") == b"reading 4"  # the first answer there is


@pytest.mark.parametrize(
    ("strategy", "prefix", "copies"),
    [
        ([], "abcd::1", 2),
        ([], "abce::1", 1),
        (["--strategy", "abcd::/16=random"], "abcd::1", 1),
        (["--strategy", "replication"], "abce::1", 2),
    ],
)
def test_interests_for_topics_go_to_all_peers_and_others_to_one(
    environment: dict[str, str], strategy: list[str], prefix: str, copies: int
) -> None:
    asked = 20
    with consumer(9) as one, consumer(9) as other:  # peers that are heard, wherever they are connected to
        routes = [
            argument
            for sock in (one, other)
            for bits in ("abcd::/16", "abce::/16")
            for argument in ("--route", f"{bits}=127.0.0.1:{sock.getsockname()[1]}")
        ]
        with background(environment, "hicn", "--udp", "127.0.0.1:0", *routes, *strategy, until="ready") as lines:
            for sock in (one, other):
                sock.connect(("127.0.0.1", port_of(lines)))
            with consumer(port_of(lines)) as asker:
                for suffix in range(asked):
                    asker.send(asking(f"{prefix}|{suffix}"))
                heard: dict[socket.socket, set[int]] = {one: set(), other: set()}
                while sum(len(each) for each in heard.values()) < asked * copies:
                    readable = select.select([one, other], [], [], LIMIT_S)[0]
                    assert readable
                    for sock in readable:
                        heard[sock].add(decode(sock.recv(2000)).name.suffix)
                both = heard[one] & heard[other]
                assert len(both) == (asked if copies == 2 else 0)
                assert heard[one]
                assert heard[other]


INTEREST = asking("abcd::1|1")
DATA = encode(Data(HicnName.parse("abcd::1|1"), b"x"))
COMPACT = encode(Interest(HicnName.parse("abcd::1|1"), form=Form.COMPACT))
COMMAND = Control(Verb.REMOVE_CONNECTION, 1).encode()
WITH_TOPIC = encode(Interest(HicnName.parse("abcd::1|0"), payload=b"home/temp"))


def changed(wire: bytes, place: int, *values: int) -> bytes:
    return wire[:place] + bytes(values) + wire[place + len(values) :]


MALFORMED = {
    "empty": b"",
    "unknown form": b"\x40" + INTEREST[1:],
    "cut in the IPv6 header": INTEREST[:39],
    "cut in the TCP header": INTEREST[:59],
    "shorter than announced": changed(INTEREST, 4, 0, 99),
    "longer than announced": INTEREST + b"x",
    "longer than 1500": encode(Data(HicnName.parse("abcd::1|1"), bytes(1440))) + b"x",
    "not TCP": changed(INTEREST, 6, 17),
    "TCP options": changed(INTEREST, 52, 0x60),
    "IPv4 name": changed(INTEREST, 24, *bytes(12)),
    "suffix that is none": changed(INTEREST, 44, 255, 255, 255, 255),
    "signed without a block": changed(INTEREST, 53, 0x12),
    "signature beyond the end": changed(DATA, 53, 0x52),
    "URG on an Interest with a topic": changed(WITH_TOPIC, 53, 0x22),
    "URG without a payload": changed(INTEREST, 53, 0x22),
    "URG with a count beyond the end": changed(
        changed(encode(Interest(HicnName.parse("abcd::1|0"), payload=bytes(40))), 53, 0x22), 60, 255, 255, 255, 255
    ),
    "compact, cut": COMPACT[:31],
    "compact, longer than announced": COMPACT + b"x",
    "compact list without one": changed(COMPACT, 1, 0x06),
    "command, cut": COMMAND[:5],
    "command of another length": COMMAND + b"x",
    "command that is unknown": changed(COMMAND, 1, 99),
    "command for another face": changed(COMMAND, 8, *b"eth0"),
    "reply to nobody": changed(COMMAND[:8], 0, 0xC2),
}


def test_what_is_malformed_is_refused_from_strangers_and_peers_and_it_goes_on(
    environment: dict[str, str],
) -> None:
    with background(environment, "hicn", "--udp", ":0", until="ready") as lines:
        port = port_of(lines)
        with producing(environment, port) as producer, consumer(port) as stranger, consumer(port) as peer:
            assert producer.stdout is not None
            assert fetched(peer, "abcd::1|1") == b"reading 1"
            for wire in MALFORMED.values():
                stranger.send(wire)
                peer.send(wire)
            answers = []
            peer.send(asking("abcd::1|5"))
            while not isinstance(decoded := _packet(peer.recv(2000)), Data):
                answers.append(decoded)
            assert decoded.payload == b"reading 5"
            assert [answer[0] for answer in answers] == [0xC3] * 3  # those commands that have a header are answered
            assert fetched(stranger, "abcd::1|6") == b"reading 6"
    assert f", {2 * len(MALFORMED)} packets refused" in lines[-1]


def _packet(wire: bytes) -> Data | bytes:
    if wire[0] == 0xC3:
        return wire
    data = decode(wire)
    assert isinstance(data, Data)
    return data


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--udp", "0.0.0.0:0"], "run `roost init` first"),
        (["--udp", "127.0.0.1:many"], "write host:port"),
        (["--udp", ":0", "--route", "abcd::/16"], "write abcd::/16=10.0.0.7:9695"),
        (["--udp", ":0", "--route", "abcd::/16=127.0.0.1:9,dear"], "with a cost of 0 to 65535"),
        (["--udp", ":0", "--route", "abcd/16=127.0.0.1:9"], "'abcd' is no IPv6 address"),
        (["--udp", ":0", "--route", "abcd::1/16=127.0.0.1:9"], "bits set behind its length"),
        (["--udp", ":0", "--connect", ":9695"], "no address of another forwarder"),
        (["--udp", ":0", "--connect", "192.0.2.7"], "none of the addresses listened on reaches 192.0.2.7:9695"),
        (["--udp", ":0", "--cache", "-1"], "--cache is at least 0"),
    ],
)
def test_bad_input_is_told_in_a_sentence(environment: dict[str, str], arguments: list[str], said: str) -> None:
    refused = roost(environment, "hicn", *arguments)
    assert refused.returncode == 1
    (line,) = refused.stderr.decode().splitlines()
    assert line.startswith("roost hicn: ")
    assert said in line
