"""The catalogue: descriptions read strictly, the newest wins, and a panel speaks for its own streams only."""

from __future__ import annotations

import cbor2
import pytest

from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.catalogue import CBOR, MAX_TEXT, Catalogue, Description, catalogue_of
from roost.wire.reading import TEXT, Reading

GROUP = Name.parse("/BigCompany/Building1/Electricity")
PANEL1, PANEL2 = GROUP / "Panel1", GROUP / "Panel2"
VOLTAGE = PANEL1 / "Heater" / "Voltage"
FULL = Description(VOLTAGE, "V", "Voltage_Sensor", 1000, "the heater's voltage")


def told(description: Description, number: int, panel: Name = PANEL1) -> tuple[Name, bytes]:
    return numbered(catalogue_of(panel), number), description.reading(5).encode()


@pytest.mark.parametrize("description", [FULL, Description(VOLTAGE)], ids=["full", "bare"])
def test_a_description_comes_back_as_it_was(description: Description) -> None:
    assert Description.decode(description.encode()) == description
    assert description.panel == PANEL1
    assert description.reading(5) == Reading(5, CBOR, description.encode())


def test_equal_descriptions_are_equal_bytes_in_the_order_of_deterministic_cbor() -> None:
    keys = list(cbor2.loads(FULL.encode()))
    assert keys == sorted(keys, key=lambda key: (len(key), key))


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"\xff", "not CBOR"),
        (FULL.encode() + b"\x00", "1 bytes follow"),
        (cbor2.dumps([1]), "a map"),
        (cbor2.dumps({"stream": str(VOLTAGE), "color": "red"}), "no key 'color'"),
        (cbor2.dumps({"stream": str(VOLTAGE), 1: "red"}), "no key '1'"),
        (cbor2.dumps({"unit": "V"}), "no name"),
        (cbor2.dumps({"stream": "Heater"}), "no name"),
        (cbor2.dumps({"stream": "/a/b"}), "too short"),
        (cbor2.dumps({"stream": 5}), "is text"),
        (cbor2.dumps({"stream": str(VOLTAGE), "unit": b"V"}), "is text"),
        (cbor2.dumps({"stream": str(VOLTAGE), "unit": "V" * (MAX_TEXT + 1)}), "256 characters"),
        (cbor2.dumps({"stream": str(VOLTAGE), "class": "a b"}), "no Brick class"),
        (cbor2.dumps({"stream": str(VOLTAGE), "interval_ms": True}), "an integer"),
        (cbor2.dumps({"stream": str(VOLTAGE), "interval_ms": 1.5}), "an integer"),
        (cbor2.dumps({"stream": str(VOLTAGE), "interval_ms": -1}), "an interval"),
    ],
)
def test_anything_else_is_refused_with_the_reason(payload: bytes, reason: str) -> None:
    with pytest.raises(BadPacket, match=reason):
        Description.decode(payload)
    assert reason in Catalogue(GROUP).take(numbered(catalogue_of(PANEL1), 1), Reading(1, CBOR, payload).encode())


def test_the_newest_description_wins_in_whatever_order_they_come() -> None:
    catalogue = Catalogue(GROUP)
    newer = Description(VOLTAGE, "kV")
    assert catalogue.take(*told(newer, 7)) == ""
    assert catalogue.take(*told(FULL, 3)) == ""
    assert catalogue.get(VOLTAGE) == newer
    assert catalogue.take(*told(FULL, 8)) == ""
    assert list(catalogue) == [FULL]
    assert repr(catalogue) == f"<Catalogue of {GROUP}, 1 streams>"
    assert catalogue.get(PANEL1) is None


def test_a_panel_cannot_describe_the_streams_of_another() -> None:
    catalogue = Catalogue(GROUP)
    assert "not a stream of its panel" in catalogue.take(*told(FULL, 1, PANEL2))
    assert len(catalogue) == 0


def test_what_is_no_description_is_refused() -> None:
    catalogue = Catalogue(GROUP)
    name = numbered(catalogue_of(PANEL1), 1)
    assert "content format 60" in catalogue.take(name, Reading(1, TEXT, FULL.encode()).encode())
    assert catalogue.take(name, b"") != ""


def test_only_catalogue_streams_of_the_group_concern_it() -> None:
    catalogue = Catalogue(GROUP)
    assert catalogue.concerns(numbered(catalogue_of(PANEL1), 1))
    for name in (
        numbered(VOLTAGE, 1),
        catalogue_of(PANEL1),
        catalogue_of(PANEL1) / "v" / "w",
        numbered(catalogue_of(Name.parse("/BigCompany/Building2/Electricity/Panel1")), 1),
        numbered(catalogue_of(PANEL1 / "deeper"), 1),
    ):
        assert not catalogue.concerns(name)


def test_the_catalogue_is_bounded_and_known_streams_still_change() -> None:
    catalogue = Catalogue(GROUP, max_streams=1)
    assert catalogue.take(*told(FULL, 1)) == ""
    assert "the limit" in catalogue.take(*told(Description(PANEL1 / "Heater" / "Current"), 2))
    assert catalogue.overflowed == 1
    assert catalogue.take(*told(Description(VOLTAGE), 3)) == ""
    assert len(catalogue) == 1
