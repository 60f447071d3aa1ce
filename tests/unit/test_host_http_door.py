"""The HTTP door itself: who comes in, what is refused before any desk sees it, and its bounds."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode

import pytest
from tests.http_world import ALICE, World, open_door
from tests.loops import run

from roost.broker.limits import Limiter, Limits
from roost.errors import BadConfig
from roost.host.http import asking, connection

MACRO = {"name": "a", "code": "Noctua.topic('t')"}
HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
WRONG = "Basic " + b64encode(b"alice:guess").decode()


def test_everybody_may_ask_whether_it_is_well_and_every_answer_is_json_that_nobody_keeps() -> None:
    async def test() -> None:
        async with open_door() as world:
            well = await world.ask("GET", "/health", Authorization=WRONG)
            assert (well.status, well.json) == (200, {"status": "ok"})
            assert (await world.ask("HEAD", "/health")).body == b""
            for answer in (well, await world.ask("GET", "/nowhere"), await world.ask("GET", "/macros")):
                assert answer.headers["Content-Type"] == "application/json"
                assert answer.headers["Cache-Control"] == "no-store"
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert "Access-Control-Allow-Origin" not in answer.headers
            assert (await world.ask("GET", "/nowhere")).status == 404

    run(test)


def test_another_method_is_told_which_there_are() -> None:
    async def test() -> None:
        async with open_door() as world:
            refused = await world.ask("DELETE", "/macros")
            assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD, POST")
            assert (await world.ask("PATCH", "/macros/a", {})).headers["Allow"] == "DELETE, GET, HEAD, PUT"

    run(test)


def test_what_is_not_configured_says_how_to_configure_it() -> None:
    async def test() -> None:
        async with open_door(bare=True) as world:
            for method, path, said in (
                ("GET", "/macros", "`macros:`"),
                ("PUT", "/macros/a/b", "`macros:`"),
                ("GET", "/traces/a", "`macros:`"),
                ("POST", "/rbps", "`roles:`"),
                ("GET", "/explain?user=a&topic=b", "`roles:`"),
                ("GET", "/topics/a", "no topics"),
            ):
                refused = await world.ask(method, path)
                assert refused.status == 404
                assert said in refused.error

    run(test)


def test_a_wrong_password_is_told_how_to_come_in_and_ends_the_connection() -> None:
    async def test() -> None:
        async with open_door() as world:
            refused = await world.ask("GET", "/macros", Authorization=WRONG)
            assert (refused.status, refused.error) == (401, "wrong name or password")
            assert refused.headers["WWW-Authenticate"].startswith('Basic realm="roost"')
            assert refused.headers["Connection"] == "close"
            assert world.door.unauthorized == 1
            assert (await world.ask("GET", "/macros", Authorization=ALICE)).status == 200

    run(test)


@pytest.mark.parametrize(
    ("headers", "host"),
    [
        ({}, "127.0.0.1"),
        ({"Host": "localhost:80"}, "127.0.0.1"),
        ({"Host": "[::1]:80"}, "127.0.0.1"),
        ({"Host": "evil.example:80"}, ""),  # a name that was made to mean this machine
        ({"Host": "[::1"}, ""),
        ({"X-Forwarded-For": "10.0.0.1"}, ""),
        ({"Forwarded": "for=10.0.0.1"}, ""),
        ({"X-Real-IP": "10.0.0.1"}, ""),
        ({"X-Forwarded-Proto": "https"}, ""),
    ],
)
def test_only_who_asked_for_this_very_machine_counts_as_on_it(headers: dict[str, str], host: str) -> None:
    async def test() -> None:
        async with open_door() as world:
            answer = await world.ask("GET", "/macros", **headers)
            assert world.gate.hosts == [host]
            assert answer.status == (200 if host else 401)

    run(test)


def test_behind_a_proxy_nobody_counts_as_on_this_machine() -> None:
    async def test() -> None:
        async with open_door(behind_proxy=True) as world:
            answer = await world.ask("GET", "/macros")  # as nginx forwards it: no header says that it did
            assert (world.gate.hosts, answer.status) == ([""], 401)
            assert (await world.ask("GET", "/macros", Authorization=ALICE)).status == 200

    run(test)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "file://", "http://[bad"])
def test_a_page_of_another_site_gets_nothing_and_changes_nothing(origin: str) -> None:
    async def test() -> None:
        async with open_door() as world:
            for method, path, body in (("POST", "/macros", MACRO), ("GET", "/macros", None), ("GET", "/health", None)):
                refused = await world.ask(method, path, body, Origin=origin, Authorization=ALICE)
                assert refused.status == 403
            assert (await world.ask("OPTIONS", "/macros", Origin=origin)).status == 403
            assert not world.macros.kept

    run(test)


def test_a_page_of_the_node_itself_may_ask() -> None:
    async def test() -> None:
        async with open_door() as world:
            assert (await world.ask("POST", "/macros", MACRO, Origin=world.uri)).status == 201

    run(test)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_a_form_could_send_is_refused(kind: str) -> None:
    async def test() -> None:
        async with open_door() as world:
            refused = await world.ask("POST", "/macros", MACRO, Content_Type=kind)
            assert refused.status == 415
            assert "application/json" in refused.error
            assert not world.macros.kept

    run(test)


def test_a_body_that_is_packed_or_in_other_letters_is_refused() -> None:
    async def test() -> None:
        async with open_door() as world:
            assert (await world.ask("POST", "/macros", b"\x1f\x8b", Content_Encoding="gzip")).status == 415
            kind = "application/json; charset=utf-16"
            assert (await world.ask("POST", "/macros", b"{}", Content_Type=kind)).status == 415

    run(test)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not JSON: line 1, column 1"),
        (b'{"code":\n "a" "b"}', "not JSON: line 2, column 6"),
        (b'{"code": "\xff"}', "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"code": NaN}', "NaN is no number"),
        (b"1" * 10_000, "not JSON"),
        (b"\xef\xbb\xbf{}", "not JSON"),
    ],
)
def test_what_is_no_json_is_refused(body: bytes, said: str) -> None:
    async def test() -> None:
        async with open_door() as world:
            refused = await world.ask("POST", "/macros", body)
            assert refused.status == 400
            assert said in refused.error
            assert world.door.failures == 0

    run(test)


def test_a_body_that_is_too_large_is_refused_announced_or_not() -> None:
    async def test() -> None:
        async with open_door() as world:
            large = b'"' + b"x" * asking.MAX_BODY_BYTES + b'"'
            refused = await world.ask("POST", "/macros", large)
            assert (refused.status, refused.headers["Connection"]) == (413, "close")
            head = b"POST /macros HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            chunked = head + b"Transfer-Encoding: chunked\r\n\r\n" + b"%x\r\n%b\r\n0\r\n\r\n" % (len(large), large)
            assert (await world.say(chunked)).startswith(b"HTTP/1.1 413 ")

    run(test)


@pytest.mark.parametrize(
    "request_",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x10\x0e\x00\x04MQTT\x05\x02\x00\x3c\x00\x00\x01a\r\n\r\n",
        b"GET /macros HTTP/9.9\r\n\r\n",
        b"GET /macros HTTP/1.1\r\nHost: a\r\nHost b\r\n\r\n",
        b"POST /macros HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST /macros HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: a\r\n" * 1_000 + b"\r\n",
    ],
)
def test_what_is_no_http_is_answered_with_400_and_the_connection_closed(request_: bytes) -> None:
    async def test() -> None:
        async with open_door() as world:
            reply = await world.say(request_)
            assert reply.split(b" ", 2)[1] == b"400"
            assert "error" in json.loads(reply.partition(b"\r\n\r\n")[2])
            assert world.door.counts()["http/requests/malformed"] == 1
            assert (await world.ask("GET", "/health")).status == 200

    run(test)


@pytest.mark.parametrize("begun", [b"", b"GET /macros HTTP/1.1\r\nHost: 127"])
def test_a_request_that_does_not_come_is_not_waited_for(begun: bytes) -> None:
    async def test() -> None:
        async with open_door() as world:
            world.door.lobby.timeout_s = 0.05
            assert await world.say(begun) == b""
            assert world.door.counts()["http/connections"] == 0

    run(test)


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "BODY_TIMEOUT_S", 0.05)
    monkeypatch.setattr(connection, "LINGER_S", 0.05)

    async def test() -> None:
        async with open_door() as world:
            head = b"POST /macros HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            assert (await world.say(head + b"Content-Length: 10\r\n\r\n{")).startswith(b"HTTP/1.1 408 ")

    run(test)


def test_more_requests_at_once_than_there_is_room_for_are_told_to_come_again() -> None:
    async def test() -> None:
        async with open_door() as world:
            world.door.max_requests = 2
            world.gate.asking = asyncio.Semaphore(0)
            waiting = [asyncio.create_task(world.ask("GET", "/macros")) for _ in range(2)]
            for _ in waiting:
                await world.gate.asked.get()
            refused = await world.ask("GET", "/macros")
            assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
            assert world.door.counts()["http/requests/refused/full"] == 1
            world.gate.asking.release()
            assert [(await each).status for each in waiting] == [200, 200]

    run(test)


def test_connections_have_a_bound_and_who_is_one_too_many_is_closed() -> None:
    async def test() -> None:
        async with open_door() as world:
            world.door.lobby.limiter.limits = Limits(max_links=1)
            reader, writer = await world.connect()
            writer.write(HEALTH)
            await reader.readuntil(b"}\n")
            assert await world.say(HEALTH) == b""
            assert world.door.counts()["http/connections/refused"] == 1
            writer.write(HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            await reader.read()  # the door has closed it, and so counts it no more
            writer.close()
            assert (await world.ask("GET", "/health")).status == 200

    run(test)


class Elsewhere:
    """A limiter for whom everybody comes from another machine: loopback has no limits of its own."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    def __getattr__(self, name: str) -> object:
        return getattr(self._limiter, name)

    def connect(self, address: str, now: int) -> bool:
        del address
        return self._limiter.connect("10.0.0.9", now)

    def disconnect(self, address: str) -> None:
        del address
        self._limiter.disconnect("10.0.0.9")

    def failed(self, address: str, now: int) -> None:
        del address
        self._limiter.failed("10.0.0.9", now)


def test_an_address_that_guesses_passwords_may_not_connect_for_a_while() -> None:
    async def test() -> None:
        async with open_door(limits=Limits(failures_per_minute=2)) as world:
            lobby = world.door.lobby
            lobby.limiter = Elsewhere(lobby.limiter)  # type: ignore[assignment, misc]
            assert (await world.ask("GET", "/macros", Host="other")).status == 401  # no password was guessed
            for _ in range(2):
                assert (await world.ask("GET", "/macros", Authorization=WRONG)).status == 401
            assert await world.say(HEALTH) == b""
            assert world.door.counts()["http/connections/refused"] == 1

    run(test)


def test_an_address_that_is_taken_is_told() -> None:
    async def test() -> None:
        async with open_door() as world:
            other = World()
            port = int(world.uri.rpartition(":")[2])
            with pytest.raises(BadConfig, match=r"cannot listen on 127\.0\.0\.1:\d+: .*give another address or port"):
                await other.open().start("127.0.0.1", port)
            await other.door.stop()

    run(test)
