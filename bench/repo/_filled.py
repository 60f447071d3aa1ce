"""A store on the disk with one reading in each of many streams, as a repo leaves it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from bench.repo._child import Boss
from bench.repo._hall import PAYLOAD
from roost.host.rocks import RocksStore
from roost.machine import Effect
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.cause import REPLICATION
from roost.repo.shelf import Shelf
from roost.repo.store import Write, Written
from roost.sim.deployment import GROUP
from roost.wire import Data, DigestSigner, make_data
from roost.wire.reading import SENML_CBOR, Reading

AT_ONCE = 2000
PER_PANEL = 100


def filler_streams(count: int) -> Iterator[Name]:
    """Streams of panels that the hall does not have."""
    for index in range(count):
        yield GROUP.stream(f"more{index // PER_PANEL}", f"room{index % PER_PANEL}", "temp").name


async def fill(boss: Boss, path: Path, count: int) -> None:
    """A child that makes the store, and says so."""
    store = RocksStore(path)
    shelf = Shelf("filled", store)
    signer, now = DigestSigner(), time.time_ns()
    content = Reading(now, SENML_CBOR, PAYLOAD).encode()

    def write(effects: list[Effect]) -> None:
        while effects:
            writes = [effect for effect in effects if isinstance(effect, Write)]
            store.write([effect.batch for effect in writes])
            effects = [told for effect in writes for told in shelf.receive(Written("filled", effect.ticket), now)]

    page: list[Data] = []
    for stream in filler_streams(count):
        page.append(make_data(numbered(stream, 1), content, signer))
        if len(page) == AT_ONCE:
            write(shelf.put(page, REPLICATION, lambda _, __: [], now))
            page = []
    write(shelf.put(page, REPLICATION, lambda _, __: [], now))
    store.close()
    boss.say(len(shelf.holdings))
    await boss.hear()
