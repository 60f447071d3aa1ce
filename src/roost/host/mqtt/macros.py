"""The macros of a broker, made as its configuration says: engines, where results go, and the past they look back on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from roost.broker.macros.macros import Macros
from roost.broker.macros.past import MacroPast
from roost.broker.trees import Trees
from roost.host.mqtt.config import Config
from roost.process.definition import PREFIX
from roost.process.engine import Engine
from roost.process.javascript import JavaScript
from roost.process.python_code import Python

if TYPE_CHECKING:
    from roost.broker.core import Core
    from roost.host.clock import Clock


def macros_of(config: Config, trees: Trees) -> Macros | None:
    """The macros, with the definitions of the configuration to be taken in; raises `BadConfig`."""
    if config.macros is None:
        return None
    number = trees.of(f"{PREFIX}x".encode()) if config.groups else None
    tree = None if number is None else trees.all[number]
    engines: dict[str, Engine] = {each.language: each for each in (JavaScript(), Python())}
    macros = Macros(
        engines,
        MacroPast(),
        tree=number,
        panel=None if tree is None or tree.panel is None else tree.panel.name,
        alone=not config.node.uplinks,
        stopwatch=time.perf_counter_ns,
    )
    macros.want(config.macros.load())
    return macros


def look_back(macros: Macros, core: Core, clock: Clock) -> None:
    """Have macros find the past of a broker."""
    past = macros.history
    assert isinstance(past, MacroPast)  # noqa: S101  `macros_of` made it
    past.history = lambda: core.history
    past.retained = lambda filter_: [message for _, message in core.retained.matching(filter_, clock())]
