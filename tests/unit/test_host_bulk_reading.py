"""The door for bulk reading as a client meets it: what is refused, what is bounded, and where it may be."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from tests.loops import run

from roost.cli import main
from roost.errors import BadConfig, BadPacket
from roost.host import bulk_reading, connect
from roost.host.bulk_frames import (
    BUNDLED,
    DONE,
    HEAD_BYTES,
    MAX_REQUEST_BYTES,
    PORT,
    REFUSED,
    door_of,
    listened,
    questions_of,
    request,
)
from roost.host.keystore import KeyStore
from roost.host.listening import Listen
from roost.host.paths import home, node_socket
from roost.host.repo import duty_of, running_repo
from roost.naming import Name
from roost.naming.building import Group
from roost.pubsub.repos.repo import RepoSettings
from roost.repo.question import Bundle, Latest, decode_bundle, encode_question

GROUP = Name.parse("/BigCompany/Building1/Electricity")
VOLTAGE = GROUP / "Panel1" / "Heater" / "Voltage"


@pytest.fixture
def building(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    assert main(["init", "--company", "BigCompany", "--building", "Building1"]) == 0


async def frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readexactly(HEAD_BYTES)
    return head[0], await reader.readexactly(int.from_bytes(head[1:], "big"))


@pytest.mark.usefixtures("building")
def test_questions_are_answered_in_order_and_bad_ones_end_the_connection_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bulk_reading, "MAX_CONNECTIONS", 2)
    monkeypatch.setattr(bulk_reading, "SLICE", 3)
    elsewhere = Bundle(Name.parse("/Other/Group/Panel1/Heater/Voltage"), 1, 9)

    async def test() -> None:
        keys, now = KeyStore(home()), time.time_ns()
        duty = duty_of(keys, Group.at(GROUP).repo("Repo1"), None, RepoSettings(), now)
        async with (
            running_repo([duty], Listen(node_socket()), keys.verifier(now), bulk_read=("127.0.0.1", 0)) as running,
            connect() as face,
        ):
            async with face.group(GROUP).panel("Panel1") as panel:
                await panel.publish_many([("Heater/Voltage", number) for number in range(1, 6)])
                await panel.flush()
            door = running.reading_door
            assert door is not None
            host, port = door_of(door.address)  # type: ignore[misc]  # no path here
            reader, writer = await asyncio.open_connection(host, port)
            asked = [Bundle(VOLTAGE, 1, 4), elsewhere, Bundle(VOLTAGE, 5, 5)]
            writer.write(request(asked))
            frames = [await frame(reader) for _ in range(6)]
            assert [kind for kind, _ in frames] == [BUNDLED, BUNDLED, DONE, DONE, BUNDLED, DONE]
            numbers = [
                [number for number, _ in decode_bundle(body, Bundle(VOLTAGE, 1, 5)).readings]
                for kind, body in frames
                if kind == BUNDLED
            ]
            assert numbers == [[1, 2, 3], [4], [5]]
            assert door.answered == 3
            others = [await asyncio.open_connection(host, port) for _ in range(2)]
            assert await others[1][0].read() == b""  # there is no room for a third
            assert door.turned_away == 1
            latest = encode_question(Latest(GROUP)).value
            writer.write(len(latest).to_bytes(4, "big") + latest)
            assert await frame(reader) == (REFUSED, b"only Bundle questions are answered here")
            assert await reader.read() == b""
            others[0][1].write((MAX_REQUEST_BYTES + 1).to_bytes(4, "big"))
            assert (await frame(others[0][0]))[0] == REFUSED
            assert door.refused == 2
            for _, each in others:
                each.close()
            writer.close()

    run(test)


def test_a_door_opens_to_this_machine_only() -> None:
    assert listened("127.0.0.1:1234") == ("127.0.0.1", 1234)
    assert listened("[::1]") == ("::1", PORT)
    assert listened("localhost:1") == ("localhost", 1)
    assert listened("/run/door.sock") == Path("/run/door.sock")
    for address in ("0.0.0.0:7377", "10.0.0.1:7377", "[::]:7377", "repo1.example:7377"):
        with pytest.raises(BadConfig, match=r"would let readings leave this machine .* give a loopback address"):
            listened(address)


@pytest.mark.usefixtures("building")
def test_the_verb_refuses_a_door_to_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repo", "Repo1", "--bulk-read", "0.0.0.0:7377"]) != 0
    assert "give a loopback address" in capsys.readouterr().err


def test_the_questions_of_a_request_are_read_back_and_damaged_ones_refused() -> None:
    asked = [Bundle(VOLTAGE, 1, 300), Bundle(VOLTAGE / "x", 70_000, 70_000)]
    body = request(asked)[4:]
    assert questions_of(body) == asked
    assert questions_of(b"") == []
    for bad in (body[:-1], body + b"\x01", b"\xb6\x00"):
        with pytest.raises(BadPacket):
            questions_of(bad)
