"""`roost status`: every dataset in words, and fetching it whole whether FinalBlockId is on each segment or the last."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from tests.managed import NOW, REMOTE, Managed, content

from roost.cli.status import DATASETS, describe, fetch_dataset
from roost.errors import Refused
from roost.forwarding.control import ControlParameters
from roost.forwarding.requests import read_dataset
from roost.forwarding.rib import Route
from roost.host.face import Face
from roost.naming import Name
from roost.wire import Data, DigestSigner, encode_data, encode_interest


class FakeFace:
    """Answers from a management machine; like NFD, says FinalBlockId on the last segment only."""

    def __init__(self, managed: Managed) -> None:
        self.managed = managed
        self.asked = 0

    async def fetch(self, name: Name, *, can_be_prefix: bool = False, must_be_fresh: bool = False) -> Data:
        self.asked += 1
        wire = encode_interest(name, can_be_prefix=can_be_prefix, must_be_fresh=must_be_fresh)
        data = content(self.managed.give(wire).packets[0])
        if data.final_block is None or data.final_block == data.name.at(-1):
            return data
        return Data.decode(encode_data(data.name, data.content, DigestSigner(), freshness_ms=1000))


def shown(what: str, managed: Managed) -> list[str]:
    dataset = asyncio.run(fetch_dataset(cast("Face", FakeFace(managed)), DATASETS[what]))
    return describe(read_dataset(DATASETS[what], dataset))


def test_each_dataset_in_words() -> None:
    managed = Managed()
    managed.ask(
        "rib", "register", ControlParameters(name=Name.parse("/app"), face=REMOTE, cost=7, expiration_ms=60_000)
    )
    managed.now = NOW + 3_000_000_000
    assert shown("general", managed)[:2] == ["version     roost test", "started     2026-11-15 19:13:20 UTC, 3 s ago"]
    assert shown("fib", managed)[:2] == ["/app", f"       face {REMOTE}, cost 7"]
    assert shown("rib", managed)[1] == f"       face {REMOTE}, cost 7, from app, child-inherit, ends in 57 s"
    assert shown("strategies", managed)[:2] == ["/", "       /localhost/nfd/strategy/best-route/v=5"]
    assert shown("cs", managed)[:2] == ["packets     0 of 65536", "does        admit, serve"]
    faces = "\n".join(shown("faces", managed))
    assert f"{REMOTE}    udp4://192.0.2.7:6363  at udp4://192.0.2.1:6363" in faces
    assert "non-local, persistent, point-to-point, congestion-marking, mtu 8800" in faces


def test_many_segments() -> None:
    managed = Managed()
    for number in range(2000):
        managed.machine.rib.add(Name.parse(f"/some/longer/prefix/{number}"), Route(REMOTE))
    face = FakeFace(managed)
    assert len(read_dataset("rib/list", asyncio.run(fetch_dataset(cast("Face", face), "rib/list")))) == 2001
    assert face.asked > 5


def test_nothing_is_said_as_such() -> None:
    assert describe([]) == ["(nothing)"]


def test_a_refused_dataset_says_so() -> None:
    with pytest.raises(Refused, match="Malformed filter"):
        asyncio.run(fetch_dataset(cast("Face", FakeFace(Managed())), "faces/query"))
