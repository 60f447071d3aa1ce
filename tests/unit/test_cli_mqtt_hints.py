"""What `roost pub` and `roost sub` say when a server is not there, or is there for something else than they speak."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.mqtt_certificates import Authority

from roost.cli import main
from roost.cli._mqtt_hints import why_unreachable
from roost.cli._mqtt_server import Server

# paho lets a socket go, unclosed, whose handshake failed
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

CONNACK_OTHER_VERSION = b"\x20\x02\x00\x01"


@contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A port whose first caller is answered in this way and then left."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)

        def serve() -> None:
            with suppress(OSError):  # what `ssl` raises is an OSError
                connected, _ = listening.accept()
                with connected:
                    connected.settimeout(20)
                    answer(connected)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield str(listening.getsockname()[1])
        finally:
            thread.join(30)


def close(connected: socket.socket) -> None:
    connected.recv(4096)


def refuse_version(connected: socket.socket) -> None:
    connected.recv(4096)
    connected.sendall(CONNACK_OTHER_VERSION)
    connected.recv(4096)


def speak_http(connected: socket.socket) -> None:
    connected.recv(4096)
    connected.sendall(b"HTTP/1.1 404 Not Found\r\n\r\n")


def over_tls(context: ssl.SSLContext) -> Callable[[socket.socket], None]:
    def answer(connected: socket.socket) -> None:
        with context.wrap_socket(connected, server_side=True) as secure:
            secure.recv(4096)

    return answer


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def context(authority: Authority) -> ssl.SSLContext:
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.load_cert_chain(*authority.certify("server"))
    return made


def says(capsys: pytest.CaptureFixture[str], port: str, *letters: str, status: int = 1) -> str:
    assert main(["pub", "-h", "127.0.0.1", "-p", port, "-t", "a", "-m", "b", *letters]) == status
    said = capsys.readouterr().err
    assert said.startswith("roost pub: ")
    assert said.count("\n") == 1
    assert "_ssl.c" not in said
    return said


def test_a_plain_client_at_a_port_for_tls_hears_of_tls_websocket_and_versions(
    context: ssl.SSLContext, capsys: pytest.CaptureFixture[str]
) -> None:
    with server(over_tls(context)) as port:
        said = says(capsys, port)
    assert "closed the connection instead of answering: " in said
    for letter in ("--cafile FILE", "--tls-use-os-certs", "--ws", "-V 311"):
        assert letter in said


def test_without_the_certificate_that_a_server_requires_it_is_named(
    authority: Authority, context: ssl.SSLContext, capsys: pytest.CaptureFixture[str]
) -> None:
    context.load_verify_locations(authority.path)
    context.verify_mode = ssl.CERT_REQUIRED
    with server(over_tls(context)) as port:
        newer = says(capsys, port, "--cafile", str(authority.path))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with server(over_tls(context)) as port:
        older = says(capsys, port, "--cafile", str(authority.path))
    for said in (newer, older):
        assert "if it requires a certificate, give" in said
        assert "--cert FILE and --key FILE" in said


def test_tls_at_a_plain_port_is_to_be_left_out(authority: Authority, capsys: pytest.CaptureFixture[str]) -> None:
    for answer in (close, speak_http):
        with server(answer) as port:
            said = says(capsys, port, "--cafile", str(authority.path))
        assert f"127.0.0.1:{port} was reached, but does not speak TLS: leave out --cafile" in said


def test_a_port_that_lets_tls_wait_does_not_speak_it(context: ssl.SSLContext) -> None:
    place = Server("here", 1883, "tcp", context, None, None, None)
    silence = TimeoutError("_ssl.c:989: The handshake operation timed out")
    assert "does not speak TLS" in why_unreachable(place, silence)
    assert why_unreachable(place, TimeoutError("timed out")) == "cannot reach here:1883: timed out"


def test_websocket_at_a_port_without_it_is_to_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    for answer in (close, speak_http):
        with server(answer) as port:
            said = says(capsys, port, "--ws")
        assert f"127.0.0.1:{port} was reached, but does not speak WebSocket: leave out --ws, correct --ws-path" in said


def test_an_authority_that_is_not_known_is_given_with_cafile(
    tmp_path: Path, context: ssl.SSLContext, capsys: pytest.CaptureFixture[str]
) -> None:
    for letters in (("--cafile", str(Authority(tmp_path, "stranger").path)), ("--tls-use-os-certs",)):
        with server(over_tls(context)) as port:
            assert "that signed the server's with --cafile FILE" in says(capsys, port, *letters)


def test_a_certificate_for_another_name_is_no_matter_of_the_authority(
    authority: Authority, context: ssl.SSLContext, capsys: pytest.CaptureFixture[str]
) -> None:
    with server(over_tls(context)) as port:
        said = says(capsys, port, "-h", "localhost", "--cafile", str(authority.path))
    assert "its certificate is for another name: give -h" in said


def test_a_version_that_is_refused_is_followed_by_those_to_use(capsys: pytest.CaptureFixture[str]) -> None:
    with server(refuse_version) as port:
        assert "unsupported protocol version (code 1); use -V 311 or 5" in says(capsys, port, "-V", "31")
    with server(close) as port:
        assert "if it does not know this version of MQTT, use -V 311 or 5" in says(capsys, port, "-V", "31")


def test_a_server_of_mqtt_3_1_1_alone_refuses_the_default_and_the_letter_for_it_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with server(refuse_version) as port:
        assert "unsupported protocol version (code 132); use -V 311" in says(capsys, port, status=132)


def test_where_nothing_listens_a_server_can_be_started_or_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = str(gone.getsockname()[1])
    said = says(capsys, port)
    assert "Connection refused; nothing listens there: start a server (`roost up`)" in said
    assert "with -h HOST and -p PORT" in said
    assert main(["pub", "--unix", str(tmp_path / "none.sock"), "-t", "a", "-n"]) == 1
    assert "with --unix PATH" in capsys.readouterr().err


def test_a_certificate_without_its_key_asks_for_it(
    tmp_path: Path, authority: Authority, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate, key = authority.certify("ann")
    _, other = authority.certify("bob")
    assert f"--cert {certificate}: there is no certificate with its key in it; give the key with --key" in says(
        capsys, "1", "--cert", str(certificate)
    )
    assert "are no certificate and its key in PEM form" in says(
        capsys, "1", "--cert", str(certificate), "--key", str(other)
    )
    assert "give that with --cert" in says(capsys, "1", "--cafile", str(authority.path), "--key", str(key))
    both = tmp_path / "both.pem"
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    assert "Connection refused" in says(capsys, "1", "--cert", str(both))
