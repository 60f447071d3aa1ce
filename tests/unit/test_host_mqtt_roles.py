"""The introspection endpoint of a configuration: what may be written, and what is asked of it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from tests.loops import run

from roost.broker.effects import Authenticate, Verdict
from roost.errors import BadConfig, Unreachable
from roost.host.mqtt.config_roles import EndpointSettings, read_role_settings
from roost.host.mqtt.roles import MAX_ANSWER_BYTES, Endpoint
from roost.machine import SECOND

URL = "http://127.0.0.1:9/introspect"


def settings(folder: Path, **more: object) -> EndpointSettings:
    (folder / "secret").write_text("s3cret\n")
    (folder / "secret").chmod(0o600)
    said = {"url": URL, "client_id": "roost", "secret": "secret", **more}
    users = read_role_settings({"users": {"introspection": said}}, folder).users
    assert isinstance(users, EndpointSettings)
    return users


@asynccontextmanager
async def served(
    folder: Path, answer: Callable[[web.Request], Awaitable[web.Response]], **more: object
) -> AsyncIterator[Endpoint]:
    """An endpoint, and a service behind it."""
    app = web.Application()
    app.router.add_post("/introspect", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    endpoint = Endpoint(settings(folder, url=f"http://127.0.0.1:{runner.addresses[0][1]}/introspect", **more))
    try:
        yield endpoint
    finally:
        await endpoint.close()
        await runner.cleanup()


@pytest.mark.parametrize(("said", "is_login"), [({}, False), ({"token": "user"}, False), ({"token": "password"}, True)])
def test_what_is_sent_is_a_name_or_a_token(tmp_path: Path, said: dict[str, object], is_login: bool) -> None:
    assert settings(tmp_path, **said).is_login is is_login


@pytest.mark.parametrize("token", ["jwt", "", 7])
def test_anything_else_is_refused(tmp_path: Path, token: object) -> None:
    with pytest.raises(BadConfig, match=r"roles\.users\.introspection\.token"):
        settings(tmp_path, token=token)


@pytest.mark.parametrize(
    ("content", "status", "why"),
    [
        (b"[]", 200, "no object but"),
        (b"{", 200, "Expecting property name"),
        (b"[" * 20_000, 200, "recursion"),
        (b" " * (MAX_ANSWER_BYTES + 1), 200, "more than 65536 bytes"),
        (b"{}", 302, "answers 302"),
        (b"{}", 401, "answers 401; see client_id and the secret"),
        (b'{"active": true, "username": "eve"}', 200, "is about 'eve'"),
        (b'{"active": true, "roles": 7}', 200, "name one that is a list"),
    ],
)
def test_an_answer_that_is_none_is_a_failed_look_up(tmp_path: Path, content: bytes, status: int, why: str) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=content, status=status, headers={"Location": "/elsewhere"} if status == 302 else {})

    async def test() -> None:
        async with served(tmp_path, answer) as endpoint:
            with pytest.raises((BadConfig, Unreachable), match=why):
                await endpoint.find("bob")

    run(test)


def test_who_shows_another_token_is_looked_up_anew(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        posted = await request.post()
        return web.json_response({"active": True, "sub": "bob", "roles": str(posted["token"])})

    async def test() -> None:
        renewed: list[str] = []
        async with served(tmp_path, answer, token="password") as endpoint:
            endpoint.renewed = renewed.append
            for token, count in (("one", 1), ("one", 1), ("two", 2)):
                assert await endpoint.log_in(token) == "bob"
                assert len(renewed) == count
                assert (await endpoint.find("bob")).roles == {token}

    run(test)


def test_without_the_service_nobody_comes_in_by_a_token(tmp_path: Path) -> None:
    async def test() -> None:
        endpoint = Endpoint(settings(tmp_path, token="password"))
        try:
            asked = Authenticate(1, b"client", b"bob", b"token", b"", b"")
            assert await endpoint.by_password(asked) == Verdict(0x88, why="tokens cannot be checked now")
            unreadable = Authenticate(1, b"client", b"bob", b"\xff", b"", b"")
            assert await endpoint.by_password(unreadable) == Verdict(0x86, why="wrong name or password")
            assert endpoint.bearer is not None
            with pytest.raises(Unreachable, match="cannot be checked now"):
                await endpoint.bearer("token")
            with pytest.raises(Unreachable, match="bob has not shown a token since this node started"):
                await endpoint.find("bob")
        finally:
            await endpoint.close()

    run(test)


def test_what_the_documentation_shows_can_be_written(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/roles.md").read_text(encoding="utf-8")
    (block, *_) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    users = read_role_settings(yaml.safe_load(block)["roles"], tmp_path).users
    assert isinstance(users, EndpointSettings)
    assert (users.is_login, users.claim, users.lookup.ttl) == (True, "realm_access.roles", 300 * SECOND)
