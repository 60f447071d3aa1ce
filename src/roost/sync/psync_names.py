"""How PSync names its questions and its replies, written and read [PSync §4–§6].

    full       question   /<prefix>/<IBLT>/<n>
    hello      question   /<prefix>/hello
                          /<prefix>/hello/32=ranges/<ranges>                         those in ranges, our own form
    sync       question   /<prefix>/sync/<count>/<p·1000>/<Bloom filter>/<IBLT>      a list of names
                          /<prefix>/sync/32=ranges/<ranges>/<IBLT>                   a list of ranges, our own form
    reply      to full    <question>/v=<ms>/seg=<i>
               to others  <question>/<the producer's IBLT>/v=<ms>/seg=<i>
    no         to sync    <question>/<the producer's IBLT>/seg=0, an application Nack

Numbers are generic components. What is inside an IBLT or a subscription list is for others to read.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from roost.errors import BadName, BadPacket
from roost.naming import Component, Name
from roost.naming.component import GENERIC, SEGMENT, VERSION
from roost.naming.conventions import keyword
from roost.wire.data import NACK, Data
from roost.wire.segment import segment_number

HELLO: Final = Component.text("hello")
SYNC: Final = Component.text("sync")
RANGES: Final = keyword("ranges")


class FullQuestion(NamedTuple):
    """What a member of a full-sync group says it has."""

    iblt: bytes
    total: int


class HelloQuestion(NamedTuple):
    """What a consumer wants to hear of; everything if it names no ranges."""

    ranges: Component | None


class SyncQuestion(NamedTuple):
    """What a consumer wants, as name components, and what it has."""

    wanted: tuple[Component, ...]
    iblt: bytes


class ReplyName(NamedTuple):
    """The name of a reply's segment, taken apart; a Nack has no version, and -1 for its segment."""

    name: Name  # without version and segment
    versioned: Name
    segment: int


# -- questions


def full_question(prefix: Name, iblt: bytes, total: int) -> Name:
    """Ask the members of a full-sync group what they have beyond this."""
    return prefix / Component(iblt) / Component.numbered(total, GENERIC)


def parse_full(prefix: Name, name: Name) -> FullQuestion | None:
    """Read a question of full sync; None for a segment of a reply. Peers before 2024-04 send one component less."""
    parts = list(name.suffix(len(prefix)))
    if len(parts) == 4 and parts[-1].type == SEGMENT:
        return None
    if len(parts) != 2:
        raise BadPacket(f"IBLT and count were expected behind {prefix}, there are {len(parts)} components")
    return FullQuestion(_generic(parts[0], "IBLT").value, parse_number(parts[1], "count"))


def hello_question(prefix: Name, ranges: Component | None = None) -> Name:
    """Ask a producer what streams it has, all or those in some ranges."""
    return prefix / HELLO if ranges is None else Name.of(*prefix, HELLO, RANGES, ranges)


def sync_question(prefix: Name, wanted: tuple[Component, ...], iblt: Component) -> Name:
    """Ask a producer what has changed since it had this IBLT."""
    return Name.of(*prefix, SYNC, *wanted, iblt)


def parse_partial(prefix: Name, name: Name) -> SyncQuestion | HelloQuestion | None:
    """Read a question of partial sync; None for a segment of a reply."""
    parts = list(name.suffix(len(prefix)))
    if parts and parts[-1].type == SEGMENT:
        return None
    if parts == [HELLO]:
        return HelloQuestion(None)
    if len(parts) == 3 and parts[:2] == [HELLO, RANGES]:
        return HelloQuestion(_generic(parts[2], "list of ranges"))
    if not parts or parts[0] != SYNC:
        raise BadPacket(f"hello or sync was expected behind {prefix}")
    ranges = len(parts) == 4 and parts[1] == RANGES
    if len(parts) != 5 and not ranges:
        raise BadPacket(f"a subscription list and an IBLT were expected, there are {len(parts) - 1} components")
    return SyncQuestion(tuple(parts[1:-1]), _generic(parts[-1], "IBLT").value)


# -- replies


def parse_reply(question: Name, data: Data) -> ReplyName:
    """Read the name of a reply to a question of ours."""
    name = data.name
    least = len(question) + (1 if data.content_type == NACK else 2)
    if len(name) < least or not name.starts_with(question) or name.at(-1).type != SEGMENT:
        raise BadPacket(f"{name} is no segment of a reply to {question}")
    if data.content_type == NACK:
        return ReplyName(name.prefix(-1), Name(), -1)
    if name.at(-2).type != VERSION:
        raise BadPacket(f"{name} has no version")
    return ReplyName(name.prefix(-2), name.prefix(-1), segment_number(name.at(-1)))


def parse_number(component: Component, what: str) -> int:
    """Read a generic number component from the network."""
    try:
        return _generic(component, what).number()
    except BadName as error:
        raise BadPacket(str(error)) from None


def _generic(component: Component, what: str) -> Component:
    if component.type != GENERIC:
        raise BadPacket(f"{component} is no {what}: a generic component was expected")
    return component
