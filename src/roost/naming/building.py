"""The building model: what companies, buildings, panels, streams, repos and people are called [NDN-PS §III].

    /BigCompany/BMS                                        the root of trust (its key is the anchor)
    /BigCompany/Building1                                  a building             issued by the root
    /BigCompany/Building1/Electricity                      a group                issued by the building
    /BigCompany/Building1/Electricity/Panel1               a panel                issued by the building
    /BigCompany/Building1/Electricity/Panel1/Heater/Voltage             a stream, signed by its panel
    /BigCompany/Building1/Electricity/Panel1/Heater/Voltage/seq=5       a reading of it
    /BigCompany/Building1/Electricity/Repo/Repo1           a repo                 issued by the group
    /BigCompany/Building1/Electricity/Repo/Repo1/seq=7     a record of the repo, signed by the repo
    /BigCompany/Electricity                                a campus-wide group    issued by the root
    /BigCompany/DepartmentA                                a department           issued by the root
    /BigCompany/DepartmentA/Alice                          a user                 issued by the department
    /BigCompany/DepartmentA/Alice/Phone                    a user's device        issued by the user

A building, a department and a campus-wide group look alike, and so do a group of two levels and a panel of one. So a
`Company` says which buildings and departments it has and how many levels (floor, system …) a group has; with that every
name has one meaning, both ways. Key and certificate names below an identity are in `roost.wire.certificate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from roost.errors import BadName
from roost.naming.component import GENERIC, SEQUENCE
from roost.naming.conventions import keyword, sequence
from roost.naming.name import Name

ROOT: Final = "BMS"
REPO: Final = "Repo"
SYNC: Final = keyword("sync")  # below it a group's members speak PSync
SERVICE: Final = keyword("repo")  # below it any repo of a group answers: commands, subscriptions, questions
REPLICATION: Final = keyword("full")  # below that, the repos of a group speak PSync full sync with each other
RESERVED: Final = frozenset({ROOT, REPO, "KEY"})


@dataclass(frozen=True, slots=True)
class Root:
    """The building management system of a company: its key is the trust anchor."""

    company: Name

    @property
    def name(self) -> Name:
        return self.company / ROOT

    @property
    def issuer(self) -> Name | None:
        return None


@dataclass(frozen=True, slots=True)
class Building:
    """A building, which issues the keys of its groups and panels."""

    company: Name
    building: str

    @property
    def name(self) -> Name:
        return self.company / self.building

    @property
    def issuer(self) -> Name:
        return self.company / ROOT


@dataclass(frozen=True, slots=True)
class Group:
    """A set of streams that repos share; campus-wide when `building` is empty."""

    company: Name
    building: str
    systems: tuple[str, ...]

    @property
    def name(self) -> Name:
        return self.site + Name.of(*self.systems)

    @property
    def site(self) -> Name:
        """What lies above the systems: the building, or the company for a campus-wide group."""
        return self.company / self.building if self.building else self.company

    @property
    def issuer(self) -> Name:
        return self.site if self.building else self.company / ROOT

    @property
    def sync(self) -> Name:
        """The prefix of the group's PSync; the prefix of its SVS is its name."""
        return self.name / SYNC

    @property
    def service(self) -> Name:
        """What all repos of the group announce: the nearest one answers."""
        return self.name / SERVICE

    @property
    def subscriptions(self) -> Name:
        """The prefix of the partial sync that consumers speak with the nearest repo."""
        return self.service / SYNC

    @property
    def replication(self) -> Name:
        """The prefix of the full sync among the group's repos."""
        return self.service / REPLICATION

    @staticmethod
    def at(name: Name) -> Group:
        """The group of this name, for who knows no more of it than that: what is below it, and not who issues it."""
        if not name:
            raise BadName("a group has a name of at least one component")
        return Group(name.prefix(-1), "", (_text(name, len(name) - 1),))

    def panel(self, panel: str) -> Panel:
        _check(panel)
        return Panel(self, panel)

    def stream(self, panel: str, device: str, metric: str) -> Stream:
        _check(device, metric)
        return Stream(self.panel(panel), device, metric)

    def repo(self, repo: str) -> Repo:
        _check(repo)
        return Repo(self, repo)


@dataclass(frozen=True, slots=True)
class Panel:
    """A gateway that publishes streams and signs their readings."""

    group: Group
    panel: str

    @property
    def name(self) -> Name:
        return self.group.name / self.panel

    @property
    def issuer(self) -> Name:
        return self.group.issuer


@dataclass(frozen=True, slots=True)
class Stream:
    """One metric of one device; has no key of its own, its panel signs."""

    panel: Panel
    device: str
    metric: str

    @property
    def name(self) -> Name:
        return self.panel.name / self.device / self.metric

    @property
    def publisher(self) -> Name:
        """Whose key signs what is published here."""
        return self.panel.name

    def reading(self, number: int) -> Name:
        return numbered(self.name, number)


