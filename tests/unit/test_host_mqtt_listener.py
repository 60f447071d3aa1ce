"""Doors: where clients find them, what accepted sockets inherit, and addresses that cannot be had."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from tests.mqtt_certificates import Authority

from roost.errors import BadConfig
from roost.host.mqtt.listener import Door, ListenerSettings, contexts_of
from roost.host.mqtt.pipes import Stack
from roost.host.mqtt.tls import Tls, TlsFiles
from roost.host.mqtt.websocket import WebSocket


@contextmanager
def door(transport: str = "tcp", host: str = "127.0.0.1", port: int = 0) -> Iterator[Door]:
    with closing(Door(ListenerSettings(transport, host, port), None, 1 << 20)) as made:
        yield made


def test_a_door_says_where_it_is() -> None:
    with door() as four, door("ws", "::1") as six:
        assert four.uri == f"mqtt://127.0.0.1:{four.sock.getsockname()[1]}"
        assert six.uri == f"ws://[::1]:{six.sock.getsockname()[1]}"


def test_accepted_sockets_send_small_packets_at_once_and_notice_who_vanished() -> None:
    with door() as made, socket.create_connection(made.sock.getsockname()):
        made.sock.settimeout(30)
        accepted, _ = made.sock.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60


def test_an_address_that_cannot_be_had_is_named_with_the_way_out() -> None:
    with door() as made:
        port = made.sock.getsockname()[1]
        taken = rf"cannot listen on tcp 127\.0\.0\.1:{port}: Address already in use; stop what uses it, or give another"
        with pytest.raises(BadConfig, match=taken), door(port=port):
            pass
    with pytest.raises(BadConfig, match=r"cannot listen on tcp nowhere.invalid:0: .*; give an address of this machine"):
        Door(ListenerSettings("tcp", "nowhere.invalid", 0), None, 1 << 20)
    with pytest.raises(BadConfig, match=r"this machine has no address 192\.0\.2\.1: give one that it has"):
        Door(ListenerSettings("tcp", "192.0.2.1", 0), None, 1 << 20)


def test_plain_connections_have_no_pipe_and_websockets_one() -> None:
    with door() as plain, door("ws") as web:
        assert plain.make_pipe() is None
        assert isinstance(web.make_pipe(), WebSocket)


@pytest.fixture
def files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return TlsFiles(*Authority(tmp_path_factory.mktemp("tls")).certify("server"))


def test_tls_stands_before_websocket_and_certificates_are_found_by_listener(files: TlsFiles) -> None:
    listeners = [
        ListenerSettings("tls", "127.0.0.1", 0, files),
        ListenerSettings("wss", "127.0.0.1", 0, files),
        ListenerSettings("tcp", "127.0.0.1", 0),
    ]
    contexts = contexts_of(listeners)
    assert list(contexts) == ["tls 127.0.0.1:0", "wss 127.0.0.1:0"]
    for listener, kind in zip(listeners[:2], (Tls, Stack), strict=True):
        with closing(Door(listener, contexts[str(listener)], 1 << 20)) as made:
            assert type(made.make_pipe()) is kind
