"""The public API is a short list of names, and each of them is there."""

from __future__ import annotations

import pytest

import roost


def test_every_public_name_can_be_had() -> None:
    assert [name for name in roost.__all__ if getattr(roost, name, None) is None] == []


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        _ = roost.conect


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
    }
