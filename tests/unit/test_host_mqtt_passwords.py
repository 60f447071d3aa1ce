"""Passwords as they are kept: the hash, its text form, and the bounds on what a file may ask for."""

import re

import pytest

from roost.errors import BadConfig
from roost.host.mqtt import passwords as module
from roost.host.mqtt.passwords import LIGHT, STRONG, Cost, PasswordHash

# Of "wonderland"; not made here, for with another salt in each process its tests would have other names in each.
ALICE = PasswordHash.parse("$scrypt$ln=10,r=8,p=1$q45h3zXtW5z4dzryZdYfUQ$fVDT6BRs390TZY6bIC88++y0rk2xBi/LrB5cVGja57I")


def test_the_hash_is_that_of_the_specification() -> None:
    made = module._scrypt(b"password", b"NaCl", Cost(10, 8, 16), 64)
    assert made.hex().startswith("fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162")


def test_a_password_matches_its_hash_and_no_other_does() -> None:
    assert ALICE.matches(b"wonderland")
    assert not ALICE.matches(b"Wonderland")
    assert not ALICE.matches(b"")


def test_the_text_form_comes_back_as_it_was() -> None:
    assert PasswordHash.parse(str(ALICE)) == ALICE
    assert re.fullmatch(r"\$scrypt\$ln=10,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}", str(ALICE))


def test_the_same_password_never_has_the_same_hash() -> None:
    assert PasswordHash.make(b"wonderland", LIGHT) != ALICE


def test_nothing_of_it_is_shown_in_a_log() -> None:
    assert str(ALICE).rpartition("$")[2] not in repr(ALICE)


def test_the_default_fills_32_mib_three_times() -> None:
    assert (STRONG.memory_bytes, STRONG.p) == (32 << 20, 3)


@pytest.mark.parametrize(
    "parameters",
    [
        "ln=20,r=8,p=1",
        "ln=17,r=16,p=1",
        "ln=99,r=99,p=1",
        "ln=15,r=8,p=9",
        "ln=17,r=8,p=3",
        "ln=9,r=8,p=1",
        "ln=15,r=0,p=1",
        "ln=15,r=8,p=0",
        "ln=0,r=8,p=1",
    ],
)
def test_parameters_beyond_the_bounds_are_refused_before_anything_is_computed(
    parameters: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hashlib.scrypt", None)
    _, _, _, salt, digest = str(ALICE).split("$")
    with pytest.raises(BadConfig, match="scrypt with ln="):
        PasswordHash.parse(f"$scrypt${parameters}${salt}${digest}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hunter2-hunter2",
        "$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$aGFzaA",
        "$scrypt$ln=15,r=8,p=1$$",
        "$scrypt$ln=15,r=8,p=1$c2FsdHNhbHRzYWx0$aGFzaA",
        f"{ALICE}\n",
        f" {ALICE}",
        f"{ALICE}=",
        str(ALICE).replace("ln=10", "ln=١٠"),
        str(ALICE).replace("ln=10", "ln=-1"),
        str(ALICE).replace("ln=10", "ln=1000"),
        "$scrypt$ln=10,r=8,p=1$" + "a" * 13 + "$" + "a" * 43,  # no base64 has so many letters
    ],
)
def test_what_is_no_hash_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(BadConfig) as caught:
        PasswordHash.parse(text)
    assert "of the form $scrypt$ln=" in str(caught.value)
    assert "hunter2" not in str(caught.value)
