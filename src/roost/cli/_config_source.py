"""Where a configuration comes from, to be read at the start and at each reload: a file, if there is one, and defaults.

What is wrong is told with the file, the line and the key, at a start, at a reload and by `roost check-config` alike.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.errors import BadConfig

if TYPE_CHECKING:
    from roost.host.mqtt.config import Config
    from roost.host.mqtt.config_file import ConfigFile, Said


class ConfigSource:
    """A file, or none, and what changes its keys before they are read."""

    def __init__(self, path: Path | None, adjust: Callable[[Said], Said]) -> None:
        self.path: Final = path
        self._adjust: Final = adjust
        self._file: ConfigFile | None = None  # as it was read last

    def read(self) -> Config:
        """Read it; raises `BadConfig` with all mistakes."""
        from roost.host.mqtt.config import check_together, read_keys
        from roost.host.mqtt.config_file import read_config_file
        from roost.host.paths import home

        if self.path is None:
            config = read_keys(self._adjust({}), Path.cwd(), home())
            check_together(config)
            return config
        file = read_config_file(self.path)
        folder = self.path.absolute().parent
        config = file.read(lambda said: read_keys(self._adjust(said), folder, home()))
        self._file = file
        try:
            check_together(config)
        except BadConfig as error:
            raise BadConfig(self.place(str(error))) from None
        return config

    def place(self, message: str) -> str:
        """Put file and line before what begins with a key of the file that was read last."""
        return message if self._file is None else self._file.place(message)
