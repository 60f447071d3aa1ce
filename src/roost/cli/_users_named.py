"""Whether anybody is asked for the passwords of a users file: the configuration that `roost up` finds has to name it.

Users alone keep nobody out: a node without `users` lets in whoever is on its machine, with any password or none.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.errors import BadConfig

if TYPE_CHECKING:
    from roost.host.mqtt.config_file import Said

_PERMISSIONS: Final = "permissions"  # the file that is proposed


def what_to_name(users: Path, *, is_default: bool) -> str:
    """What to write where, so that this file counts; empty if it does, or if it belongs to another configuration.

    `is_default` says that nobody chose the file: then it is for a node of this home, even one without a configuration.
    """
    from roost.cli._up_config import FILE, find_file
    from roost.host.mqtt.config_file import read_config_file
    from roost.host.paths import home

    file = find_file()
    if file is None and not is_default:
        return ""
    place = file if file is not None else home() / FILE
    folder = place.absolute().parent
    try:
        said: Said = {} if file is None else read_config_file(file).read(dict)
    except BadConfig:
        return ""  # which is told of where a node runs it
    named = said.get("users")
    if isinstance(named, str):
        other = folder / Path(named).expanduser()
        if other.resolve() == users.resolve():
            return ""
        return f"{place} names another file of users, {other}: those of {users} cannot come in" if is_default else ""
    lines = [f"users: {_from(users, folder)}"]
    where = "Then"
    if "permissions" not in said:
        lines.append(f"permissions: {_PERMISSIONS}")
        where = (
            f"where {_PERMISSIONS} is a file of who may do what: `all`, and below it `  readwrite #`, lets everybody "
            "with a name do everything. Then"
        )
    made = "" if file is not None else " (`roost init` makes one)"
    shown = "".join(f"\n  {line}" for line in lines)
    return (
        f"no password is asked for yet: {place} does not name this file. Add to it{made}:{shown}\n"
        f"{where}: roost up reload"
    )


def _from(path: Path, folder: Path) -> Path:
    """As it is written in a configuration of that folder."""
    whole = path.absolute()
    return whole.relative_to(folder) if whole.is_relative_to(folder) else whole
