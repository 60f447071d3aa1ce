"""`roost mqtt` with real sockets, clients, certificates and disks; and what kill -9 under load leaves of promises."""

from __future__ import annotations

import asyncio
import re
import signal
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiomqtt
import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from tests.broker_packets import connect, disconnect, publish, seen, subscribe
from tests.loops import run
from tests.mqtt_certificates import Authority
from tests.verbs import RUN, environment_of, roost
from websockets.asyncio.client import connect as connect_websocket
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from roost.errors import BadConfig
from roost.host.mqtt.config import read_config
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.host.mqtt.running import Running, running_broker

V5 = aiomqtt.ProtocolVersion.V5
V4 = aiomqtt.ProtocolVersion.V311


@asynccontextmanager
async def broker(folder: Path, **said: Any) -> AsyncIterator[Running]:  # noqa: ANN401  as YAML has it
    """A broker in this process, on a free port unless something else is said."""
    config = read_config({"listeners": [{"tcp": "127.0.0.1:0"}], "store": "memory"} | said, folder, folder)
    async with running_broker(config) as running:
        yield running


def port(uri: str) -> int:
    return int(uri.rpartition(":")[2])


def client(running: Running, at: int = 0, **more: Any) -> aiomqtt.Client:  # noqa: ANN401  as aiomqtt has it
    return aiomqtt.Client("127.0.0.1", port(running.uris[at]), **({"protocol": V5} | more))


async def next_of(listening: aiomqtt.Client) -> tuple[str, bytes]:
    message = await anext(aiter(listening.messages))
    assert isinstance(message.payload, bytes)
    return str(message.topic), message.payload


def make_users(folder: Path, permissions: str, **passwords: str) -> dict[str, str]:
    users = folder / "users"
    users.write_text("".join(f"{name}:{PasswordHash.make(word.encode(), LIGHT)}\n" for name, word in passwords.items()))
    users.chmod(0o600)
    (folder / "permissions").write_text(permissions)
    return {"users": "users", "permissions": "permissions"}


