"""State Vector Sync with NDNts, what only it has: boot times, signed Sync Interests, two versions on one group."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from tests.interop.processes import Node, Peer
from tests.interop.sync_members import (
    KEY,
    SECRET,
    Ours,
    Theirs,
    ends,
    ndnts_program,
    new_group,
    refusal_by,
    shared_key,
    verifier_of,
)

from roost.naming import Name
from roost.sync.choice import SVS2, SVS3, Protocol
from roost.trust import Policy, Verifier
from roost.wire import DigestSigner, Signer

VERSIONS: dict[int, Protocol] = {2: SVS2, 3: SVS3}
BOOT = 1_700_000_000


@pytest.fixture(scope="module")
def svs(folder: Path) -> Iterator[Peer]:
    with ndnts_program("ndnts/svs.mjs", folder) as started:
        for key, secret in (("shared", SECRET), ("wrong", SECRET[::-1])):
            started.call("make_key", key=key, kind="hmac", subject=KEY, secret=secret.hex())
        yield started


@pytest.fixture
def group() -> str:
    return new_group()


def theirs_in(
    svs: Peer, node: Node, group: str, version: int, key: str = "null"
) -> AbstractAsyncContextManager[Theirs]:
    return Theirs.join(svs, node.uris["unix"], group, version=version, key=key, period_ms=300)


# -- boot times


async def test_the_boot_times_of_ndnts_are_those_of_its_streams(node: Node, svs: Peer, group: str) -> None:
    async with Ours.join(node.uris["unix"], group, SVS3) as ours, theirs_in(svs, node, group, 3) as theirs:
        now = await theirs.publish("/their/voltage", 1)
        assert abs(now.boot - time.time()) < 60
        older = await theirs.publish("/their/current", 9, BOOT)
        newer = await theirs.publish("/their/current", 2, BOOT + 1)
        assert (older.boot, newer.boot) == (BOOT, BOOT + 1)
        wanted = {now: 1, older: 9, newer: 2}
        assert ends(await ours.learned(wanted)) == wanted


# -- signatures: of the Sync Interest in version 2, of the Data in it in version 3


def trust_in(key: str, group: str) -> tuple[Verifier, Signer]:
    """Ours, so that only members with the same kind of key are believed."""
    prefix = Name.parse(group)
    if key == "digest":
        return verifier_of(Policy(digest_under=(prefix,))), DigestSigner()
    return verifier_of(Policy(secrets=((prefix, shared_key()),))), shared_key()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("key", "stranger"), [("digest", "null"), ("shared", "wrong"), ("shared", "digest")])
async def test_we_believe_who_signs_as_we_expect_and_nobody_else(
    node: Node, svs: Peer, group: str, version: int, key: str, stranger: str
) -> None:
    verifier, signer = trust_in(key, group)
    async with (
        Ours.join(node.uris["unix"], group, VERSIONS[version], verifier=verifier, signer=signer) as ours,
        theirs_in(svs, node, group, version, stranger) as wrong,
        theirs_in(svs, node, group, version, key) as right,
    ):
        await wrong.publish("/wrong/voltage", 1)
        await refusal_by(verifier)
        voltage, power = await right.publish("/right/voltage", 3), await ours.publish("/our/power", 2)
        assert ends(await ours.learned({voltage: 3, power: 2})) == {voltage: 3}
        assert ends(await right.learned({voltage: 3, power: 2})) == {power: 2}


@pytest.mark.parametrize("version", VERSIONS)
async def test_ndnts_refuses_us_with_another_key(node: Node, svs: Peer, group: str, version: int) -> None:
    async with (
        theirs_in(svs, node, group, version, "shared") as theirs,
        Ours.join(node.uris["unix"], group, VERSIONS[version], signer=shared_key(SECRET[::-1])) as ours,
    ):
        await ours.publish("/our/voltage", 1)
        assert "bad signature" in (await theirs.refused(1))[0]
        power = await theirs.publish("/their/power", 1)
        assert await theirs.learned({power: 1}) == []


# -- versions


async def test_two_versions_on_one_group_do_not_hear_each_other(node: Node, svs: Peer, group: str) -> None:
    async with (
        Ours.join(node.uris["unix"], group, SVS2) as ours2,
        Ours.join(node.uris["tcp"], group, SVS3) as ours3,
        theirs_in(svs, node, group, 2) as theirs2,
        theirs_in(svs, node, group, 3) as theirs3,
    ):
        for ours, theirs in ((ours2, theirs2), (ours3, theirs3), (ours2, theirs2)):
            number = await ours.produce("/our/voltage")
            known = {
                await ours.publish("/our/voltage", number): number,
                await theirs.publish("/their/voltage", number): number,
            }
            await ours.learned(known)
            await theirs.learned(known)
        assert await theirs2.refused(0) == await theirs3.refused(0) == []
