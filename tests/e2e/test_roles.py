"""Who gets what over real sockets: roles from a file, from a topic, and from an introspection endpoint [RFC 7662]."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import aiomqtt
import pytest
from aiohttp import ClientSession, web
from tests.e2e.test_http import GROUP, client, get, node, write_users
from tests.loops import run

from roost.broker.roles.keeper import RoleKeeper
from roost.cli import main
from roost.host.mqtt.running import Running

NOT_AUTHORIZED = 0x87
DOCUMENT = {
    "topic": "home/+",
    "roles": {
        "developer": {"streams": ["raw", "{topic}/vague"], "default": "raw"},
        "customer": {"streams": ["{topic}/vague"]},
        "visitor": {"streams": []},
    },
}
VAGUE = {"name": "home/hall/vague", "code": "'about ' + Math.round(Noctua.topic('home/hall') / 10) * 10"}
SECRET = "p:ss w+rd/é"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Users with passwords who may do everything, figure 7's document, and the macro that makes its other stream."""
    names = ("ada", "cid", "vic", "sensor", "office")
    write_users(tmp_path, "all\n readwrite #\n readwrite $roles/#\n", **dict.fromkeys(names, "word"))
    (tmp_path / "rbps.yaml").write_text(json.dumps(DOCUMENT))
    (tmp_path / "macros.yaml").write_text(json.dumps(VAGUE))
    (tmp_path / "secret").write_text(SECRET + "\n")
    (tmp_path / "secret").chmod(0o600)
    return tmp_path


def settings(users: object, **more: object) -> dict[str, Any]:
    return {
        "users": "users",
        "permissions": "permissions",
        "macros": {"files": ["macros.yaml"]},
        "roles": {"documents": "rbps.yaml", "users": users, **more},
    }


def enter(running: Running, user: str, password: str = "word") -> aiomqtt.Client:
    return client(running, username=user, password=password)


def keeper_of(running: Running) -> RoleKeeper:
    keeper = running.broker.core.roles
    assert keeper is not None
    return keeper


async def subscribe(subscriber: aiomqtt.Client, wanted: str) -> int:
    (code,) = await subscriber.subscribe(wanted, qos=1)
    return int(code if isinstance(code, int) else code.value)


