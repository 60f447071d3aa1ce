"""Three layers, three policies: each has a signer and a verifier of its own, and believes no other's key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.loops import run

import roost
from roost.errors import RoostError
from roost.host.client import GroupConnection
from roost.naming import Name
from roost.trust import Accepted, HmacKey, generate
from roost.trust.keys import PublicKey
from roost.trust.verdict import Rejection, Verdict
from roost.wire import Data, Interest, Signer

GROUP = "/campus/ops"


class Only:
    """Believes what one key signed."""

    def __init__(self, key: PublicKey | HmacKey) -> None:
        self._key = key
        self.believed: set[str] = set()  # the first components of their names

    def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict:  # noqa: ARG002  a verifier's shape
        assert packet.signature is not None
        if not self._key.verify(packet.signed_portion, packet.signature_value):
            return Rejection(f"{packet.name} is signed by another")
        self.believed.add(str(packet.name.at(0)))
        return Accepted("its layer's key", ())

    def learn(self, packet: Data, now: int) -> Rejection | None:  # noqa: ARG002  as check
        return None

    def missing(self, name: Name, now: int) -> None:
        """Nothing is ever wanted."""


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No node is running, so that one inside this process is used."""
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))


KEY = generate(Name.parse("/radar"), os.urandom)
VECTORS, PACKETS = (
    HmacKey(Name.parse("/vectors/KEY/1"), bytes(32)),
    HmacKey(Name.parse("/shared/KEY/1"), bytes([1]) * 32),
)


def join(
    node: str,
    inner: Signer = KEY,
    *,
    inner_verifier: Only | None = None,
    outer_verifier: Only | None = None,
    mapping_verifier: Only | None = None,
) -> GroupConnection:
    """A member that signs in three ways, and believes each for its layer only, if nothing else is said."""
    return roost.join(
        GROUP,
        node,
        verifier=Only(VECTORS),
        signer=VECTORS,
        inner=inner,
        outer=PACKETS,
        inner_verifier=inner_verifier or Only(KEY.public),
        outer_verifier=outer_verifier or Only(PACKETS),
        mapping_verifier=mapping_verifier or Only(PACKETS),
        durable=False,
    )


@pytest.mark.parametrize("size", [5, 50_000])
def test_each_layer_has_its_own_kind_of_key_and_who_verifies_it(tmp_path: Path, size: int) -> None:
    async def test() -> None:
        path = tmp_path / "mule"
        inner, outer, mapping = Only(KEY.public), Only(PACKETS), Only(PACKETS)
        async with join("/radar") as radar:
            await radar.publish("/position/1", bytes(size))
            async with join("/desk", inner_verifier=inner, outer_verifier=outer, mapping_verifier=mapping) as desk:
                item = await anext(desk.subscribe("/position"))
                assert (len(item.blob), item.signer) == (size, KEY.name)
                assert inner.believed == {"position"}
                assert outer.believed == {"radar"}
                assert desk.part.seat.mapping._verifier is mapping  # what it does: tests/sim/test_blobs_disbelieved.py
                in_pieces = await anext(desk.subscribe("/position", in_pieces=True))
                assert sum([len(piece) async for piece in desk.pieces(in_pieces)]) == size
                await desk.unload(path)
        async with join("/desk") as desk:
            await desk.load(path)
            assert len((await desk.fetch("/position/1")).blob) == size
        async with join("/desk", outer_verifier=Only(VECTORS)) as desk:
            loaded = await desk.load(path)
            assert (loaded.packets, desk.part.carried) == (0, 0)
            assert loaded.refused > 0
            assert "signed by another" in loaded.reason

    run(test)


def test_what_another_layers_key_signed_is_not_believed() -> None:
    async def test() -> None:
        async with (
            join("/radar") as radar,
            join("/sonar", inner=PACKETS) as sonar,
            join("/desk", inner_verifier=Only(PACKETS)) as desk,
        ):
            feed = desk.subscribe("/position")
            await radar.publish("/position/1", b"x")
            await sonar.publish("/position/2", b"x")
            assert (await anext(feed)).producer == sonar.node
            with pytest.raises(RoostError, match="signed by another"):
                await desk.fetch("/position/1")

    run(test)
