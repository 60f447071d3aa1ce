"""The command line tools of python-ndn: `pynfdc`, which manages our node, and `pyndntools`, which uses it."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
from pathlib import Path

from tests.interop.processes import ANSWER_S, Node, private_environment

from roost.host import ACCEPT_ANY, FetchSettings, connect
from roost.wire import DigestSigner

MULTICAST = "/localhost/nfd/strategy/multicast"


async def run(node: Node, folder: Path, tool: str, *arguments: str, may_fail: bool = False) -> str:
    """Run a tool to its end; returns what it printed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"ndn.bin.{tool}", *arguments),
        env=private_environment(folder) | {"NDN_CLIENT_TRANSPORT": node.uris["unix"]},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        printed, errors = await asyncio.wait_for(process.communicate(), ANSWER_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    assert may_fail or process.returncode == 0, f"{tool} {arguments}: {printed.decode()}{errors.decode()}"
    return printed.decode()


async def test_pynfdc_shows_the_node(node: Node, folder: Path) -> None:
    async with (
        connect(node.uris["tcp"], verifier=ACCEPT_ANY) as face,
        face.serve("/shown", lambda _: None),
    ):
        status, faces, routes, strategies = await asyncio.gather(
            run(node, folder, "nfdc", "Get-Status"),
            run(node, folder, "nfdc", "Get-Face"),
            run(node, folder, "nfdc", "Get-Route"),
            run(node, folder, "nfdc", "Get-Strategy", "/localhost"),
        )
    assert re.search(r"version\t.*roost", status)
    assert re.search(r"nFibEntries\t[1-9]", status)
    assert re.search(r"tcp4://127\.0\.0\.1:\d+", faces)
    (forwarding, routing) = routes.split("Routing Table")
    assert re.search(r"^/shown\n\tFaceID=\d+ ", forwarding, re.MULTILINE)
    assert re.search(r"^/shown\n\tFaceID=\d+ .*Origin=0 .*CHILD_INHERIT", routing, re.MULTILINE)
    assert strategies.splitlines()[0] == "/localhost"
    assert strategies.splitlines()[1].strip().startswith(MULTICAST)


async def test_pynfdc_makes_a_face_and_a_route_and_takes_them_away(node: Node, folder: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as remote:
        remote.bind(("127.0.0.1", 0))
        uri = f"udp4://127.0.0.1:{remote.getsockname()[1]}"
        # The face is made, but python-ndn 0.5.2 cannot read the answer: it wants the fields of a congestion setting
        # before Flags, where NFD sends them behind FacePersistency [nfd-management §2].
        await run(node, folder, "nfdc", "New-Face", uri, may_fail=True)
        shown = await run(node, folder, "nfdc", "Get-Face", uri)
        (number,) = re.findall(r"Face ID\t(\d+)", shown)
        assert re.search(r"Persistency\tPERSISTENT", shown)
        assert (await run(node, folder, "nfdc", "New-Route", "/by/hand", number)).startswith("200 ")
        assert f"FaceID={number}" in await run(node, folder, "nfdc", "Get-Route", "/by/hand")
        assert (await run(node, folder, "nfdc", "Remove-Route", "/by/hand", number)).startswith("200 ")
        assert f"FaceID={number}" not in await run(node, folder, "nfdc", "Get-Route", "/by/hand")
        assert re.search(r"\t200 ", await run(node, folder, "nfdc", "Remove-Face", number))
        assert "No face is found" in await run(node, folder, "nfdc", "Get-Face", number)


async def test_pynfdc_chooses_a_strategy(node: Node, folder: Path) -> None:
    assert (await run(node, folder, "nfdc", "Set-Strategy", "/chosen", "multicast")).startswith("200 ")
    assert MULTICAST in await run(node, folder, "nfdc", "Get-Strategy", "/chosen")
    assert (await run(node, folder, "nfdc", "Remove-Strategy", "/chosen")).startswith("200 ")
    assert MULTICAST not in await run(node, folder, "nfdc", "Get-Strategy", "/chosen")


async def test_pyndntools_fetches_what_we_serve(node: Node, folder: Path) -> None:
    whole, chunks = folder / "whole", folder / "chunks"
    async with (
        connect(node.uris["udp"], verifier=ACCEPT_ANY, signer=DigestSigner()) as face,
        face.serve("/tool/one", lambda _: b"one packet"),
        face.publish_object("/tool/many", b"many packets" * 1000, segment_bytes=3000),
    ):
        await asyncio.gather(
            run(node, folder, "tools", "peek", "-o", str(whole), "/tool/one"),
            run(node, folder, "tools", "catchunks", "-f", "-o", str(chunks), "/tool/many/32=metadata"),
        )
    assert whole.read_bytes() == b"one packet"
    assert chunks.read_bytes() == b"many packets" * 1000


async def test_we_fetch_what_pyndntools_serves(node: Node, folder: Path) -> None:
    (folder / "served").write_bytes(b"put chunks" * 2000)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-u", "-m", "ndn.bin.tools", "putchunks", "-s", "3000", "/tool/put", str(folder / "served")),
        env=private_environment(folder) | {"NDN_CLIENT_TRANSPORT": node.uris["tcp"]},
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        async with connect(node.uris["unix"], verifier=ACCEPT_ANY) as face:
            # The tool does not say when its prefix is registered: its route says so.
            while "/tool/put\n" not in await run(node, folder, "nfdc", "Get-Route"):
                assert process.returncode is None
            assert await face.fetch_object("/tool/put", FetchSettings(discovery="metadata")) == b"put chunks" * 2000
    finally:
        process.terminate()
        await process.wait()
