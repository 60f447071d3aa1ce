"""A mule between two sites that share an anchor and a schema, and no certificates: as a file, and live."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.verbs import background, environment_of, roost

import roost as api
from roost.wire.certificate import Certificate
from roost.wire.safebag import from_text

HALL = "/MyCompany/Building1/Electricity"
NODE = ["node", "--tcp", "127.0.0.1:0", "--no-udp", "--no-ws"]
SITES = ("producer", "mule", "desk", "bringer")  # Panel1 to Panel4
BLOBS = [b"picture", bytes(30_000)]


def address(said: list[str]) -> str:
    (line,) = [line for line in said if "tcp" in line]
    return next(word.strip("(),;") for word in line.split() if "tcp4://" in word)


@pytest.fixture
def sites(tmp_path: Path) -> dict[str, dict[str, str]]:
    """The environments of members who never saw each other's certificates."""
    whole = environment_of(tmp_path / "whole")
    for words in (["init"], *[["key", "make", f"{HALL}/Panel{number}"] for number in (2, 3, 4)]):
        assert roost(whole, *words).returncode == 0
    found: dict[str, dict[str, str]] = {}
    for number, site in enumerate(SITES, start=1):
        shutil.copytree(tmp_path / "whole", tmp_path / site)
        found[site] = environment_of(tmp_path / site)
        for other in {1, 2, 3, 4} - {number}:
            forget(tmp_path / site / "roost", f"{HALL}/Panel{other}/KEY/")
    return found


def forget(home: Path, key: str) -> None:
    """Have neither the certificates of a key in a home, nor the key."""
    certificates = {
        file: str(Certificate.decode(from_text(file.read_text())).name) for file in (home / "certificates").iterdir()
    }
    keys = {file: file.read_text() for file in (home / "keys").iterdir()}
    theirs = [file for file, text in (certificates | keys).items() if text.startswith(key)]
    assert len(theirs) == 2
    for file in theirs:
        file.unlink()


async def publish(panel: api.host.blobs.BlobGroup) -> None:
    for number, blob in enumerate(BLOBS):
        await panel.publish(f"{HALL}/Panel1/blobs/camera/{number}", blob)


async def take(group: api.host.blobs.BlobGroup) -> None:
    async with asyncio.timeout(60):
        feed = group.subscribe(HALL)
        assert [(await anext(feed)).blob for _ in BLOBS] == BLOBS


def at_home(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    """Whoever joins next has this home's keys."""
    monkeypatch.setenv("ROOST_HOME", environment["ROOST_HOME"])


def test_a_file_has_the_certificates_by_which_it_is_believed_and_gives_them_to_others(
    tmp_path: Path, sites: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "hall.mule"

    async def here(uri: str) -> None:
        at_home(monkeypatch, sites["producer"])
        async with api.join(HALL, f"{HALL}/Panel1", uri=uri, durable=False) as panel:
            await publish(panel)
            verb = ["mule", "export", str(file), HALL, "--at", uri, "--wait", "1"]
            done = await asyncio.to_thread(roost, sites["mule"], *verb)
            assert (done.returncode, done.stdout) == (0, f"{file}: 5 packets of 1 stream, 5 of them new\n".encode())

    async def there(uri: str) -> None:
        at_home(monkeypatch, sites["desk"])
        async with api.join(HALL, f"{HALL}/Panel3", uri=uri, durable=False) as desk:
            await take(desk)

    with background(sites["producer"], *NODE, until="ready") as said:
        asyncio.run(here(address(said)))
    with background(sites["desk"], *NODE, until="ready") as said:
        uri = address(said)
        with background(sites["bringer"], "mule", "import", str(file), "--at", uri, until="carrying") as lines:
            assert lines == [f"carrying 5 packets of 1 stream in {HALL}"]
            asyncio.run(there(uri))


def test_a_mule_gives_the_certificates_of_what_it_carries(
    sites: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def carried(uri: str, stack: ExitStack) -> None:
        at_home(monkeypatch, sites["mule"])
        async with api.join(HALL, f"{HALL}/Panel2", uri=uri, durable=False) as mule:
            at_home(monkeypatch, sites["producer"])
            async with api.join(HALL, f"{HALL}/Panel1", uri=uri, durable=False) as panel:
                await publish(panel)
                await take(mule)
            await asyncio.to_thread(stack.close)  # where the producer was is out of reach, and another node is near
            node = background(sites["desk"], *NODE[:2], uri.removeprefix("tcp4://"), *NODE[3:], until="ready")
            await asyncio.to_thread(stack.enter_context, node)
            at_home(monkeypatch, sites["desk"])
            async with api.join(HALL, f"{HALL}/Panel3", uri=uri, durable=False) as desk:
                await take(desk)

    with ExitStack() as stack:
        said = stack.enter_context(background(sites["producer"], *NODE, until="ready"))
        asyncio.run(carried(address(said), stack))
