"""Hooks and limits of a configuration, with a real broker: the page's own example, Paho, and reloads good and bad."""

from __future__ import annotations

import asyncio
import hmac
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
import yaml
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from tests.broker_packets import Seen, auth, connect, props, publish, seen
from tests.loops import run
from tests.verbs import RUN, environment_of, roost

from roost.errors import BadConfig
from roost.host.mqtt.config import read_config
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.host.mqtt.running import Running, running_broker

TOKEN = props(auth_method=b"TOKEN", auth_data=b"one-two-three")
PAGE = Path(__file__).parents[2] / "docs" / "mqtt-security.md"
TOKENS = """
from roost.broker.effects import Authenticate, Verdict

TOKENS = {b"one-two-three": b"ann"}

async def hook(asked: Authenticate) -> Verdict:
    user = TOKENS.get(asked.data)
    if asked.method != b"TOKEN" or user is None:
        return Verdict(0x87, why="no such token")
    return Verdict(0, user)

def make():
    return hook
"""


@asynccontextmanager
async def broker(folder: Path, **said: Any) -> AsyncIterator[Running]:  # noqa: ANN401  as YAML has it
    async with running_broker(config_of(folder, **said)) as running:
        yield running


def config_of(folder: Path, **said: Any) -> Any:  # noqa: ANN401  as YAML has it
    (folder / "permissions").write_text("all\n  readwrite home/%u/#\n")
    whole = {"listeners": [{"tcp": "127.0.0.1:0"}], "store": "memory", "permissions": "permissions"} | said
    return read_config(whole, folder, folder)


def port(running: Running) -> int:
    return int(running.uris[0].rpartition(":")[2])


def by_token(at: int, token: bytes) -> aiomqtt.Client:
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.AuthenticationMethod = "TOKEN"
    properties.AuthenticationData = token
    return aiomqtt.Client("127.0.0.1", at, protocol=aiomqtt.ProtocolVersion.V5, properties=properties)


