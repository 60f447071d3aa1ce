"""How a job says how it reaches readings: options as Spark hands them over, and what is verified by them."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from roost.errors import BadConfig, InvalidInput
from roost.host.keystore import KeyStore
from roost.host.stretch_access import Access
from roost.naming import Name
from roost.trust import generate

STREAM = Name.parse("/Co/B1/Power/Panel1/Heater/Voltage")


def test_options_are_read_whatever_their_case_and_what_others_mean_is_left_alone() -> None:
    access = Access.from_options(
        {
            "Repos": " tcp4://10.0.0.1:6363, unix:///run/r.sock ,",
            "HOME": "/srv/job",
            "verify": "Always",
            "bulk": "127.0.0.1:7377,/run/door.sock",
            "timeout": "2.5",
            "group": "/Co/B1/Power",
            "subscribe": "+/Heater/#",
        }
    )
    assert access == Access(
        ("tcp4://10.0.0.1:6363", "unix:///run/r.sock"),
        "/srv/job",
        "always",
        ("127.0.0.1:7377", "/run/door.sock"),
        2.5,
        "/Co/B1/Power",
    )
    assert pickle.loads(pickle.dumps(access)) == access
    assert Access.from_options({}) == Access() == Access.from_options({"verify": "", "timeout": "", "repos": ""})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"verify": "maybe"}, "verify 'maybe' is unknown: write boundary, always or never"),
        ({"timeout": "soon"}, "timeout 'soon' is no number of seconds"),
        ({"timeout": "0"}, "timeout 0 is no time to wait"),
        ({"timeout": "nan"}, "timeout nan is no time to wait"),
        ({"repos": "http://10.0.0.1"}, "is not a face Roost can open: write unix:///path"),
        ({"bulk": "host:port"}, "write host:port"),
        ({"repos": ",".join(["unix:///r.sock"] * 65)}, "at most 64 addresses"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_to_write(options: dict[str, str], says: str) -> None:
    with pytest.raises(BadConfig, match=says):
        Access.from_options(options)


def test_a_group_that_is_no_name_is_refused() -> None:
    with pytest.raises(InvalidInput):
        Access(group="/a/sha256digest=zz")


def test_the_group_of_a_stream_is_what_was_said_or_lies_above_panel_device_and_metric() -> None:
    assert Access().group_of(STREAM) == Name.parse("/Co/B1/Power")
    assert Access(group="/Co/B1").group_of(STREAM) == Name.parse("/Co/B1")
    several = Access(group="/Co/B1,/Co/B1/Power,/Co/B2")
    assert several.group_of(STREAM) == Name.parse("/Co/B1/Power")
    assert several.group_of(Name.parse("/Co/B2/P1/a/b/c")) == Name.parse("/Co/B2")
    assert several.group_of(Name.parse("/Co/B3/P1/a/b")) == Name.parse("/Co/B3")


@pytest.mark.parametrize(
    ("verify", "near", "far"), [("boundary", False, True), ("always", True, True), ("never", False, False)]
)
def test_what_came_over_a_network_is_verified_and_what_a_repo_on_this_machine_gives_only_when_asked(
    verify: str, near: bool, far: bool
) -> None:
    access = Access(verify=verify)
    assert access.verifies_repo("unix:///run/r.sock") is near
    for uri in ("tcp4://10.0.0.1:6363", "tcp4://127.0.0.1:6363", None):  # None: a node that may lead anywhere
        assert access.verifies_repo(uri) is far
    assert access.verifies_door("/run/door.sock") is near
    for door in ("127.0.0.1:7377", "[::1]:7377", "localhost:7377", "10.0.0.1:7377"):  # anybody may listen there
        assert access.verifies_door(door) is far
    assert access.verifies_names is far


def test_the_keys_of_a_home_that_can_receive_are_its_receivers(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path / "home")
    assert Access(home=str(keys.home)).receivers() == []
    keys.create()
    keys.save_key(generate(Name.parse("/Co/Job"), os.urandom))
    keys.save_key(generate(Name.parse("/Co/Job"), os.urandom, "ed25519"))
    assert len(Access(home=str(keys.home)).receivers()) == 1
