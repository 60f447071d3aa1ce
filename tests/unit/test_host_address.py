"""Face URIs, listening addresses, and which forwarder a client finds."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from roost.errors import BadConfig
from roost.host import locate as locating
from roost.host.address import Address, canonical, describe_datagram, is_loopback, parse_listen, parse_uri
from roost.host.locate import locate


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("unix:///run/nfd/nfd.sock", Address("unix", "/run/nfd/nfd.sock")),
        ("tcp4://10.0.0.1:7000", Address("tcp", "10.0.0.1", 7000, socket.AF_INET)),
        ("tcp://example.net", Address("tcp", "example.net", 6363, socket.AF_UNSPEC)),
        ("udp6://[fe80::1]:6363", Address("udp", "fe80::1", 6363, socket.AF_INET6)),
        ("udp4://127.0.0.1", Address("udp", "127.0.0.1", 6363, socket.AF_INET)),
        ("ws://host/ndn", Address("ws", "host", 9696, path="/ndn")),
        ("wss://host", Address("wss", "host", 443)),
    ],
)
def test_uris_are_read_and_written(uri: str, address: Address) -> None:
    assert parse_uri(uri) == address
    assert parse_uri(str(address)) == address


def test_a_path_is_a_unix_socket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_uri("1.sock") == parse_uri("./1.sock") == Address("unix", f"{tmp_path}/1.sock")
    assert parse_uri("/run/nfd/nfd") == Address("unix", "/run/nfd/nfd")


@pytest.mark.parametrize(
    "uri", ["", "nfd", "10.0.0.7:6363", "unix://relative", "ftp://host", "tcp4://", "tcp4://host:99999", "udp4:///x"]
)
def test_other_uris_are_refused_with_what_to_write(uri: str) -> None:
    with pytest.raises(BadConfig, match=r"write|cannot be read"):
        parse_uri(uri)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.0.0.0:1", ("0.0.0.0", 1)),
        (":0", ("127.0.0.1", 0)),
        ("[::1]:7", ("::1", 7)),
        ("10.1.2.3", ("10.1.2.3", 6363)),
    ],
)
def test_listening_addresses(text: str, expected: tuple[str, int]) -> None:
    assert parse_listen(text, 6363) == expected


def test_a_bad_listening_address_says_how_to_write_one() -> None:
    with pytest.raises(BadConfig, match="host:port"):
        parse_listen("host:port", 6363)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("10.0.0.1", False),
        ("x", False),
    ],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) == loopback


def test_canonical_uris_are_those_of_nfd() -> None:
    assert canonical("udp", ("1.2.3.4", 6363)) == "udp4://1.2.3.4:6363"
    assert canonical("tcp", ("::1", 6363, 0, 0)) == "tcp6://[::1]:6363"
    assert canonical("tcp", ("::ffff:1.2.3.4", 5, 0, 0)) == "tcp4://1.2.3.4:5"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    monkeypatch.setattr(locating, "_SHARED_FILES", (tmp_path / "shared.conf",))
    return tmp_path


def test_the_forwarder_is_found_in_the_documented_order(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert locate()[0] is None
    (bare / "roost").mkdir()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(bare / "roost" / "node.sock"))
        assert str(locate()[0]) == f"unix://{bare}/roost/node.sock"
    (bare / "shared.conf").write_text("; a comment\ntransport=tcp4://10.0.0.2:1\n")
    assert str(locate()[0]) == "tcp4://10.0.0.2:1"
    (bare / ".ndn").mkdir()
    (bare / ".ndn" / "client.conf").write_text("pib=pib-sqlite3\ntransport = unix:///own.sock ; mine\n")
    assert locate() == (Address("unix", "/own.sock"), str(bare / ".ndn" / "client.conf"))
    monkeypatch.setenv("NDN_CLIENT_TRANSPORT", "udp4://10.0.0.3:6363")
    assert str(locate()[0]) == "udp4://10.0.0.3:6363"
    assert str(locate("ws://10.0.0.4:9696")[0]) == "ws://10.0.0.4:9696"


@pytest.mark.parametrize(
    ("remote", "local"),
    [
        (("127.0.0.1", 40000), True),
        (("::1", 40000, 0, 0), True),
        (("::ffff:127.0.0.1", 40000, 0, 0), True),
        (("10.0.0.1", 40000), False),
        (("fe80::1", 40000, 0, 2), False),
    ],
)
def test_a_udp_peer_on_this_machine_has_local_scope(remote: tuple[object, ...], local: bool) -> None:
    assert describe_datagram(remote, ("0.0.0.0", 6363)).local is local


def test_only_the_first_client_conf_is_read(bare: Path) -> None:
    (bare / ".ndn").mkdir()
    (bare / ".ndn" / "client.conf").write_text("pib=pib-sqlite3\n")
    (bare / "shared.conf").write_text("transport=tcp4://10.0.0.2:1\n")
    assert locate()[0] is None