class Raw:
    """A connection on which packets are written by hand, for Paho has no AUTH."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, packet: bytes) -> Seen:
        self._writer.write(packet)
        head = await self._reader.readexactly(2)
        assert head[1] < 128, "these answers are short"
        return seen(head + await self._reader.readexactly(head[1]), 5)[0]


@asynccontextmanager
async def raw(at: int) -> AsyncIterator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", at)
    try:
        yield Raw(reader, writer)
    finally:
        writer.close()
        await writer.wait_closed()


async def largest(at: int, **who: bytes) -> int:
    """The largest packet that the broker takes from this client, as it says."""
    async with raw(at) as client:
        welcome = await client.ask(connect(b"c", version=5, **who))  # type: ignore[arg-type]  # as a test has it
        assert (welcome.kind, welcome.reason) == ("CONNACK", 0)
        return int(welcome.properties["maximum_packet_size"])


def test_the_example_of_the_page_asks_its_question_and_takes_the_answer(tmp_path: Path) -> None:
    found = re.search(r'^```python\n(""".*?)^```', PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    (tmp_path / "house_auth.py").write_text(found[1])
    method, secret = b"HMAC-SHA256", b"b2f1c8d7e6a59483"

    async def prove(client: Raw, begin: bytes, secret: bytes) -> Seen:
        question = await client.ask(begin)
        assert (question.kind, question.reason) == ("AUTH", 0x18)
        answer = hmac.digest(secret, question.properties["auth_data"], "sha256")
        return await client.ask(auth(0x18, auth_method=method, auth_data=answer))

    async def test() -> None:
        begin = connect(b"c", version=5, properties=props(auth_method=method, auth_data=b"pump-7"))
        async with broker(tmp_path, authentication={"hook": "house_auth.py:make"}) as running:
            async with raw(port(running)) as client:
                welcome = await prove(client, begin, secret)
                assert (welcome.kind, welcome.reason, welcome.properties["auth_method"]) == ("CONNACK", 0, method)
                for topic, reason in ((b"home/pump-7/a", 0x10), (b"home/eve/a", 0x87)):
                    answer = await client.ask(publish(topic, qos=1, packet_id=1, version=5))
                    assert (answer.kind, answer.reason) == ("PUBACK", reason), "it is who it proved to be"
                again = await prove(client, auth(0x19, auth_method=method, auth_data=b"pump-7"), secret)
                assert (again.kind, again.reason) == ("AUTH", 0)
            for wrong in (begin, begin.replace(b"pump-7", b"pump-8")):
                async with raw(port(running)) as client:
                    refusal = await prove(client, wrong, b"guessed")
                    assert (refusal.kind, refusal.reason) == ("CONNACK", 0x87)
            other = connect(b"c", version=5, properties=props(auth_method=b"SCRAM-SHA-1"))
            async with raw(port(running)) as client:
                assert (await client.ask(other)).reason == 0x8C

    run(test)


def test_paho_comes_in_by_a_token_and_a_reload_brings_other_tokens(tmp_path: Path) -> None:
    hook = tmp_path / "auth.py"
    hook.write_text(TOKENS)

    async def test() -> None:
        async with broker(tmp_path, authentication={"hook": "auth.py:make"}) as running:
            async with by_token(port(running), b"one-two-three") as ann:
                await ann.subscribe("home/#")
                await ann.publish("home/ann/a", b"hello", qos=1)
                assert (await anext(aiter(ann.messages))).payload == b"hello"
                hook.write_text(TOKENS.replace("one-two-three", "four-five-six"))
                await running.reload()
                await ann.publish("home/ann/a", b"still here", qos=1)
                assert (await anext(aiter(ann.messages))).payload == b"still here"
            with pytest.raises(aiomqtt.MqttError, match="Not authorized"):
                await by_token(port(running), b"one-two-three").__aenter__()
            async with by_token(port(running), b"four-five-six"):
                pass

    run(test)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("import no_such_thing\n", r"authentication\.hook: .*auth\.py failed: ModuleNotFoundError: .*\(line 1\)"),
        ("make = None\n", r"authentication\.hook: there is no make in .*auth\.py"),
    ],
    ids=["not importable", "not there"],
)
def test_a_bad_hook_in_a_reload_changes_nothing(tmp_path: Path, text: str, complaint: str) -> None:
    hook = tmp_path / "auth.py"
    hook.write_text(TOKENS)

    async def test() -> None:
        async with broker(tmp_path, authentication={"hook": "auth.py:make"}) as running:
            hook.write_text(text)
            (tmp_path / "permissions").write_text("user nobody\n  read a\n")
            with pytest.raises(BadConfig, match=complaint):
                await running.reload()
            async with by_token(port(running), b"one-two-three") as ann:
                await ann.subscribe("home/#")
                await ann.publish("home/ann/a", b"as before", qos=1)
                assert (await anext(aiter(ann.messages))).payload == b"as before", "permissions stayed too"

    run(test)


def test_a_hook_that_does_not_work_lets_no_broker_start(tmp_path: Path) -> None:
    async def test() -> None:
        with pytest.raises(BadConfig, match=r"authentication\.hook: .*auth\.py cannot be read: No such file"):
            async with broker(tmp_path, authentication={"hook": "auth.py:make"}):
                pass

    run(test)


def test_a_reload_brings_other_limits_a_hook_and_users_files_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "auth.py").write_text(TOKENS)
    (tmp_path / "users").write_text(f"bob:{PasswordHash.make(b'secret', LIGHT)}\n")
    (tmp_path / "users").chmod(0o600)

    async def test() -> None:
        async with broker(tmp_path, authentication={"hook": "auth.py:make"}) as running:
            assert await largest(port(running), properties=TOKEN) == 1 << 20
            limits = {"packet_bytes": "2KiB", "user_packet_bytes": {"bob": "4KiB"}}
            fresh = config_of(tmp_path, users="users", limits=limits, packets={"max_bytes": "3KiB"})
            await running.reload(fresh)
            assert await largest(port(running), user=b"bob", password=b"secret") == 4096, (
                "packets are for the next start"
            )
            async with raw(port(running)) as client:
                assert (await client.ask(connect(b"c", version=5, properties=TOKEN))).reason == 0x8C, "no hook now"
            limiter = running.broker.core.limiter
            limits_now = limiter.limits
            await running.reload(config_of(tmp_path, users="users", limits=limits))
            assert limiter.limits is limits_now, "nothing new, so rates go on"

    run(test)


# -- as a process


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "auth.py").write_text(TOKENS)
    (tmp_path / "permissions").write_text("all\n  readwrite home/%u/#\n")
    write(tmp_path, {"packet_bytes": "2KiB"})
    return tmp_path


def write(folder: Path, limits: dict[str, str], hook: str = "auth.py:make") -> None:
    said = {
        "listeners": [{"tcp": "127.0.0.1:0"}],
        "store": "broker",
        "permissions": "permissions",
        "authentication": {"hook": hook},
        "limits": limits,
    }
    (folder / "broker.yaml").write_text(yaml.safe_dump(said))


def lines_of(process: subprocess.Popen[str], *, errors: bool) -> Iterator[str]:
    source = process.stderr if errors else process.stdout
    assert source is not None
    for line in source:
        yield line.rstrip()


def test_the_verb_reloads_its_configuration_and_says_what_is_wrong_with_it(place: Path) -> None:
    command = [*RUN, "mqtt", "-c", str(place / "broker.yaml")]
    with subprocess.Popen(
        command, env=environment_of(place), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        said, complaints = lines_of(process, errors=False), lines_of(process, errors=True)
        at = int(next(said).rpartition(":")[2])
        next(line for line in said if line.startswith("ready"))

        def reload(status: int) -> str:
            told = roost(environment_of(place), "mqtt", "reload", "--store", str(place / "broker"))
            line = next(line for line in complaints if "reloaded" in line)
            assert told.returncode == status
            assert line[line.index("reloaded") :] in (told.stdout + told.stderr).decode()
            return line

        for limits, hook, complaint in (
            ({"packet_bytes": "huge"}, "auth.py:make", "limits.packet_bytes: 'huge' is no size"),
            ({"packet_bytes": "4KiB"}, "none.py:make", "authentication.hook: "),
        ):
            write(place, limits, hook)
            line = reload(1)
            assert "nothing was reloaded, everything stays as it was: " in line
            assert complaint in line
            assert asyncio.run(largest(at, properties=TOKEN)) == 2048
        write(place, {"packet_bytes": "4KiB"})
        assert reload(0).endswith("reloaded permissions, authentication and limits")
        assert asyncio.run(largest(at, properties=TOKEN)) == 4096
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


def test_check_says_what_is_wrong_with_a_hook(place: Path) -> None:
    environment = environment_of(place)
    good = roost(environment, "mqtt", "check", "-c", str(place / "broker.yaml"))
    assert good.returncode == 0, good.stderr
    (place / "auth.py").write_text("def make():\n    raise OSError('no key at hand')\n")
    bad = roost(environment, "mqtt", "check", "-c", str(place / "broker.yaml"))
    assert bad.returncode == 1
    assert b"authentication.hook: make of" in bad.stderr
    assert b"failed: OSError: no key at hand (line 2)" in bad.stderr