async def got(subscriber: aiomqtt.Client, count: int = 1) -> list[tuple[str, str]]:
    """The next messages: topic and payload."""
    found: list[tuple[str, str]] = []
    async for message in subscriber.messages:
        assert isinstance(message.payload, bytes)
        found.append((str(message.topic), message.payload.decode()))
        if len(found) == count:
            break
    return found


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something; `run` has the limit."""
    while not is_so():  # noqa: ASYNC110  there is no event
        await asyncio.sleep(0.01)


async def until_gets(running: Running, subscriber: aiomqtt.Client, wanted: str) -> None:
    """Publish until a subscriber gets a reading as it is wanted."""
    hearing = asyncio.create_task(hear(subscriber, wanted))
    async with enter(running, "sensor") as sensor:
        while not hearing.done():
            await sensor.publish("home/hall", "71", qos=1)
            await asyncio.wait([hearing], timeout=0.05)
    await hearing


async def hear(subscriber: aiomqtt.Client, wanted: str) -> None:
    while (await got(subscriber))[0] != ("home/hall", wanted):
        pass


# -- a file


def test_each_role_of_a_file_gets_its_stream_and_a_reload_moves_who_is_there(folder: Path) -> None:
    roles = folder / "roles.yaml"
    roles.write_text("{ada: developer, cid: customer, vic: visitor}")

    async def test() -> None:
        async with (
            node(folder, **settings("roles.yaml")) as running,
            enter(running, "ada") as ada,
            enter(running, "cid") as cid,
            enter(running, "vic") as vic,
        ):
            assert await subscribe(ada, "home/hall") == await subscribe(cid, "home/+") == 1
            assert await subscribe(ada, "Noctua/home/hall/vague") == 1
            for wanted in ("home/hall", "Noctua/home/hall/vague", "$raw/home/hall"):
                assert await subscribe(vic, wanted) == NOT_AUTHORIZED
            assert await subscribe(cid, "$raw/home/hall") == NOT_AUTHORIZED
            async with enter(running, "sensor") as sensor:
                await sensor.publish("home/hall", "71", qos=1)
            assert await got(ada, 2) == [("home/hall", "71"), ("Noctua/home/hall/vague", "about 70")]
            assert await got(cid) == [("home/hall", "about 70")]
            said = (await get(running, "/explain?user=cid&topic=home/hall", "office:word"))[1]["explanation"]
            assert "gets: Noctua/home/hall/vague" in said
            roles.write_text("{ada: customer, cid: developer}")
            await running.reload()
            async with enter(running, "sensor") as sensor:
                await sensor.publish("home/hall", "88", qos=1)
            assert await got(cid) == [("home/hall", "88")]
            assert sorted(await got(ada, 2)) == [("Noctua/home/hall/vague", "about 90"), ("home/hall", "about 90")]

    run(test)


# -- a topic


def in_group(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.setenv("ROOST_HOME", str(folder / "home"))
    monkeypatch.delenv("ROOST_PASSPHRASE", raising=False)
    repos = ("--repo", "Repo1", "--repo", "Repo2")
    assert main(["init", "--company", "BigCompany", "--building", "Building1", *repos]) == 0
    for panel in ("Gate1", "Gate2"):
        assert main(["keys", "make", f"{GROUP}/{panel}"]) == 0
    return member(folder, 1)


def member(folder: Path, number: int, *uplinks: str) -> dict[str, object]:
    return {
        "store": str(folder / f"store{number}"),
        "trees": [{"filter": "staff/#", "group": GROUP}],
        "groups": [{"name": GROUP, "panel": f"Gate{number}", "repo": f"Repo{number}"}],
        "node": {"tcp": ["127.0.0.1:0"], "uplinks": list(uplinks)},
    }


@pytest.mark.parametrize("is_of_group", [False, True])
def test_roles_that_are_retained_hold_from_the_moment_they_are_published(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_of_group: bool
) -> None:
    said = settings({"topic": "staff/%u/roles"}) | (in_group(folder, monkeypatch) if is_of_group else {})

    async def test() -> None:
        async with (
            node(folder, **said) as running,
            enter(running, "office") as office,
            enter(running, "cid") as cid,
        ):
            assert await subscribe(cid, "home/hall") == NOT_AUTHORIZED
            await office.publish("staff/cid/roles", "customer", qos=1, retain=True)
            await until(lambda: keeper_of(running).roles_of(b"cid")[0] == frozenset({"customer"}))
            assert await subscribe(cid, "home/hall") == 1
            await until_gets(running, cid, "about 70")
            await office.publish("staff/cid/roles", '["developer"]', qos=1, retain=True)
            await until_gets(running, cid, "71")
            await office.publish("staff/cid/roles", "", qos=1, retain=True)
            await until(lambda: keeper_of(running).roles_of(b"cid")[0] == frozenset())
            assert await subscribe(cid, "home/hall") == NOT_AUTHORIZED

    run(test)


# -- documents of several nodes


def test_a_document_that_is_put_at_one_node_holds_at_the_other_also_after_it_was_away(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "roles.yaml").write_text("{cid: customer}")
    (folder / "word").write_text("word\n")
    document = folder / "hall.yaml"
    document.write_text("{topic: home/hall, roles: {customer: {streams: [raw]}}}")
    said = {key: value for key, value in settings("roles.yaml").items() if key != "macros"}
    first = said | in_group(folder, monkeypatch)

    async def at(running: Running, *arguments: str) -> str:
        login = ("--url", running.uris[-1], "--user", "office", "--password-file", str(folder / "word"))
        capsys.readouterr()
        assert await asyncio.to_thread(main, ["role", *arguments, *login]) == 0
        return capsys.readouterr().out

    async def test() -> None:
        async with node(folder, **first) as one:
            assert one.repo is not None
            second = said | member(folder, 2, one.repo.listening.uris[0])
            async with node(folder, **second) as two, enter(two, "cid") as cid:
                assert await subscribe(cid, "home/hall") == 1
                assert await at(one, "add", str(document)) == "home/hall: it holds, for customer\n"
                await until_gets(two, cid, "71")
                assert await at(two, "list") == "home/+\nhome/hall\n"
                assert "gets: home/hall, for raw is the default" in await at(two, "explain", "cid", "home/hall")
            assert "taken back" in await at(one, "delete", "home/hall")
            async with node(folder, **second) as two:
                await until(lambda: list(keeper_of(two).policy.documents) == ["home/+"])
                assert not keeper_of(one).telling.untold

    run(test)


# -- a service


class Service:
    """An introspection endpoint that does as it is told."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[dict[str, str]] = []  # what was posted
        self.tokens: dict[str, dict[str, object]] = {}  # by token, the answer
        self.status = 200
        self.open = asyncio.Event()  # it answers
        self.open.set()

    async def answer(self, request: web.Request) -> web.Response:
        kind, _, shown = request.headers["Authorization"].partition(" ")
        name, _, secret = b64decode(shown).decode().partition(":")
        assert (kind, unquote_plus(name), unquote_plus(secret)) == ("Basic", "roost", SECRET)
        posted = dict(await request.post())
        self.asked.append({key: str(value) for key, value in posted.items()})
        await self.open.wait()
        return web.json_response(self.tokens.get(str(posted["token"]), {"active": False}), status=self.status)


