"""Which verbs there are, what they are for, and which one somebody may have meant.

A verb is a module of this package whose name does not begin with an underscore: `check_config` is `check-config`,
`import_` is `import`. Nothing is imported to list them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

ALIASES: Final = {"keys": "key"}  # what a verb was called before: it goes on, and is not listed

PURPOSES: Final = {
    "run": ("up", "demo", "node", "repo", "mqtt", "hicn", "serve", "bridge"),
    "use": ("pub", "sub", "fetch", "group", "stream", "flips", "sync", "mule"),
    "data": ("macro", "pipeline", "sql", "archive", "lineage", "replay"),
    "trust": ("init", "invite", "enroll", "key", "trust", "role", "users"),
    "look": ("doctor", "status", "check-config", "help"),
    "build": ("sim", "bench", "completion"),
}
HEADINGS: Final = {
    "run": "run a node and what belongs to it",
    "use": "publish, subscribe, look at streams",
    "data": "compute, ask, keep",
    "trust": "keys and who may do what",
    "look": "see whether all is well, and get help",
    "build": "try and measure Roost itself, and your shell",
    "more": "more",
}


def modules() -> dict[str, str]:
    """The verbs, each with the name of its module."""
    import pkgutil

    from roost import cli

    found = [module.name for module in pkgutil.iter_modules(cli.__path__) if not module.name.startswith("_")]
    return {name.rstrip("_").replace("_", "-"): f"{cli.__name__}.{name}" for name in sorted(found)}


def by_purpose(verbs: Iterable[str]) -> dict[str, list[str]]:
    """The verbs under what they are for, in the order of the table; what is not in it comes last."""
    there = list(verbs)
    found = {purpose: [each for each in names if each in there] for purpose, names in PURPOSES.items()}
    known = {each for names in PURPOSES.values() for each in names}
    found["more"] = [each for each in there if each not in known]
    return {purpose: names for purpose, names in found.items() if names}


def nearest(word: str, there: Iterable[str]) -> str:
    """`; did you mean …?` if something there is near, else nothing."""
    import difflib

    like = difflib.get_close_matches(word, list(there), 1, cutoff=0.6)
    return f"; did you mean {like[0]}?" if like else ""