@pytest.mark.parametrize("version", [V4, V5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_clients_of_both_versions_hear_each_other(tmp_path: Path, version: aiomqtt.ProtocolVersion, qos: int) -> None:
    async def test() -> None:
        async with (
            broker(tmp_path) as running,
            client(running, protocol=version) as listening,
            client(running, protocol=V4) as speaking,
        ):
            await listening.subscribe("hall/+", qos=qos)
            await speaking.publish("hall/temp", b"21.5", qos=qos)
            assert await next_of(listening) == ("hall/temp", b"21.5")

    run(test)


def test_ten_thousand_packets_in_a_few_writes_come_out_in_order(tmp_path: Path) -> None:
    async def test() -> None:
        async with broker(tmp_path) as running:
            reader, writer = await asyncio.open_connection("127.0.0.1", port(running.uris[0]))
            sent = [b"%d" % number for number in range(10_000)]
            writer.write(connect(b"me") + subscribe(1, b"a"))
            writer.write(b"".join(publish(b"a", number) for number in sent))
            writer.write(disconnect())
            packets = seen(await reader.read(-1))
            assert [packet.kind for packet in packets[:2]] == ["CONNACK", "SUBACK"]
            assert [packet.payload for packet in packets[2:]] == sent
            writer.close()

    run(test)


def test_a_slow_reader_does_not_delay_the_others(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            broker(
                tmp_path,
                packets={"max_bytes": "60KiB"},
                queues={"high_water": "64KiB", "messages": 10, "bytes": "64KiB"},
            ) as running,
            client(running) as quick,
        ):
            slow_reader, slow_writer = await asyncio.open_connection("127.0.0.1", port(running.uris[0]), limit=1024)
            slow_writer.write(connect(b"slow") + subscribe(1, b"#"))
            await slow_reader.readexactly(4 + 5)
            slow_reader._transport.pause_reading()  # type: ignore[attr-defined]  # a client that hangs
            await quick.subscribe("#")
            payload = bytes(50_000)
            messages = aiter(quick.messages)
            for _ in range(400):
                await quick.publish("a", payload)
                await anext(messages)
            statistics = running.broker.statistics()
            assert statistics.dropped_full > 0, "the slow one's, and they were counted"
            assert running.server.poll.outbox.queued_bytes < 10_000_000
            slow_writer.close()

    run(test)


def test_tls_with_certificates_of_clients_that_name_users(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.certify("server")
    alice = authority.certify("alice")
    files = {"certificate": "server.pem", "key": "server.key", "clients": "authority.pem"}
    said = {
        "listeners": [{"tls": "127.0.0.1:0", **files}, {"wss": "127.0.0.1:0", **files}],
        **make_users(tmp_path, "all\n  readwrite home/%u/#\n", bob="secret"),
    }
    trusting = ssl.create_default_context(cafile=authority.path)
    showing = ssl.create_default_context(cafile=authority.path)
    showing.load_cert_chain(*alice)

    async def test() -> None:
        async with broker(tmp_path, **said) as running:
            assert [uri.partition("://")[0] for uri in running.uris] == ["mqtts", "wss"]
            async with (
                client(running, tls_context=showing) as first,
                client(running, 1, tls_context=showing, transport="websockets", websocket_path="/mqtt") as second,
                client(running, tls_context=trusting, username="bob", password="secret") as other,
            ):
                await first.subscribe("#")
                await other.publish("home/bob/a", b"not for alice")
                await second.publish("home/alice/a", b"over both")
                assert await next_of(first) == ("home/alice/a", b"over both")
            strangers: tuple[dict[str, Any], ...]
            strangers = ({}, {"username": "bob", "password": "guess"}, {"username": "alice", "password": "secret"})
            for wrong in strangers:
                with pytest.raises(aiomqtt.MqttError, match=r"Not authorized|Bad user name or password"):
                    await client(running, tls_context=trusting, **wrong).__aenter__()

    run(test)


def test_reloading_changes_who_comes_and_not_who_is_there(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path), Authority(tmp_path, "other")
    authority.certify("server")
    said = {
        "listeners": [{"tls": "127.0.0.1:0", "certificate": "server.pem", "key": "server.key"}],
        **make_users(tmp_path, "all\n  readwrite a\n", bob="old"),
    }

    def trusting(which: Authority) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=which.path)

    async def test() -> None:
        async with (
            broker(tmp_path, **said) as running,
            client(running, tls_context=trusting(authority), username="bob", password="old") as bob,
        ):
            await bob.subscribe("#", qos=1)
            await bob.publish("a", b"1", qos=1)
            assert await next_of(bob) == ("a", b"1")
            (tmp_path / "permissions").write_text("all\n  grant everything\n")
            with pytest.raises(BadConfig, match="permissions, line 2"):
                await running.reload()
            await bob.publish("a", b"2", qos=1)
            assert await next_of(bob) == ("a", b"2"), "everything stayed as it was"
            other.certify("server")
            make_users(tmp_path, "all\n  readwrite b\n", bob="new")
            await running.reload()
            await bob.publish("b", b"3", qos=1)
            assert await next_of(bob) == ("b", b"3"), "still connected, and under the new permissions"
            async with client(running, tls_context=trusting(other), username="bob", password="new") as again:
                await again.publish("b", b"4", qos=1)
            assert await next_of(bob) == ("b", b"4")
            with pytest.raises(aiomqtt.MqttError):
                await client(running, tls_context=trusting(other), username="bob", password="old").__aenter__()

    run(test)


def test_websocket_clients_speak_binary_and_may_cut_packets_anywhere(tmp_path: Path) -> None:
    async def test() -> None:
        async with broker(tmp_path, listeners=[{"ws": "127.0.0.1:0"}]) as running:
            where = running.uris[0] + "/mqtt"
            async with connect_websocket(where, subprotocols=[Subprotocol("mqtt")]) as socket:
                assert socket.subprotocol == "mqtt"
                packets = connect(b"me") + subscribe(1, b"a") + publish(b"a", b"hello")
                for byte in packets:
                    await socket.send(bytes([byte]))
                heard = b""
                while len(seen_so_far := _whole(heard)) < 3:
                    part = await socket.recv()
                    assert isinstance(part, bytes)
                    heard += part
                assert [packet.kind for packet in seen_so_far] == ["CONNACK", "SUBACK", "PUBLISH"]
                await socket.send("text")
                with pytest.raises(ConnectionClosed):
                    await socket.recv()
            with pytest.raises(InvalidStatus):
                async with connect_websocket(where):
                    pass

    run(test)


def _whole(data: bytes) -> list[Any]:
    try:
        return seen(data)
    except (AssertionError, IndexError):
        return []


def test_a_page_of_some_web_site_is_not_taken_for_this_machine(tmp_path: Path) -> None:
    async def test() -> None:
        async with broker(tmp_path, listeners=[{"ws": "127.0.0.1:0"}]) as running:
            page = connect_websocket(
                running.uris[0],
                subprotocols=[Subprotocol("mqtt")],
                additional_headers={"Origin": "https://evil.example"},
            )
            async with page as socket:
                await socket.send(connect(b"me"))
                answer = await socket.recv()
                assert isinstance(answer, bytes)
                assert seen(answer)[0].reason == 5, "not authorised"

    run(test)


def test_a_handshake_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    async def test() -> None:
        said = {"listeners": [{"ws": "127.0.0.1:0"}], "sessions": {"connect_timeout": 1}}
        async with broker(tmp_path, **said) as running:
            reader, writer = await asyncio.open_connection("127.0.0.1", port(running.uris[0]))
            writer.write(b"GET / HTTP/1.1\r\n")
            assert await reader.read() == b""
            assert running.server.poll.ungreeted == 1
            writer.close()

    run(test)


# -- as a process


class Process:
    """`roost mqtt` on a port that it keeps over restarts."""

    def __init__(self, environment: dict[str, str], *options: str) -> None:
        self._environment = environment
        self._options = options
        self.lines: list[str] = []
        self.port = 0

    def start(self) -> None:
        command = [*RUN, "mqtt", "--listen", f"127.0.0.1:{self.port}", *self._options]
        self._process = subprocess.Popen(command, env=self._environment, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.lines = []
        for line in self._process.stdout:
            self.lines.append(line.rstrip())
            if line.startswith("listening on mqtt://"):
                self.port = int(line.rpartition(":")[2])
            if line.startswith("ready"):
                return
        raise AssertionError(f"it did not start: {self.lines}")

    def kill(self) -> None:
        self._process.kill()
        self._end()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        assert self._end() == 0

    def _end(self) -> int:
        assert self._process.stdout is not None
        with self._process.stdout as rest:
            self.lines += [line.rstrip() for line in rest]
        return self._process.wait(timeout=30)


@contextmanager
def process(folder: Path, *options: str) -> Iterator[Process]:
    made = Process(environment_of(folder), *options)
    made.start()
    try:
        yield made
    finally:
        made.stop()


class Waiting:
    """Something another thread does, and waiting for it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()

    def do(self, what: Callable[[], object]) -> None:
        with self._changed:
            what()
            self._changed.notify_all()

    def until(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, timeout=60)


class Pair:
    """A publisher and a subscriber of Paho, with sessions that persist; both reconnect by themselves."""

    def __init__(self, port: int, version: MQTTProtocolVersion, qos: int) -> None:
        self.acknowledged: set[int] = set()  # numbers of messages
        self.received: Counter[int] = Counter()
        self.waiting = Waiting()
        self._qos = qos
        self._numbers: dict[int, int] = {}  # mid → number
        self._subscribed = False
        self._speaking = self._client(port, version, "speaking")
        self._listening = self._client(port, version, "listening")
        self._listening.on_subscribe = lambda *_: self.waiting.do(self._has_subscribed)
        self._listening.on_message = lambda _, __, message: self.waiting.do(
            lambda: self.received.update([int(message.payload)])
        )
        self._speaking.on_publish = lambda _, __, mid, *___: self.waiting.do(
            lambda: self.acknowledged.add(self._numbers[mid])
        )
        for each in (self._speaking, self._listening):
            each.loop_start()
        self._listening.subscribe("load", qos=qos)
        self.waiting.until(lambda: self._subscribed)

    def publish(self, number: int) -> None:
        with self._speaking._out_message_mutex:  # so that nobody acknowledges what has no number yet
            told = self._speaking.publish("load", b"%d" % number, qos=self._qos)
            self._numbers[told.mid] = number

    def go_away(self) -> None:
        self._listening.disconnect()
        self._listening.loop_stop()
        self._listening._reset_sockets(sockpair_only=True)  # which the next loop would leave open

    def come_back(self) -> None:
        self._listening.reconnect()
        self._listening.loop_start()

    def close(self) -> None:
        self.go_away()
        self._speaking.disconnect()
        self._speaking.loop_stop()

    def _has_subscribed(self) -> None:
        self._subscribed = True

    @staticmethod
    def _client(port: int, version: MQTTProtocolVersion, name: str) -> paho.Client:
        more: dict[str, Any] = {} if version == MQTTProtocolVersion.MQTTv5 else {"clean_session": False}
        made = paho.Client(CallbackAPIVersion.VERSION2, name, protocol=version, **more)
        made.reconnect_delay_set(1, 1)
        made.max_inflight_messages_set(100)
        if version == MQTTProtocolVersion.MQTTv5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = 3600
            made.connect("127.0.0.1", port, clean_start=False, properties=properties)
        else:
            made.connect("127.0.0.1", port)
        return made


@pytest.mark.parametrize(
    ("version", "qos"),
    [(MQTTProtocolVersion.MQTTv5, 1), (MQTTProtocolVersion.MQTTv311, 2)],
    ids=["v5 QoS 1", "v3.1.1 QoS 2"],
)
def test_kill_9_under_load_loses_nothing_that_was_acknowledged(
    tmp_path: Path, version: MQTTProtocolVersion, qos: int
) -> None:
    with process(tmp_path) as running:
        pair = Pair(running.port, version, qos)
        total = 0
        for is_away in (False, True, False):
            if is_away:
                pair.go_away()
            for _ in range(600):
                pair.publish(total)
                total += 1
            enough = total - 300
            pair.waiting.until(lambda enough=enough: len(pair.acknowledged) >= enough)  # type: ignore[misc]
            running.kill()
            acknowledged = set(pair.acknowledged)
            running.start()
            if is_away:
                pair.come_back()
            pair.waiting.until(lambda acknowledged=acknowledged: acknowledged <= set(pair.received))  # type: ignore[misc]
        pair.waiting.until(lambda: len(pair.acknowledged) == total)
        pair.waiting.until(lambda: len(pair.received) == total)
        pair.publish(total)
        pair.waiting.until(lambda: total in pair.received)
        if qos == 2:
            assert set(pair.received.values()) == {1}, "exactly once"
        pair.close()


def test_what_waits_for_who_is_away_and_what_is_retained_is_there_after_a_restart(tmp_path: Path) -> None:
    with process(tmp_path) as running:
        Pair(running.port, MQTTProtocolVersion.MQTTv311, 1).close()

        async def speak() -> None:
            async with aiomqtt.Client("127.0.0.1", running.port) as speaking:
                await speaking.publish("load", b"7", qos=1)
                await speaking.publish("kept", b"last value", qos=1, retain=True)

        asyncio.run(speak())
        running.kill()
        running.start()
        assert any(line.endswith("sessions so far: 2") for line in running.lines), running.lines

        async def listen() -> tuple[str, bytes]:
            async with aiomqtt.Client("127.0.0.1", running.port) as listening:
                await listening.subscribe("kept")
                return await next_of(listening)

        assert asyncio.run(listen()) == ("kept", b"last value")
        pair = Pair(running.port, MQTTProtocolVersion.MQTTv311, 1)
        pair.waiting.until(lambda: pair.received == Counter([7]))
        pair.close()


def test_the_verb_says_what_it_does_reloads_and_ends(tmp_path: Path) -> None:
    options = [
        f"--{name}={tmp_path / file}" for name, file in make_users(tmp_path, "all\n  readwrite #\n", a="b").items()
    ]
    environment = environment_of(tmp_path)
    with process(tmp_path, *options, "--ws", "127.0.0.1:0") as running:
        assert running.lines[0] == f"listening on mqtt://127.0.0.1:{running.port}"
        assert re.fullmatch(r"listening on ws://127\.0\.0\.1:\d+", running.lines[1])
        assert running.lines[2] == f"keeps sessions in {tmp_path / 'roost' / 'mqtt'}; sessions so far: 0"
        second = roost(environment, "mqtt", "--listen", "127.0.0.1:0")
        assert second.returncode == 1
        assert b"is in use by another broker: stop that one" in second.stderr
        told = roost(environment, "mqtt", "reload")
        assert told.returncode == 0, told.stderr
    assert running.lines[-1].startswith("stopped; ")
    assert b"no broker has its store in" in roost(environment, "mqtt", "reload").stderr


def test_a_configuration_is_checked_and_a_sample_printed(tmp_path: Path) -> None:
    environment = environment_of(tmp_path)
    sample = roost(environment, "mqtt", "sample").stdout
    (tmp_path / "broker.yaml").write_bytes(sample)
    checked = roost(environment, "mqtt", "check", "-c", str(tmp_path / "broker.yaml"))
    assert checked.stdout == f"can run: tcp 127.0.0.1:1883; store {tmp_path / 'roost' / 'mqtt'}\n".encode()

    def refusal(*arguments: str) -> str:
        done = roost(environment, "mqtt", *arguments)
        assert done.returncode == 1
        return done.stderr.decode()

    assert "roost mqtt sample" in refusal("check", "-c", str(tmp_path / "none.yaml"))
    (tmp_path / "broker.yaml").write_text("- a\n")
    assert "there are no keys" in refusal("check", "-c", str(tmp_path / "broker.yaml"))
    (tmp_path / "broker.yaml").write_text("a: [\n")
    assert "is no YAML" in refusal("check", "-c", str(tmp_path / "broker.yaml"))
    assert "can be reached from other machines" in refusal("--listen", "0.0.0.0:0")
    assert "say where, with --tls or --wss" in refusal("--key", "x")
    assert "cannot be read" in refusal("--tls", "127.0.0.1:0", "--certificate", "x", "--key", "y")