@dataclass(frozen=True, slots=True)
class Repo:
    """One repo of a group; signs its own records."""

    group: Group
    repo: str

    @property
    def name(self) -> Name:
        return self.group.name / REPO / self.repo

    @property
    def issuer(self) -> Name:
        return self.group.name

    @property
    def publisher(self) -> Name:
        """Whose key signs what is published here."""
        return self.name

    def record(self, number: int) -> Name:
        return numbered(self.name, number)


@dataclass(frozen=True, slots=True)
class Member:
    """A department, a user of it, or a device of the user, by how many of the three are given."""

    company: Name
    department: str
    user: str = ""
    device: str = ""

    @property
    def name(self) -> Name:
        return self.company + Name.of(*[part for part in (self.department, self.user, self.device) if part])

    @property
    def issuer(self) -> Name:
        return self.name.prefix(-1) if self.user else self.company / ROOT


Place: TypeAlias = Root | Building | Group | Panel | Stream | Repo | Member


@dataclass(frozen=True, slots=True)
class Company:
    """The model of one company, enough to give every name one meaning."""

    prefix: Name
    buildings: frozenset[str]
    departments: frozenset[str] = frozenset()
    levels: int = 1  # of a group below its building: 1 for /Electricity, 2 for /Env/floor1

    def __post_init__(self) -> None:
        _check(*self.buildings, *self.departments)
        if self.buildings & self.departments:
            both = ", ".join(sorted(self.buildings & self.departments))
            raise BadName(f"{both}: building and department at once; rename one of the two")
        if not self.prefix:
            raise BadName("a company has a name of at least one component")
        if self.levels < 1:
            raise BadName(f"a group has at least one level below its building, not {self.levels}")

    @property
    def root(self) -> Root:
        return Root(self.prefix)

    def building(self, building: str) -> Building:
        if building not in self.buildings:
            raise BadName(f"{building!r} is not a building of {self.prefix}; add it to its buildings")
        return Building(self.prefix, building)

    def group(self, building: str, *systems: str) -> Group:
        """The group of some systems in a building; with `building` empty, campus-wide."""
        _check(*systems)
        if len(systems) != self.levels:
            raise BadName(f"a group of {self.prefix} has {self.levels} levels below its building, not {len(systems)}")
        if building:
            self.building(building)
        elif systems[0] in self.buildings | self.departments:
            raise BadName(f"{systems[0]!r} is a building or department of {self.prefix}, a campus-wide group cannot be")
        return Group(self.prefix, building, systems)

    def member(self, department: str, user: str = "", device: str = "") -> Member:
        """A department, a user or a user's device."""
        if department not in self.departments:
            raise BadName(f"{department!r} is not a department of {self.prefix}; add it to its departments")
        if device and not user:
            raise BadName(f"device {device!r} belongs to a user; say which")
        _check(*[part for part in (user, device) if part])
        return Member(self.prefix, department, user, device)

    def place(self, name: Name) -> Place:
        """Say what a name means in this company; the way back of every `.name` here."""
        if not name.starts_with(self.prefix):
            raise BadName(f"{name} is not a name of {self.prefix}")
        parts = [_text(name, index) for index in range(len(self.prefix), len(name))]
        if parts == [ROOT]:
            return self.root
        if parts and parts[0] in self.departments and len(parts) <= 3:
            return self.member(*parts)
        building = parts.pop(0) if parts and parts[0] in self.buildings else ""
        if building and not parts:
            return Building(self.prefix, building)
        if len(parts) >= self.levels:
            group = self.group(building, *parts[: self.levels])
            rest = parts[self.levels :]
            if len(rest) == 2 and rest[0] == REPO:
                return group.repo(rest[1])
            if len(rest) == 3:
                return group.stream(*rest)
            if len(rest) <= 1:
                return group.panel(rest[0]) if rest else group
        raise BadName(f"{name} is no place of {self.prefix}: too few or too many components for {self.levels} levels")

    def published(self, name: Name) -> tuple[Stream | Repo, int]:
        """Take the name of a reading or a repo's record apart: what it belongs to, and its number."""
        if not name or name.at(-1).type != SEQUENCE:
            raise BadName(f"{name} does not end in seq=<number>, a reading does")
        place = self.place(name.prefix(-1))
        if not isinstance(place, Stream | Repo):
            raise BadName(f"{name.prefix(-1)} is neither a stream nor a repo of {self.prefix}")
        number = name.at(-1).number()
        if numbered(place.name, number) != name:
            raise BadName(f"the number of {name} is not in its shortest form")
        return place, number


def numbered(stream: Name, number: int) -> Name:
    """Name reading `number` of a stream; numbers are dense from 1."""
    if number < 1:
        raise BadName(f"the readings of a stream are numbered from 1, not {number}")
    return stream / sequence(number)


def _check(*parts: str) -> None:
    for part in parts:
        if not part or part in RESERVED:
            raise BadName(f"{part!r} cannot name a place: it is empty or one of {', '.join(sorted(RESERVED))}")


def _text(name: Name, index: int) -> str:
    component = name.at(index)
    if component.type == GENERIC:
        try:
            return component.value.decode()
        except UnicodeDecodeError:
            pass
    raise BadName(f"component {component} of {name} is not text, every part of a place's name is")
