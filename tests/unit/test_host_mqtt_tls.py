"""TLS as a pipe, against OpenSSL's client in memory: handshakes, users by certificate, ends, and wrong files."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.mqtt_certificates import Authority
from websockets.client import ClientProtocol
from websockets.frames import Frame
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from roost.errors import BadConfig
from roost.host.mqtt.pipes import Pipe, Stack
from roost.host.mqtt.tls import Tls, TlsFiles, make_context
from roost.host.mqtt.websocket import WebSocket


class Peer:
    """A client that speaks TLS with a pipe."""

    def __init__(self, pipe: Pipe, context: ssl.SSLContext) -> None:
        self.pipe = pipe
        self.plain = b""  # what the machine would get
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="127.0.0.1")

    def shake_hands(self) -> None:
        for _ in range(4):
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self.pass_on()
            else:
                break
        self.pass_on()

    def say(self, data: bytes) -> None:
        self._tls.write(data)
        self.pass_on()

    def hear(self, data: bytes) -> bytes:
        self._incoming.write(data)
        heard = b""
        try:
            while chunk := self._tls.read(1 << 16):
                heard += chunk
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        return heard

    def leave(self) -> None:
        with pytest.raises(ssl.SSLWantReadError):
            self._tls.unwrap()
        self.pass_on()

    def pass_on(self) -> None:
        plain, reply = self.pipe.feed(self._outgoing.read())
        self.plain += plain
        self._incoming.write(reply)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def files(authority: Authority) -> TlsFiles:
    return TlsFiles(*authority.certify("server"))


def trusting(authority: Authority, own: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.path)
    if own is not None:
        context.load_cert_chain(*own)
    return context


def is_ready(pipe: Pipe) -> bool:
    return pipe.ready  # asked anew


def test_bytes_go_both_ways_once_hands_are_shaken(authority: Authority, files: TlsFiles) -> None:
    pipe = Tls(make_context(files, "mqtt"))
    peer = Peer(pipe, trusting(authority))
    assert not is_ready(pipe)
    assert pipe.wrap(b"too early") == b""
    peer.shake_hands()
    assert pipe.ready
    assert pipe.user is None
    peer.say(b"question" * 10_000)
    assert peer.plain == b"question" * 10_000
    wire = pipe.wrap(b"answer" * 10_000)
    assert b"answer" not in wire
    assert peer.hear(wire) == b"answer" * 10_000
    assert pipe.ended == ""


def test_a_farewell_ends_it_on_either_side(authority: Authority, files: TlsFiles) -> None:
    pipe = Tls(make_context(files, "mqtt"))
    peer = Peer(pipe, trusting(authority))
    peer.shake_hands()
    assert pipe.farewell(), "so that the peer knows that nothing was cut off"
    other = Tls(make_context(files, "mqtt"))
    leaving = Peer(other, trusting(authority))
    leaving.shake_hands()
    leaving.leave()
    assert other.ended == "the other end closed it"
    assert other.wrap(b"too late") == b""


def test_what_is_not_tls_ends_the_pipe_with_the_reason(files: TlsFiles) -> None:
    pipe = Tls(make_context(files, "mqtt"))
    assert pipe.feed(b"\x10\x10\x00\x04MQTT\x04\x02\x00\x3c\x00\x00")[0] == b""
    assert pipe.ended.startswith("TLS failed: the client does not speak TLS here")
    assert not pipe.ready


def test_old_versions_are_refused(authority: Authority, files: TlsFiles) -> None:
    assert make_context(files, "mqtt").minimum_version == ssl.TLSVersion.TLSv1_2
    pipe = Tls(make_context(files, "mqtt"))
    old = trusting(authority)
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError):
        Peer(pipe, old).shake_hands()
    assert not pipe.ready


def test_a_certificate_of_the_right_authority_names_the_user(authority: Authority, tmp_path: Path) -> None:
    server = authority.certify("server")
    alice = authority.certify("alice")

    def user(own: tuple[Path, Path] | None, source: str = "CN") -> bytes | None:
        pipe = Tls(make_context(TlsFiles(*server, clients=authority.path), "mqtt"), source)
        Peer(pipe, trusting(authority, own)).shake_hands()
        assert pipe.ready
        return pipe.user

    assert user(alice) == b"alice"
    assert user(alice, "DNS") == b"alice"
    assert user(None) is None, "it was not required"
    (tmp_path / "other").mkdir()
    stranger = Authority(tmp_path / "other", "stranger").certify("alice")
    pipe = Tls(make_context(TlsFiles(*server, clients=authority.path), "mqtt"))
    Peer(pipe, trusting(authority, stranger)).shake_hands()
    assert not pipe.ready
    assert pipe.user is None
    assert "CERTIFICATE_VERIFY_FAILED" in pipe.ended


def test_who_has_no_certificate_is_sent_away_where_one_is_required(authority: Authority) -> None:
    files = TlsFiles(*authority.certify("server"), clients=authority.path, require=True)
    pipe = Tls(make_context(files, "mqtt"))
    Peer(pipe, trusting(authority)).shake_hands()
    assert not pipe.ready
    assert pipe.ended == "TLS failed: the client shows no certificate, and `require_certificate` wants one"


def test_websocket_in_tls_is_ready_when_both_are(authority: Authority, files: TlsFiles) -> None:
    pipe = Stack(Tls(make_context(files, "http/1.1")), WebSocket(1 << 20))
    peer = Peer(pipe, trusting(authority))
    peer.shake_hands()
    assert not is_ready(pipe)
    browser = ClientProtocol(parse_uri("wss://127.0.0.1/"), subprotocols=[Subprotocol("mqtt")])
    browser.send_request(browser.connect())
    peer.say(b"".join(browser.data_to_send()))
    assert pipe.ready
    browser.receive_data(peer.hear(b""))
    browser.send_binary(b"packet")
    peer.say(b"".join(browser.data_to_send()))
    assert peer.plain == b"packet"
    browser.receive_data(peer.hear(pipe.wrap(b"answer")))
    assert [event.data for event in browser.events_received() if isinstance(event, Frame)] == [b"answer"]
    browser.receive_data(peer.hear(pipe.farewell()))
    assert browser.close_rcvd is not None
    assert browser.close_rcvd.code == 1000
    assert not pipe.is_foreign
    assert pipe.user is None


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda files: files.certificate.unlink(), "server.pem cannot be read: No such file"),
        (lambda files: files.key.unlink(), "server.key cannot be read: No such file"),
        (lambda files: files.key.write_text("nonsense"), "are no certificate and its key"),
        (lambda files: files.clients.write_text("nonsense"), "has no certificate: give the clients' authority"),
    ],
    ids=["no certificate", "no key", "bad key", "bad authority"],
)
def test_a_file_that_cannot_be_used_is_named(
    authority: Authority, spoil: Callable[[TlsFiles], object], said: str
) -> None:
    files = TlsFiles(*authority.certify("server"), clients=authority.path)
    spoil(files)
    with pytest.raises(BadConfig, match=said):
        make_context(files, "mqtt")


def test_a_key_of_another_certificate_is_refused(authority: Authority) -> None:
    certificate, _ = authority.certify("one")
    _, key = authority.certify("two")
    with pytest.raises(BadConfig, match="KEY_VALUES_MISMATCH"):
        make_context(TlsFiles(certificate, key), "mqtt")
