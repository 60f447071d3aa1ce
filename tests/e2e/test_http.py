"""A node with its HTTP door: what MQTT clients published, for users with passwords, over TLS, out of a group."""

from __future__ import annotations

import asyncio
import json
import ssl
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
from tests.loops import run
from tests.mqtt_certificates import Authority

from roost.cli import main
from roost.host.mqtt.config import read_config
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.host.mqtt.running import Running, running_broker

GROUP = "/BigCompany/Building1/Electricity"


@asynccontextmanager
async def node(folder: Path, **said: Any) -> AsyncIterator[Running]:  # noqa: ANN401  as YAML has it
    usual = {"listeners": [{"tcp": "127.0.0.1:0"}], "store": "memory", "http": "127.0.0.1:0"}
    async with running_broker(read_config(usual | said, folder, folder)) as running:
        yield running


def client(running: Running, **more: Any) -> aiomqtt.Client:  # noqa: ANN401  as aiomqtt has it
    port = int(running.uris[0].rpartition(":")[2])
    return aiomqtt.Client("127.0.0.1", port, protocol=aiomqtt.ProtocolVersion.V5, **more)


async def get(running: Running, path: str, user: str = "", authority: Path | None = None) -> tuple[int, Any]:
    """The status and the JSON of what a path answers."""
    return await ask(running, "GET", path, None, user, authority)


async def ask(
    running: Running, method: str, path: str, body: object, user: str = "", authority: Path | None = None
) -> tuple[int, Any]:
    headers = {"Authorization": "Basic " + b64encode(user.encode()).decode()} if user else {}
    content = None if body is None else json.dumps(body).encode()
    if content is not None:
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(running.uris[-1] + path, content, headers, method=method)
    context = None if authority is None else ssl.create_default_context(cafile=str(authority))

    def wait() -> tuple[int, Any]:
        try:
            with urllib.request.urlopen(request, timeout=20, context=context) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    return await asyncio.to_thread(wait)


def write_users(folder: Path, permissions: str, **passwords: str) -> dict[str, str]:
    users = folder / "users"
    users.write_text("".join(f"{name}:{PasswordHash.make(word.encode(), LIGHT)}\n" for name, word in passwords.items()))
    users.chmod(0o600)
    (folder / "permissions").write_text(permissions)
    return {"users": "users", "permissions": "permissions"}


