"""The deployment that NDN-PS describes, as the fixture of everything: tests, simulations, benchmarks, demo [§IV].

One hall with three floors. On each floor two panels, and to each panel five rooms with a sensor module; a module knows
temperature, humidity and light. That is 6 panels, 30 modules, 90 streams, and three repos that keep them.

    /Campus/Hall/Env                              the group
    /Campus/Hall/Env/pi1/room1/temp/seq=7         a reading; pi1 and pi2 are on floor 1, pi3 and pi4 on floor 2 …
    /Campus/Hall/modules/room1/temp               what the module itself answers to
    /Campus/Hall/Env/Repo/repo1                   a repo
    /Campus/Hall/Rooms, …/Floors, …/Building      what is made of it, and /Campus/Report for the whole campus

The paper does not say how often rooms are sampled; every 10 s here. Beside the hall stands the annex, which the paper
does not have: two floors of six rooms, each with a module that speaks MQTT, and two gates that are brokers to them.

    /Campus/Annex/Mqtt                            the group of the annex
    /Campus/Annex/Mqtt/gate1                      a gate; it is a panel and a repo of both groups
    annex/floor1/room3/temp                       a topic, whose stream is /Campus/Annex/Mqtt/gate1/annex/floor1/…

In the middle is the centre, a node that knows all of it, shows it on its page and runs macros:

    /Campus/Macros                                what macros make of all this
    /Campus/Macros/centre                         the centre, which is a panel and a repo of every group
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.naming import Name
from roost.naming.building import Building, Company, Group, Panel, Repo
from roost.repo.catalogue import Description
from roost.trust import Identity, Schema, building_rules, building_schema, certify, generate, self_sign

COMPANY: Final = Company(Name.parse("/Campus"), frozenset({"Annex", "Hall"}))
GROUP: Final[Group] = COMPANY.group("Hall", "Env")
ANNEX: Final[Group] = COMPANY.group("Annex", "Mqtt")
MODULES: Final = Name.parse("/Campus/Hall/modules")

FLOORS: Final = 3
PANELS_PER_FLOOR: Final = 2
ROOMS_PER_PANEL: Final = 5
INTERVAL_MS: Final = 10_000
UNITS: Final = {"temp": "Cel", "hum": "%RH", "light": "lx"}
BRICK: Final = {"temp": "Air_Temperature_Sensor", "hum": "Relative_Humidity_Sensor", "light": "Illuminance_Sensor"}

RESULTS: Final[tuple[Group, ...]] = (
    *(COMPANY.group("Hall", level) for level in ("Rooms", "Floors", "Building")),
    COMPANY.group("", "Report"),
)
JOB: Final = "hierarchy"  # the panel that publishes in them
MACROS: Final[Group] = COMPANY.group("", "Macros")
CENTRE: Final = "centre"

PANELS: Final = tuple(f"pi{number}" for number in range(1, FLOORS * PANELS_PER_FLOOR + 1))
REPOS: Final = ("repo1", "repo2", "repo3")

GATES: Final = ("gate1", "gate2")
ANNEX_FLOORS: Final = 2
ANNEX_ROOMS_PER_FLOOR: Final = 6
ANNEX_UNITS: Final = {"temp": "Cel", "hum": "%RH", "co2": "ppm", "occupancy": "count"}


def panel(name: str) -> Panel:
    """One of the six."""
    return GROUP.panel(name)


def repo(name: str) -> Repo:
    """One of the three."""
    return GROUP.repo(name)


def floor_of(name: str) -> int:
    """Where a panel is."""
    return PANELS.index(name) // PANELS_PER_FLOOR + 1


def rooms(name: str) -> tuple[str, ...]:
    """The rooms of a panel, which are its devices."""
    first = PANELS.index(name) * ROOMS_PER_PANEL + 1
    return tuple(f"room{number}" for number in range(first, first + ROOMS_PER_PANEL))


def streams(name: str) -> tuple[Name, ...]:
    """The fifteen streams of a panel."""
    return tuple(GROUP.stream(name, room, metric).name for room in rooms(name) for metric in UNITS)


def all_streams() -> tuple[Name, ...]:
    """All ninety."""
    return tuple(stream for name in PANELS for stream in streams(name))


def descriptions(name: str, interval_ms: int = INTERVAL_MS) -> list[Description]:
    """What a panel says about its streams."""
    return [
        Description(stream, UNITS[metric], BRICK[metric], interval_ms)
        for stream in streams(name)
        for metric in [stream.at(-1).value.decode()]
    ]


def annex_topics() -> tuple[str, ...]:
    """The twelve rooms of the annex, each as the topic that its module publishes below."""
    return tuple(
        f"annex/floor{floor + 1}/room{floor * ANNEX_ROOMS_PER_FLOOR + room}"
        for floor in range(ANNEX_FLOORS)
        for room in range(1, ANNEX_ROOMS_PER_FLOOR + 1)
    )


def schema() -> Schema:
    """Who may sign what on the campus."""
    return building_schema(COMPANY, (*RESULTS[-1:], MACROS))


def rules() -> str:
    """The same as text."""
    return building_rules(COMPANY, (*RESULTS[-1:], MACROS))


def identities(
    entropy: Callable[[int], bytes],
    now: int,
    repos: tuple[str, ...] = REPOS,
    *,
    results: bool = False,
    annex: bool = False,
    centre: bool = False,
) -> dict[Name, Identity]:
    """Make every key there is, each certified by its issuer: the root, the hall, the group, its repos and panels.

    With `results`, those of the groups that are made of it too: their repos, and the job. With `annex`, those of the
    annex: the repos keep its group too, and its gates keep both. With `centre`, those of the centre in all groups.
    """
    root = self_sign(generate(COMPANY.root.name, entropy, "ecdsa"), now)
    made = {root.name: root}
    places: list[Building | Group | Repo | Panel] = [COMPANY.building("Hall"), GROUP]
    places += [*map(repo, repos), *map(panel, PANELS)]
    for group in RESULTS if results else ():
        places += [group, *map(group.repo, repos), group.panel(JOB)]
    if annex:
        places += [COMPANY.building("Annex"), ANNEX, *map(ANNEX.repo, repos)]
        places += [
            place for gate in GATES for group in (ANNEX, GROUP) for place in (group.panel(gate), group.repo(gate))
        ]
    if centre:
        places += [MACROS, *map(MACROS.repo, repos)]
        groups = (GROUP, *(RESULTS if results else ()), *((ANNEX,) if annex else ()), MACROS)
        places += [place for group in groups for place in (group.panel(CENTRE), group.repo(CENTRE))]
    for place in places:
        key = generate(place.name, entropy, "ecdsa")
        made[place.name] = Identity(key, certify(made[place.issuer], key.name, key.public.spki, now))
    return made
