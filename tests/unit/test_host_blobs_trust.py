"""Groups of blobs with the keys of `roost init`: what a panel publishes is believed, and nobody speaks for another."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.loops import run

import roost
from roost.cli import main
from roost.errors import NoKey
from roost.host.blob_names import machine
from roost.host.client import GroupConnection
from roost.host.home_trust import choose_trust
from roost.naming import Name
from roost.trust.verdict import Rejection
from roost.wire import Data, DigestSigner, make_data

GROUP = "/MyCompany/Building1/Electricity"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home with keys of three panels, and no node."""
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    assert main(["init"]) == 0
    for panel in ("Panel2", "Panel3"):
        assert main(["keys", "make", f"{GROUP}/{panel}"]) == 0


def join(panel: str) -> GroupConnection:
    return roost.join(GROUP, f"{GROUP}/{panel}", durable=False)


def test_what_a_panel_publishes_is_verified_in_both_layers_and_carried(tmp_path: Path) -> None:
    async def test() -> None:
        path = tmp_path / "mule"
        names = [f"{GROUP}/Panel1/blobs/camera", f"{GROUP}/Panel1/blobs/a/b/c/d"]
        async with join("Panel2") as mule:
            async with join("Panel1") as panel:
                await panel.publish(names[0], b"small")
                await panel.publish(names[1], bytes(50_000))
                feed = mule.subscribe(GROUP)
                items = [await anext(feed) for _ in range(2)]
                assert [str(item.name) for item in items] == names
                assert all(str(item.signer).startswith(f"{GROUP}/Panel1/KEY/") for item in items)
            await mule.unload(path)
        async with join("Panel2") as mule, join("Panel3") as desk:
            assert (await mule.load(path)).packets == 8
            feed = desk.subscribe(GROUP)
            assert [len((await anext(feed)).blob) for _ in range(2)] == [5, 50_000]

    run(test)


def test_a_name_that_no_key_here_may_sign_is_refused_when_it_is_published() -> None:
    async def test() -> None:
        async with join("Panel1") as panel:
            with pytest.raises(NoKey, match="/position/7 cannot be signed"):
                await panel.publish("/position/7", b"x")

    run(test)


@pytest.mark.parametrize(
    "name",
    [
        "/Panel1/blobs/camera",
        f"/Panel1{GROUP}/t=7/seq=1",
        f"/Panel1{GROUP}/t=7/seq=1/v=0/seg=0",
        f"/Panel1{GROUP}/32=CK/v=1",
    ],
)
def test_a_panel_does_not_speak_for_another(name: str) -> None:
    trust = choose_trust(None, None, time.time_ns())
    now = time.time_ns()
    full = Name.parse(GROUP + name)
    right = trust.signers(full, now)
    wrong = trust.signers(Name.parse(f"{GROUP}/Panel2/blobs/camera"), now)
    for certificate in trust.certificates:
        trust.verifier.learn(certificate, now)

    def verdict(data: Data) -> object:
        return trust.verifier.check(data, now)

    assert not isinstance(verdict(make_data(full, b"", right)), Rejection)
    assert isinstance(verdict(make_data(full, b"", wrong)), Rejection)


def test_without_a_name_a_member_is_the_first_panel_that_has_a_key_here() -> None:
    async def test() -> None:
        async with roost.join(GROUP, durable=False) as panel, join("Panel3") as desk:
            assert str(panel.node) == f"{GROUP}/Panel1"
            await panel.publish(f"{GROUP}/Panel1/blobs/camera", b"picture")
            assert (await anext(desk.subscribe(GROUP))).blob == b"picture"

    run(test)


def test_where_no_key_is_of_a_member_the_error_says_which_one_to_make() -> None:
    async def test() -> None:
        with pytest.raises(NoKey, match="roost key make /MyCompany/Building1/Water/NAME`"):
            await roost.join("/MyCompany/Building1/Water", durable=False).__aenter__()

    run(test)


def test_a_signer_that_was_handed_in_signs_for_the_name_of_this_machine() -> None:
    async def test() -> None:
        async with roost.join("/campus/ops", signer=DigestSigner(), durable=False) as member:
            assert member.node == machine()

    run(test)
