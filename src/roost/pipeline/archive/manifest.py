"""What counts of a group's archive: its files, and which numbers are in them. One small file, replaced as a whole.

A Parquet file that the manifest does not list is not there. So new readings appear, and compacted files take the place
of others, in one step: when the manifest is replaced.

    {"format": 1, "group": "/BigCompany/…", "files": {"day=2026-05-01/part-….parquet": 86400},
     "covered": {"/Panel1/Heater/Voltage": [1, 86400]}, "dropped": {…}}

`files` have their count of rows; `covered` and `dropped` are intervals, low high low high …; `dropped` are numbers that
repos had dropped before the archive saw them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

from roost.errors import BadConfig
from roost.naming import Name
from roost.pipeline.archive.covered import Covered
from roost.pipeline.archive.folder import Folder
from roost.pipeline.archive.layout import CERTIFICATES, MANIFEST, folder_of, group_of

FORMAT: Final = 1


@dataclass(slots=True)
class Manifest:
    """Files with their rows, and the numbers that are in them."""

    files: dict[str, int] = field(default_factory=dict)
    covered: Covered = field(default_factory=Covered)
    dropped: Covered = field(default_factory=Covered)

    @property
    def rows(self) -> int:
        return sum(self.files.values())

    def encode(self, group: Name) -> bytes:
        """Write it."""
        return json.dumps(
            {
                "format": FORMAT,
                "group": str(group),
                "files": dict(sorted(self.files.items())),
                "covered": self.covered.to_json(group),
                "dropped": self.dropped.to_json(group),
            },
            separators=(",", ":"),
        ).encode()

    @staticmethod
    def decode(content: bytes, group: Name) -> Manifest:
        """Read it; raises `BadConfig` if it is none."""
        try:
            found = json.loads(content)
            manifest = Manifest(
                {str(path): int(rows) for path, rows in found["files"].items()},
                Covered.from_json(found["covered"], group),
                Covered.from_json(found["dropped"], group),
            )
            other = (found["format"], found["group"]) != (FORMAT, str(group))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadConfig(
                f"{MANIFEST} of {group} is damaged ({error}): move it away, and `roost archive compact` makes it anew"
            ) from None
        if other:
            raise BadConfig(
                f"{MANIFEST} of {group} is of format {found['format']} and group {found['group']}: "
                f"this Roost reads format {FORMAT}; move it away, and `roost archive compact` makes it anew"
            )
        return manifest


class GroupArchive:
    """The archive of one group, to look at; writing is `roost.pipeline.archive.writing`."""

    def __init__(self, folder: Folder, group: Name) -> None:
        self.folder: Final = folder
        self.group: Final = group
        self.path: Final = folder_of(group)

    def manifest(self) -> Manifest:
        """What counts now; empty if nothing was archived."""
        found = self.folder.read(f"{self.path}/{MANIFEST}")
        return Manifest() if found is None else Manifest.decode(found, self.group)

    def covers(self, stream: Name, low: int, high: int) -> bool:
        """Whether all readings low to high of a stream are in the archive."""
        return self.manifest().covered.covers(str(stream), low, high)


class Archive:
    """The archives of all groups in a folder."""

    def __init__(self, folder: Folder) -> None:
        self.folder: Final = folder

    def groups(self) -> list[Name]:
        """The groups that something was archived of."""
        found = [group_of(each) for each in self.folder.folders() if each != CERTIFICATES]
        return sorted(group for group in found if group is not None)

    def group(self, group: Name) -> GroupArchive:
        return GroupArchive(self.folder, group)

    def covers(self, stream: Name, low: int, high: int) -> bool:
        """Whether all readings low to high of a stream are in the archive, of whichever group it is."""
        return any(self.group(group).covers(stream, low, high) for group in self.groups() if stream.starts_with(group))
