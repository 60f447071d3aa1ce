"""What a shelf tells (`roost.repo.shelf`): what came into the store, and what left it."""

from __future__ import annotations

from dataclasses import dataclass

from roost.machine import Effect
from roost.naming import Name
from roost.repo.store import Entry


@dataclass(frozen=True, slots=True)
class Kept(Effect):
    """Tell: these are on the disk now and were not before, and the repo's own records of them with them."""

    entries: tuple[Entry, ...]
    cause: int
    records: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped(Effect):
    """Tell: these are not in the store any more, and will not be; and the repo's own records of it."""

    names: tuple[Name, ...]
    cause: int
    records: tuple[Entry, ...] = ()
