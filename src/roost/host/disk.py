"""The disk of a node: the files and the stores of the applications inside it, by the names they use.

Whoever attaches an application says beforehand where its files are (`open`) and who writes its stores (`add`); from
then on the server hands in what is to be saved and written, and hears what is through.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from roost.errors import BadConfig, RoostError
from roost.host.keeping import Keeper
from roost.machine.disk import Save
from roost.pubsub.resident import DiskEvent
from roost.repo.store import Write


class StoreDriver(Protocol):
    """What writes a store off the event loop; it answers each `Write` through `Disk.said`, in order."""

    def write(self, effect: Write) -> None: ...
    async def finish(self) -> None: ...
    async def close(self) -> None: ...


class Disk:
    """Files and stores of one node; `hear` is set by the server that has it."""

    def __init__(self) -> None:
        self.hear: Callable[[DiskEvent], None] = lambda event: None  # noqa: ARG005  until a server has it
        self.unsaved = 0  # what was to be saved or written after the end
        self._files: Final[dict[str, Keeper]] = {}  # bound: as many as were opened
        self._stores: Final[dict[str, StoreDriver]] = {}  # bound: as many as were added
        self._closed = False

    def open(self, file: str, path: Path | None, failed: Callable[[RoostError], None]) -> bytes:
        """Keep a file at a path, or nowhere; returns what is in it. `failed` hears when it cannot be written."""
        if file in self._files:
            raise BadConfig(f"two applications of one node cannot both keep {file!r}: give one of them another name")
        self._files[file] = Keeper(path, self.said, failed)
        return self._files[file].found

    def add(self, store: str, driver: StoreDriver) -> None:
        """Have a store written by this driver, which was made with `said`."""
        if store in self._stores:
            raise BadConfig(f"two applications of one node cannot both write {store!r}: give one of them another name")
        self._stores[store] = driver

    def said(self, event: DiskEvent) -> None:
        """Something is on the disk, or is not."""
        self.hear(event)

    def save(self, effect: Save) -> None:
        """Do as the effect says."""
        if self._closed:
            self.unsaved += 1
        elif effect.file not in self._files:
            raise BadConfig(f"an application wants to save {effect.file!r}, and nobody has said where: open it first")
        else:
            self._files[effect.file].save(effect)

    def write(self, effect: Write) -> None:
        """Do as the effect says."""
        if self._closed:
            self.unsaved += 1
        elif effect.store not in self._stores:
            raise BadConfig(f"an application wants to write {effect.store!r}, and nobody has added it: add it first")
        else:
            self._stores[effect.store].write(effect)

    async def finish(self) -> None:
        """Take nothing more, and wait until what is to be written is, and was heard of; stores can still be read."""
        self._closed = True
        for driver in self._stores.values():
            await driver.finish()

    async def close(self) -> None:
        """Finish, and let everything go."""
        await self.finish()
        for driver in self._stores.values():
            await driver.close()
        for keeper in self._files.values():
            await keeper.close()
