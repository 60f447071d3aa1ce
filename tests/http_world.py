"""An HTTP door on a real socket, before desks that keep everything in a dictionary, and a peer that asks it."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

from roost.broker.limits import Limits
from roost.broker.since import Since
from roost.errors import Denied, MacroExists, NoMacro, NoRules, RulesExist
from roost.host.clock import Clock
from roost.host.http.door import Desks, HttpDoor
from roost.host.journal import Journal
from roost.process.definition import definition_of
from roost.process.roles.specification import Specification

ALICE = "Basic YWxpY2U6c2VjcmV0"
GUEST = "Basic Z3Vlc3Q6c2VjcmV0"


class FakeMacros:
    """Macros that never run."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, object]] = {}
        self.users: list[bytes] = []
        self.trouble: Exception | None = None

    def names(self, engine: str = "") -> list[str]:
        engines = {name: cast("dict[str, str]", each["definition"]).get("engine") for name, each in self.kept.items()}
        return sorted([name for name, its in engines.items() if not engine or its == engine])

    def shown(self, name: str) -> dict[str, object]:
        if name not in self.kept:
            raise NoMacro(f"{name}: there is no such macro")
        return self.kept[name]

    async def define(self, mapping: object, *, new: bool | None, user: bytes) -> dict[str, object]:
        if self.trouble is not None:
            raise self.trouble
        definition = definition_of(mapping)
        name, before = definition.name, self.kept.get(definition.name)
        if new is True and before is not None:
            raise MacroExists(name)
        if new is False and before is None:
            raise NoMacro(name)
        await asyncio.sleep(0)
        self.users.append(user)
        version = 1 if before is None else int(str(before["version"])) + 1
        self.kept[name] = {
            "definition": definition.mapping(),
            "topic": definition.topic,
            "version": version,
            "digest": definition.digest.hex(),
        }
        return self.kept[name]

    async def delete(self, name: str, *, user: bytes) -> dict[str, object]:
        shown = self.shown(name)
        self.users.append(user)
        del self.kept[name]
        return shown

    async def last_failure(self, name: str, *, user: bytes) -> dict[str, object] | None:
        del user
        self.shown(name)
        return None

    async def trace(self, name: str, *, user: bytes) -> list[dict[str, object]]:
        del user
        return [{"version": self.shown(name)["version"], "output": b"\xff\x00", "took_us": float("nan")}]


class FakeRoles:
    """Documents that govern nothing."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, object]] = {}

    def topics(self) -> list[str]:
        return sorted(self.kept)

    def shown(self, topic: str) -> dict[str, object]:
        if topic not in self.kept:
            raise NoRules(f"{topic}: there is no such document")
        return self.kept[topic]

    async def put(self, mapping: object, *, new: bool | None, user: bytes) -> dict[str, object]:
        del user
        document = Specification.read(mapping)
        if new is True and document.topic in self.kept:
            raise RulesExist(document.topic)
        self.kept[document.topic] = document.mapping()
        return self.kept[document.topic]

    async def delete(self, topic: str, *, user: bytes) -> dict[str, object]:
        del user
        self.shown(topic)
        return self.kept.pop(topic)

    async def explain(self, user: bytes, topic: str) -> str:
        return f"{user.decode()} gets {topic}"


class FakeTopics:
    """Readings that were put in; `send` gives one to everybody who follows."""

    def __init__(self) -> None:
        self.readings: list[dict[str, object]] = []
        self.asked: list[tuple[bytes, bytes, Since, int]] = []
        self.followers: list[Callable[[dict[str, object]], None]] = []
        self.followed = asyncio.Event()
        self.left = asyncio.Event()
        self.denied_from = 1_000_000  # the question from which on nothing may be read any more
        self.meanwhile: list[dict[str, object]] = []  # what comes while the past is read

    async def past(self, user: bytes, filter_: bytes, since: Since, limit: int) -> list[dict[str, object]]:
        if filter_ == b"secret":
            raise Denied("to read this takes the permission to read secret")
        self.asked.append((user, filter_, since, limit))
        if len(self.asked) >= self.denied_from:
            raise Denied("not any more")
        for each in self.meanwhile:
            self.send(each)
        self.meanwhile = []
        return [each for each in self.readings if int(str(each["time"])) >= since.time][:limit]

    async def follow(
        self, user: bytes, filter_: bytes, send: Callable[[dict[str, object]], None]
    ) -> Callable[[], None]:
        if filter_ == b"secret":
            raise Denied("to read this takes the permission to read secret")
        del user
        self.followers.append(send)
        self.followed.set()

        def stop() -> None:
            self.followers.remove(send)
            self.left.set()

        return stop

    def send(self, reading: dict[str, object]) -> None:
        for each in self.followers:
            each(reading)


class FakeGate:
    """Alice may do everything, the guest may look at what is below open/, and anonymous is Alice on this machine."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.asked: asyncio.Queue[str] = asyncio.Queue()  # the same, to wait for
        self.asking = asyncio.Semaphore(1000)

    async def who(self, authorization: str, host: str) -> bytes:
        self.hosts.append(host)
        self.asked.put_nowait(host)
        async with self.asking:
            pass
        if authorization == ALICE or (not authorization and host == "127.0.0.1"):
            return b"alice"
        if authorization == GUEST:
            return b"guest"
        raise Denied("wrong name or password")

    def may_administer(self, user: bytes, what: str) -> bool:
        del what
        return user == b"alice"

    def may_look(self, user: bytes, what: str) -> bool:
        return user == b"alice" or "/open/" in what


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401  whatever came
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return str(self.json["error"])


@dataclass
class World:
    """The door, the desks and the gate."""

    macros: FakeMacros = field(default_factory=FakeMacros)
    roles: FakeRoles = field(default_factory=FakeRoles)
    topics: FakeTopics = field(default_factory=FakeTopics)
    gate: FakeGate = field(default_factory=FakeGate)
    journal: Journal = field(default_factory=Journal)
    uri: str = ""

    def open(self, *, bare: bool = False, limits: Limits | None = None, behind_proxy: bool = False) -> HttpDoor:
        desks = Desks() if bare else Desks(self.macros, self.roles, self.topics)
        self.door = HttpDoor(desks, self.gate, Clock(), self.journal, limits, behind_proxy=behind_proxy)
        return self.door

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """Ask with JSON, or with bytes as they are; headers with `_` for `-`."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if content is not None:
            given.setdefault("Content-Type", "application/json")
        return await asyncio.to_thread(self._ask, method, path, content, given)

    def _ask(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> Answer:
        place = urlsplit(self.uri)
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)
        try:
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        place = urlsplit(self.uri)
        return await asyncio.open_connection(place.hostname, place.port)

    async def say(self, content: bytes) -> bytes:
        """Send bytes as they are; all that comes until the door closes the connection."""
        reader, writer = await self.connect()
        writer.write(content)
        answer = await reader.read()
        writer.close()
        return answer


@asynccontextmanager
async def open_door(
    *, bare: bool = False, limits: Limits | None = None, behind_proxy: bool = False
) -> AsyncIterator[World]:
    """A world whose door is open while the block runs."""
    world = World()
    door = world.open(bare=bare, limits=limits, behind_proxy=behind_proxy)
    world.uri = await door.start("127.0.0.1", 0)
    try:
        yield world
    finally:
        await door.stop()
