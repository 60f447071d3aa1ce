"""The arrangements that are compared, each on one core, which all of its processes share.

- `roost`: ours, with the macros in the broker, as people run it.
- `aedes_vm`: the paper's, aedes with the same macros in Node's vm; one process (`_aedes_vm.mjs`).
- `service`: mosquitto and an application service on it in Node, which works out the same in plain code; two processes
  (`_service.mjs`).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from bench.mqtt import _brokers
from bench.mqtt._brokers import PACKAGES, Broker, Start, child_process, has_aedes, has_mosquitto, wait_for_line
from bench.mqtt._generator import OURS, Answer, Generator
from bench.process._cores import measured_core
from bench.process._macros import Bench

HERE: Final = Path(__file__).parent

Definitions = Sequence[dict[str, object]]


@contextlib.contextmanager
def roost(folder: Path, definitions: Definitions) -> Iterator[Broker]:
    """Ours, with these macros; with none it is a plain broker."""
    file = folder / "macros.json"
    file.write_text(json.dumps(list(definitions)))
    more = f"macros: {{files: [{file}]}}\n" if definitions else ""
    with measured_core(), _brokers.roost(folder, more=more) as broker:
        yield broker


@contextlib.contextmanager
def aedes_vm(folder: Path, definitions: Definitions) -> Iterator[Broker]:
    """The paper's."""
    file = folder / "macros.json"
    file.write_text(json.dumps(list(definitions)))
    command = ["node", str(HERE / "_aedes_vm.mjs"), str(PACKAGES), str(file)]
    with measured_core(), child_process(command, folder) as child:
        port = int(wait_for_line(child, "ready").split()[1])
        yield Broker(port, child.pid)


@contextlib.contextmanager
def service(folder: Path, bench: Bench) -> Iterator[Broker]:
    """The application service and its broker."""
    task = {"topics": bench.topics, "result": bench.topic, "depth": bench.depth, **bench.service}
    (folder / "service").mkdir()
    with measured_core(), _brokers.mosquitto(folder) as broker:
        command = ["node", str(HERE / "_service.mjs"), str(PACKAGES), str(broker.port), json.dumps(task)]
        with child_process(command, folder / "service") as child:
            wait_for_line(child, "ready")
            yield broker


def arrangements(bench: Bench) -> dict[str, Start]:
    """Those that are installed, for one macro."""
    starts: dict[str, Start] = {OURS: partial(roost, definitions=[bench.definition])}
    if has_aedes():
        starts["aedes_vm"] = partial(aedes_vm, definitions=[bench.definition])
        if has_mosquitto():
            starts["service"] = partial(service, bench=bench)
    return starts


def asked(load: Generator, brokers: dict[str, Broker], do: str, name: str, **settings: object) -> Answer:
    """What the load generator finds out about one of them."""
    return load.ask(do, port=brokers[name].port, **settings)
