"""`roost pub` and `roost sub` beside `mosquitto_pub` and `mosquitto_sub`: the same arguments, the same bytes.

One mosquitto serves the module. Sessions that the server keeps make the order certain: subscribe and leave (`-E`),
publish, then come and look.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.interop.mosquitto import RUN_S, Mosquitto, free_ports, running_mosquitto
from tests.verbs import RUN, environment_of

from roost.cli import main

VERSIONS: Final = ("311", "5")
FORMATS: Final = (
    "%t|%12t|%-12t|%.2t|%6.2t|%-6.2t|%05t|%.t",
    "%p|%20p|%-20p|%3p|%-3p|%.2p|%020p",
    "%x|%X|%9x|%-40x|%040X|%3x|%-7X",
    "%l|%5l|%05l|%-5l|%-05l|%q|%r|%5q",
    "%A|%05A|%-4A|%C|%9C|%-9C|%.3C|%D|%E|%07E|%F|%4F|%P|%R|%9R|%S|%3S|%03S",
    "%%|%5%|@@|@q|@E|@%|@n|@é|é",
    r"\\|\0|\a|\e|\n|\r|\t|\v",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with running_mosquitto(tmp_path_factory.mktemp("mosquitto")) as started:
        yield started


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "payload",
    [b"21.5", 'a "quoted" \\ \tthé'.encode(), b"\xff\x01\x7f\n", b"x" * 3000],
    ids=["number", "text", "binary", "long"],
)
def test_every_format_shows_the_same_bytes(server: Mosquitto, payload: bytes, version: str) -> None:
    sessions = server.sessions("f/+", version=version)
    properties = ["content-type text/plain", "user-property a b", "user-property c d", "correlation-data 77"]
    words = [
        word
        for line in (*properties, "response-topic back/to", "payload-format-indicator 0")
        for word in ("-D", "publish", *line.split())
    ]
    sent = server.roost("pub", "-t", "f/1", "-s", "-q", "1", *(words if version == "5" else ()), stdin=payload)
    assert (sent.returncode, sent.stderr) == (0, b"")
    shown = server.both_show(sessions, "-C", "1", "-F", "|".join(FORMATS))
    assert shown.startswith(b"f/1|         f/1|")
    assert (b"|text/plain|text/plain|text/plain|tex|77||" in shown) == (version == "5")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("layout", [(), ("--pretty",)], ids=["one-line", "pretty"])
def test_json_is_the_same_but_for_the_time(server: Mosquitto, version: str, layout: tuple[str, ...]) -> None:
    payload = '{"a":[1,2.5,1e30,0.1,{"x":null}],"a":-0,"e":{},"l":[],"t":"é\\/\\u0001","n":12345678901234567890} '
    shown = []
    words = ["-D", "publish", "user-property", "k", "v", "-D", "publish", "content-type", "j"]
    server.mosquitto("pub", "-t", f"json/{version}", "-r", "-m", payload, *(words if version == "5" else ()))
    for run in (server.mosquitto, server.roost):
        read = run("sub", "-t", f"json/{version}", "-V", version, "-C", "1", "-F", "%j %J %I %U @s", *layout)
        shown.append(
            re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6}Z)?[+-]\d{4}|\b\d{10}(\.\d{9})?\b", b"<time>", read.stdout)
        )
    assert shown[0] == shown[1]
    assert shown[0].count(b"<time>") == 5


def test_a_payload_that_is_no_json_is_told_and_left_out(server: Mosquitto) -> None:
    sessions = server.sessions("nojson")
    assert server.roost("pub", "-t", "nojson", "-m", "{oops", "-q", "1").returncode == 0
    ours = server.roost("sub", *sessions[1], "-C", "1", "-F", "[%J]")
    assert ours.stdout == server.mosquitto("sub", *sessions[0], "-C", "1", "-F", "[%J]").stdout == b"[]\n"
    assert ours.stderr == b"roost sub: the message on nojson is no JSON, so %J cannot show it\n"


@pytest.mark.parametrize(("version", "qos"), [("311", "2"), ("5", "1")])
@pytest.mark.parametrize("publisher", ["mosquitto", "roost"])
def test_messages_from_everywhere_arrive(
    server: Mosquitto, publisher: str, version: str, qos: str, tmp_path: Path
) -> None:
    file = tmp_path / "message"
    file.write_bytes(b"from\0a file\n")
    run = server.mosquitto if publisher == "mosquitto" else server.roost
    sessions = server.sessions("all/#", version=version)
    for number, (words, stdin) in enumerate(
        [
            (["-m", "said"], b""),
            (["-m", "-hello=-5.5"], b""),
            (["-f", str(file)], b""),
            (["-l"], b"one\r\n\ntwo \nlast without an end"),
            (["-s"], b"all\nof it\n"),
            (["-n"], b""),
            (["-m", "", "-r"], b""),
            (["-m", "thrice", "--repeat", "3", "--repeat-delay", "0.01"], b""),
        ]
    ):
        sent = run("pub", "-V", version, "-t", f"all/{number}", "-q", qos, *words, stdin=stdin)
        assert (sent.returncode, sent.stdout, sent.stderr) == (0, b"", b"")
    shown = server.both_show(sessions, "-C", "13", "-F", "%t %q %r %l %x")
    assert [line.split(b" ")[0] for line in shown.splitlines()] == [
        b"all/%d" % number for number in (0, 1, 2, 3, 3, 3, 3, 4, 5, 6, 7, 7, 7)
    ]


@pytest.mark.parametrize("words", [[], ["-v"], ["-N"], ["-v", "-N"], ["-v", "-T", "p/1"], ["-F", "%p", "-N"]])
def test_without_a_format_the_payload_is_shown_as_it_is(server: Mosquitto, words: list[str]) -> None:
    sessions = server.sessions("p/+")
    for number, message in enumerate(["a", "", "b\xe9\n", "end"]):
        assert server.mosquitto("pub", "-t", f"p/{number}", "-q", "1", "-m", message).returncode == 0
    shown = server.both_show(sessions, *words, "-C", "3" if "-T" in words else "4")
    assert b"end" in shown


def test_retained_messages_are_shown_or_not(server: Mosquitto) -> None:
    for number in range(3):
        server.mosquitto("pub", "-t", f"kept/{number}", "-r", "-m", str(number))
    both = (["-t", "kept/+"], ["-t", "kept/+"])
    assert server.both_show(both, "-v", "-C", "3") == b"kept/0 0\nkept/1 1\nkept/2 2\n"
    assert server.both_show(both, "--retained-only", "-W", "1", "-F", "%r%p") == b"10\n11\n12\n"
    removed = server.roost("sub", "-t", "kept/+", "-T", "kept/1", "--remove-retained", "--retained-only", "-v")
    assert (removed.returncode, removed.stdout) == (0, b"kept/0 0\nkept/2 2\n")
    assert server.both_show(both, "-v", "-R", "-W", "1") == b""
    assert server.both_show(both, "-v", "--retained-only", "-C", "1") == b"kept/1 1\n"


def test_too_little_time_is_exit_code_27(server: Mosquitto) -> None:
    ours = server.roost("sub", "-t", "nothing", "-W", "1")
    assert (ours.returncode, ours.stdout, ours.stderr) == (27, b"", b"roost sub: timed out after 1 s\n")


@pytest.mark.parametrize(("version", "code"), [("311", 5), ("5", 135)])
def test_a_refusal_is_a_sentence_and_its_code_the_exit_code(server: Mosquitto, version: str, code: int) -> None:
    words = ("-V", version, "-t", "ours/1", "-u", "anna", "-P", "wrong")
    ours = server.roost("sub", *words, port=server.users)
    assert ours.returncode == server.mosquitto("sub", *words, port=server.users).returncode == code
    assert ours.stderr.decode() == f"roost sub: 127.0.0.1:{server.users} refuses us: not authorized (code {code})\n"
    assert server.roost("sub", *words, "--quiet", port=server.users).stderr == b""


def test_a_password_comes_from_the_environment_or_a_file(
    server: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_text("secret\n")
    words = ("-t", "ours/1", "-m", "x", "-u", "anna")
    assert server.roost("pub", *words, "--password-file", str(file), port=server.users).returncode == 0
    monkeypatch.setenv("ROOST_MQTT_PASSWORD", "secret")
    assert server.roost("pub", *words, port=server.users).returncode == 0


@pytest.mark.parametrize("qos", ["1", "2"])
def test_a_message_that_the_server_does_not_take_is_an_error(server: Mosquitto, qos: str) -> None:
    words = ("-q", qos, "-t", "theirs", "-m", "x", "-u", "anna", "-P", "secret")
    denied = server.roost("pub", *words, port=server.users)
    assert denied.returncode == 135
    assert denied.stderr.endswith(b" did not take 1 of the messages: not authorized (code 135)\n")


def test_since_is_part_of_the_filter_before_mqtt_5(server: Mosquitto) -> None:
    words = ("sub", "-V", "311", "-t", "hall", "-v", "-W", "30")
    server.mosquitto("pub", "-t", "$since/24h/hall", "-r", "-m", "past")
    assert server.roost(*words, "--since", "24h", "-C", "1").stdout == b"$since/24h/hall past\n"


def test_a_connection_in_tls_checks_the_server(server: Mosquitto) -> None:
    words = ("-t", "t", "-m", "x", "-q", "1")
    authority = str(server.folder / "server.pem")
    assert server.roost("pub", *words, "--cafile", authority, port=server.tls).returncode == 0
    command = [*RUN, "pub", "-h", "127.0.0.1", "-p", str(server.tls), *words, "--tls-use-os-certs"]
    unknown = subprocess.run(command, capture_output=True, timeout=RUN_S, check=False)  # paho leaves its socket open
    assert unknown.returncode == 1
    assert unknown.stderr.startswith(f"roost pub: TLS with 127.0.0.1:{server.tls} failed: self".encode())
    assert unknown.stderr.count(b"\n") == 1


def test_a_connection_over_websocket(server: Mosquitto) -> None:
    sessions = server.sessions("web")
    assert server.roost("pub", "-t", "web", "-m", "x" * 70_000, "-q", "2", "--ws", port=server.ws).returncode == 0
    assert server.both_show(sessions, "-C", "1") == b"x" * 70_000 + b"\n"


def test_a_url_says_it_all(server: Mosquitto) -> None:
    url = f"mqtt://anna:secret@127.0.0.1:{server.users}/ours/url"
    assert main(["pub", "-L", url, "-m", "x", "-r", "-q", "1"]) == 0
    read = subprocess.run(["mosquitto_sub", "-L", url, "-C", "1"], capture_output=True, timeout=RUN_S, check=False)
    assert read.stdout == b"x\n"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_will_is_published_when_we_vanish_and_only_then(server: Mosquitto, version: str) -> None:
    sessions = server.sessions("will/+", version=version)
    will = ["--will-topic", "will/1", "--will-payload", "gone", "--will-qos", "1"]
    assert server.roost("pub", "-V", version, "-t", "will/0", "-m", "bye", "-q", "1", *will).returncode == 0
    words = ["-h", "127.0.0.1", "-p", str(server.plain), "-V", version, "-t", "x", "-d", *will]
    for number in (signal.SIGTERM, signal.SIGKILL):
        command = [*RUN, "sub", *words]
        with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment_of(server.folder)) as process:
            assert process.stderr is not None
            assert any(b"Received SUBACK" in line for line in process.stderr)
            process.send_signal(number)
            process.stderr.read()
        assert process.returncode == (0 if number == signal.SIGTERM else -number)
    assert server.both_show(sessions, "-C", "2", "-v") == b"will/0 bye\nwill/1 gone\n"


def test_a_server_that_is_not_there_is_one_sentence(server: Mosquitto) -> None:
    (nobody,) = free_ports(1)
    ours = server.roost("pub", "-t", "a", "-m", "b", port=nobody)
    assert (ours.returncode, ours.stdout) == (1, b"")
    assert ours.stderr.startswith(b"roost pub: cannot reach 127.0.0.1:%d: Connection refused; " % nobody)
    assert ours.stderr.count(b"\n") == 1
