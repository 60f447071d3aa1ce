"""The building model [evaluations §4.2, §4.3]."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from roost.errors import BadName
from roost.naming import Name
from roost.naming.building import Company, Group, Member, Panel, Place, Repo, Stream

COMPANY = Company(Name.parse("/BigCompany"), frozenset({"Building1", "Building2"}), frozenset({"DepartmentA"}))
GROUP = COMPANY.group("Building1", "Electricity")

PLACES: list[tuple[Place, str, str | None]] = [
    (COMPANY.root, "/BigCompany/BMS", None),
    (COMPANY.building("Building1"), "/BigCompany/Building1", "/BigCompany/BMS"),
    (GROUP, "/BigCompany/Building1/Electricity", "/BigCompany/Building1"),
    (GROUP.panel("Panel1"), "/BigCompany/Building1/Electricity/Panel1", "/BigCompany/Building1"),
    (
        GROUP.repo("Repo1"),
        "/BigCompany/Building1/Electricity/Repo/Repo1",
        "/BigCompany/Building1/Electricity",
    ),
    (COMPANY.group("", "Electricity"), "/BigCompany/Electricity", "/BigCompany/BMS"),
    (COMPANY.group("", "Electricity").panel("P"), "/BigCompany/Electricity/P", "/BigCompany/BMS"),
    (COMPANY.member("DepartmentA"), "/BigCompany/DepartmentA", "/BigCompany/BMS"),
    (COMPANY.member("DepartmentA", "Alice"), "/BigCompany/DepartmentA/Alice", "/BigCompany/DepartmentA"),
    (
        COMPANY.member("DepartmentA", "Alice", "Phone"),
        "/BigCompany/DepartmentA/Alice/Phone",
        "/BigCompany/DepartmentA/Alice",
    ),
]


@pytest.mark.parametrize(("place", "name", "issuer"), PLACES, ids=[name for _, name, _ in PLACES])
def test_identities_and_who_issues_their_keys(place: Place, name: str, issuer: str | None) -> None:
    assert str(place.name) == name
    assert COMPANY.place(place.name) == place
    assert not isinstance(place, Stream)
    assert place.issuer == (None if issuer is None else Name.parse(issuer))


def test_streams_and_readings() -> None:
    stream = GROUP.stream("Panel1", "Heater", "Voltage")
    assert str(stream.reading(5)) == "/BigCompany/Building1/Electricity/Panel1/Heater/Voltage/seq=5"
    assert COMPANY.place(stream.name) == stream
    assert COMPANY.published(stream.reading(5)) == (stream, 5)
    assert stream.publisher == GROUP.panel("Panel1").name
    repo = GROUP.repo("Repo1")
    assert str(repo.record(7)) == "/BigCompany/Building1/Electricity/Repo/Repo1/seq=7"
    assert COMPANY.published(repo.record(7)) == (repo, 7)
    assert repo.publisher == repo.name


def test_the_twelve_streams_of_the_fixture_are_distinct() -> None:
    devices = {"Panel1": ("Heater", "Vent", "Switches", "Plugs"), "Panel2": ("Projector", "Speaker")}
    streams = [
        GROUP.stream(panel, device, metric)
        for panel, names in devices.items()
        for device in names
        for metric in ("Voltage", "Current")
    ]
    assert len({stream.name for stream in streams}) == 12
    assert all(COMPANY.place(stream.name) == stream for stream in streams)


def test_two_levels_as_on_the_campus() -> None:
    campus = Company(Name.parse("/Campus"), frozenset({"Hall"}), levels=2)
    stream = campus.group("Hall", "Env", "floor1").stream("pi1", "room1", "temp")
    assert str(stream.name) == "/Campus/Hall/Env/floor1/pi1/room1/temp"
    assert campus.place(stream.name) == stream
    assert isinstance(campus.place(Name.parse("/Campus/Hall/Env/floor1")), Group)
    assert isinstance(campus.place(Name.parse("/Campus/Hall/Env/floor1/pi1")), Panel)
    assert isinstance(campus.place(Name.parse("/Campus/Hall/Env/floor1/Repo/r")), Repo)


def test_a_company_may_have_a_longer_name() -> None:
    company = Company(Name.parse("/org/BigCompany"), frozenset({"B"}), frozenset({"D"}))
    assert company.place(Name.parse("/org/BigCompany/D/u")) == Member(company.prefix, "D", "u")


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("/Other/Building1", "not a name of"),
        ("/BigCompany", "no place"),
        ("/BigCompany/BMS/x", "cannot name a place"),
        ("/BigCompany/Building1/Electricity/Panel1/Heater", "no place"),
        ("/BigCompany/Building1/Electricity/Panel1/Heater/Voltage/x", "no place"),
        ("/BigCompany/Building1/Electricity/Repo", "cannot name a place"),
        ("/BigCompany/Building1/Electricity/Repo/Heater/Voltage", "cannot name a place"),
        ("/BigCompany/Building1/Electricity/KEY", "cannot name a place"),
        ("/BigCompany/Building1/Electricity/...", "cannot name a place"),
        ("/BigCompany/Building1/32=Electricity", "not text"),
        ("/BigCompany/Building1/%FF", "not text"),
        ("/BigCompany/DepartmentA/Alice/Phone/App", "campus-wide"),
    ],
)
def test_names_without_a_place(uri: str, reason: str) -> None:
    with pytest.raises(BadName, match=reason):
        COMPANY.place(Name.parse(uri))


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("/", "does not end in seq"),
        ("/BigCompany/Building1/Electricity/Panel1/Heater/Voltage/5", "does not end in seq"),
        ("/BigCompany/Building1/Electricity/Panel1/seq=5", "neither a stream nor a repo"),
        ("/BigCompany/Building1/Electricity/Panel1/Heater/Voltage/seq=0", "from 1"),
        ("/BigCompany/Building1/Electricity/Panel1/Heater/Voltage/58=%00%05", "shortest"),
    ],
)
def test_names_that_are_no_readings(uri: str, reason: str) -> None:
    with pytest.raises(BadName, match=reason):
        COMPANY.published(Name.parse(uri))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Company(Name(), frozenset({"B"})), "at least one component"),
        (lambda: Company(COMPANY.prefix, frozenset({"B"}), frozenset({"B"})), "at once"),
        (lambda: Company(COMPANY.prefix, frozenset({"BMS"})), "cannot name a place"),
        (lambda: Company(COMPANY.prefix, frozenset({"B"}), levels=0), "at least one level"),
        (lambda: COMPANY.building("Building9"), "not a building"),
        (lambda: COMPANY.group("Building1"), "1 levels"),
        (lambda: COMPANY.group("Building1", "a", "b"), "1 levels"),
        (lambda: COMPANY.group("", "Building1"), "campus-wide"),
        (lambda: COMPANY.member("Nobody"), "not a department"),
        (lambda: COMPANY.member("DepartmentA", device="Phone"), "say which"),
        (lambda: GROUP.panel("Repo"), "cannot name a place"),
        (lambda: GROUP.stream("P", "", "M"), "cannot name a place"),
        (lambda: GROUP.stream("P", "D", "M").reading(0), "from 1"),
    ],
    ids=range(13),
)
def test_a_model_that_would_be_ambiguous_is_refused(make: Callable[[], object], reason: str) -> None:
    with pytest.raises(BadName, match=reason):
        make()


def test_a_group_is_known_by_its_name_alone() -> None:
    group = COMPANY.group("Building1", "Electricity")
    alone = Group.at(group.name)
    for place, same in (
        (alone, group),
        (alone.panel("Panel1"), group.panel("Panel1")),
        (alone.repo("R"), group.repo("R")),
    ):
        assert place.name == same.name
    assert alone.service == group.service
    with pytest.raises(BadName, match="at least one component"):
        Group.at(Name())
