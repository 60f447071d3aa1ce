"""The macros of a broker, made as its configuration says: engines, where results go, and the past they look back on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from roost.broker.macros.macros import Macros
from roost.broker.macros.past import MacroPast
from roost.broker.trees import Trees
from roost.host.mqtt.config import Config
from roost.host.mqtt.macro_checking import checked, engines
from roost.machine import MS
from roost.process.definition import PREFIX

if TYPE_CHECKING:
    from roost.broker.core import Core
    from roost.host.clock import Clock


def macros_of(config: Config, trees: Trees) -> Macros | None:
    """The macros, with the definitions of the configuration to be taken in; raises `BadConfig`."""
    if config.macros is None:
        return None
    number = trees.of(f"{PREFIX}x".encode()) if config.groups else None
    tree = None if number is None else trees.all[number]
    macros = Macros(
        engines(),
        MacroPast(),
        tree=number,
        panel=None if tree is None or tree.panel is None else tree.panel.name,
        alone=not config.node.uplinks,
        stopwatch=time.perf_counter_ns,
        budget_ns=config.macros.turn_ms * MS,
        share=config.macros.share,
        most=config.macros.most,
    )
    macros.want(checked(config.macros))
    return macros


def references_of(macros: Macros | None) -> dict[str, tuple[str, ...]]:
    """The macros that a broker has, with what each refers to."""
    known = {} if macros is None else macros.known
    found = {name: None if macros is None else macros.inputs_of(PREFIX + name) for name in known}
    return {name: filters for name, filters in found.items() if filters is not None}


def look_back(macros: Macros, core: Core, clock: Clock) -> None:
    """Have macros find the past of a broker."""
    past = macros.history
    assert isinstance(past, MacroPast)  # noqa: S101  `macros_of` made it
    past.history = lambda: core.history
    past.retained = lambda filter_: [message for _, message in core.retained.matching(filter_, clock())]
