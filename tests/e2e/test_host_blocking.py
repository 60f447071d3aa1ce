"""The synchronous facade where it is used: in a notebook, whose thread runs an event loop, and from several threads."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roost.errors import Disconnected, InvalidInput, TimedOut
from roost.host import ACCEPT_ANY, SyncFace, connect_sync
from roost.host.background import background
from roost.naming import Name
from roost.sync import PSYNC_PARTIAL, RangeList


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)


def everything(face: SyncFace, name: str) -> None:
    with (
        connect_sync(verifier=ACCEPT_ANY) as there,
        there.serve(f"{name}/s", lambda _: b"sync"),
        there.publish_object(f"{name}/o", bytes(20_000)),
    ):
        assert face.fetch(f"{name}/s/x").content == b"sync"
        assert face.fetch_object(f"{name}/o") == bytes(20_000)
        assert sum(len(data.content) for data in face.fetch_segments(f"{name}/o")) == 20_000


def test_a_group_is_joined_without_await_and_left_with_its_block_or_its_face(tmp_path: Path) -> None:
    async def cell() -> None:  # a notebook's thread runs a loop of its own
        with connect_sync(verifier=ACCEPT_ANY) as panel, connect_sync(verifier=ACCEPT_ANY) as reader:
            kept = reader.join("/g", durable=False)
            with panel.join("/g", folder=tmp_path) as group:
                assert group.produce("/me") == 1
                group.announce("/me", 3)
                learned = next(kept)
                assert (learned.stream.name, learned.low, learned.high) == (Name.parse("/me"), 1, 3)
                assert kept.learn(timeout_s=0) is None
                assert group.latest() == kept.latest() == {learned.stream: 3}
                with pytest.raises(InvalidInput, match="call `produce` first"):
                    group.announce("/you", 1)
            assert list(group) == [], "it was left"
            with panel.join("/g", folder=str(tmp_path)) as again:
                assert again.produce("/me") == 4
        kept.close()
        with pytest.raises(Disconnected, match="the face is closed"):
            kept.latest()

    asyncio.run(cell())
    assert background._loop is None


def test_streams_are_followed_without_await(tmp_path: Path) -> None:
    with (
        connect_sync(verifier=ACCEPT_ANY) as panel,
        connect_sync(verifier=ACCEPT_ANY) as reader,
        panel.join("/p", PSYNC_PARTIAL, folder=tmp_path) as producer,
    ):
        for stream in ("/p/a", "/p/b"):
            producer.announce(stream, producer.produce(stream))
        with reader.follow("/p", RangeList([Name.parse("/p/a")]), durable=False) as followed:
            assert next(followed).stream.name == Name.parse("/p/a")
            assert followed.available() == {Name.parse("/p/a"): 1}
            followed.subscribe("/p/b")
            assert next(followed).stream.name == Name.parse("/p/b")
            followed.unsubscribe("/p/b")
            assert [stream.name for stream in followed.latest()] == [Name.parse("/p/a")]


def test_in_a_thread_that_runs_an_event_loop() -> None:
    async def cell() -> None:
        for _ in range(2):
            with connect_sync(verifier=ACCEPT_ANY) as face:
                everything(face, "/with")
        for _ in range(2):
            kept = connect_sync(verifier=ACCEPT_ANY)
            everything(kept, "/kept")
            kept.close()
            with pytest.raises(Disconnected):
                kept.fetch("/kept/s/x")

    asyncio.run(cell())
    assert background._loop is None


def test_a_face_made_in_one_loop_is_used_and_closed_in_another() -> None:
    async def made() -> SyncFace:
        return connect_sync(verifier=ACCEPT_ANY)

    async def used(face: SyncFace) -> None:
        everything(face, "/moved")
        face.close()

    asyncio.run(used(asyncio.run(made())))
    assert background._loop is None


def test_from_several_threads_that_come_and_go() -> None:
    together = threading.Barrier(4)

    def user(number: int) -> None:
        for turn in range(10):  # the loop is stopped and started in between, whenever nobody is there
            together.wait(10)
            with connect_sync(verifier=ACCEPT_ANY) as face:
                everything(face, f"/thread/{number}/{turn}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(user, range(4)))
    assert (background._users, background._loop) == (0, None)


def test_a_closed_face_says_so_while_others_go_on() -> None:
    closed = connect_sync(verifier=ACCEPT_ANY)
    serving = closed.serve("/s", lambda _: b"")
    closed.close()
    with connect_sync(verifier=ACCEPT_ANY) as face:
        for use in (
            lambda: closed.fetch("/s"),
            lambda: closed.serve("/s", lambda _: b""),
            lambda: closed.publish_object("/o", b""),
            lambda: closed.fetch_object("/o"),
            lambda: next(closed.fetch_segments("/o")),
        ):
            with pytest.raises(Disconnected, match="the face is closed"):
                use()
        serving.close()
        everything(face, "/open")


def test_threads_that_close_the_same_face_close_it_once() -> None:
    face = connect_sync(verifier=ACCEPT_ANY)
    with connect_sync(verifier=ACCEPT_ANY) as other:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: face.close(), range(8)))
        everything(other, "/other")
    assert (background._users, background._loop) == (0, None)


def test_a_handler_cannot_close_its_face_and_the_face_stays_open(caplog: pytest.LogCaptureFixture) -> None:
    with connect_sync(verifier=ACCEPT_ANY) as face, connect_sync(verifier=ACCEPT_ANY) as asking:
        with face.serve("/h", lambda _: face.close()), pytest.raises(TimedOut):
            asking.fetch("/h/x", lifetime_ms=50, tries=1)
        assert "a handler cannot wait for its own thread" in caplog.text
        everything(face, "/after")
    assert background._loop is None