def test_what_is_retained_is_read_over_http_on_this_machine(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as running, client(running) as device:
            await device.publish("hall/temp", "21.5", qos=1, retain=True)
            status, found = await get(running, "/topics/hall/%2B")
            assert status == 200
            assert [(each["topic"], each["value"]) for each in found] == [("hall/temp", 21.5)]
            counts = running.server.count_groups()
            listed = (Path(__file__).parents[2] / "docs/http.md").read_text(encoding="utf-8")
            assert [name for name in counts if f"`{name}`" not in listed] == []
        assert running.server.count_groups() == {}

    run(test)


def test_users_come_in_by_their_passwords_and_read_what_they_may_and_a_reload_counts(tmp_path: Path) -> None:
    said = write_users(tmp_path, "user alice\n readwrite #\nuser bob\n read hall/+\n", alice="a-word", bob="b-word")

    async def test() -> None:
        async with node(tmp_path, **said) as running:
            async with client(running, username="alice", password="a-word") as device:
                for topic in ("hall/temp", "vault/temp"):
                    await device.publish(topic, "1", qos=1, retain=True)
            assert (await get(running, "/topics/%23"))[0] == 401
            assert (await get(running, "/topics/%23", "bob:guess"))[0] == 401
            for user, topics in (("alice:a-word", ["hall/temp", "vault/temp"]), ("bob:b-word", ["hall/temp"])):
                status, found = await get(running, "/topics/%23", user)
                assert (status, sorted(each["topic"] for each in found)) == (200, topics)
            assert (await get(running, "/topics/vault/%23", "bob:b-word"))[0] == 403
            write_users(tmp_path, "user alice\n read #\nuser bob\n read #\n", alice="a-word", bob="other")
            await running.reload()
            assert (await get(running, "/topics/vault/%23", "bob:b-word"))[0] == 401
            assert (await get(running, "/topics/vault/%23", "bob:other"))[0] == 200

    run(test)


def test_the_door_speaks_tls_if_it_has_a_certificate_and_a_reload_brings_another(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.certify("server")
    http = {"listen": "127.0.0.1:0", "certificate": "server.pem", "key": "server.key"}

    async def test() -> None:
        async with node(tmp_path, http=http) as running:
            assert running.uris[-1].startswith("https://127.0.0.1:")
            assert await get(running, "/health", authority=authority.path) == (200, {"status": "ok"})
            other = Authority(tmp_path, "other")
            other.certify("server")
            await running.reload()
            assert await get(running, "/health", authority=other.path) == (200, {"status": "ok"})
            with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
                await get(running, "/health", authority=authority.path)

    run(test)


def in_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What a configuration says for `hall/#` to be of a group, whose keys are made."""
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ROOST_PASSPHRASE", raising=False)
    assert main(["init", "--company", "BigCompany", "--building", "Building1", "--repo", "Repo1"]) == 0
    assert main(["keys", "make", f"{GROUP}/Gate1"]) == 0
    return {
        "store": str(tmp_path / "store"),
        "trees": [{"filter": "hall/#", "group": GROUP}],
        "groups": [{"name": GROUP, "panel": "Gate1", "repo": "Repo1"}],
    }


def test_the_past_of_a_group_is_read_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = in_group(tmp_path, monkeypatch)

    async def test() -> None:
        async with node(tmp_path, **said) as running:
            async with client(running) as device:
                for number in range(5):
                    await device.publish("hall/temp", str(number), qos=1)
            status, found = await get(running, "/topics/hall/%23?since=1h&limit=3")
            assert (status, [each["value"] for each in found]) == (200, [0, 1, 2])
            assert found[0]["stream"].startswith(f"{GROUP}/Gate1/")
            first = found[0]["number"]
            assert [each["number"] for each in found] == [first, first + 1, first + 2]
            _, later = await get(running, f"/topics/hall/%23?since={first + 3}")
            assert [each["value"] for each in later] == [3, 4]
            _, last = await get(running, "/topics/hall/temp")
            assert [each["value"] for each in last] == [4]

    run(test)


@asynccontextmanager
async def following(running: Running, path: str, user: str = "") -> AsyncIterator[asyncio.StreamReader]:
    """The events of a path, behind the head of the answer: from then on whatever is published has to come."""
    host, _, port = running.uris[-1].removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        known = f"Authorization: Basic {b64encode(user.encode()).decode()}\r\n" if user else ""
        ask_for = f"GET /topics/{path} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\n{known}\r\n"
        writer.write(ask_for.encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        yield reader
    finally:
        writer.close()
        await writer.wait_closed()


async def events_until(reader: asyncio.StreamReader, last: tuple[str, object]) -> list[tuple[str, object]]:
    """The topics and values of the events that come, up to one."""
    found: list[tuple[str, object]] = []
    async with asyncio.timeout(30):
        while not found or found[-1] != last:
            line = await reader.readuntil(b"\n")
            if line.startswith(b"data: "):
                reading = json.loads(line[6:])
                found.append((reading["topic"], reading["value"]))
    return found


def test_readings_of_plain_topics_come_as_they_are_published(tmp_path: Path) -> None:
    said = write_users(tmp_path, "user alice\n readwrite #\nuser bob\n read hall/+\n", alice="a-word", bob="b-word")

    async def test() -> None:
        async with (
            node(tmp_path, **said) as running,
            client(running, username="alice", password="a-word") as device,
        ):
            for qos in (0, 1):  # the node has passed some of these on before anybody follows
                await device.publish("hall/temp", "0", qos=qos)
            await device.publish("hall/temp", "1", qos=1, retain=True)
            async with (
                following(running, "hall/%23", "bob:b-word") as live,
                following(running, "%23?since=1h", "bob:b-word") as both,
            ):
                for qos in (0, 1, 2):
                    for number in range(3):
                        await device.publish("vault/temp", "9", qos=qos)
                        await device.publish("hall/temp", f"{qos}{number}", qos=qos)
                await device.publish("hall/last", "3", qos=1)
                news = [("hall/temp", 10 * qos + number) for qos in (0, 1, 2) for number in range(3)]
                news.append(("hall/last", 3))
                assert await events_until(live, news[-1]) == news
                assert await events_until(both, news[-1]) == [("hall/temp", 1), *news]

    run(test)


def test_readings_come_live_as_the_roles_of_who_follows_have_it(tmp_path: Path) -> None:
    said = write_users(tmp_path, "all\n readwrite #\n", alice="a-word", bob="b-word")
    (tmp_path / "roles.yaml").write_text("bob: [customer]\nalice: [developer]\n")
    roles = "{developer: {streams: [raw]}, customer: {streams: [hall/mean]}}"
    (tmp_path / "rbps.yaml").write_text(f"- topic: hall/temp\n  roles: {roles}\n")
    ruled = {"roles": {"documents": "rbps.yaml", "users": "roles.yaml"}}

    async def test() -> None:
        async with (
            node(tmp_path, **said, **ruled) as running,
            client(running, username="alice", password="a-word") as device,
            following(running, "hall/temp", "alice:a-word") as raw,
            following(running, "hall/temp", "bob:b-word") as mean,
        ):
            macro = {"name": "hall/mean", "code": "Noctua.topic('hall/temp') * 10"}
            assert (await ask(running, "POST", "/macros", macro, "alice:a-word"))[0] == 201
            for value in (1, 3):
                await device.publish("hall/temp", str(value), qos=1)
            assert await events_until(raw, ("hall/temp", 3)) == [("hall/temp", 1), ("hall/temp", 3)]
            assert await events_until(mean, ("hall/temp", 30)) == [("hall/temp", 10), ("hall/temp", 30)]

    run(test)


def test_readings_of_a_group_come_as_they_are_published_and_behind_the_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = in_group(tmp_path, monkeypatch)

    async def test() -> None:
        async with node(tmp_path, **said) as running, client(running) as device:
            for number in range(3):
                await device.publish("hall/temp", str(number), qos=1)

            async def publish() -> None:
                for number in range(3, 60):
                    await device.publish("hall/temp", str(number), qos=1)

            async with following(running, "hall/%23") as live, asyncio.TaskGroup() as tasks:
                tasks.create_task(publish())  # while the past is read
                async with following(running, "hall/%23?since=1h") as both:
                    everything = [("hall/temp", number) for number in range(60)]
                    assert await events_until(both, everything[-1]) == everything
                    news = await events_until(live, everything[-1])
                    assert len(news) >= 57  # and the last before it, if they come out of the group only now
                    assert news == everything[-len(news) :]

    run(test)


def test_a_macro_that_is_made_over_http_refines_what_is_published(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as running, client(running) as device:
            await device.subscribe("Noctua/#", qos=1)
            macro = {"name": "hall/twice", "code": "Noctua.topic('hall/temp') * 2"}
            status, shown = await ask(running, "POST", "/macros", macro)
            assert (status, shown["version"], shown["topic"]) == (201, 1, "Noctua/hall/twice")
            assert (await ask(running, "POST", "/macros", macro))[0] == 409
            await device.publish("hall/temp", "21.5", qos=1)
            message = await anext(aiter(device.messages))
            assert (str(message.topic), message.payload) == ("Noctua/hall/twice", b"43")
            assert (await ask(running, "PUT", "/macros/hall/twice", {"code": "Noctua.topic('hall/temp') * 3"}))[
                0
            ] == 200
            await device.publish("hall/temp", "20", qos=1)
            message = await anext(aiter(device.messages))
            assert message.payload == b"60"
            status, runs = await get(running, "/traces/hall/twice")
            assert (status, runs[0]["output"]) == (200, "60")
            status, wrong = await ask(running, "PUT", "/macros/hall/twice", {"code": "Noctua.topic('a') +\n ) 1"})
            assert (status, wrong["line"]) == (400, 2)
            assert (await ask(running, "DELETE", "/macros/hall/twice", None))[0] == 200
            assert (await get(running, "/macros"))[1] == []

    run(test)


def test_a_macro_reads_for_a_user_only_what_the_user_may_read(tmp_path: Path) -> None:
    bob = "user bob\n read home/bob/#\n readwrite Noctua/home/bob/#\n"
    said = write_users(tmp_path, "user alice\n readwrite #\n" + bob, alice="a-word", bob="b-word")

    async def test() -> None:
        async with node(tmp_path, **said) as running:
            spy = {"name": "home/bob/m", "code": "Noctua.topic('secret/x')"}
            status, wrong = await ask(running, "POST", "/macros", spy, "bob:b-word")
            assert status == 403
            assert "it refers to secret/x, which takes the permission to read secret/x" in wrong["error"]
            assert (await ask(running, "PUT", "/macros/home/bob/m", {"code": spy["code"]}, "bob:b-word"))[0] == 403
            own = {"name": "home/bob/m", "code": "Noctua.topic('home/bob/a') + 1"}
            assert (await ask(running, "POST", "/macros", own, "bob:b-word"))[0] == 201
            assert (await ask(running, "PUT", "/macros/home/bob/m", {"code": spy["code"]}, "bob:b-word"))[0] == 403
            assert (await get(running, "/macros/home/bob/m", "bob:b-word"))[1]["definition"]["code"] == own["code"]
            assert (await ask(running, "PUT", "/macros/home/bob/m", {"code": spy["code"]}, "alice:a-word"))[0] == 200

    run(test)
