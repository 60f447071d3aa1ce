"""TLV records described by a table of fields, as management writes everything [nfd-management §2, §5].

Encoding follows the table, which has NFD's order. Decoding takes fields in any order, refuses one that comes twice, and
passes over those it does not know, as ndn-cxx and NDNts do: a newer peer may say more. Nothing here knows a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, Self

from roost.errors import BadPacket
from roost.naming.name import NAME_TYPE, Name
from roost.naming.number import read_nni
from roost.wire import tlv

Kind = Literal["number", "text", "name", "wrapped name", "records"]


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its attribute, TLV-TYPE number, kind, whether it must be there, and the record it repeats."""

    attribute: str
    number: int
    kind: Kind = "number"
    required: bool = True
    of: type[Record] | None = None


class Record:
    """A frozen dataclass whose attributes are its `FIELDS`; an absent field is None, a repeated one a tuple."""

    __slots__ = ()

    TYPE: ClassVar[int]
    FIELDS: ClassVar[tuple[Field, ...]]

    def value(self) -> bytes:
        """Write the fields, without the record's own type and length."""
        out: list[bytes] = []
        for field in self.FIELDS:
            content = getattr(self, field.attribute)
            if content is not None:
                out.append(_write(field, content))
        return b"".join(out)

    def encode(self) -> bytes:
        """Write the whole element."""
        return tlv.tlv(self.TYPE, self.value())

    @classmethod
    def from_value(cls, value: bytes) -> Self:
        """Read the fields of a record from its TLV-VALUE."""
        known = {field.number: field for field in cls.FIELDS}
        found: dict[str, Any] = {field.attribute: () for field in cls.FIELDS if field.kind == "records"}
        for type_, low, high in tlv.elements(value):
            field = known.get(type_)
            if field is None:
                continue
            content = _read(field, value[low:high])
            if field.kind == "records":
                content = (*found[field.attribute], content)
            elif field.attribute in found:
                raise BadPacket(f"field {type_} of a {cls.__name__} comes twice")
            found[field.attribute] = content
        for field in cls.FIELDS:
            if field.attribute not in found:
                if field.required:
                    raise BadPacket(f"a {cls.__name__} has a field {field.number}, this one has none")
                found[field.attribute] = None
        return cls(**found)

    @classmethod
    def decode(cls, wire: bytes) -> Self:
        """Read the one element that fills `wire`."""
        found = cls.decode_all(wire)
        if len(found) != 1:
            raise BadPacket(f"one {cls.__name__} was expected, {len(found)} are there")
        return found[0]

    @classmethod
    def decode_all(cls, wire: bytes) -> list[Self]:
        """Read a sequence of elements, as a dataset has it."""
        records: list[Self] = []
        for type_, low, high in tlv.elements(wire):
            if type_ != cls.TYPE:
                raise BadPacket(f"element {cls.TYPE} ({cls.__name__}) was expected, this is {type_}")
            records.append(cls.from_value(wire[low:high]))
        return records


def _write(field: Field, content: Any) -> bytes:  # noqa: ANN401  what the kind says
    if field.kind == "number":
        return tlv.number(field.number, content)
    if field.kind == "text":
        return tlv.tlv(field.number, content.encode())
    if field.kind == "name":
        return bytes(content.wire)
    if field.kind == "wrapped name":
        return tlv.tlv(field.number, content.wire)
    return b"".join([tlv.tlv(field.number, record.value()) for record in content])


def _read(field: Field, value: bytes) -> Any:  # noqa: ANN401  what the kind says
    if field.kind == "number":
        return read_nni(value, 0, len(value))
    if field.kind == "text":
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise BadPacket(f"the text in field {field.number} is not UTF-8") from None
    if field.kind == "name":
        return Name.decode(value)
    if field.kind == "wrapped name":
        inner = tlv.elements(value)
        if not inner or inner[0][0] != NAME_TYPE:
            raise BadPacket(f"field {field.number} holds a Name, this one does not")
        return Name.decode(value[inner[0][1] : inner[0][2]])
    return field.of.from_value(value) if field.of else None


NAME: Final = Field("name", NAME_TYPE, "name")
