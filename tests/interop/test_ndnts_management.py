"""@ndn/nfdmgmt as management client of our node: commands, their answers, and every dataset it can read."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest
from tests.interop.processes import TRANSPORTS, Node, Peer, opened

from roost import __version__
from roost.host import ACCEPT_ANY, connect
from roost.naming import Name

OK, MALFORMED, NOT_FOUND, UNSUPPORTED, CONFLICT = 200, 400, 404, 406, 409
NO_ROUTE = 150


def by_name(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {str(Name.parse(entry["name"])): entry for entry in entries}


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_routes_are_registered_listed_and_taken_back(node: Node, ndnts: Peer, transport: str) -> None:
    face = await opened(ndnts, node.uris[transport])
    prefix = f"/managed/{transport}"
    registered = await ndnts.ask("command", face=face, command="rib/register", name=prefix, origin=65, cost=12, flags=3)
    assert registered["code"] == OK
    own = registered["body"]["faceId"]
    assert {key: registered["body"][key] for key in ("origin", "cost", "flags")} == {
        "origin": 65,
        "cost": 12,
        "flags": 3,
    }
    listed = by_name(await ndnts.ask("dataset", face=face, dataset="rib/list"))
    assert [(route["faceId"], route["cost"], route["flags"]) for route in listed[prefix]["route"]] == [(own, 12, 3)]
    taken = await ndnts.ask("command", face=face, command="rib/unregister", name=prefix, origin=65)
    assert (taken["code"], taken["body"]["faceId"]) == (OK, own)
    assert prefix not in by_name(await ndnts.ask("dataset", face=face, dataset="rib/list"))


async def test_a_route_may_be_given_to_another_face(node: Node, ndnts: Peer) -> None:
    operator, consumer = await opened(ndnts, node.uris["unix"]), await opened(ndnts, node.uris["tcp"])
    async with connect(node.uris["unix"], verifier=ACCEPT_ANY) as face, face.serve("/known", lambda _: b"1"):
        (route,) = by_name(await ndnts.ask("dataset", face=operator, dataset="rib/list"))["/known"]["route"]
        face.serve("/given", lambda _: b"2", register=False)
        assert await ndnts.ask("consume", face=consumer, interest="/given/1") == {"nack": NO_ROUTE}
        given = await ndnts.ask(
            "command", face=operator, command="rib/register", name="/given", faceId=route["faceId"], origin=255
        )
        assert given["code"] == OK
        assert (await ndnts.ask("consume", face=consumer, interest="/given/2"))["content"] == b"2".hex()


async def test_faces_are_listed_and_found(node: Node, ndnts: Peer) -> None:
    for transport, scheme in (("unix", "fd"), ("tcp", "tcp4"), ("udp", "udp4"), ("ws", "wsclient")):
        face = await opened(ndnts, node.uris[transport])
        own = (await ndnts.ask("command", face=face, command="rib/register", name=f"/who/{transport}"))["body"][
            "faceId"
        ]
        listed = {entry["faceId"]: entry for entry in await ndnts.ask("dataset", face=face, dataset="faces/list")}
        assert listed[own]["uri"].startswith(f"{scheme}://")
        assert listed[own]["faceScope"] == 1
        assert listed[own]["nInInterests"] >= 1
        (found,) = await ndnts.ask("dataset", face=face, dataset="faces/query", filter={"faceId": own})
        assert (found["faceId"], found["uri"]) == (own, listed[own]["uri"])
        same = await ndnts.ask("dataset", face=face, dataset="faces/query", filter={"uriScheme": scheme})
        assert own in {entry["faceId"] for entry in same}
        assert all(entry["uri"].startswith(f"{scheme}://") for entry in same)


async def test_a_face_is_created_changed_and_destroyed(node: Node, ndnts: Peer) -> None:
    face = await opened(ndnts, node.uris["unix"])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as remote:
        remote.bind(("127.0.0.1", 0))
        uri = f"udp4://127.0.0.1:{remote.getsockname()[1]}"
        created = await ndnts.ask("command", face=face, command="faces/create", uri=uri)
        assert (created["code"], created["body"]["uri"]) == (OK, uri)
        number = created["body"]["faceId"]
        again = await ndnts.ask("command", face=face, command="faces/create", uri=uri)
        assert (again["code"], again["body"]["faceId"]) == (CONFLICT, number)
        changed = await ndnts.ask("command", face=face, command="faces/update", faceId=number, mtu=1200)
        assert (changed["code"], changed["body"]["mtu"]) == (OK, 1200)
        (found,) = await ndnts.ask("dataset", face=face, dataset="faces/query", filter={"uri": uri})
        assert (found["faceId"], found["mtu"]) == (number, 1200)
        gone = await ndnts.ask("command", face=face, command="faces/destroy", faceId=number)
        assert gone["code"] == OK
        assert await ndnts.ask("dataset", face=face, dataset="faces/query", filter={"uri": uri}) == []


@pytest.mark.parametrize(
    ("command", "parameters", "code"),
    [
        ("faces/create", {"uri": "udp4://localhost:6363"}, MALFORMED),
        ("faces/create", {"uri": "carrier-pigeon://coop:1"}, MALFORMED),
        ("faces/create", {"uri": "ether://[08:00:27:01:dd:01]"}, UNSUPPORTED),
        ("faces/update", {"faceId": 99_999, "mtu": 1000}, NOT_FOUND),
        ("rib/register", {"origin": 1}, MALFORMED),
        ("rib/register", {"name": "/x", "uri": "udp4://127.0.0.1:1"}, MALFORMED),
        ("strategy-choice/set", {"name": "/x", "strategy": "/localhost/nfd/strategy/no-such"}, NOT_FOUND),
    ],
)
async def test_what_cannot_be_is_refused_with_nfds_code(
    node: Node, ndnts: Peer, command: str, parameters: dict[str, object], code: int
) -> None:
    face = await opened(ndnts, node.uris["unix"])
    answer = await ndnts.ask("command", face=face, command=command, **parameters)
    assert answer["code"] == code
    assert answer["text"]


async def test_strategies_are_set_listed_and_unset(node: Node, ndnts: Peer) -> None:
    face = await opened(ndnts, node.uris["tcp"])
    before = by_name(await ndnts.ask("dataset", face=face, dataset="strategy-choice/list"))
    assert "best-route" in before["/"]["strategy"]
    multicast = "/localhost/nfd/strategy/multicast"
    chosen = await ndnts.ask("command", face=face, command="strategy-choice/set", name="/group", strategy=multicast)
    assert chosen["code"] == OK
    after = by_name(await ndnts.ask("dataset", face=face, dataset="strategy-choice/list"))
    assert "multicast" in after["/group"]["strategy"]
    unset = await ndnts.ask("command", face=face, command="strategy-choice/unset", name="/group")
    assert unset["code"] == OK
    assert by_name(await ndnts.ask("dataset", face=face, dataset="strategy-choice/list")) == before


async def test_the_content_store_is_told_what_to_keep_and_what_to_forget(node: Node, ndnts: Peer) -> None:
    operator, producer, consumer = [await opened(ndnts, node.uris[way]) for way in ("unix", "tcp", "ws")]
    await ndnts.ask("produce", face=producer, prefix="/kept", content="01", freshness_ms=60_000)
    for number in range(3):
        await ndnts.ask("consume", face=consumer, interest=f"/kept/{number}")
    await ndnts.ask("consume", face=consumer, interest="/kept/0")
    assert await ndnts.ask("asked", face=producer, prefix="/kept") == 3
    (info,) = await ndnts.ask("dataset", face=operator, dataset="cs/info")
    assert info["nCsEntries"] >= 3
    assert info["nHits"] >= 1
    assert await ndnts.ask("erase", face=operator, prefix="/kept") == 3
    await ndnts.ask("consume", face=consumer, interest="/kept/0")
    assert await ndnts.ask("asked", face=producer, prefix="/kept") == 4
    try:
        configured = await ndnts.ask("command", face=operator, command="cs/config", flags=0, mask=1, capacity=1000)
        assert (configured["code"], configured["body"]["capacity"]) == (OK, 1000)
        for _ in range(2):
            await ndnts.ask("consume", face=consumer, interest="/kept/unkept")
        assert await ndnts.ask("asked", face=producer, prefix="/kept") == 6
        (info,) = await ndnts.ask("dataset", face=operator, dataset="cs/info")
        assert (info["capacity"], info["flags"] & 1) == (1000, 0)
    finally:
        await ndnts.ask("command", face=operator, command="cs/config", flags=1, mask=1, capacity=65536)


async def test_general_status_counts(node: Node, ndnts: Peer) -> None:
    face = await opened(ndnts, node.uris["unix"])
    (before,) = await ndnts.ask("dataset", face=face, dataset="status/general")
    await ndnts.ask("consume", face=face, interest="/nowhere/at/all")
    (after,) = await ndnts.ask("dataset", face=face, dataset="status/general")
    assert __version__ in after["nfdVersion"]
    assert before["startTimestamp"] <= after["currentTimestamp"] <= time.time() * 1000 + 1000
    assert after["nInInterests"] > before["nInInterests"]
    assert after["nOutNacks"] == before["nOutNacks"] + 1
    assert after["nFibEntries"] >= 1


async def test_channels_are_where_the_node_listens(node: Node, ndnts: Peer) -> None:
    face = await opened(ndnts, node.uris["unix"])
    listed = {entry["localUri"] for entry in await ndnts.ask("dataset", face=face, dataset="faces/channels")}
    assert listed == set(node.uris.values())
