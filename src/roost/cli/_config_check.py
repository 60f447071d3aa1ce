"""Reading everything that running a configuration would read, before anybody is let in: users, keys, macros, roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from roost.errors import BadConfig

if TYPE_CHECKING:
    from roost.host.mqtt.config import Config


class Checked(NamedTuple):
    """What there is, in words, and what can be used but is hardly meant."""

    parts: list[str]
    warnings: tuple[str, ...]


def check(config: Config) -> Checked:
    """Read it all; raises `BadConfig` with all mistakes.

    Keys of groups come last, and the first that is missing is a `NoKey`.
    """
    from roost.host.clock import Clock
    from roost.host.keystore import KeyStore
    from roost.host.mqtt.config import sources_of
    from roost.host.mqtt.config_groups import check_keys
    from roost.host.mqtt.reload import load
    from roost.host.paths import home

    count, wrong = _macros(config)
    try:
        security = load(sources_of(config))
    except BadConfig as error:
        raise BadConfig("\n".join([str(error), *wrong])) from None
    if wrong:
        raise BadConfig("\n".join(wrong))
    if config.groups:
        check_keys(config.groups, KeyStore(home()), Clock()())
    parts = [", ".join(map(str, config.listeners)), f"store {config.store or 'in memory'}"]
    if config.users is not None:
        parts.append(f"users: {len(security.users)}")
    if config.http is not None:
        parts.append(str(config.http))
    if config.groups:
        parts.append(f"groups: {', '.join(str(each.group.name) for each in config.groups)}")
    if config.flips is not None:
        parts.append(f"topics of FLIPS into groups: {len(config.flips.into)}, out: {len(config.flips.out)}")
    if config.macros is not None:
        parts.append(f"macros in files: {count}")  # those that were added over HTTP are in the store
    if security.roles is not None:
        parts.append(f"role documents: {len(security.roles.documents)}")
    return Checked(parts, tuple(security.warnings))


def _macros(config: Config) -> tuple[int, list[str]]:
    """How many macros the configuration has, and what is wrong with them."""
    from roost.host.mqtt.macro_checking import checked

    try:
        return 0 if config.macros is None else len(checked(config.macros)), []
    except BadConfig as error:
        return 0, [str(error)]
