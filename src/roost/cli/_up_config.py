"""Which configuration `roost up` runs: a file that is named or found, and what holds for a node where it says nothing.

Without `-c` it is `roost.yaml` of this folder, else that of ROOST_HOME, else there is none: then a node listens on this
machine only, and where `roost init` made keys it keeps their group.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._config_source import ConfigSource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roost.host.mqtt.config_file import Said
    from roost.naming import Name

FILE: Final = "roost.yaml"
PAGE_AT: Final = "127.0.0.1:8080"
TOPICS: Final = (
    "+/+/#"  # that go into the group: a stream has a device and a metric, a topic of one level stays outside
)

_COLUMN: Final = 31  # of comments
_STARTER: Final = f"""\
# What the node of this machine runs: `roost up`. `roost up sample` prints every key with its default.
# After a change: `roost check-config`, then `roost up reload`, which says what counts from the next start only.

listeners:                     # MQTT, for all on this machine; to let others in, make users (`roost users add NAME`)
#                                and name their file here: `users: mqtt-users` and `permissions: permissions`
  - tcp: 127.0.0.1:1883

http: {PAGE_AT}           # the page, and the API behind it

groups:{{groups}}
trees:{{trees}}
node:                          # the NDN side; programs of this machine have a socket in ROOST_HOME
#  tcp: ["127.0.0.1:6363"]     # for other nodes; then name this one in their `uplinks`
{{uplinks}}
"""


def find_source(given: Path | None) -> ConfigSource:
    """The configuration that counts; a file that is named has to be there, which shows when it is read."""
    path = given if given is not None else find_file()
    return ConfigSource(path, with_defaults if path is not None else _without_a_file)


def find_file() -> Path | None:
    """The file that is used if none is named."""
    from roost.host.paths import home

    return next((path for path in (Path(FILE), home() / FILE) if path.exists()), None)


def with_defaults(said: Said) -> Said:
    """Say what a node has unless its file says otherwise: the page, and a socket for programs of this machine."""
    from roost.host.paths import node_socket

    node = said.get("node") or {}
    if isinstance(node, dict):
        said = said | {"node": {"unix": str(node_socket())} | node}
    return {"http": PAGE_AT} | said


def groups_at_home() -> list[dict[str, str]]:
    """The groups whose keys are at home, a panel's and a repo's, as `groups` of a configuration has them."""
    from roost.host.keystore import KeyStore
    from roost.host.paths import home

    store = KeyStore(home())
    return groups_of([identity.name for identity in store.keychain().identities]) if store.exists else []


def groups_of(names: Sequence[Name]) -> list[dict[str, str]]:
    """The groups of which these are a repo and a panel; of several the first by name counts."""
    from roost.naming.building import REPO

    texts = [[str(part) for part in name] for name in sorted(names)]
    found: dict[str, dict[str, str]] = {}
    for repo in texts:
        if len(repo) < 3 or repo[-2] != REPO:
            continue
        group = repo[:-2]
        panels = [text[-1] for text in texts if text[:-1] == group and text[-1] != REPO]
        if panels:
            name = f"/{'/'.join(group)}"
            found.setdefault(name, {"name": name, "panel": panels[0], "repo": repo[-1]})
    return list(found.values())


def write_starter(file: Path, groups: Sequence[Mapping[str, str]], uplink: str = "") -> bool:
    """Write a configuration to begin with, linked to another node if one is said; not if there is one already."""
    from roost.host.keystore import write_file

    if file.exists():
        return False
    write_file(file, starter(groups, uplink).encode(), 0o644)
    return True


def starter(groups: Sequence[Mapping[str, str]], uplink: str = "") -> str:
    """A configuration to begin with: what is published goes into the first of these groups."""
    listed = trees = " []\n"
    for each in groups[:1]:
        listed = "\n" + "".join(
            [
                f"  - name: {each['name']}\n",
                f"{'    panel: ' + each['panel']:{_COLUMN}}# signs what is published over MQTT here\n",
                f"{'    repo: ' + each['repo']:{_COLUMN}}# keeps the group on this machine\n",
            ]
        )
        trees = "\n" + "".join(
            [
                f"{'  - filter: ' + repr(TOPICS):{_COLUMN}}# with two levels or more: a signed reading of this group\n",
                f"    group: {each['name']}\n",
            ]
        )
    uplinks = f'  uplinks: ["{uplink}"]' if uplink else '#  uplinks: ["tcp4://10.0.0.6:6363"]'
    return _STARTER.format(groups=listed, trees=trees, uplinks=uplinks)


def _without_a_file(said: Said) -> Said:
    groups = groups_at_home()
    if len(groups) == 1:  # of several, somebody has to say which topics belong to which
        said = said | {"groups": groups, "trees": [{"filter": TOPICS, "group": groups[0]["name"]}]}
    return with_defaults(said)
