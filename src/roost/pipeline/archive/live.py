"""The repos of a group, as the archive sees them: a watch for the numbers, a reader of stretches for the readings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final

from roost.errors import RoostError, Unreachable
from roost.host.blocking import SyncFace, connect_sync
from roost.host.blocking_streams import SyncWatch
from roost.host.keystore import KeyStore
from roost.host.locate import await_node
from roost.host.paths import home
from roost.host.stretch_access import Access
from roost.host.stretches import Fetched, Stretch, StretchReader
from roost.naming import Name
from roost.pipeline.archive.certificates import Fetch
from roost.repo.question import Run
from roost.wire import Data

READY_S: Final = 10.0


class Live:
    """A group's repos: a `Source`."""

    def __init__(self, watch: SyncWatch, reader: StretchReader) -> None:
        self._watch: Final = watch
        self._reader: Final = reader

    def numbers(self) -> Mapping[Name, int]:
        return self._watch.numbers()

    def holes(self) -> Mapping[Name, Sequence[Run]]:
        return self._watch.holes()

    def boundaries(self, time_ns: int) -> Mapping[Name, int]:
        return self._watch.boundaries(time_ns)

    def read(self, stretches: Sequence[tuple[Name, int, int]]) -> Iterator[Fetched]:
        return self._reader.read([Stretch(*each) for each in stretches])


def reached(access: Access, say: Callable[[str], None]) -> SyncFace:
    """A face to the repos, as the reader reaches them; `say` is told if a node has to be waited for."""
    return connect_sync(list(access.repos) or asyncio.run(await_node(None, say)))


@contextmanager
def live(face: SyncFace, group: Name, access: Access) -> Iterator[Live]:
    """Watch a group and read from it; raises `Unreachable` if no repo of it answers."""
    with ExitStack() as stack:
        watch = stack.enter_context(face.group(group).watch())
        if not watch.ready(READY_S):
            raise Unreachable(
                f"no repo of {group} has answered over {face.where} in {READY_S:.0f} s: check the group's name, and "
                "that a repo runs; what is archived can be asked about without one, with --archive-only"
            )
        reader = StretchReader(replace(access, group=str(group)))
        stack.callback(reader.close)
        yield Live(watch, reader)


def certificates_of(face: SyncFace) -> Fetch:
    """Certificates by key or name: those of this home, then those that the network has."""

    def fetch(name: Name) -> Data | None:
        store = KeyStore(home())
        held = [*store.anchors(), *store.certificates()] if store.exists else []
        for certificate in held:
            if certificate.name.starts_with(name):
                return certificate.data
        try:
            return face.fetch(name, can_be_prefix=True)
        except RoostError:  # it is tried again with the next reading that needs it
            return None

    return fetch
