"""What a check can come to: accepted, refused, or "first fetch this"."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from roost.errors import Untrusted
from roost.naming import Name


@dataclass(frozen=True, slots=True)
class Accepted:
    """The packet is trusted: the schema's rule, and the certificates from the signer's to the anchor's."""

    rule: str
    chain: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Rejection:
    """The packet is not trusted: why, by which rule, because of which key, and what would mend it.

    It is `for_now` if the packet was not judged, because a certificate could not be had: another time it may be.
    """

    reason: str
    rule: str = ""
    key: Name | None = None
    fix: str = ""
    for_now: bool = False

    def __str__(self) -> str:
        rule = f" [rule {self.rule}]" if self.rule else ""
        key = f" [key {self.key}]" if self.key is not None else ""
        fix = f"; {self.fix}" if self.fix else ""
        return f"{self.reason}{rule}{key}{fix}"

    def error(self) -> Untrusted:
        """The same as an exception, for whoever calls from outside a machine."""
        return Untrusted(str(self))


@dataclass(frozen=True, slots=True)
class Wanted:
    """A certificate is missing: fetch `name` with CanBePrefix, `learn` it, check again.

    `otherwise` is what speaks against the certificates that are here, where there are any.
    """

    name: Name
    otherwise: Rejection | None = field(default=None, compare=False)


Verdict: TypeAlias = Accepted | Rejection | Wanted
