"""Who comes in at a node's page and API: by a log-in, by a token, and what neither of them gives."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from tests.loops import run
from tests.mqtt_certificates import Authority
from tests.site_world import Node, basic, node

from roost.host.http.door import HttpDoor
from roost.host.mqtt.passwords import LIGHT, PasswordHash
from roost.web import visits


def failures(door: HttpDoor, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses of those who gave a wrong password, from now on."""
    found: list[str] = []
    count = door.failed

    def failed(request: web.Request) -> None:
        found.append(str(request.remote))
        count(request)

    monkeypatch.setattr(door, "failed", failed)
    return found


def test_a_password_buys_a_cookie_that_scripts_and_other_sites_do_not_see(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            answer = await world.ask("POST", "/session", {"user": "alice", "password": "secret"})
            assert (answer.status, answer.json["user"]) == (200, "alice")
            flags = {each.strip() for each in answer.headers["Set-Cookie"].split(";")[1:]}
            assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= flags
            assert "Secure" not in flags  # no TLS here
            proxied = await world.ask(
                "POST", "/session", {"user": "alice", "password": "secret"}, X_Forwarded_Proto="https"
            )
            assert "Secure" in proxied.headers["Set-Cookie"]
            cookie = answer.headers["Set-Cookie"].partition(";")[0]
            me = await world.ask("GET", "/session", Cookie=cookie)
            assert (me.json["user"], me.json["anonymous"], me.json["expires"]) == (
                "alice",
                False,
                answer.json["expires"],
            )
            assert (await world.ask("GET", "/macros", Cookie=cookie)).status == 200
            assert (await world.ask("GET", "/macros")).status == 401

    run(test)


def test_logging_out_ends_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            cookie = await world.log_in("alice", "secret")
            assert (await world.ask("DELETE", "/session", Cookie=cookie)).json == {"ended": True}
            assert (await world.ask("GET", "/macros", Cookie=cookie)).status == 401
            assert (await world.ask("GET", "/session", Cookie=cookie)).status == 401
            assert (await world.ask("DELETE", "/session")).json == {"ended": False}

    run(test)


def test_logging_in_again_ends_the_log_in_before(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            old = await world.log_in("alice", "secret")
            await world.ask("POST", "/session", {"user": "bob", "password": "word"}, Cookie=old)
            assert (await world.ask("GET", "/session", Cookie=old)).status == 401

    run(test)


@pytest.mark.parametrize("change", [{"alice": "another", "bob": "word"}, {"bob": "word"}])
def test_another_password_or_none_ends_it_on_reload(tmp_path: Path, change: dict[str, str]) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            alice, bob = await world.log_in("alice", "secret"), await world.log_in("bob", "word")
            kept = (tmp_path / "users").read_text().splitlines()
            fresh = [f"alice:{PasswordHash.make(change['alice'].encode(), LIGHT)}"] if "alice" in change else []
            (tmp_path / "users").write_text(
                "\n".join([*fresh, *[each for each in kept if each.startswith("bob")]]) + "\n"
            )
            await world.running.reload()
            assert (await world.ask("GET", "/session", Cookie=alice)).status == 401
            assert (await world.ask("GET", "/session", Cookie=bob)).json["user"] == "bob"

    run(test)


def test_a_wrong_password_counts_and_a_page_opens_no_window_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            door = world.running.http
            assert door is not None
            failed = failures(door, monkeypatch)
            wrong = await world.ask("POST", "/session", {"user": "alice", "password": "?"}, Sec_Fetch_Mode="cors")
            assert (wrong.status, wrong.headers["WWW-Authenticate"]) == (401, 'Cookie realm="roost"')
            assert wrong.headers["Connection"] == "close"
            unknown = await world.ask("POST", "/session", {"user": "a:b", "password": "?"})
            assert unknown.headers["WWW-Authenticate"].startswith("Basic")
            assert failed == ["127.0.0.1", "127.0.0.1"]
            assert door.counts()["http/requests/refused/unauthorized"] == 2
            assert "Set-Cookie" not in wrong.headers

    run(test)


def test_a_log_in_is_json_of_this_site_and_as_it_has_to_be(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            right = {"user": "alice", "password": "secret"}
            cross = await world.ask("POST", "/session", right, Origin="http://elsewhere.example")
            assert cross.status == 403
            assert (await world.ask("POST", "/session", right, Content_Type="text/plain")).status == 415
            more: list[dict[str, object]] = [{"more": 1}, {"user": 3}, {"user": "\ud800"}]
            bodies: list[object] = [[], {}, {"user": "alice"}, *[right | each for each in more]]
            for body in bodies:
                assert (await world.ask("POST", "/session", body)).status == 400
            cookie = await world.log_in("alice", "secret")
            stolen = await world.ask("POST", "/tokens", {}, Cookie=cookie, Origin="http://127.0.0.1:1")
            assert stolen.status == 403

    run(test)


def test_without_the_page_the_api_is_there(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path, users=False, page=False) as one:
            assert (await one.ask("GET", "/")).status == 404
            assert (await one.ask("GET", "/node")).status == 200
            assert (await one.ask("GET", "/metrics")).status == 200

    run(test)


def test_without_users_nobody_logs_in_and_a_cookie_of_others_harms_nobody(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path, users=False) as world:
            refused = await world.ask("POST", "/session", {"user": "alice", "password": "secret"})
            assert (refused.status, "roost users add" in refused.json["error"]) == (409, True)
            me = await world.ask("GET", "/session", Cookie="roost=of-another-node")
            assert (me.status, me.json["user"], me.json["anonymous"], me.json["expires"]) == (200, "", True, None)

    run(test)


def test_a_token_may_what_its_scopes_say_and_no_more(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            made = await world.ask(
                "POST", "/tokens", {"name": "dashboard", "scopes": ["read"]}, Authorization=basic("alice", "secret")
            )
            assert made.status == 201
            bearer = "Bearer " + made.json["token"]
            assert (await world.ask("GET", "/topics/hall/temp", Authorization=bearer)).status == 200
            refused = await world.ask("GET", "/macros", Authorization=bearer)
            assert (refused.status, "scope macros" in refused.json["error"]) == (403, True)
            past = await world.ask("GET", "/topics/hall/temp?since=1h", Authorization=bearer)
            assert (past.status, "scope history" in past.json["error"]) == (403, True)
            me = await world.ask("GET", "/session", Authorization=bearer)
            assert (me.json["user"], me.json["scopes"]) == ("alice", ["read"])
            listed = await world.ask("GET", "/tokens", Authorization=basic("alice", "secret"))
            assert [each["name"] for each in listed.json["items"]] == ["dashboard"]
            assert listed.json["items"][0]["used"] is not None
            assert "token" not in listed.json["items"][0]
            assert not (await world.ask("GET", "/tokens", Authorization=basic("bob", "word"))).json["items"]
            where = made.headers["Location"]
            assert (await world.ask("DELETE", where, Authorization=basic("bob", "word"))).status == 404
            assert (await world.ask("DELETE", where, Authorization=basic("alice", "secret"))).status == 200
            assert (await world.ask("GET", "/topics/hall/temp", Authorization=bearer)).status == 401

    run(test)


def test_a_token_may_no_more_than_its_user(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            said = {"name": "all", "scopes": ["read", "macros", "roles", "admin"], "ttl_s": 1000}
            made = await world.ask("POST", "/tokens", said, Authorization=basic("bob", "word"))
            bearer = "Bearer " + made.json["token"]
            assert (await world.ask("GET", "/topics/hall/temp", Authorization=bearer)).status == 200
            assert (await world.ask("GET", "/topics/cellar/temp", Authorization=bearer)).status == 403
            macro = {"name": "a", "code": "Noctua.topic('t')"}
            assert (await world.ask("POST", "/macros", macro, Authorization=bearer)).status == 403
            for more in ({"scopes": ["demo"], "ttl_s": 10}, {"scopes": ["read"], "ttl_s": 5000}):
                beyond = await world.ask("POST", "/tokens", {"name": "b"} | more, Authorization=bearer)
                assert beyond.status == 403
            fewer = await world.ask(
                "POST", "/tokens", {"name": "b", "scopes": ["read"], "ttl_s": 10}, Authorization=bearer
            )
            assert fewer.status == 201
            kept = (tmp_path / "users").read_text().splitlines()
            (tmp_path / "users").write_text(kept[0] + "\n")
            await world.running.reload()
            assert (await world.ask("GET", "/topics/hall/temp", Authorization=bearer)).status == 401

    run(test)


def test_a_token_that_is_none_counts_as_a_wrong_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            door = world.running.http
            assert door is not None
            failed = failures(door, monkeypatch)
            assert (await world.ask("GET", "/macros", Authorization="Bearer roost_guess")).status == 401
            assert (await world.ask("GET", "/macros", Authorization="Bearer of-others")).status == 401
            assert failed == ["127.0.0.1"] * 2

    run(test)


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"name": "a"},
        {"name": "a", "scopes": "read"},
        {"name": "a", "scopes": [3]},
        {"name": "a", "scopes": ["read"], "ttl_s": True},
        {"name": "a", "scopes": ["read"], "ttl_s": 10**30},
        {"name": "\ud800", "scopes": ["read"]},
        {"name": "a", "scopes": ["read"], "user": "bob"},
    ],
)
def test_a_token_that_cannot_be_is_400(tmp_path: Path, body: object) -> None:
    async def test() -> None:
        async with node(tmp_path, users=False) as world:
            assert (await world.ask("POST", "/tokens", body)).status == 400

    run(test)


def test_a_token_of_others_lets_its_user_in_and_makes_none_of_ours(tmp_path: Path) -> None:
    """OAuth 2.0 token introspection [RFC 7662] goes on beside our own tokens."""

    async def introspect(request: web.Request) -> web.Response:
        posted = await request.post()
        is_hers = posted["token"] == "hers"
        return web.json_response(
            {"active": is_hers, "username": "carol", "roles": []} if is_hers else {"active": False}
        )

    async def test() -> None:
        application = web.Application()
        application.router.add_post("/introspect", introspect)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        (tmp_path / "secret").write_text("of-the-node\n")
        (tmp_path / "secret").chmod(0o600)
        (tmp_path / "rbps.yaml").write_text("[]\n")
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/introspect"
        users = {"introspection": {"url": url, "client_id": "roost", "secret": "secret", "token": "password"}}
        try:
            async with node(tmp_path, roles={"documents": "rbps.yaml", "users": users}) as world:
                me = await world.ask("GET", "/session", Authorization="Bearer hers")
                assert (me.status, me.json["user"]) == (200, "carol")
                assert (await world.ask("GET", "/macros", Authorization="Bearer another")).status == 401
                said = {"name": "a", "scopes": ["read"]}
                refused = await world.ask("POST", "/tokens", said, Authorization="Bearer hers")
                assert (refused.status, "users file" in refused.json["error"]) == (403, True)
        finally:
            await runner.cleanup()

    run(test)


@asynccontextmanager
async def following(world: Node, path: str, headers: dict[str, str]) -> AsyncIterator[asyncio.StreamReader]:
    """What comes behind the head of an answer that does not end."""
    place = urlsplit(world.running.uris[-1])
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    said = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nAccept: text/event-stream\r\n{said}\r\n".encode())
    try:
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        while await reader.readline() != b"\r\n":
            pass
        yield reader
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@pytest.mark.parametrize("path", ["/events?all=true", "/topics/hall/%23"])
@pytest.mark.parametrize("way", ["cookie", "token", "password"])
def test_who_follows_is_cut_off_when_they_would_not_be_let_in_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, way: str
) -> None:
    monkeypatch.setattr(visits, "EVERY_S", 0.05)

    async def test() -> None:
        async with node(tmp_path) as world:
            known = {"Authorization": basic("alice", "secret")}
            made = await world.ask("POST", "/tokens", {"name": "a", "scopes": ["read"]}, **known)
            shown = {
                "cookie": {"Cookie": await world.log_in("alice", "secret")},
                "token": {"Authorization": f"Bearer {made.json['token']}"},
                "password": known,
            }[way]
            bob = {"Authorization": basic("bob", "word")}
            async with following(world, path, bob) as stays, following(world, path, shown) as reader:
                if way == "cookie":
                    await world.ask("DELETE", "/session", **shown)
                elif way == "token":
                    await world.ask("DELETE", made.headers["Location"], **known)
                else:
                    kept = (tmp_path / "users").read_text().splitlines()
                    (tmp_path / "users").write_text(kept[1] + "\n")
                    await world.running.reload()
                with contextlib.suppress(ConnectionError):
                    await asyncio.wait_for(reader.read(), 60)
                assert not stays.at_eof()
            assert world.running.http is not None
            assert world.running.http.counts()["http/following/ended"] == 1

    run(test)


def test_a_file_of_tokens_that_cannot_be_read_is_the_nodes_trouble_and_not_the_peers(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            known = {"Authorization": basic("alice", "secret")}
            made = await world.ask("POST", "/tokens", {"name": "a", "scopes": ["read"]}, **known)
            token = {"Authorization": f"Bearer {made.json['token']}"}
            (tmp_path / "tokens").chmod(0o644)
            (tmp_path / "tokens").write_text("nonsense")
            asked = [
                await world.ask("GET", "/topics/hall/temp", **token),
                await world.ask("GET", "/tokens", **known),
                await world.ask("POST", "/tokens", {"name": "a", "scopes": ["read"]}, **known),
                await world.ask("DELETE", made.headers["Location"], **known),
            ]
            assert {(each.status, each.json["error"]) for each in asked} == {
                (503, "this node cannot read its tokens now: its log says why")
            }
            assert (tmp_path / "tokens").read_text() == "nonsense"
            assert (await world.ask("GET", "/macros", **known)).status == 200

    run(test)


def test_over_tls_the_cookie_goes_over_nothing_else(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.certify("server")
    http_said = {"listen": "127.0.0.1:0", "certificate": "server.pem", "key": "server.key"}

    def ask(uri: str) -> str:
        place = urlsplit(uri)
        context = ssl.create_default_context(cafile=str(authority.path))
        connection = http.client.HTTPSConnection(str(place.hostname), place.port, timeout=60, context=context)
        body = json.dumps({"user": "alice", "password": "secret"})
        connection.request("POST", "/session", body, {"Content-Type": "application/json"})
        said = connection.getresponse().getheader("Set-Cookie", "")
        connection.close()
        return said

    async def test() -> None:
        async with node(tmp_path, http=http_said) as world:
            assert "Secure" in (await asyncio.to_thread(ask, world.running.uris[-1])).split("; ")

    run(test)
