"""Names: a sequence of components held as the bytes of its TLV-VALUE [NDN-packet-spec, name].

Holding the bytes makes everything hot cheap: equality, hashing and canonical order are those of the byte string, and
"is a prefix of" is `startswith`. Components are cut out on demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from mypy_extensions import i64

from roost.errors import BadName, BadPacket
from roost.naming.component import DIGEST_BYTES, MAX_COMPONENT_TYPE, PARAMETERS_DIGEST, Component
from roost.naming.number import MAX_TYPE, read_var, var

NAME_TYPE: Final = 7


def cuts_of(buffer: bytes, start: int, end: int) -> list[int]:
    """Check the components in `buffer[start:end]`; returns where each begins, and `end`, relative to `start`."""
    cuts = [0]
    check_components(buffer, start, end, cuts)
    return cuts


def check_components(buffer: bytes, start: int, end: int, cuts: list[int] | None = None) -> bool:
    """Check the components in `buffer[start:end]`, noting in `cuts`, if given, where each ends.

    Returns whether a digest component is among them.
    """
    digest = False
    position: i64 = start
    stop: i64 = end
    while position < stop:
        at: i64 = position
        type_: i64 = buffer[position]
        if type_ < 253:
            position += 1
        else:
            type_, position = _read_capped(buffer, position, end)
        if position >= stop:
            raise BadPacket(f"the name component at byte {at} is cut off")
        length: i64 = buffer[position]
        if length < 253:
            position += 1
        else:
            length, position = _read_capped(buffer, position, end)
        position += length
        if position > stop:
            raise BadPacket(f"the name component at byte {at} is longer than its name")
        if type_ < 3 or type_ > MAX_COMPONENT_TYPE:
            if type_ == 0 or type_ > MAX_COMPONENT_TYPE:
                raise BadPacket(f"component type {type_} is outside 1..{MAX_COMPONENT_TYPE}")
            if length != DIGEST_BYTES:
                raise BadPacket(f"a digest component has {DIGEST_BYTES} bytes, the one at byte {at} has {length}")
            digest = True
        if cuts is not None:
            cuts.append(position - start)
    return digest


def _read_capped(buffer: bytes, position: int, end: int) -> tuple[int, int]:
    """Read a number, cut down to 32 bits: more is too long for any name, and must not overflow an i64."""
    number, after = read_var(buffer, position, end)
    return min(number, MAX_TYPE), after


class Name:
    """A name; immutable, hashable, ordered canonically.

    `Name(value)` trusts its argument to be a checked TLV-VALUE; people write `Name.parse("/a/b")`, `Name.of(…)` or
    `name / "component"`, and bytes from outside go through `Name.decode`.
    """

    __slots__ = ("_cuts", "value")

    def __init__(self, value: bytes = b"", cuts: list[int] | None = None) -> None:
        self.value: Final = value
        self._cuts = cuts

    @staticmethod
    def parse(uri: str) -> Name:
        """Read a URI such as `/BigCompany/Building1/seq=5`; `ndn:` may stand in front."""
        text = uri.removeprefix("ndn:")
        if not text.startswith("/"):
            raise BadName(f"a name starts with '/', {uri!r} does not")
        if text == "/":
            return Name()
        return Name(b"".join([Component.parse(part).wire for part in text[1:].removesuffix("/").split("/")]))

    @staticmethod
    def of(*components: Component | str) -> Name:
        """Make a name of components; text becomes a generic component, verbatim."""
        return Name(b"".join([_wire_of(component) for component in components]))

    @staticmethod
    def decode(value: bytes) -> Name:
        """Take a TLV-VALUE from outside: every component is checked."""
        return Name(value, cuts_of(value, 0, len(value)))

    @property
    def cuts(self) -> list[int]:
        """Where each component starts in `value`, and where the last one ends."""
        cuts = self._cuts
        if cuts is None:
            cuts = cuts_of(self.value, 0, len(self.value))
            self._cuts = cuts
        return cuts

    @property
    def wire(self) -> bytes:
        """The whole Name element."""
        return b"\x07" + var(len(self.value)) + self.value

    def at(self, index: int) -> Component:
        """Return component `index`, negative from the end."""
        cuts = self.cuts
        count = len(cuts) - 1
        if not -count <= index < count:
            raise IndexError(f"{self} has {count} components, there is none at {index}")
        index %= count
        type_, position = read_var(self.value, cuts[index], cuts[index + 1])
        _, position = read_var(self.value, position, cuts[index + 1])
        return Component(self.value[position : cuts[index + 1]], type_)

    def prefix(self, count: int) -> Name:
        """Return the first `count` components, or all but the last `-count`."""
        cuts = self.cuts
        total = len(cuts) - 1
        count = max(0, min(total, count if count >= 0 else total + count))
        return Name(self.value[: cuts[count]], cuts[: count + 1])

    def suffix(self, start: int) -> Name:
        """Return the components from `start` on."""
        cuts = self.cuts
        total = len(cuts) - 1
        start = max(0, min(total, start if start >= 0 else total + start))
        return Name(self.value[cuts[start] :])

    def starts_with(self, prefix: Name) -> bool:
        """Whether `prefix` is a prefix of this name (every name is one of itself)."""
        return self.value.startswith(prefix.value)

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def __bool__(self) -> bool:
        return bool(self.value)

    def __iter__(self) -> Iterator[Component]:
        return iter([self.at(index) for index in range(len(self))])

    def __getitem__(self, index: int) -> Component:
        return self.at(index)

    def __truediv__(self, component: Component | str) -> Name:
        return Name(self.value + _wire_of(component))

    def __add__(self, other: Name) -> Name:
        return Name(self.value + other.value)

    def __str__(self) -> str:
        return "/" + "/".join([str(component) for component in self])

    def __repr__(self) -> str:
        return f"Name({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Name) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: Name) -> bool:
        return self.value < other.value

    def __le__(self, other: Name) -> bool:
        return self.value <= other.value

    def __gt__(self, other: Name) -> bool:
        return self.value > other.value

    def __ge__(self, other: Name) -> bool:
        return self.value >= other.value


NameLike: TypeAlias = Name | str


def as_name(name: NameLike) -> Name:
    """Accept a name or its URI, for functions that people call."""
    return name if isinstance(name, Name) else Name.parse(name)


def join(parts: Iterable[Name]) -> Name:
    """Concatenate names."""
    return Name(b"".join([part.value for part in parts]))


def parameters_digest_count(name: Name) -> int:
    """How many ParametersSha256Digest components the name has."""
    return sum(component.type == PARAMETERS_DIGEST for component in name)


def _wire_of(component: Component | str) -> bytes:
    return component.wire if isinstance(component, Component) else Component.text(component).wire
