"""What publications and mapping queries are called, in version 2 and version 3 [SVS-PS §8; our sheet §8].

                       version 2 (ndn-svs, NDNts)             version 3
    home               /<node>/<group>                        /<node>/<group>/t=<boot>
    publication        <home>/<number>                        <home>/seq=<number>
    one of its packets <publication>/v=0/seg=<n>              the same
    mapping query      <home>/MAPPING/<low>/<high>            <home>/MAPPING/seq=<low>/seq=<high>

In version 2 numbers are generic components. A publication of one packet has the name of the publication itself; NDNts
calls it segment 0 nevertheless.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from roost.errors import BadName
from roost.naming import Component, Name
from roost.naming.component import GENERIC, SEGMENT, SEQUENCE, TIMESTAMP, VERSION
from roost.naming.conventions import keyword, timestamp, version
from roost.sync.port import Stream
from roost.sync.svs_interest import publication_name
from roost.trust.access import CK

MAPPING: Final = Component(b"MAPPING")
VERSION_0: Final = version(0)
HELD: Final = keyword("held")  # <group>/32=held: where members are who carry what others published; ours


def is_key(name: Name) -> bool:
    """Whether a publication of this name is a content key (`sealing`)."""
    return len(name) > 2 and name.at(-2) == CK and name.at(-1).type == VERSION


class Publication(NamedTuple):
    """A name asks for a publication, or for one packet of it."""

    number: int
    segment: int = -1  # -1: whichever packet comes first


class Query(NamedTuple):
    """A name asks which application names the numbers low to high have."""

    low: int
    high: int


class Naming:
    """The names of one group."""

    def __init__(self, group: Name, version_number: int) -> None:
        self.group: Final = group
        self.version: Final = version_number
        self._type: Final = GENERIC if version_number == 2 else SEQUENCE

    def home(self, stream: Stream) -> Name:
        """Below which all of a stream is."""
        home = stream.name + self.group
        return home if self.version == 2 else home / timestamp(stream.boot)

    def publication(self, stream: Stream, number: int) -> Name:
        """The name of a publication."""
        return publication_name(self.group, stream, number, self.version)

    def stream_of(self, name: Name) -> Stream | None:
        """The stream of a publication, or of one of its packets; None if it is none of this group."""
        whole = name.prefix(-2) if len(name) > 2 and name.at(-1).type == SEGMENT else name
        length = len(whole) - (1 if self.version == 2 else 2) - len(self.group)
        if length < 1 or whole.at(-1).type != self._type:
            return None
        boot = 0
        if self.version != 2:
            if whole.at(-2).type != TIMESTAMP:
                return None
            boot = whole.at(-2).number()
        stream = Stream(whole.prefix(length), boot)
        return stream if whole.starts_with(self.home(stream)) else None

    def query(self, stream: Stream, low: int, high: int) -> Name:
        """The name of a mapping query, and of its answer."""
        return self.home(stream) / MAPPING / self._number(low) / self._number(high)

    def read(self, name: Name, home: Name) -> Publication | Query | None:
        """What a name below this home asks for; None if it is neither."""
        rest = list(name)[len(home) :]
        try:
            if len(rest) == 3 and rest[0] == MAPPING:
                low, high = self._read(rest[1]), self._read(rest[2])
                return Query(low, high) if 1 <= low <= high else None
            if not 1 <= len(rest) <= 3 or (len(rest) > 1 and rest[1] != VERSION_0):
                return None
            number = self._read(rest[0])
            if number < 1:
                return None
            if len(rest) < 3:
                return Publication(number)
            return Publication(number, rest[2].number()) if rest[2].type == SEGMENT else None
        except BadName:
            return None

    def _number(self, number: int) -> Component:
        return Component.numbered(number, self._type)

    def _read(self, component: Component) -> int:
        if component.type != self._type:
            raise BadName(f"{component} is no number of a group of version {self.version}")
        return component.number()
