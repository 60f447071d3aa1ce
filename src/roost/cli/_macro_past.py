"""Which past readings macros are tried on: those of a file, of a node, or of archive and repos, as the options say."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from roost.cli import note
from roost.cli._past import Past
from roost.cli._progress import Progress
from roost.cli._readings_file import read_readings
from roost.cli._spool import Spool
from roost.errors import BadConfig
from roost.machine.times import moment

if TYPE_CHECKING:
    from roost.host.stretch_access import Access
    from roost.pipeline.archive.manifest import Archive, GroupArchive
    from roost.pipeline.archive.ports import Source
    from roost.pipeline.macros_history import Lying, Wanted

_FORMS: Final = "write how long ago (24h, 7d), or a time (2026-05-01T08:00)"


class Groups(NamedTuple):
    """An archive and the repos of groups, reached; without a source, the archive alone."""

    archive: Archive
    reached: Sequence[tuple[GroupArchive, Source | None]]
    access: Access
    wanted: Wanted

    def places(self) -> list[Lying]:
        """Where the readings lie that are wanted."""
        from roost.pipeline.macros_history import where

        return [where(archive, source, self.wanted) for archive, source in self.reached]


@contextmanager
def groups_of(options: argparse.Namespace, filters: Sequence[str]) -> Iterator[Groups | None]:
    """Reach the groups whose past is meant, None if it is that of a file or a node; raises `BadConfig`."""
    from roost.host.paths import home
    from roost.host.stretch_access import Access
    from roost.naming import Name
    from roost.pipeline.archive.folder import Folder
    from roost.pipeline.archive.live import live, reached
    from roost.pipeline.archive.manifest import Archive

    if options.on is not None or _is_of_node(options):
        yield None
        return
    wanted = _wanted(options, filters)
    archive = Archive(Folder(options.archive or home() / "archive"))
    groups = sorted({*archive.groups(), *[Name.parse(group) for group in options.group]}, key=str)
    if not groups:
        raise BadConfig(
            "there are no readings to try it on: name a file with --on, a node with --node, a group with --group, or "
            "an archive with --archive"
        )
    access = Access(tuple(options.uris), os.environ.get("ROOST_HOME", ""))  # said, for who has another environment
    with ExitStack() as stack:
        face = None if options.archive_only else stack.enter_context(reached(access, note))
        found = [
            (archive.group(group), None if face is None else stack.enter_context(live(face, group, access)))
            for group in groups
        ]
        yield Groups(archive, found, access, wanted)


@contextmanager
def spooled(
    options: argparse.Namespace, filters: Sequence[str], groups: Groups | None, progress: Progress
) -> Iterator[Spool]:
    """The readings that macros with these references are tried on, in order; raises `BadConfig` and `Unreachable`."""
    with Spool() as spool:
        if options.on is not None:
            _file(options, spool)
        else:
            past = Past(spool, _wanted(options, filters), lambda read: progress.say(read, "readings read"))
            if groups is None:
                from roost.cli._http import login_of

                past.node(options.node, login_of(options))
            else:
                for archive, source in groups.reached:
                    past.group(archive, source)
            progress.end()
            say_what_lacks(past.lost, past.unreadable)
        yield spool


def say_what_lacks(lost: int, unreadable: int) -> None:
    """Say how many readings of a history are not there."""
    if lost:
        note(f"{lost:,} readings are missing here: no repo that can be reached has them")
    if unreadable:
        note(f"{unreadable:,} readings are left out: they are sealed, or no readings")


def _is_of_node(options: argparse.Namespace) -> bool:
    return options.node is not None and not (options.archive or options.group or options.archive_only)


def _wanted(options: argparse.Namespace, filters: Sequence[str]) -> Wanted:
    from roost.pipeline.macros_history import Wanted

    return Wanted(tuple(filters), max(0, moment(options.since, time.time_ns(), "--since", _FORMS)))


def _file(options: argparse.Namespace, spool: Spool) -> None:
    try:
        with options.on.open(encoding="utf-8", newline="") as lines:
            spool.add(read_readings(lines))
    except OSError as error:
        raise BadConfig(f"{options.on} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadConfig(f"{options.on} is not UTF-8: {error.reason} at byte {error.start}") from None
    except BadConfig as error:
        raise BadConfig(f"{options.on}: {error}") from None
