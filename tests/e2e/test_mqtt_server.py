"""`roost mqtt` with real sockets, clients, certificates and disks; and what kill -9 under load leaves of promises."""

from __future__ import annotations

import asyncio
import re
import signal
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
from paho.mqtt.enums import MQTTProtocolVersion
from tests.broker_packets import connect, disconnect, publish, seen, subscribe
from tests.loops import run
from tests.mqtt_certificates import Authority
from tests.mqtt_patience import Changes, Listener, Speaker
from tests.verbs import RUN, environment_of, roost
from websockets.asyncio.client import connect as connect_websocket
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus
from websockets.typing import Subprotocol

from roost import __version__
from roost.errors import BadConfig
from roost.host.mqtt.config import read_config
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.host.mqtt.running import Running, running_broker
from roost.host.mqtt.websocket import PLAIN_MQTT

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
            rest = bytes(50_000)
            messages = aiter(quick.messages)
            others_had: list[int] = []  # while the slow one was stuck
            for number in range(400):
                await quick.publish("a", b"%03d" % number + rest, qos=number % 3)
                payload = (await anext(messages)).payload
                assert isinstance(payload, bytes)
                if running.broker.statistics().slow:
                    others_had.append(int(payload[:3]))
            assert others_had == list(range(others_had[0], 400)), "all, and in order, with the slow one stuck all along"
            assert len(others_had) > 10
            assert running.broker.statistics().dropped_full > 0, "the slow one's, and they were counted"
            assert running.server.poll.outbox.queued_bytes < 10_000_000
            slow_reader._transport.resume_reading()  # type: ignore[attr-defined]
            first = await slow_reader.readexactly(10)
            assert first.endswith(b"a000"), "and it had not begun to read"
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


def test_a_stranger_has_nothing_held_of_a_large_websocket_frame(tmp_path: Path) -> None:
    async def test() -> None:
        said = {"listeners": [{"ws": "127.0.0.1:0"}], "packets": {"connect_bytes": "1KiB"}}
        half = b"\x82\xff" + (1 << 20).to_bytes(8, "big") + bytes(4 + 200_000)
        async with broker(tmp_path, **said) as running:
            async with connect_websocket(running.uris[0], subprotocols=[Subprotocol("mqtt")]) as socket:
                socket.transport.write(half)
                with pytest.raises(ConnectionClosed):
                    await socket.recv()
            assert running.broker.statistics().refused_large == 1
            assert running.broker.core.links_bytes == 0
            async with connect_websocket(running.uris[0], subprotocols=[Subprotocol("mqtt")]) as socket:
                await socket.send(connect(b"me"))
                await socket.recv()
                await socket.send(publish(b"a", bytes(200_000)) + subscribe(1, b"b"))
                assert isinstance(answer := await socket.recv(), bytes)
                assert [packet.kind for packet in seen(answer)] == ["SUBACK"]

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


ANYBODY_HERE = "all\n  readwrite home/%u/#\nanonymous\n  readwrite public/#\n"


async def answer_over_websocket(uri: str, *, host: str = "", **more: str | None) -> int | None:
    """The reason of a client's CONNACK; None if it is not let in at all. `more` is for CONNECT, `host` a proxy's."""
    headers = {"X-Forwarded-For": host} if host else None
    user, password = (None if word is None else word.encode() for word in (more.get("user"), more.get("password")))
    with suppress(ConnectionClosed, InvalidMessage, ConnectionResetError):
        async with connect_websocket(uri, subprotocols=[Subprotocol("mqtt")], additional_headers=headers) as socket:
            await socket.send(connect(b"me", user=user, password=password))
            answer = await socket.recv()
            assert isinstance(answer, bytes)
            return int(seen(answer)[0].reason)
    return None


