"""Which past readings macros are tried on: those of a file, of a node, or of archive and repos, as the options say."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from roost.cli import note
from roost.cli._past import Past
from roost.cli._progress import Progress
from roost.cli._readings_file import read_readings
from roost.cli._spool import Spool
from roost.errors import BadConfig
from roost.machine.times import moment

_FORMS: Final = "write how long ago (24h, 7d), or a time (2026-05-01T08:00)"


@contextmanager
def spooled(options: argparse.Namespace, filters: Sequence[str], progress: Progress) -> Iterator[Spool]:
    """The readings that macros with these references are tried on, in order; raises `BadConfig` and `Unreachable`."""
    with Spool() as spool:
        if options.on is not None:
            _file(options, spool)
        else:
            since = max(0, moment(options.since, time.time_ns(), "--since", _FORMS))
            past = Past(spool, filters, since, lambda read: progress.say(read, "readings read"))
            if options.node is not None and not (options.archive or options.group or options.archive_only):
                from roost.cli._http import login_of

                past.node(options.node, login_of(options))
            else:
                _groups(options, past)
            progress.end()
            if past.lost:
                note(f"{past.lost:,} readings are missing here: no repo that can be reached has them")
            if past.unreadable:
                note(f"{past.unreadable:,} readings are left out: they are sealed, or no readings")
        yield spool


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


def _groups(options: argparse.Namespace, past: Past) -> None:
    """Read the groups of an archive, and those that are named."""
    from roost.host.paths import home
    from roost.host.stretch_access import Access
    from roost.naming import Name
    from roost.pipeline.archive.folder import Folder
    from roost.pipeline.archive.live import live, reached
    from roost.pipeline.archive.manifest import Archive

    archive = Archive(Folder(options.archive or home() / "archive"))
    groups = sorted({*archive.groups(), *[Name.parse(group) for group in options.group]}, key=str)
    if not groups:
        raise BadConfig(
            "there are no readings to try it on: name a file with --on, a node with --node, a group with --group, or "
            "an archive with --archive"
        )
    access = Access(tuple(options.uris))
    with ExitStack() as stack:
        face = None if options.archive_only else stack.enter_context(reached(access, note))
        for group in groups:
            source = None if face is None else stack.enter_context(live(face, group, access))
            past.group(archive.group(group), source)
