"""How a job reaches readings, and as whom: plain words, such as a Spark source is given, that go to every executor.

| option  | what it says                                                                | default                      |
| ------- | --------------------------------------------------------------------------- | ---------------------------- |
| repos   | face URIs with commas between; the next is used while one does not answer   | the node that runs here      |
| group   | the groups' names, with commas between, to whose repos questions go         | panel, device, metric follow |
| home    | the folder of the keys and of what is trusted                               | `$ROOST_HOME`, or `~/.roost` |
| verify  | `boundary`, `always` or `never`                                             | `boundary`                   |
| bulk    | doors for bulk reading, host:port or a path, with commas between            | none                         |
| timeout | seconds until a reading that nobody gives is missing, and repos unreachable | 10                           |

`boundary` verifies what came over a network. What a repo on this machine gives out of its own store was verified when
it was stored: that is what comes through a bulk door that is a Unix socket, or in bundles over a Unix socket named in
`repos` that a repo of the group has signed, for a node behind such a socket may have had them from anywhere. Anybody on
this machine can listen at a loopback address, and a node that was merely found may lead anywhere: what comes from
there is verified.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from roost.errors import BadConfig
from roost.host.address import parse_uri
from roost.host.bulk_frames import door_of
from roost.host.keystore import KeyStore
from roost.host.paths import home as default_home
from roost.naming import Name
from roost.trust import Receiver
from roost.trust.wrapping import receiving

BOUNDARY: Final = "boundary"
ALWAYS: Final = "always"
NEVER: Final = "never"
TIMEOUT_S: Final = 10.0
MAX_ADDRESSES: Final = 64
_PANEL_DEVICE_METRIC: Final = 3
_LONGEST_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Access:
    """The options above, read; raises `BadConfig` for what cannot be meant."""

    repos: tuple[str, ...] = ()
    home: str = ""
    verify: str = BOUNDARY
    bulk: tuple[str, ...] = ()
    timeout_s: float = TIMEOUT_S
    group: str = ""

    def __post_init__(self) -> None:
        if self.verify not in {BOUNDARY, ALWAYS, NEVER}:
            raise BadConfig(f"verify {self.verify!r} is unknown: write {BOUNDARY}, {ALWAYS} or {NEVER}")
        if not 0 < self.timeout_s <= _LONGEST_S:
            raise BadConfig(f"timeout {self.timeout_s:g} is no time to wait: write seconds, 10 say")
        if max(len(self.repos), len(self.bulk)) > MAX_ADDRESSES:
            raise BadConfig(f"repos and bulk have at most {MAX_ADDRESSES} addresses each: leave some out")
        for uri in self.repos:
            parse_uri(uri)
        for address in self.bulk:
            door_of(address)
        _groups(self.group)

    @staticmethod
    def from_options(options: Mapping[str, str]) -> Access:
        """Read the options that are ours, whatever the case of their names; others are left to whom they concern."""
        said = {key.lower(): value.strip() for key, value in options.items()}
        timeout = said.get("timeout") or str(TIMEOUT_S)
        try:
            timeout_s = float(timeout)
        except ValueError:
            raise BadConfig(f"timeout {timeout!r} is no number of seconds: write 10, say") from None
        return Access(
            _listed(said.get("repos", "")),
            said.get("home", ""),
            said.get("verify", "").lower() or BOUNDARY,
            _listed(said.get("bulk", "")),
            timeout_s,
            said.get("group", ""),
        )

    @property
    def keys(self) -> KeyStore:
        """The keys and the trust of this job."""
        return KeyStore(Path(self.home) if self.home else default_home())

    def receivers(self) -> list[Receiver]:
        """The keys here for which content keys can be wrapped; none without a home."""
        keys = self.keys
        held = keys.private_keys() if keys.exists else []
        return [Receiver.of(key) for key in receiving(held)]

    def group_of(self, stream: Name) -> Name:
        """Whose repos keep a stream."""
        for group in _groups(self.group):
            if stream.starts_with(group):
                return group
        return stream.prefix(-_PANEL_DEVICE_METRIC)

    def verifies_repo(self, uri: str | None) -> bool:
        """Whether every reading in the bundles that come this way is to be verified; else that they are a repo's is."""
        near = uri is not None and parse_uri(uri).scheme == "unix"
        return self.verify == ALWAYS or (self.verify == BOUNDARY and not near)

    def verifies_door(self, address: str) -> bool:
        """Whether what comes through a bulk door is to be verified."""
        return self.verify == ALWAYS or (self.verify == BOUNDARY and not isinstance(door_of(address), Path))

    @property
    def verifies_names(self) -> bool:
        """Whether what was asked for by its name is to be verified: any repo may have given it."""
        return self.verify != NEVER


@lru_cache(MAX_ADDRESSES)
def _groups(text: str) -> tuple[Name, ...]:
    """The groups, those that are inside others first."""
    return tuple(sorted([Name.parse(each) for each in _listed(text)], key=len, reverse=True))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
