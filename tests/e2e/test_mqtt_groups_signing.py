"""A broker with a group behind it, whose signing process is killed under load: nobody notices but the log."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import broker_packets as packets
from tests.loops import run

from roost.cli import main
from roost.host.keystore import KeyStore
from roost.host.mqtt import gateways
from roost.host.mqtt.config import read_config
from roost.host.mqtt.running import running_broker
from roost.host.signing import SigningProcess, has_another_core
from roost.naming import Name
from roost.wire.data import decode_data

GROUP = "/BigCompany/Building1/Electricity"
STREAM = Name.parse(f"{GROUP}/Gate1/hall/temp")
BURST = 1500


class Watched(SigningProcess):
    """A signing process that the test can find."""

    made: Watched

    def __init__(self, lost: Callable[[str], None]) -> None:
        super().__init__(lost)
        Watched.made = self


@pytest.mark.skipif(not has_another_core(), reason="where there is one core, it signs")
def test_a_signing_process_that_is_killed_under_load_costs_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(gateways, "SigningProcess", Watched)
    assert main(["init", "--company", "BigCompany", "--building", "Building1", "--repo", "Repo1"]) == 0
    assert main(["keys", "make", f"{GROUP}/Gate1"]) == 0
    said = {
        "listeners": [{"tcp": "127.0.0.1:0"}],
        "store": str(tmp_path / "node"),
        "trees": [{"filter": "#", "group": GROUP}],
        "groups": [{"name": GROUP, "panel": "Gate1", "repo": "Repo1"}],
    }

    async def test() -> None:
        async with running_broker(read_config(said, tmp_path, tmp_path)) as running:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(running.uris[0].rpartition(":")[2]))
            writer.write(packets.connect(b"device"))
            await reader.readexactly(4)
            for burst in range(3):  # the first starts the process, the second is signed by it, in the third it dies
                first = 1 + burst * BURST
                numbers = range(first, first + BURST)
                writer.write(b"".join([publish(number) for number in numbers]))
                acknowledged = await reader.readexactly(4)
                if burst == 2:
                    os.kill(Watched.made.pid or 0, signal.SIGKILL)
                acknowledged += await reader.readexactly(4 * BURST - 4)
                assert acknowledged == b"".join([packets.puback(number) for number in numbers])
                await Watched.made.ready.wait()
            assert running.repo is not None
            (repo,) = running.repo.repos
            assert repo.shelf.holdings.of(STREAM).held == [(1, 3 * BURST)]
            key = next(each for each in KeyStore(tmp_path / "home").identities() if each.name == STREAM.prefix(4)).key
            for number, wire in repo.store.range(STREAM, 1, 3 * BURST, 3 * BURST):
                data = decode_data(wire)
                assert str(number).encode() in data.content
                assert key.public.verify(data.signed_portion, data.signature_value)
            writer.close()

    run(test)
    assert [record.message for record in caplog.records if "second core" in record.message] == [
        "no second core signs what comes by MQTT, it is done here: signing process: it has ended"
    ]


def publish(number: int) -> bytes:
    return packets.publish(b"hall/temp", str(number).encode(), qos=1, packet_id=number)
