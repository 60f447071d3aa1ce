"""FLIPS in the configuration: what each key becomes, and mistakes with their remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roost.errors import BadConfig
from roost.host.mqtt.config import Config, read_config
from roost.host.mqtt.config_flips import FlipsSettings, IntoGroup, OutOfGroup

GROUP = "/BigCompany/Building1/Electricity"
HERE = Path("/etc/roost")
INTO: dict[str, Any] = {"topic": "home/temp", "group": GROUP, "stream": "Heater/Temp"}
OUT: dict[str, Any] = {"group": GROUP, "stream": "Panel1/Heater/Temp", "topic": "home/temp"}


def read(**flips: object) -> Config:
    return read_config({"groups": [{"name": GROUP, "panel": "Gate1", "repo": "Repo1"}], "flips": flips}, HERE, HERE)


def test_without_the_section_there_is_none() -> None:
    assert read_config({}, HERE, HERE).flips is None


def test_an_empty_section_is_a_forwarder_that_listens_nowhere() -> None:
    assert read().flips == FlipsSettings()


def test_addresses_have_the_port_of_hicn_where_they_have_none() -> None:
    found = read(listen=["127.0.0.1"], peers=["10.0.0.7", "[::1]:9700"]).flips
    assert found == FlipsSettings((("127.0.0.1", 9695),), (("10.0.0.7", 9695), ("::1", 9700)))


def test_bridges_have_what_was_said() -> None:
    found = read(
        into=[INTO | {"unit": "Cel"}, INTO | {"panel": "P2"}], out=[OUT | {"interval": "1m", "whole": True}]
    ).flips
    assert found is not None
    assert found.into == (
        IntoGroup("home/temp", GROUP, "Heater/Temp", "Cel"),
        IntoGroup("home/temp", GROUP, "Heater/Temp", panel="P2"),
    )
    assert found.out == (OutOfGroup(GROUP, "Panel1/Heater/Temp", "home/temp", whole=True, interval_s=60),)


@pytest.mark.parametrize(
    ("flips", "said"),
    [
        ({"listn": []}, r"flips.listn: there is no such key; perhaps you mean listen"),
        ({"listen": ["a:b"]}, r"flips.listen\[0\]: 'a:b' is not an address"),
        ({"peers": [":9695"]}, r"flips.peers\[0\]: ':9695' is no address of another forwarder; write host:9695"),
        ({"peers": ["10.0.0.7:0"]}, r"flips.peers\[0\]: '10.0.0.7:0' is no address of another forwarder"),
        ({"into": [{}]}, r"flips.into\[0\].topic: it is missing"),
        ({"into": [INTO | {"topic": "a\0b"}]}, r"flips.into\[0\].topic: .* holds U\+0000"),
        ({"into": [INTO | {"group": "abc"}]}, r"flips.into\[0\].group: a name starts with '/'"),
        ({"into": [INTO | {"stream": "/"}]}, r"flips.into\[0\].stream: there is nothing in it; write one such as"),
        ({"into": [INTO | {"group": "/Other"}]}, r"flips.into\[0\].group: /Other is not among the groups; say below"),
        ({"into": [INTO, INTO]}, r"flips.into\[1\]: Heater/Temp of .* stands there twice"),
        ({"out": [OUT, OUT]}, r"flips.out\[1\]: home/temp stands there twice; a stream or topic has one source"),
        ({"out": [OUT | {"interval": "soon"}]}, r"flips.out\[0\].interval: 'soon' is no time"),
        ({"out": [OUT | {"unit": "V"}]}, r"flips.out\[0\].unit: there is no such key"),
        ({"out": [OUT | {"group": "/Other"}]}, r"flips.out\[0\].group: /Other is not among the groups"),
    ],
)
def test_a_mistake_names_the_key_and_what_to_write(flips: dict[str, object], said: str) -> None:
    with pytest.raises(BadConfig, match=said):
        read(**flips)
