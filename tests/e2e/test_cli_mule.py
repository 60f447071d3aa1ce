"""`roost mule`: from one node, over a file, to another, with processes and sockets."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest
from tests.verbs import RUN, background, environment_of, roost

import roost as api
from roost.errors import RoostError
from roost.wire import DigestSigner

NODE = ["node", "--tcp", "127.0.0.1:0", "--no-udp", "--no-ws"]


def address(said: list[str]) -> str:
    (line,) = [line for line in said if "tcp" in line]
    return next(word.strip("(),;") for word in line.split() if "tcp4://" in word)


def join(uri: str, node: str) -> api.host.client.GroupConnection:
    return api.join("/campus/ops", node, uri=uri, verifier=api.ACCEPT_ANY, signer=DigestSigner(), durable=False)


async def published(uri: str, environment: dict[str, str], file: Path) -> None:
    async with join(uri, "/radar") as radar:
        for number in range(3):
            await radar.publish(f"/position/{number}", b"%d" % number)
        await radar.publish("/image/0", bytes(100_000))
        said = b""
        for _ in range(2):  # the second brings nothing new
            done = await asyncio.to_thread(
                roost, environment, "mule", "export", str(file), "/campus/ops", "/position",
                "--at", uri, "--accept-any", "--wait", "1",
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            said = done.stdout
    assert said.decode() == f"{file}: 3 packets of 1 stream, 0 of them new\n"


async def received(uri: str) -> list[bytes]:
    async with join(uri, "/desk") as desk:
        feed = desk.subscribe("/position")
        return [(await anext(feed)).blob for _ in range(3)]


def test_a_file_brings_positions_from_one_node_to_another(tmp_path: Path) -> None:
    file = tmp_path / "ops.mule"
    here, there = environment_of(tmp_path / "here"), environment_of(tmp_path / "there")
    with background(here, *NODE, until="ready") as said:
        asyncio.run(published(address(said), here, file))
    shown = roost(here, "mule", "show", str(file))
    assert b"/radar: 3 of 4 publications, 3 packets" in shown.stdout
    with background(there, *NODE, until="ready") as said:
        uri = address(said)
        with background(there, "mule", "import", str(file), "--at", uri, "--accept-any", until="carrying") as lines:
            assert lines == ["carrying 3 packets of 1 stream in /campus/ops"]
            assert asyncio.run(received(uri)) == [b"0", b"1", b"2"]
    assert int(lines[-1].split()[1]) >= 3


async def published_and_left(uri: str, lines: Iterator[str]) -> None:
    async with join(uri, "/radar") as radar:
        for number in range(3):
            await radar.publish(f"/position/{number}", b"%d" % number)
        assert await asyncio.to_thread(next, lines) == "3 packets of 1 stream"


def test_who_keeps_a_group_gives_its_history_also_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "ops.mule"
    environment = environment_of(tmp_path)
    with background(environment, *NODE, until="ready") as said:
        uri = address(said)
        keep = ["mule", "keep", str(file), "/campus/ops", "--at", uri, "--accept-any", "--wait", "0.3"]
        with lines_of(environment, *keep) as lines:
            assert next(lines).endswith("0 packets")
            asyncio.run(published_and_left(uri, (line.partition(": ")[2] for line in lines)))
        with lines_of(environment, *keep) as lines:
            assert next(lines).endswith("3 packets")
            assert asyncio.run(received(uri)) == [b"0", b"1", b"2"]


@asynccontextmanager
async def never_quiet(uri: str) -> AsyncIterator[None]:
    """Somebody publishes ten times a second, until the block ends."""

    async def publish() -> None:
        async with join(uri, "/radar") as radar:
            for number in count():
                await radar.publish(f"/position/{number}", b"%d" % number)
                begun.set()
                await asyncio.sleep(0.1)  # as a sensor would

    begun = asyncio.Event()
    task = asyncio.ensure_future(publish())
    await begun.wait()
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def test_of_a_group_that_is_never_quiet_what_there_was_is_exported_and_kept(tmp_path: Path) -> None:
    exported, kept = tmp_path / "exported", tmp_path / "kept"
    environment = environment_of(tmp_path)

    async def test(uri: str) -> None:
        at = ["--at", uri, "--accept-any", "--wait", "1"]
        async with never_quiet(uri):
            verb = ["mule", "export", str(exported), "/campus/ops", *at, "--json"]
            done = await asyncio.to_thread(roost, environment, *verb)
            assert done.returncode == 0, done.stderr
            told = json.loads(done.stdout)
            assert (told["packets"] > 0, told["lacking"]) == (True, 0)
            verb = ["mule", "keep", str(kept), "/campus/ops", *at, "--every", "0.5"]
            with lines_of(environment, *verb) as lines:
                said = [await asyncio.to_thread(next, lines) for _ in range(3)]
            packets = [int(line.split()[1]) for line in said[1:]]
            assert 0 < packets[0] < packets[1]

    with background(environment, *NODE, until="ready") as said:
        asyncio.run(test(address(said)))


async def carried(uri: str, name: str) -> bytes:
    """What somebody else than its producer has, once it has it."""
    async with join(uri, "/desk") as desk:
        while True:
            with suppress(RoostError):
                return (await desk.fetch(name)).blob


@pytest.mark.parametrize("action", ["export", "keep"])
def test_who_is_told_to_stop_writes_what_there_is(tmp_path: Path, action: str) -> None:
    environment = environment_of(tmp_path)
    verb = ["mule", action, str(tmp_path / "file"), "/campus/ops", "--accept-any", "--wait", "600"]

    async def test(uri: str) -> None:
        quiet = api.join("/campus/ops", "/radar", uri=uri, verifier=api.ACCEPT_ANY, signer=DigestSigner(),
                         carry_bytes=0, durable=False)  # fmt: skip
        async with quiet as radar:
            await radar.publish("/position/1", b"here")
            with lines_of(environment, *verb, "--at", uri):
                assert await carried(uri, "/position/1") == b"here"

    with background(environment, *NODE, until="ready") as said:
        asyncio.run(test(address(said)))
    shown = roost(environment, "mule", "show", str(tmp_path / "file"), "--json")
    assert [stream["packets"] for stream in json.loads(shown.stdout)["streams"]] == [1]


@contextmanager
def lines_of(environment: dict[str, str], *arguments: str) -> Iterator[Iterator[str]]:
    """Run a verb until the block ends; what it prints, as it does."""
    with subprocess.Popen([*RUN, *arguments], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield (line.rstrip() for line in process.stdout)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0


def test_what_cannot_be_done_is_told_with_what_to_do(tmp_path: Path) -> None:
    environment = environment_of(tmp_path)
    missing = roost(environment, "mule", "show", str(tmp_path / "none"))
    assert (missing.returncode, b"roost mule export" in missing.stderr) == (1, True)
    doubtful = roost(environment, "mule", "import", str(tmp_path / "none"))
    assert (doubtful.returncode, b"--accept-any" in doubtful.stderr) == (1, True)
    short = roost(environment, "mule", "export", str(tmp_path / "x"), "/g", "--wait", "0", "--accept-any")
    assert (short.returncode, b"--wait is more than 0" in short.stderr) == (1, True)


HALL = "/MyCompany/Building1/Electricity"


def test_with_roost_init_nobody_gives_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, environment = tmp_path / "hall.mule", environment_of(tmp_path)
    monkeypatch.setenv("ROOST_HOME", environment["ROOST_HOME"])
    for words in (["init"], ["key", "make", f"{HALL}/Panel2"]):
        assert roost(environment, *words).returncode == 0

    async def publish(uri: str) -> None:
        async with api.join(HALL, uri=uri, durable=False) as panel:
            await panel.publish(f"{HALL}/Panel1/blobs/camera", b"picture")
            verb = ["mule", "export", str(file), HALL, "--at", uri, "--wait", "1"]
            done = await asyncio.to_thread(roost, environment, *verb)
            assert (done.returncode, done.stdout) == (0, f"{file}: 1 packet of 1 stream, 1 of them new\n".encode())

    async def take(uri: str) -> None:
        async with api.join(HALL, f"{HALL}/Panel2", uri=uri, durable=False) as desk:
            assert (await anext(desk.subscribe(HALL))).blob == b"picture"

    with background(environment, *NODE, until="ready") as said:
        asyncio.run(publish(address(said)))
    with background(environment, *NODE, until="ready") as said:
        uri = address(said)
        with background(environment, "mule", "import", str(file), "--at", uri, until="carrying"):
            asyncio.run(take(uri))


def test_a_mule_without_a_key_of_the_group_is_told_which_one_to_make(tmp_path: Path) -> None:
    environment = environment_of(tmp_path)
    assert roost(environment, "init").returncode == 0
    verb = ["mule", "export", str(tmp_path / "x"), "/MyCompany/Building1/Water", "--at", "tcp4://127.0.0.1:1"]
    refused = roost(environment, *verb)
    assert (refused.returncode, b"roost key make /MyCompany/Building1/Water/NAME" in refused.stderr) == (1, True)
