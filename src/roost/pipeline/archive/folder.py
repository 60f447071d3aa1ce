"""Where an archive lies: a folder here, or a place that pyarrow can write to (`s3://…`, `gs://…`, `hdfs://…`).

A file appears whole or not at all. Here it is written beside its place, synced and renamed; an object store shows an
object only once all of it is there. One process at a time writes a group: here a lock makes sure of it, and elsewhere
whoever runs the archive has to.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyarrow import fs

from roost.errors import BadConfig
from roost.host.keystore import sync_directory, write_file

_PUBLIC: Final = 0o644


class Folder:
    """Files by their path below a root; `uri` is a path of this machine or a URI."""

    def __init__(self, uri: str | os.PathLike[str]) -> None:
        text = os.fspath(uri)
        self.local: Final = "://" not in text
        if self.local:
            self.filesystem: fs.FileSystem = fs.LocalFileSystem()
            self.root = str(Path(text).absolute())
        else:
            try:
                self.filesystem, self.root = fs.FileSystem.from_uri(text)
            except (ValueError, OSError) as error:
                raise BadConfig(f"{text} is no place for an archive: {error}") from None
        self._scheme: Final = "" if self.local else text.partition("://")[0] + "://"

    def where(self, path: str) -> str:
        """A file as other programs name it."""
        return f"{self._scheme}{self.root}/{path}"

    def inside(self, path: str) -> str:
        """A file as `filesystem` names it."""
        return f"{self.root}/{path}"

    def read(self, path: str) -> bytes | None:
        """All of a file, None if there is none."""
        try:
            with self.filesystem.open_input_file(self.inside(path)) as file:
                content: bytes = file.read()
        except FileNotFoundError:
            return None
        return content

    def write(self, path: str, content: bytes) -> None:
        """Write a file whole; what was there is replaced."""
        if not self.local:
            with self.filesystem.open_output_stream(self.inside(path)) as file:
                file.write(content)
            return
        place = Path(self.inside(path))
        if not place.parent.is_dir():
            self._make(place.parent)
        write_file(place, content, _PUBLIC)

    def remove(self, path: str) -> None:
        """Take a file away; that it is gone already does not matter."""
        try:
            self.filesystem.delete_file(self.inside(path))
        except FileNotFoundError:
            return

    def files(self, path: str) -> list[str]:
        """All files below a path, hidden ones too, in order."""
        chosen = fs.FileSelector(self.inside(path), allow_not_found=True, recursive=True)
        found = [info.path for info in self.filesystem.get_file_info(chosen) if info.type == fs.FileType.File]
        return sorted(each[len(self.root) + 1 :] for each in found)

    def folders(self) -> list[str]:
        """The folders at the root, in order."""
        chosen = fs.FileSelector(self.root, allow_not_found=True)
        return sorted(
            info.base_name for info in self.filesystem.get_file_info(chosen) if info.type == fs.FileType.Directory
        )

    @contextmanager
    def locked(self, path: str) -> Iterator[None]:
        """Hold a file's lock; raises `BadConfig` if another process does."""
        if not self.local:
            yield
            return
        place = Path(self.inside(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BadConfig(
                    f"another process writes {place.parent}: an archive has one writer per group; stop the other one"
                ) from None
            yield

    @staticmethod
    def _make(folder: Path) -> None:
        """Make a folder, and have its name on disk before anything in it counts."""
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        for each in reversed(missing):
            sync_directory(each.parent)