def test_whom_a_proxy_brings_is_not_taken_for_this_machine(tmp_path: Path) -> None:
    async def test() -> None:
        said = make_users(tmp_path, ANYBODY_HERE, ann="secret")
        listeners = [{"ws": "127.0.0.1:0"}, {"ws": "127.0.0.1:0", "behind_proxy": True}]
        async with broker(tmp_path, listeners=listeners, **said) as running:
            plain, proxied = running.uris
            assert await answer_over_websocket(plain) == 0, "it is on this machine, and may be nobody"
            assert await answer_over_websocket(plain, host="192.0.2.1") == 5, "not authorised"
            assert await answer_over_websocket(proxied) == 5, "a proxy need not say that it is one"
            assert await answer_over_websocket(proxied, host="192.0.2.1", user="ann", password="secret") == 0

    run(test)


def test_nobody_is_anonymous_behind_a_proxy_that_speaks_no_http(tmp_path: Path) -> None:
    async def test() -> None:
        said = make_users(tmp_path, ANYBODY_HERE, ann="secret")
        async with broker(tmp_path, listeners=[{"tcp": "127.0.0.1:0", "behind_proxy": True}], **said) as running:
            with pytest.raises(aiomqtt.MqttError, match="Not authorized"):
                await client(running).__aenter__()
            async with client(running, username="ann", password="secret"):
                pass

    run(test)


def test_wrong_passwords_count_where_the_proxy_says_they_come_from(tmp_path: Path) -> None:
    async def test() -> None:
        said = make_users(tmp_path, ANYBODY_HERE, ann="secret")
        listeners = [{"ws": "127.0.0.1:0", "behind_proxy": True}, {"ws": "127.0.0.1:0"}]
        async with broker(tmp_path, listeners=listeners, limits={"failures_per_minute": 1}, **said) as running:
            proxied, plain = running.uris

            async def come(uri: str, host: str, password: str) -> int | None:
                return await answer_over_websocket(uri, host=host, user="ann", password=password)

            assert await come(proxied, "10.9.9.9, 192.0.2.1", "guess") == 4, "bad user name or password"
            assert await come(proxied, "10.8.8.8, 192.0.2.1", "secret") is None, "only what the proxy adds counts"
            assert await come(proxied, "192.0.2.2", "secret") == 0
            assert await come(proxied, "", "secret") == 0
            assert await come(plain, "192.0.2.2", "guess") == 4
            assert await come(plain, "192.0.2.3", "secret") is None, "it may be who guessed"
            assert await come(proxied, "", "secret") is None, "of these no more is known"
            assert await come(proxied, "192.0.2.2", "secret") == 0
            assert await come(plain, "", "guess") == 4
            assert await come(plain, "", "secret") == 0, "it is on this machine"

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
        self.is_up = threading.Event()

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
                self.is_up.set()
                return
        raise AssertionError(f"it did not start: {self.lines}")

    def kill(self) -> None:
        self.is_up.clear()
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


@pytest.mark.parametrize(
    ("version", "qos"),
    [(MQTTProtocolVersion.MQTTv5, 1), (MQTTProtocolVersion.MQTTv311, 2)],
    ids=["v5 QoS 1", "v3.1.1 QoS 2"],
)
def test_kill_9_under_load_loses_nothing_that_was_acknowledged(
    tmp_path: Path, version: MQTTProtocolVersion, qos: int
) -> None:
    with process(tmp_path) as running:
        changes = Changes()
        speaker, listener = Speaker(running, version, qos, changes), Listener(running, version, "listener", changes)
        for is_away in (False, True, False):
            if is_away:
                listener.go_away()
            speaker.publish(600)
            enough = speaker.total - 300
            changes.until(lambda enough=enough: len(speaker.acknowledged) >= enough)  # type: ignore[misc]
            running.kill()
            promised = set(speaker.acknowledged)
            running.start()
            if is_away:
                listener.come_back()
            changes.until(lambda promised=promised: listener.has(speaker, promised))  # type: ignore[misc]
        changes.until(lambda: len(speaker.acknowledged) == speaker.total)
        changes.until(lambda: listener.has(speaker, speaker.acknowledged))
        speaker.publish(1)
        changes.until(lambda: listener.has(speaker, {speaker.total - 1}))
        if qos == 2:
            assert set(Counter(listener.received[speaker.topic]).values()) == {1}, "exactly once"
        speaker.go_away()
        listener.go_away()


