"""`roost bridge` between a real mosquitto and a broker of ours: whatever is away for a while, nothing is missing."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import aiomqtt
import pytest
from tests.interop.mosquitto import Mosquitto, free_ports, running_mosquitto
from tests.verbs import RUN, environment_of, roost

from roost.errors import BadConfig
from roost.host.bridge import VIA, Mapping
from roost.host.mqtt.config import read_config
from roost.host.mqtt.running import running_broker

V5 = aiomqtt.ProtocolVersion.V5


@pytest.fixture(scope="module")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with running_mosquitto(tmp_path_factory.mktemp("mosquitto")) as server:
        yield server


@asynccontextmanager
async def bridge(folder: Path, source: int, target: int, *words: str) -> AsyncIterator[subprocess.Popen[str]]:
    """Run it until the block ends, once it has said that messages can come and go."""
    entered = _bridge(folder, source, target, *words)
    process = await asyncio.to_thread(entered.__enter__)
    try:
        yield process
    finally:
        await asyncio.to_thread(entered.__exit__, None, None, None)


@contextmanager
def _bridge(folder: Path, source: int, target: int, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = ["bridge", "--from", f"mqtt://127.0.0.1:{source}", "--to", f"mqtt://127.0.0.1:{target}", *words]
    process = subprocess.Popen([*RUN, *command], env=environment_of(folder), stdout=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout is not None
            wanted = {f"127.0.0.1:{source} sends", f"connected to 127.0.0.1:{target}"}
            for line in process.stdout:
                wanted -= {each for each in wanted if line.startswith(each)}
                if not wanted:
                    break
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=90)


@asynccontextmanager
async def ours(folder: Path, port: int) -> AsyncIterator[None]:
    said = {"listeners": [{"tcp": f"127.0.0.1:{port}"}], "store": "store"}
    async with running_broker(read_config(said, folder, folder)):
        yield


def client(port: int, name: str) -> aiomqtt.Client:
    return aiomqtt.Client("127.0.0.1", port, identifier=name, protocol=V5)


async def taken(listener: aiomqtt.Client, wanted: set[bytes]) -> list[aiomqtt.Message]:
    """All that comes until everything that is wanted has come."""
    found: list[aiomqtt.Message] = []
    left = set(wanted)
    async with asyncio.timeout(60):
        async for message in listener.messages:
            found.append(message)
            left.discard(bytes(message.payload))
            if not left:
                return found
    raise AssertionError(f"{left} did not come")


def payloads(*numbers: int) -> set[bytes]:
    return {b"%d" % number for number in numbers}


def test_messages_come_under_their_new_topics_with_what_they_carry(mosquitto: Mosquitto, tmp_path: Path) -> None:
    async def story(port: int) -> None:
        async with ours(tmp_path, port), client(port, "listener") as listener:
            await listener.subscribe("old/#", qos=1)
            words = ("--topics", "plant/#", "--strip", "plant/", "--add", "old/", "--name", "carry")
            async with bridge(tmp_path, mosquitto.plain, port, *words), client(mosquitto.plain, "device") as device:
                for qos in (0, 1, 2):
                    await device.publish("plant/pump/1", b"%d" % qos, qos=qos)
                found = await taken(listener, payloads(0, 1, 2))
            assert {str(message.topic) for message in found} == {"old/pump/1"}
            pairs = [getattr(message.properties, "UserProperty", []) for message in found]
            assert pairs == [[(VIA, f"127.0.0.1:{mosquitto.plain}")]] * len(found)

    asyncio.run(story(*free_ports(1)))


def test_a_message_of_whose_topic_nothing_is_left_does_not_stop_the_others(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    async def story(port: int) -> None:
        async with ours(tmp_path, port), client(port, "listener") as listener:
            await listener.subscribe("#", qos=1)
            words = ("--topics", "mill/#", "--strip", "mill", "--name", "bare")
            async with bridge(tmp_path, mosquitto.plain, port, *words), client(mosquitto.plain, "device") as device:
                await device.publish("mill", b"1", qos=1)
                await device.publish("mill/x", b"2", qos=1)
                found = await taken(listener, payloads(2))
            assert [str(message.topic) for message in found] == ["/x"]

    asyncio.run(story(*free_ports(1)))


def test_what_was_published_while_the_target_and_then_the_bridge_was_away_comes(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    async def story(port: int) -> None:
        words = ("--topics", "site/#", "--name", "away")

        async def say(*numbers: int) -> None:
            async with client(mosquitto.plain, "device2") as device:
                for number in numbers:
                    await device.publish("site/x", b"%d" % number, qos=1)

        async with AsyncExitStack() as stack:
            async with ours(tmp_path, port), client(port, "first") as listener:
                await listener.subscribe("site/#", qos=1)
                process = await stack.enter_async_context(bridge(tmp_path, mosquitto.plain, port, *words))
                await say(1)
                await taken(listener, payloads(1))
            await say(2, 3)  # nobody is there to take it
            process.kill()  # and the bridge dies with it
        await say(4)
        async with ours(tmp_path, port), client(port, "second") as listener:
            await listener.subscribe("site/#", qos=1)
            async with bridge(tmp_path, mosquitto.plain, port, *words):
                found = await taken(listener, payloads(2, 3, 4))
        numbers = [int(bytes(message.payload)) for message in found]
        assert list(dict.fromkeys(numbers)) == [2, 3, 4]

    asyncio.run(story(*free_ports(1)))


def test_two_bridges_in_opposite_directions_make_no_circle(mosquitto: Mosquitto, tmp_path: Path) -> None:
    async def story(port: int) -> None:
        async with ours(tmp_path, port), client(port, "here") as here, client(mosquitto.plain, "there") as there:
            for listener in (here, there):
                await listener.subscribe("both/#", qos=1)
            ways = (("out", (mosquitto.plain, port)), ("back", (port, mosquitto.plain)))
            out, back = [bridge(tmp_path, *ports, "--topics", "both/#", "--name", name) for name, ports in ways]
            async with out, back:
                for number, teller in enumerate((there, here, there, here), 1):
                    await teller.publish(f"both/{number % 2}", b"%d" % number, qos=1)
                for listener in (here, there):
                    found = await taken(listener, payloads(1, 2, 3, 4))
                    assert sorted(bytes(message.payload) for message in found) == [b"1", b"2", b"3", b"4"]

    asyncio.run(story(*free_ports(1)))


def test_prefixes_are_taken_off_and_put_on() -> None:
    assert Mapping("plant/#", "plant/", "old/").topic("plant/a/b") == "old/a/b"
    assert Mapping("#").topic("plant/a") == "plant/a"
    with pytest.raises(BadConfig, match="no \\+ or #"):
        Mapping("#", add="old/+/")
    with pytest.raises(BadConfig, match="does not all begin with it"):
        Mapping("#", strip="plant/")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "http://x", "--to", "mqtt://y"), "--from http://x: write mqtt://host"),
        (("--from", "mqtt://me:secret@x", "--to", "mqtt://y"), "use --from-password-file"),
        (("--from", "mqtt://x", "--to", "mqtt://x"), "every message would come back"),
        (("--from", "mqtt://x", "--to", "mqtt://y", "--to-password-file", "f"), "a password goes with a user"),
    ],
)
def test_what_cannot_be_meant_is_told_and_no_password_is_shown(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = roost(environment_of(tmp_path), "bridge", *words, "--topics", "#", "--json")
    assert done.returncode == 1
    told = json.loads(done.stderr)["error"]
    assert said in told
    assert "secret" not in told
