"""The hook for enhanced authentication [MQTT 5.0 section 4.12], as the configuration names it: `FILE.py:NAME`.

    authentication: {hook: house_auth.py:make}   ──▶   make()   ──▶   hook(Authenticate) ─awaited─▶ Verdict

It is the operator's own code and runs in the broker with all that the broker may do: the file is to be the operator's
alone to write. It is read anew by every reload; what stands before the colon can also be a module that is installed
(`company.auth:make`), which Python imports once, and then only `make` is called again. Anything that goes wrong is a
`BadConfig` that names the key.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

from roost.broker.effects import Authenticate, Verdict
from roost.errors import BadConfig
from roost.host.mqtt.users import read_text

Hook = Callable[[Authenticate], Awaitable[Verdict]]

KEY: Final = "authentication.hook"
MAX_FILE_BYTES: Final = 1 << 20

_WRITABLE_BY_OTHERS: Final = 0o022
_MODULE: Final = "roost_authentication_hook"  # of a file, which has no name that others could import


@dataclass(frozen=True, slots=True)
class HookSettings:
    """Where the hook is: a file or a module, and what in it makes the hook."""

    place: Path | str
    maker: str

    def load(self) -> Hook:
        """Run the code and have the hook made; raises `BadConfig`."""
        module = _read(self.place) if isinstance(self.place, Path) else _imported(self.place)
        maker = getattr(module, self.maker, None)
        if not callable(maker):
            what = "there is no" if maker is None else f"it is of type {type(maker).__name__}, not callable:"
            raise BadConfig(f"{KEY}: {what} {self.maker} in {self.place}; write `def {self.maker}():` that returns it")
        try:
            hook = maker()
        except (Exception, SystemExit) as error:  # noqa: BLE001  of somebody else's code, whatever it is
            raise BadConfig(f"{KEY}: {self.maker} of {self.place} failed: {_told(error, self.place)}") from None
        if not callable(hook):
            raise BadConfig(
                f"{KEY}: {self.maker} of {self.place} returned {type(hook).__name__}, which cannot be called; return "
                "an async function from Authenticate to Verdict"
            )
        return hook  # type: ignore[no-any-return]  # the rest is found out when it is asked


def read_hook(value: str, folder: Path) -> HookSettings:
    """Read where the hook is; raises `BadConfig`."""
    place, colon, maker = value.rpartition(":")
    if not colon or not place or not maker.isidentifier():
        raise BadConfig(f"{KEY}: {value!r} is not of the form FILE.py:NAME or package.module:NAME")
    return HookSettings(folder / Path(place).expanduser() if place.endswith(".py") else place, maker)


def _read(path: Path) -> ModuleType:
    try:
        text = read_text(path, MAX_FILE_BYTES, _WRITABLE_BY_OTHERS, "docs/mqtt-security.md shows one")
    except BadConfig as error:
        raise BadConfig(f"{KEY}: {error}") from None
    module = ModuleType(_MODULE)
    module.__file__ = str(path)
    before = sys.modules.get(_MODULE)
    sys.modules[_MODULE] = module  # dataclasses look there for the types of their fields
    try:
        exec(compile(text, path, "exec"), module.__dict__)  # noqa: S102  what the operator asks for
    except (Exception, SystemExit) as error:  # noqa: BLE001  of somebody else's code, whatever it is
        del sys.modules[_MODULE]
        if before is not None:
            sys.modules[_MODULE] = before
        raise BadConfig(f"{KEY}: {path} failed: {_told(error, path)}") from None
    return module


def _imported(name: str) -> ModuleType:
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001  of somebody else's code, whatever it is
        raise BadConfig(
            f"{KEY}: module {name} cannot be imported: {_told(error, name)}; install it where roost is, or name a file "
            "that ends with .py"
        ) from None


def _told(error: BaseException, place: Path | str) -> str:
    """The kind of an error, its words, and the line that it came from; the words about bad syntax have it already."""
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == str(place)]
    return f"{type(error).__name__}: {error}{f' (line {lines[-1]})' if lines else ''}"
