"""The public API is a short list of names, and each of them is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import roost
import roost.host


def test_every_public_name_can_be_had() -> None:
    assert [name for name in roost.__all__ if getattr(roost, name, None) is None] == []


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        _ = roost.conect


def test_completion_shows_the_public_names_and_nothing_else() -> None:
    assert dir(roost) == sorted(roost.__all__)
    assert dir(roost.host) == sorted(roost.host.__all__)
    assert [name for name in dir(roost.host) if getattr(roost.host, name, None) is None] == []


def test_the_list_is_short_on_purpose() -> None:
    assert set(roost.__all__) == {
        "ACCEPT_ANY",
        "Component",
        "Data",
        "Face",
        "Interest",
        "Name",
        "RoostError",
        "SyncFace",
        "__version__",
        "connect",
        "connect_sync",
        "flips",
        "join",
        "sync",
    }


def test_names_that_go_with_groups_need_no_import_of_their_own() -> None:
    program = "import roost; print(roost.sync.SVS3.version, roost.sync.publication_name.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "3 publication_name\n"


def test_every_name_of_sync_can_be_had() -> None:
    assert [name for name in roost.sync.__all__ if getattr(roost.sync, name, None) is None] == []