@asynccontextmanager
async def service() -> AsyncIterator[Service]:
    made = Service()
    app = web.Application()
    app.router.add_post("/introspect", made.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/introspect"
    try:
        yield made
    finally:
        made.open.set()
        await runner.cleanup()


def with_service(folder: Path, test: Callable[[Running, Service], Awaitable[None]], **more: object) -> None:
    async def within() -> None:
        async with service() as made:
            made.tokens = {
                "cid": {"active": True, "username": "cid", "roles": ["customer"]},
                "ada": {"active": True, "sub": "ada", "roles": "developer tester"},
                "vic": {"active": True, "username": "somebody else", "roles": ["developer"]},
            }
            hold = more.pop("hold", True)
            users = {"introspection": {"url": made.url, "client_id": "roost", "secret": "secret", **more}}
            async with node(folder, **settings(users, hold=hold)) as running:
                await test(running, made)

    run(within)


def test_no_reading_is_lost_while_a_slow_service_is_asked_and_its_answer_is_kept(folder: Path) -> None:
    async def test(running: Running, made: Service) -> None:
        made.open.clear()
        async with enter(running, "cid") as cid, enter(running, "sensor") as sensor:
            subscribed = asyncio.create_task(subscribe(cid, "home/hall"))
            await until(lambda: made.asked == [{"token": "cid"}])
            for number in range(300):
                await sensor.publish("home/hall", str(number), qos=1)
            assert not subscribed.done()
            made.open.set()
            assert await subscribed == 1
            expected = [f"about {(number + 5) // 10 * 10}" for number in range(300)]
            assert await got(cid, 300) == [("home/hall", each) for each in expected]
            async with client(running, username="cid", password="word", identifier="second") as second:
                assert await subscribe(second, "home/+") == 1
            assert (len(made.asked), keeper_of(running).lookup.look_ups, keeper_of(running).holding.dropped) == (
                1,
                1,
                0,
            )

    with_service(folder, test)


def test_with_the_switch_of_the_experiment_what_comes_meanwhile_is_lost(folder: Path) -> None:
    async def test(running: Running, made: Service) -> None:
        made.open.clear()
        async with enter(running, "cid") as cid, enter(running, "sensor") as sensor:
            subscribed = asyncio.create_task(subscribe(cid, "home/hall"))
            await until(lambda: len(made.asked) == 1)
            for number in range(30):
                await sensor.publish("home/hall", str(number), qos=1)
            made.open.set()
            assert await subscribed == 1
            await sensor.publish("home/hall", "200", qos=1)
            assert await got(cid) == [("home/hall", "about 200")]
            assert keeper_of(running).holding.dropped == 60

    with_service(folder, test, hold=False)


@pytest.mark.parametrize("trouble", ["silent", "broken", "gone"])
def test_a_service_that_does_not_answer_gives_nothing_to_anybody_until_it_does(folder: Path, trouble: str) -> None:
    async def test(running: Running, made: Service) -> None:
        if trouble == "silent":
            made.open.clear()
        elif trouble == "broken":
            made.status = 500
        async with enter(running, "cid") as cid:
            assert await subscribe(cid, "home/hall") == NOT_AUTHORIZED
            assert await subscribe(cid, "garden") == 1
            assert keeper_of(running).roles_of(b"cid")[0] is None
            asked = len(made.asked)
            assert await subscribe(cid, "home/hall") == NOT_AUTHORIZED
            assert len(made.asked) == asked  # that nobody knows is remembered for a while
            made.status = 200
            made.open.set()
            if trouble != "gone":
                await until(lambda: keeper_of(running).roles_of(b"cid")[0] == frozenset({"customer"}))
                assert await subscribe(cid, "home/hall") == 1
                await until_gets(running, cid, "about 70")

    more: dict[str, object] = {"timeout": "1s", "negative_ttl": "1s"}
    if trouble == "gone":
        more["url"] = "http://127.0.0.1:9/introspect"
    with_service(folder, test, **more)


def test_an_answer_about_somebody_else_counts_for_nobody(folder: Path) -> None:
    async def test(running: Running, made: Service) -> None:
        async with enter(running, "vic") as vic:
            assert await subscribe(vic, "home/hall") == NOT_AUTHORIZED
        assert made.asked == [{"token": "vic"}]

    with_service(folder, test)


def test_other_roles_move_a_live_subscription_when_the_answer_gets_old(folder: Path) -> None:
    async def test(running: Running, made: Service) -> None:
        async with enter(running, "cid") as cid:
            assert await subscribe(cid, "home/hall") == 1
            await until_gets(running, cid, "about 70")
            made.tokens["cid"] = {"active": True, "roles": ["developer"]}
            await until_gets(running, cid, "71")
            made.status = 500  # it falls silent: what it said last holds no longer than it may
            await until(lambda: keeper_of(running).roles_of(b"cid")[0] is None)
            assert await subscribe(cid, "$raw/home/hall") == NOT_AUTHORIZED

    with_service(folder, test, ttl="1s", negative_ttl="1s")


def test_a_user_logs_in_with_a_token_and_has_its_roles_as_long_as_it_is_good(folder: Path) -> None:
    async def test(running: Running, made: Service) -> None:
        made.tokens = {
            "t-bob": {"active": True, "username": "bob", "realm": {"roles": ["customer"]}},
            "t-eve": {"active": True, "username": "eve", "realm": {"roles": ["developer"]}},
            "t-who": {"active": True, "realm": {"roles": ["developer"]}},
        }
        for user, word in (("bob", "t-none"), ("bob", "t-eve"), ("who", "t-who"), ("cid", "t-bob"), ("bob", "word")):
            with pytest.raises(aiomqtt.MqttError, match=r"[Bb]ad user name or password"):
                async with enter(running, user, word):
                    pass
        async with enter(running, "bob", "t-bob") as bob:
            assert made.asked[-1] == {"token": "t-bob", "token_type_hint": "access_token"}
            assert await subscribe(bob, "home/hall") == 1
            await until_gets(running, bob, "about 70")
            made.tokens["t-bob"] = {"active": False}  # revoked
            await until(lambda: keeper_of(running).roles_of(b"bob")[0] == frozenset())
            assert await subscribe(bob, "home/+") == NOT_AUTHORIZED
            made.tokens["t-new"] = {"active": True, "username": "bob", "realm": {"roles": ["developer"]}}
            async with client(running, username="bob", password="t-new", identifier="second") as again:
                await until(lambda: keeper_of(running).roles_of(b"bob")[0] == frozenset({"developer"}))
                assert await subscribe(again, "home/hall") == 1
                await until_gets(running, again, "71")
            await until_gets(running, bob, "71")
        async with enter(running, "cid") as cid:  # a password of the users file is none
            assert await subscribe(cid, "home/hall") == NOT_AUTHORIZED
        assert all(each["token"].startswith("t-") or each["token"] == "word" for each in made.asked)
        where = f"{running.uris[-1]}/explain?topic=home/hall"
        async with ClientSession() as web_client:
            for token, status in (("t-new", 200), ("t-none", 401)):
                async with web_client.get(where, headers={"Authorization": f"Bearer {token}"}) as answer:
                    assert answer.status == status
                    assert ("roles: developer" in await answer.text()) is (status == 200)
        made.status = 500
        with pytest.raises(aiomqtt.MqttError, match=r"[Uu]navailable"):
            async with enter(running, "bob", "t-new"):
                pass

    with_service(folder, test, token="password", claim="realm.roles", ttl="2s", negative_ttl="1s")
