"""How the values of the configuration are written: numbers, sizes (16MiB), times (7d), choices, yes or no, files.

Each reader takes the key it stands under and the value, and raises `BadConfig` that names both and says what to write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final, TypeAlias

from roost.errors import BadConfig
from roost.host.address import parse_listen

Reader: TypeAlias = Callable[[str, object], object]

_SIZES: Final = {"": 1, "kB": 1000, "MB": 1000**2, "GB": 1000**3, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_TIMES_S: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SIZE: Final = re.compile(r"([0-9]{1,15}) ?(kB|MB|GB|KiB|MiB|GiB)?")
_TIME: Final = re.compile(r"([0-9]{1,12}) ?([smhdw])?")


def whole(low: int, high: int) -> Reader:
    """Make a reader of numbers."""

    def read(key: str, value: object) -> object:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise BadConfig(f"{key}: {value!r} is no number from {low} to {high}")
        return value

    return read


def size_bytes(low: int, high: int) -> Reader:
    """Make a reader of sizes."""
    return _measured(_SIZE, _SIZES, low, high, "size: write bytes, or a number with kB, MB, GB, KiB, MiB or GiB")


def time_s(low: int, high: int) -> Reader:
    """Make a reader of times, in seconds."""
    return _measured(_TIME, _TIMES_S, low, high, "time: write seconds, or a number with s, m, h, d or w")


def choice(options: Mapping[str, object]) -> Reader:
    """Make a reader of words that stand for something."""

    def read(key: str, value: object) -> object:
        if not isinstance(value, str) or value not in options:
            raise BadConfig(f"{key}: {value!r} is none of {', '.join(options)}")
        return options[value]

    return read


def yes_or_no(key: str, value: object) -> object:
    """Read true or false."""
    if not isinstance(value, bool):
        raise BadConfig(f"{key}: {value!r} is neither true nor false")
    return value


def words(key: str, value: object) -> object:
    """Read text, as MQTT has it."""
    return text(key, value).encode()


def text(key: str, value: object) -> str:
    """Read text that is not empty."""
    if value is None or value == "":
        raise BadConfig(f"{key}: it is missing; write some text")
    if not isinstance(value, str):
        raise BadConfig(f"{key}: {value!r} is no text; put it in quotes")
    return value


def listen_at(key: str, value: object, port: int) -> tuple[str, int]:
    """Read an address to listen on; `port` is meant where it has none."""
    if not isinstance(value, str) or not value:
        raise BadConfig(f"{key}: {value!r} is no address; write host:port, as in 127.0.0.1:{port}")
    try:
        return parse_listen(value, port)
    except BadConfig as error:
        said = f"{value!r}: a port is 1 to 65535" if value.rpartition(":")[2].isdecimal() else str(error)
        raise BadConfig(f"{key}: {said}") from None


def path(key: str, value: object, folder: Path) -> Path:
    """Read the name of a file, which is relative to the folder of the configuration."""
    return folder / Path(text(key, value)).expanduser()


def section(key: str, value: object) -> dict[str, object]:
    """Read what has keys of its own; where nothing is written there are none."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise BadConfig(f"{key}: {value!r} has no keys; write `key: value` lines below it")
    return value


def entries(key: str, value: object) -> list[object]:
    """Read a list; where nothing is written it is empty."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadConfig(f"{key}: {value!r} is no list; begin each of its entries with `- `")
    return value


def known(key: str, value: Mapping[str, object], names: Mapping[str, object]) -> None:
    """Refuse keys that nobody reads, for whoever wrote them expects something."""
    for name in value:
        if name not in names:
            full = f"{key}.{name}" if key else name
            near = get_close_matches(name, names, 1)
            remedy = f"perhaps you mean {near[0]}" if near else f"there are {', '.join(names)}"
            raise BadConfig(f"{full}: there is no such key; {remedy}")


def _measured(form: re.Pattern[str], units: Mapping[str, int], low: int, high: int, what: str) -> Reader:
    def read(key: str, value: object) -> object:
        found = None if isinstance(value, bool) else form.fullmatch(str(value))
        if found is None:
            raise BadConfig(f"{key}: {value!r} is no {what}")
        number = int(found[1]) * units[found[2] or ""]
        if not low <= number <= high:
            raise BadConfig(f"{key}: {value!r} is not from {low} to {high}")
        return number

    return read
