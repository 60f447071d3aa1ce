"""Scenarios by name: the built-in families, one module of `roost.sim.scenarios` each, and any `module:function`."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TypeAlias

from roost.errors import BadConfig
from roost.sim import scenarios
from roost.sim.world import World

Scenario: TypeAlias = Callable[[int], World]  # builds, runs and checks a world of this seed; raises `Violation`


@dataclass(frozen=True)
class Family:
    """A scenario that can be asked for by name."""

    name: str
    summary: str
    run: Scenario
    plan: Callable[[int], object] | None = None  # what a seed comes to, as something that can be printed


def built_in() -> list[str]:
    """List the families that come with Roost."""
    return sorted(module.name for module in pkgutil.iter_modules(scenarios.__path__))


def find(name: str) -> Family:
    """Look up a family, or import a scenario given as `module:function`."""
    place, colon, function = name.partition(":")
    try:
        if not colon and name in built_in():
            module = import_module(f"{scenarios.__name__}.{name}")
            return Family(name, module.SUMMARY, module.run, getattr(module, "plan", None))
        scenario = getattr(import_module(place), function) if colon else None
    except (ImportError, AttributeError, ValueError) as error:
        raise BadConfig(f"scenario {name} cannot be loaded: {error}") from error
    if not callable(scenario):
        raise BadConfig(f"{name} is no scenario; there are {', '.join(built_in())}, and module:function of your own")
    return Family(name, (scenario.__doc__ or name).strip().splitlines()[0], scenario)
