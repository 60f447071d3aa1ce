"""What `roost up` tells about itself, as a process: a log of JSON lines, tokens of the command line's, metrics."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from tests.up_node import UpNode

from roost.host.clock import Clock
from roost.web.tokens import Tokens


@pytest.fixture
def node(tmp_path: Path) -> Iterator[UpNode]:
    made = UpNode(tmp_path)
    yield made
    made.close()


def test_the_log_is_json_and_names_who_was_refused_and_no_secret(node: UpNode) -> None:
    node.write(log={"format": "json", "level": "info"})
    _, secret = Tokens(node.home / "tokens").make("", "metrics", ("metrics",), 60, Clock()())
    node.start()
    page = node.uri("HTTP: listening on ")
    request = Request(f"{page}/metrics", headers={"Authorization": f"Bearer {secret}"})
    with urlopen(request, timeout=60) as answer:
        assert b"\nroost_mqtt_clients 0\n" in answer.read()
    with urlopen(f"{page}/ready", timeout=60) as answer:
        assert json.load(answer)["ready"] is True
    place = urlsplit(node.uri("MQTT: listening on "))
    with socket.create_connection((place.hostname, place.port), timeout=60) as stranger:
        stranger.sendall(b"\x00nonsense")
        while stranger.recv(100):  # until it is sent away
            pass
        peer = "{}:{}".format(*stranger.getsockname()[:2])
    assert node.end() == 0
    lines = [json.loads(line) for line in node.log().splitlines()]
    assert lines
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    refused = [line for line in lines if "peer" in line and "refused" in line["message"]]
    assert [line["level"] for line in refused] == ["warning"]
    assert peer.partition(":")[0] in refused[0]["peer"]
    assert secret not in node.log()
