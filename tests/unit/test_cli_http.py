"""Asking a node over HTTP: its answer, its refusals and everything else as sentences."""

from __future__ import annotations

import argparse
import asyncio
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.http_world import open_door
from tests.loops import run

from roost.cli import _http
from roost.cli._http import Login, add_node, ask, login_of, path_of
from roost.errors import BadConfig, Disconnected, Refused, RoostError, TimedOut


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_node(parser)
    return parser.parse_args(words)


def answering(content: bytes, asking: Callable[[str], object]) -> RoostError:
    """What is raised when this is all that a server ever says."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(content)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with pytest.raises(RoostError) as raised:
                asking(f"http://127.0.0.1:{listener.getsockname()[1]}")
        finally:
            thread.join()
    return raised.value


def test_a_node_is_asked_and_its_answer_is_what_json_says() -> None:
    async def test() -> None:
        async with open_door() as world:

            def client() -> None:
                alice = Login("alice", b"secret")
                path = path_of("macros", "room 1/100%")
                shown = ask(world.uri, "PUT", path, {"code": "Noctua.topic('é')"}, alice)
                assert isinstance(shown, dict)
                assert shown["definition"] == {"name": "room 1/100%", "code": "Noctua.topic('é')"}
                assert ask(world.uri + "/", "GET", path_of("macros")) == ["room 1/100%"]
                assert ask(world.uri, "GET", path_of("explain", user="a&b", topic="t/+")) == {
                    "user": "a&b",
                    "topic": "t/+",
                    "explanation": "a&b gets t/+",
                }

            await asyncio.to_thread(client)

    run(test)


def test_a_refusal_is_the_nodes_own_sentence() -> None:
    async def test() -> None:
        async with open_door() as world:

            def client() -> None:
                with pytest.raises(Refused, match="there is no such macro") as missing:
                    ask(world.uri, "GET", "/macros/a")
                assert missing.value.code == 404
                with pytest.raises(Refused, match="wrong name or password; give --user") as wrong:
                    ask(world.uri, "GET", "/macros", user=Login("alice", b"guess"))
                assert wrong.value.code == 401

            await asyncio.to_thread(client)

    run(test)


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n<>", BadConfig, "does not answer in JSON"),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\n<>", Refused, "says 500 Oh"),
        (b"HTTP/1.1 302 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", Refused, "says 302 Go"),
        (b"\x20\x02\x00\x05", Disconnected, "does not speak HTTP"),
        (b"", Disconnected, "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[", BadConfig, "does not answer in JSON"),
    ],
)
def test_what_is_no_node_is_told_so(content: bytes, kind: type[RoostError], said: str) -> None:
    error = answering(content, lambda url: ask(url, "GET", "/macros"))
    assert isinstance(error, kind)
    assert said in str(error)
    assert "--url" in str(error)


def test_a_node_that_is_not_there_or_says_nothing_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        monkeypatch.setattr(_http, "TIMEOUT_S", 0.05)
        with pytest.raises(TimedOut, match="did not answer"):
            ask(url, "GET", "/macros")
    with pytest.raises(Disconnected, match=r"cannot reach .*`roost up`"):
        ask(url, "GET", "/macros")


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "file:///etc/passwd", "http://a b", "http://127.0.0.1:port"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(BadConfig, match="--url"):
        ask(url, "GET", "/macros")


def test_proxies_of_the_environment_never_see_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    async def test() -> None:
        async with open_door() as world:
            assert await asyncio.to_thread(ask, world.uri, "GET", "/macros") == []

    run(test)


def test_who_asks_is_read_from_the_flags_a_file_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_bytes(b"se:cret \nmore\n")
    assert options().url == "http://127.0.0.1:8080"
    assert login_of(options()) is None
    assert login_of(options("--user", "alice", "--password-file", str(file))) == Login("alice", b"se:cret ")
    monkeypatch.setenv(_http.PASSWORD_VARIABLE, "other")
    assert login_of(options("--user", "alice")) == Login("alice", b"other")
    monkeypatch.delenv(_http.PASSWORD_VARIABLE)
    file.write_bytes(b"")
    for words, said in (
        (("--password-file", str(file)), "give --user"),
        (("--user", "a:b"), "holds ':'"),
        (("--user", "a", "--password-file", str(file)), "no line in it"),
        (("--user", "a"), "--password-file, or ROOST_MQTT_PASSWORD"),
    ):
        with pytest.raises(BadConfig, match=said):
            login_of(options(*words))
