"""Naming conventions rev3: segments, versions, time stamps, sequence numbers and keywords as typed components."""

from __future__ import annotations

from typing import Final

from roost.naming.component import KEYWORD, OFFSET, SEGMENT, SEQUENCE, TIMESTAMP, VERSION, Component

METADATA: Final = Component(b"metadata", KEYWORD)
KEY: Final = Component(b"KEY")


def segment(number: int) -> Component:
    """`seg=<number>`: the number of a segment, from 0."""
    return Component.numbered(number, SEGMENT)


def offset(number: int) -> Component:
    """`off=<number>`: a byte offset."""
    return Component.numbered(number, OFFSET)


def version(number: int) -> Component:
    """`v=<number>`: a version; by custom the time in ms or µs."""
    return Component.numbered(number, VERSION)


def timestamp(number: int) -> Component:
    """`t=<number>`: a time, by convention in microseconds since 1970."""
    return Component.numbered(number, TIMESTAMP)


def sequence(number: int) -> Component:
    """`seq=<number>`: the sequence number of a reading in its stream."""
    return Component.numbered(number, SEQUENCE)


def keyword(text: str) -> Component:
    """`32=<text>`: a keyword."""
    return Component(text.encode(), KEYWORD)
