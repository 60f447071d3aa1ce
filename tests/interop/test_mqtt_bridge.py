"""A mosquitto that bridges to `roost mqtt`, in both versions and both directions.

By itself a bridge of 3.1.1 asks for version 0x84 first, which is none, and for 3.1.1 five seconds later; and it has a
will below `$SYS`. One test leaves it at that, the others are quicker.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.interop.mosquitto import require_mosquitto
from tests.interop.mosquitto_clients import Bridge, bridged, subscribed, succeed
from tests.interop.mqtt_server import PASSWORD, MqttServer, running_mqtt_server

TOPICS: Final = ("topic out/# out 2", "topic in/# in 2", "topic shared/# both 1 here/ there/")

QUICK: Final = ("try_private false", "notifications false")

versions: Final = pytest.mark.parametrize("version", ["311", "50"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MqttServer]:
    require_mosquitto()
    with running_mqtt_server(tmp_path_factory.mktemp("mqtt"), for_anyone=True) as started:
        yield started


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MqttServer]:
    """A server with users and permissions."""
    require_mosquitto()
    with running_mqtt_server(tmp_path_factory.mktemp("mqtt")) as started:
        yield started


def check_both_ways(bridge: Bridge, ours: int, payload: str) -> None:
    """Have messages cross the bridge: what each topic says about direction, prefix and QoS holds."""
    theirs = bridge.port
    with subscribed(ours, "5", "-t", "out/#", "-t", "there/#", "-q", "2", shape="%t %p %q") as here:
        succeed("pub", theirs, "311", "-t", "in/not-this-way", "-q", "2", "-m", payload)
        succeed("pub", theirs, "311", "-t", "out/a/ü", "-q", "2", "-m", payload)
        assert here.shown() == [f"out/a/ü {payload} 2"]
        succeed("pub", theirs, "5", "-t", "here/shared/b", "-q", "2", "-m", payload)
        assert here.shown() == [f"there/shared/b {payload} 1"]
    with subscribed(theirs, "5", "-t", "in/#", "-t", "here/#", "-q", "2", shape="%t %p %q") as there:
        succeed("pub", ours, "311", "-t", "out/not-this-way", "-q", "2", "-m", payload)
        succeed("pub", ours, "311", "-t", "in/a/ü", "-q", "2", "-m", payload)
        assert there.shown() == [f"in/a/ü {payload} 2"]
        succeed("pub", ours, "5", "-t", "there/shared/b", "-q", "2", "-m", payload)
        assert there.shown() == [f"here/shared/b {payload} 1"]


@versions
def test_messages_cross_the_bridge_both_ways(server: MqttServer, version: str, tmp_path: Path) -> None:
    with bridged(tmp_path, server.ports["tcp"], version, *TOPICS) as bridge:
        bridge.until("Received SUBACK", 2)
        check_both_ways(bridge, server.ports["tcp"], "x" * 5000)


@versions
def test_what_is_retained_crosses_the_bridge(server: MqttServer, version: str, tmp_path: Path) -> None:
    ours = server.ports["tcp"]
    succeed("pub", ours, "311", "-t", "in/kept", "-q", "1", "-r", "-m", version)
    with bridged(tmp_path, ours, version, *QUICK, *TOPICS) as bridge:
        bridge.until("Received PUBLISH from")
        succeed("pub", bridge.port, "311", "-t", "out/kept", "-q", "1", "-r", "-m", version)
        bridge.until("Received PUBACK from")
        assert (
            succeed("sub", bridge.port, "311", "-t", "in/kept", "-C", "1", "-F", "%p %r").decode() == f"{version} 1\n"
        )
        assert succeed("sub", ours, "311", "-t", "out/kept", "-C", "1", "-F", "%p %r").decode() == f"{version} 1\n"


def test_the_bridge_comes_back_after_kill_9(server: MqttServer, tmp_path: Path) -> None:
    ours = server.ports["tcp"]
    back = ["-i", "waiting", "-c", "-t", "late/#", "-q", "2"]
    succeed("sub", ours, "5", *back, "-E")
    with bridged(tmp_path, ours, "50", *QUICK, "topic late/# out 2", "cleansession false") as bridge:
        bridge.until("Received CONNACK on connection")
        succeed("pub", bridge.port, "311", "-t", "late/before", "-q", "2", "-m", "1")
        bridge.until("Received PUBCOMP from")
        server.kill_and_restart()
        succeed("pub", bridge.port, "311", "-t", "late/after", "-q", "2", "-m", "2")
        assert succeed("sub", ours, "5", *back, "-C", "2", "-v") == b"late/before 1\nlate/after 2\n"


@versions
def test_a_bridge_with_a_password_or_a_certificate(guarded: MqttServer, version: str, tmp_path: Path) -> None:
    anna = ("remote_username anna", f"remote_password {PASSWORD}", "topic # both 1 up/ home/anna/")
    with bridged(tmp_path, guarded.ports["tcp"], version, *QUICK, *anna) as bridge:
        bridge.until("Received SUBACK")
        with subscribed(guarded.ports["tcp"], "5", "-t", "home/#") as here:
            succeed("pub", bridge.port, "5", "-t", "up/a", "-q", "1", "-m", "by password")
            assert here.shown() == ["home/anna/a by password"]
    certificate, key = guarded.bert
    bert = (f"bridge_cafile {guarded.authority}", f"bridge_certfile {certificate}", f"bridge_keyfile {key}")
    with bridged(tmp_path, guarded.ports["tls"], version, *QUICK, *bert, "topic # both 1 up/ home/bert/") as bridge:
        bridge.until("Received SUBACK")
        with subscribed(bridge.port, "5", "-t", "up/#") as there:
            succeed("pub", guarded.ports["tcp"], "5", "-t", "home/bert/b", "-q", "1", "-m", "over TLS")
            assert there.shown() == ["up/b over TLS"]