def test_what_waits_for_who_is_away_and_what_is_retained_is_there_after_a_restart(tmp_path: Path) -> None:
    with process(tmp_path) as running:
        changes = Changes()
        Speaker(running, MQTTProtocolVersion.MQTTv311, 1, changes).go_away()
        Listener(running, MQTTProtocolVersion.MQTTv311, "listener", changes).go_away()

        async def speak() -> None:
            async with aiomqtt.Client("127.0.0.1", running.port) as speaking:
                await speaking.publish("hall/qos1", b"7", qos=1)
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
        back = Listener(running, MQTTProtocolVersion.MQTTv311, "listener", changes)
        changes.until(lambda: back.received["hall/qos1"] == [7])
        back.go_away()


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
    assert b"broker has its store in" in roost(environment, "mqtt", "reload").stderr


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

    assert "roost up sample" in refusal("check", "-c", str(tmp_path / "none.yaml"))
    (tmp_path / "broker.yaml").write_text("- a\n")
    assert "there are no keys" in refusal("check", "-c", str(tmp_path / "broker.yaml"))
    (tmp_path / "broker.yaml").write_text("a: [\n")
    assert "is no YAML" in refusal("check", "-c", str(tmp_path / "broker.yaml"))
    assert "can be reached from other machines" in refusal("--listen", "0.0.0.0:0")
    assert "say where, with --tls or --wss" in refusal("--key", "x")
    assert "cannot be read" in refusal("--tls", "127.0.0.1:0", "--certificate", "x", "--key", "y")


async def say_to(running: Running, at: int, data: bytes) -> bytes:
    """What comes back until the other end closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port(running.uris[at]))
    writer.write(data)
    async with asyncio.timeout(30):
        answer = await reader.read()
    writer.close()
    return answer


def test_the_log_says_who_was_refused_and_what_to_do(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    users = tmp_path / "users"
    users.write_text(f"alice:{PasswordHash.make(b'right', LIGHT)}\n")
    users.chmod(0o600)
    (tmp_path / "permissions").write_text("all\n  readwrite #\n")
    listeners = [{"tcp": "127.0.0.1:0"}, {"ws": "127.0.0.1:0"}]
    wrong = "refused a packet of 127.0.0.1: wrong name or password (user 'alice', client 'dev1')"

    async def test() -> None:
        async with broker(tmp_path, users="users", permissions="permissions", listeners=listeners) as running:
            for name in (b"dev1", b"dev2", b"dev3"):
                await say_to(running, 0, connect(name, user=b"alice", password=b"secret"))
            await say_to(running, 0, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
            await say_to(
                running, 0, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: somebody/1.0 (somewhere)\r\n\r\n"
            )
            await say_to(running, 1, connect(b"dev1"))

    run(test)
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        wrong,
        "refused a packet of 127.0.0.1: a client speaks TLS here: have it use a tls listener",
        "refused a packet of 127.0.0.1: a client speaks HTTP here: have it use a ws listener",
        f"refused a connection of 127.0.0.1 (ws): {PLAIN_MQTT}",
        f"{wrong} (2 more of this kind since)",
    ]
    assert "secret" not in caplog.text


def test_sys_tells_the_release(tmp_path: Path) -> None:
    async def test() -> None:
        async with broker(tmp_path) as running, client(running) as listening:
            await listening.subscribe("$SYS/broker/version")
            assert await next_of(listening) == ("$SYS/broker/version", f"roost {__version__}".encode())

    run(test)
