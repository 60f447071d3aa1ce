"""What a repo may be told to keep, and who may have it deleted: the rules beside the trust schema's.

The schema says who may sign a Data and who may command. It does not say that a repo keeps one group only, nor that the
names below its own prefixes are answers, which nobody may put into its store [repo.md §3.2]. The same holds for what
other repos answer: a record of theirs that is held counts as done, so nobody may put or delete one behind the back of
replication. And a panel may have deleted what is its own; a repo of the group, and the group's own key, whatever is the
group's.

These rules hold for what producers command, and for what other repos say in their records and holdings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.errors import BadName
from roost.naming import Name
from roost.naming.building import REPO, SERVICE
from roost.wire import SignatureInfo
from roost.wire.certificate import key_name_of


class Permission:
    """The rules of one group at a repo that answers under `prefixes`."""

    def __init__(self, group: Name, prefixes: Sequence[Name]) -> None:
        self.group: Final = group
        self.prefixes: Final = tuple(prefixes)
        self._own: Final = tuple(prefix.value for prefix in (*prefixes, group / REPO))
        self._below: Final = group.value

    def to_keep(self, name: Name) -> str:
        """Why a Data of this name is not kept, empty if it is."""
        value = name.value
        if not value.startswith(self._below) or len(value) == len(self._below):
            return f"{name} is not below {self.group}, which is all that is kept here [rule group]"
        for own in self._own:
            if value.startswith(own) or own.startswith(value):
                return f"{name} overlaps {Name(own)}, below which repos answer themselves [rule own prefix]"
        return ""

    def to_delete(self, name: Name, by: SignatureInfo | None) -> str:
        """Why a name is not deleted for whoever signed this, empty if it is."""
        refusal = self.to_keep(name)
        if refusal:
            return refusal
        who = signer_of(by)
        if who is None:
            return f"{name} is not deleted: the signature does not say by name whose it is [rule owner]"
        if name.starts_with(who) or is_repo(who, self.group):
            return ""
        return f"{name} is not deleted for {who}, which may delete what is below its own name [rule owner]"


def permission_at(repo: Name) -> Permission:
    """The rules of the group that the repo of this name is in."""
    group = repo.prefix(-2)
    return Permission(group, (group / SERVICE,))


def signer_of(info: SignatureInfo | None) -> Name | None:
    """Whose key signed, by the name in the KeyLocator; to be asked of what was verified."""
    if info is None or info.key_name is None:
        return None
    try:
        return key_name_of(info.key_name).prefix(-2)
    except BadName:
        return None


def is_repo(who: Name | None, group: Name) -> bool:
    """Whether this is the name of a repo of the group."""
    return who is not None and len(who) == len(group) + 2 and who.starts_with(group / REPO)
