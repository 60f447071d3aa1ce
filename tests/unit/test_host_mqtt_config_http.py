"""The HTTP door in the configuration: its address, its certificate, and mistakes with their remedy."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.mqtt_certificates import Authority

from roost.errors import BadConfig
from roost.host.mqtt.config import Config, read_config, sources_of
from roost.host.mqtt.config_http import HttpSettings
from roost.host.mqtt.tls import TlsFiles

HERE = Path("/etc/roost")
OPEN = {"users": "users", "permissions": "permissions"}
FILES = {"certificate": "server.pem", "key": "server.key"}


def read(http: object, **said: Any) -> Config:  # noqa: ANN401  as YAML has it
    return read_config({"http": http, **said}, HERE, HERE)


def test_there_is_no_http_unless_it_is_said() -> None:
    assert read_config({}, HERE, HERE).http is None


def test_an_address_is_enough_and_its_port_is_8080() -> None:
    assert read("127.0.0.1").http == HttpSettings("127.0.0.1", 8080)
    assert read("[::1]:9000").http == HttpSettings("::1", 9000)
    assert read({"listen": ":81"}).http == HttpSettings("127.0.0.1", 81)
    tls = TlsFiles(HERE / "server.pem", HERE / "server.key")
    assert read({"listen": "0.0.0.0:8443", **FILES}, **OPEN).http == HttpSettings("0.0.0.0", 8443, tls)


def test_both_forms_are_in_the_sample() -> None:
    sample = (files("roost.host.mqtt") / "sample.yaml").read_text(encoding="utf-8")
    forms = [yaml.safe_load(each)["http"] for each in re.findall(r"^# (http: .*)$", sample, re.MULTILINE)]
    assert [str(read(each, **OPEN).http) for each in forms] == ["http 127.0.0.1:8080", "https 0.0.0.0:8443"]


@pytest.mark.parametrize(
    ("http", "said"),
    [
        (8080, r"^http: 8080 is no address; write host:port, as in 127\.0\.0\.1:8080"),
        ("a:b", "^http: 'a:b' is not an address"),
        ({"listen": None}, r"^http\.listen: None is no address"),
        ({"at": "127.0.0.1"}, r"^http\.at: there is no such key; there are listen, certificate, key, behind_proxy"),
        ({"listen": "127.0.0.1", "behind_proxy": "yes"}, r"^http\.behind_proxy: "),
        ({"listen": "127.0.0.1", "behind_proxy": True}, r"^http\.behind_proxy: .*`roost users add"),
        ({"listen": "127.0.0.1", "key": "k"}, r"^http\.certificate: TLS needs one"),
        ({"listen": "127.0.0.1", "certificate": "c"}, r"^http\.key: TLS needs one"),
        ("0.0.0.0:8080", r"^http: http 0\.0\.0\.0:8080 can be reached from other machines, .*`roost users add"),
    ],
)
def test_a_mistake_names_its_key_and_says_what_to_write(http: object, said: str) -> None:
    with pytest.raises(BadConfig, match=said):
        read(http)


def test_the_certificate_is_read_with_those_of_the_listeners(tmp_path: Path) -> None:
    Authority(tmp_path).certify("server")
    http = {"listen": "127.0.0.1:0", **FILES}
    sources = sources_of(read_config({"http": http}, tmp_path, tmp_path))
    assert list(sources.contexts()) == ["https 127.0.0.1:0"]
    assert sources_of(read("127.0.0.1")).contexts() == {}
    (tmp_path / "server.key").unlink()
    with pytest.raises(BadConfig, match=r"server\.key cannot be read"):
        sources.contexts()
