"""mosquitto_pub, mosquitto_sub and mosquitto_rr as clients of `roost mqtt`, in both versions.

A session that the server keeps makes the order certain where nobody has to be there: subscribe and leave (`-E`),
publish, then come and look.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from tests.interop.mosquitto import RUN_S, require_mosquitto
from tests.interop.mosquitto_clients import Subscriber, run, subscribed, succeed
from tests.interop.mqtt_server import PASSWORD, MqttServer, fresh, running_mqtt_server
from tests.interop.paho_client import V4, V5, PahoClient

versions: Final = pytest.mark.parametrize("version", ["311", "5"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MqttServer]:
    require_mosquitto()
    with running_mqtt_server(tmp_path_factory.mktemp("mqtt")) as started:
        yield started


@pytest.fixture
def port(server: MqttServer) -> int:
    return server.ports["tcp"]


def left(port: int, version: str, *words: str) -> list[str]:
    """Have a client subscribe and leave; how it comes back to its session."""
    back = ["-i", fresh(), "-c", *words]
    assert succeed("sub", port, version, *back, "-E") == b""
    return back


@versions
@pytest.mark.parametrize("qos", ["1", "2"])
@pytest.mark.parametrize("size", [0, 1, 3000, 200_000, 1 << 20])
def test_a_file_arrives_as_it_is(port: int, version: str, qos: str, size: int, tmp_path: Path) -> None:
    place, file = fresh(), tmp_path / "payload"
    file.write_bytes((b"\0\xff\n" * size)[:size])
    back = left(port, version, "-t", place, "-q", qos)
    succeed("pub", port, version, "-t", place, "-q", qos, *(["-f", str(file)] if size else ["-n"]))
    assert succeed("sub", port, version, *back, "-C", "1", "-N") == file.read_bytes()


@versions
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_lines_arrive_in_order(port: int, version: str, qos: str) -> None:
    place = fresh()
    lines = [f"{number}" for number in range(300)]
    with subscribed(port, version, "-t", place, "-q", qos) as subscriber:
        succeed("pub", port, version, "-t", place, "-q", qos, "-l", stdin="\n".join(lines).encode())
        assert subscriber.shown(300) == [f"{place} {line}" for line in lines]


@versions
def test_topics_are_any_text(port: int, version: str) -> None:
    place = fresh()
    back = left(port, version, "-t", f"{place}/+/🌡/#", "-q", "1")
    for topic in (f"{place}/Küche/🌡", f"{place}/Küche", f"{place}/台所/🌡/ 1"):
        succeed("pub", port, version, "-t", topic, "-q", "1", "-m", "x")
    shown = succeed("sub", port, version, *back, "-C", "2", "-v").decode()
    assert shown == f"{place}/Küche/🌡 x\n{place}/台所/🌡/ 1 x\n"


@versions
def test_retained_messages_are_set_replaced_and_cleared(port: int, version: str) -> None:
    place = fresh()
    for number in ("0", "1", "2"):
        for payload in ("old", number):
            succeed("pub", port, version, "-t", f"{place}/{number}", "-q", "1", "-r", "-m", payload)
    words = ["-t", f"{place}/+", "-q", "1", "-F", "%t %p %r"]
    shown = succeed("sub", port, version, *words, "-C", "3")
    assert sorted(shown.decode().split("\n")) == ["", f"{place}/0 0 1", f"{place}/1 1 1", f"{place}/2 2 1"]
    succeed("pub", port, version, "-t", f"{place}/0", "-q", "1", "-r", "-n")
    cleared = run("sub", port, version, *words, "-T", f"{place}/1", "--remove-retained", "-W", "1")
    assert (cleared.returncode, cleared.stdout.decode()) == (27, f"{place}/2 2 1\n{place}/2  0\n")
    assert succeed("sub", port, version, *words, "-C", "1").decode() == f"{place}/1 1 1\n"


@pytest.mark.parametrize(("version", "qos"), [("311", "2"), ("5", "1")])
def test_a_session_waits_through_kill_9(server: MqttServer, version: str, qos: str) -> None:
    place, port = fresh(), server.ports["tcp"]
    back = left(port, version, "-t", f"{place}/#", "-q", qos)
    succeed("pub", port, version, "-t", f"{place}/a", "-q", qos, "-l", stdin=b"\n".join([b"line"] * 200))
    server.kill_and_restart()
    succeed("pub", port, version, "-t", f"{place}/b", "-q", qos, "-m", "after")
    shown = succeed("sub", port, version, *back, "-C", "201", "-v").decode()
    assert shown == f"{place}/a line\n" * 200 + f"{place}/b after\n"


@versions
def test_a_will_comes_when_a_client_is_killed_and_not_when_it_leaves(port: int, version: str) -> None:
    place = fresh()
    words = ["-t", "nothing", "--will-topic", f"{place}/will", "--will-qos", "2"]
    with subscribed(port, version, "-t", f"{place}/+", "-q", "2", shape="%p %q") as watcher:
        Subscriber(port, version, *words, "--will-payload", "left").stop()
        Subscriber(port, version, *words, "--will-payload", "killed").stop(kill=True)
        wished = ["left 2"] if version == "5" else []  # mosquitto_sub leaves with reason 0x04: have my will published
        assert watcher.shown(len(wished) + 1) == [*wished, "killed 2"]


def test_a_will_may_wait_and_have_properties(port: int) -> None:
    place = fresh()
    will = ["--will-topic", place, "--will-payload", "later", "-D", "will", "will-delay-interval", "1"]
    more = ["-D", "will", "content-type", "text/plain", "-D", "will", "user-property", "a", "b", "-x", "60"]
    with subscribed(port, "5", "-t", place, shape="%p %C %P") as watcher:
        Subscriber(port, "5", "-i", place, "-t", "nothing", *will, *more).stop(kill=True)
        assert watcher.shown() == ["later text/plain a:b"]


@versions
def test_three_share_a_subscription(port: int, version: str) -> None:
    place = fresh()
    with ExitStack() as stack:
        members = [
            stack.enter_context(subscribed(port, version, "-t", f"$share/crew/{place}/#", "-q", "1")) for _ in range(3)
        ]
        lines = [f"{number}" for number in range(60)]
        succeed("pub", port, version, "-t", f"{place}/x", "-q", "1", "-l", stdin="\n".join(lines).encode())
        shares = [member.shown(20) for member in members]
        assert sorted(line for share in shares for line in share) == sorted(f"{place}/x {line}" for line in lines)


def test_properties_arrive_as_they_were_said(port: int) -> None:
    place = fresh()
    back = left(port, "5", "-t", place, "-q", "2", "-D", "subscribe", "subscription-identifier", "4711")
    said = [
        *("payload-format-indicator 1", "content-type text/plain", "response-topic back/to"),
        *("correlation-data 77", "user-property a ü", "user-property a 2", "message-expiry-interval 1000"),
    ]
    words = [word for line in said for word in ("-D", "publish", *line.split())]
    succeed("pub", port, "5", "-t", place, "-q", "2", "-m", "x", *words)
    shown = succeed("sub", port, "5", *back, "-C", "1", "-F", "%F|%C|%R|%D|%P|%S|%E").decode().rstrip("\n")
    *properties, expiry = shown.split("|")
    assert properties == ["1", "text/plain", "back/to", "77", "a:ü a:2", "4711"]
    assert 900 <= int(expiry) <= 1000


def test_a_repeated_message_says_its_topic_once(port: int) -> None:
    place = fresh()
    back = left(port, "5", "-t", place, "-q", "1")
    words = ["-t", place, "-q", "1", "-m", "x", "--repeat", "5", "-D", "publish", "topic-alias", "7"]
    succeed("pub", port, "5", *words)
    assert succeed("sub", port, "5", *back, "-C", "5", "-v").decode() == f"{place} x\n" * 5


@pytest.mark.parametrize("maximum", ["1", "2"])
@pytest.mark.parametrize("qos", ["1", "2"])
def test_little_in_flight_is_enough_for_many_messages(port: int, qos: str, maximum: str) -> None:
    place = fresh()
    back = left(port, "5", "-t", place, "-q", qos)
    lines = [b"%d" % number for number in range(200)]
    succeed("pub", port, "5", "-t", place, "-q", qos, "-l", stdin=b"\n".join(lines))
    shown = succeed("sub", port, "5", *back, "-C", "200", "-D", "connect", "receive-maximum", maximum)
    assert shown.split() == lines


def test_what_is_too_large_for_a_client_is_left_out(port: int) -> None:
    place = fresh()
    back = left(port, "5", "-t", place, "-q", "1")
    for payload in ("small", "x" * 2000, "tiny"):
        succeed("pub", port, "5", "-t", place, "-q", "1", "-m", payload)
    words = ["-D", "connect", "maximum-packet-size", "500"]
    assert succeed("sub", port, "5", *back, *words, "-C", "2") == b"small\ntiny\n"


@versions
def test_a_request_is_answered(server: MqttServer, version: str) -> None:
    place, port = fresh(), server.ports["tcp"]
    words = ["-h", "127.0.0.1", "-p", str(port), "-V", version, "-t", place, "-e", f"{place}/answer", "-m", "question"]
    with PahoClient(server, V5 if version == "5" else V4) as answering:
        answering.subscribe(place, qos=1)
        with subprocess.Popen(["mosquitto_rr", *words], stdout=subprocess.PIPE) as asking:
            (question,) = answering.take()
            topic = question.properties.ResponseTopic if version == "5" else f"{place}/answer"
            assert (topic, question.payload) == (f"{place}/answer", b"question")
            answering.publish(topic, b"answer", 1)
            assert asking.communicate(timeout=RUN_S)[0] == b"answer\n"


@versions
def test_who_may_not_is_told(port: int, version: str) -> None:
    anna = ["-u", "anna", "-P", PASSWORD]
    denied = run("pub", port, version, *anna, "-t", "home/bert/x", "-q", "1", "-m", "x")
    assert (b"Not authorized" in denied.stderr) == (version == "5"), "3.1.1 has no answer for it"
    refused = run("sub", port, version, *anna, "-t", "home/bert/#", "-E")
    assert b"All subscription requests were denied" in refused.stderr
    assert succeed("sub", port, version, *anna, "-t", "home/anna/#", "-E") == b""
    wrong = run("sub", port, version, "-u", "anna", "-P", "guess", "-t", "home/anna/#", "-E")
    assert wrong.returncode == (134 if version == "5" else 4)


@versions
def test_a_certificate_says_who_a_client_is(server: MqttServer, version: str) -> None:
    place, port = fresh(), server.ports["tls"]
    trusting = ["--cafile", server.authority]
    bert = [*trusting, "--cert", server.bert[0], "--key", server.bert[1]]
    back = left(port, version, "-t", f"home/bert/{place}", "-q", "1", *bert)
    succeed("pub", port, version, *bert, "-t", f"home/bert/{place}", "-q", "2", "-m", "x" * 100_000)
    assert succeed("sub", port, version, *back, "-C", "1") == b"x" * 100_000 + b"\n"
    refused = run("sub", port, version, *bert, "-t", "home/anna/#", "-E")
    assert b"All subscription requests were denied" in refused.stderr
    distrusting = run("sub", port, version, "--cafile", server.bert[0], "-t", "x", "-E")
    assert distrusting.returncode != 0


@versions
def test_the_server_tells_how_it_is(port: int, version: str) -> None:
    gauges = ("clients/connected", "subscriptions/count", "retained messages/count", "publish/messages/dropped")
    words = [word for gauge in gauges for word in ("-t", f"$SYS/broker/{gauge}")]
    shown = succeed("sub", port, version, *words, "-C", "4", "-F", "%t|%p").decode().splitlines()
    assert {line.partition("|")[0].removeprefix("$SYS/broker/") for line in shown} == set(gauges)
    assert all(line.partition("|")[2].isdigit() for line in shown)
    everything = succeed("sub", port, version, "-t", "$SYS/#", "-C", "20", "-v").splitlines()
    assert all(line.startswith(b"$SYS/broker/") for line in everything)
