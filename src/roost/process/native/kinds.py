"""Kinds of values: numbers, truth values, and lists of one kind; found by making equal what has to be."""

from __future__ import annotations

from typing import Final

from roost.process.native.nodes import Refused

NUMBER: Final = "number"
TRUTH: Final = "truth"
LIST: Final = "list"
MAX_DEPTH: Final = 8  # of lists in lists


class Kind:
    """A kind, or one that is not known yet (its name is empty); `of` is what a list consists of."""

    __slots__ = ("_is", "_name", "_of")

    def __init__(self, name: str = "", of: Kind | None = None) -> None:
        self._name = name
        self._of = of
        self._is: Kind | None = None  # the one that it was found to be

    @property
    def name(self) -> str:
        """What it is called, as far as it is known."""
        return self._found()._name

    @property
    def of(self) -> Kind:
        """What a list consists of."""
        inner = self._found()._of
        if inner is None:
            raise Refused("no list")
        return inner

    @property
    def depth(self) -> int:
        """How many lists it is in one another."""
        depth, each = 0, self
        while each.name == LIST:
            depth, each = depth + 1, each.of
            if depth > MAX_DEPTH:
                raise Refused("lists too deep in one another")
        return depth

    def be(self, other: Kind) -> None:
        """Make both one; `Refused` if they cannot be."""
        one, two = self._found(), other._found()
        if one is two:
            return
        if not one._name:
            one._is = two
        elif not two._name:
            two._is = one
        elif one._name != two._name:
            raise Refused(f"{one._name} and {two._name}")
        elif one._name == LIST:
            one.of.be(two.of)
        _ = self.depth  # a list that is in itself is refused

    def _found(self) -> Kind:
        found = self
        while found._is is not None:
            found = found._is
        return found


def number() -> Kind:
    """The kind of numbers."""
    return Kind(NUMBER)


def truth() -> Kind:
    """The kind of truth values."""
    return Kind(TRUTH)


def list_of(inner: Kind) -> Kind:
    """The kind of lists of a kind."""
    return Kind(LIST, inner)
