"""Whom a client's certificate names."""

import pytest

from roost.host.mqtt.certificate_user import SOURCES, user_of

PUMP = {
    "subject": ((("countryName", "DE"),), (("organizationName", "BigCompany"), ("commonName", "pump-7"))),
    "issuer": ((("commonName", "an authority"),),),
    "subjectAltName": (
        ("DNS", "pump7.example"),
        ("URI", "urn:dev:mac:0024befffe804ff1"),
        ("email", "pump7@example.org"),
        ("IP Address", "192.0.2.7"),
    ),
}


@pytest.mark.parametrize(
    ("source", "user"),
    [
        ("CN", b"pump-7"),
        ("DNS", b"pump7.example"),
        ("URI", b"urn:dev:mac:0024befffe804ff1"),
        ("email", b"pump7@example.org"),
    ],
)
def test_the_name_is_where_the_configuration_says(source: str, user: bytes) -> None:
    assert source in SOURCES
    assert user_of(PUMP, source) == user


@pytest.mark.parametrize("certificate", [None, {}, {"subject": ()}, {"issuer": PUMP["issuer"]}])
@pytest.mark.parametrize("source", SOURCES)
def test_without_the_name_there_is_no_user(certificate: dict[str, object] | None, source: str) -> None:
    assert user_of(certificate, source) is None


def test_of_two_names_none_counts() -> None:
    twice = (("commonName", "pump-7"),), (("commonName", "admin"),)
    assert user_of({"subject": twice}, "CN") is None
    assert user_of({"subjectAltName": (("DNS", "a"), ("DNS", "b"))}, "DNS") is None


@pytest.mark.parametrize("name", ["", " ", "a\0b", "a\nb", "#a", "x" * 257])
def test_what_is_no_users_name_is_no_user(name: str) -> None:
    assert user_of({"subject": ((("commonName", name),),)}, "CN") is None


def test_a_name_of_the_world_is_utf_8() -> None:
    assert user_of({"subject": ((("commonName", "Heizung Küche"),),)}, "CN") == "Heizung Küche".encode()
