"""What a management command says and what it is answered: ControlParameters and ControlResponse [nfd-management §2].

`Form` is the list of fields a command requires and allows; every other field that is present is an error of the sender.
What the fields mean is decided where the command is carried out.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Final

from roost.errors import BadPacket, Refused
from roost.forwarding.records import Field, Record
from roost.naming.name import NAME_TYPE, Name
from roost.naming.number import read_nni
from roost.wire import tlv

CONTROL_PARAMETERS: Final = 104
CONTROL_RESPONSE: Final = 101
STATUS_CODE: Final = 102
STATUS_TEXT: Final = 103

ORIGIN_APP: Final = 0
ORIGIN_ANNOUNCEMENT: Final = 129
ORIGIN_STATIC: Final = 255
ORIGIN_NAMES: Final[dict[int, str]] = {
    ORIGIN_APP: "app",
    64: "autoreg",
    65: "client",
    66: "autoconf",
    128: "nlsr",
    ORIGIN_ANNOUNCEMENT: "prefixann",
    ORIGIN_STATIC: "static",
}

CHILD_INHERIT: Final = 1
CAPTURE: Final = 2

CS_ADMIT: Final = 1
CS_SERVE: Final = 2

OK: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlParameters(Record):
    """The parameters of a command, and the effective ones in its answer; every field may be absent."""

    name: Name | None = None
    face: int | None = None
    uri: str | None = None
    local_uri: str | None = None
    origin: int | None = None
    cost: int | None = None
    capacity: int | None = None
    count: int | None = None
    flags: int | None = None
    mask: int | None = None
    strategy: Name | None = None
    expiration_ms: int | None = None
    persistency: int | None = None
    congestion_interval_ns: int | None = None
    congestion_threshold_bytes: int | None = None
    mtu: int | None = None

    TYPE: ClassVar[int] = CONTROL_PARAMETERS
    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", NAME_TYPE, "name", required=False),
        Field("face", 105, required=False),
        Field("uri", 114, "text", required=False),
        Field("local_uri", 129, "text", required=False),
        Field("origin", 111, required=False),
        Field("cost", 106, required=False),
        Field("capacity", 131, required=False),
        Field("count", 132, required=False),
        Field("flags", 108, required=False),
        Field("mask", 112, required=False),
        Field("strategy", 107, "wrapped name", required=False),
        Field("expiration_ms", 109, required=False),
        Field("persistency", 133, required=False),
        Field("congestion_interval_ns", 135, required=False),
        Field("congestion_threshold_bytes", 136, required=False),
        Field("mtu", 137, required=False),
    )

    def present(self) -> set[str]:
        """Name the fields that are there."""
        return {field.name for field in fields(self) if getattr(self, field.name) is not None}

    def bit(self, bit: int) -> bool | None:
        """Return what Flags and Mask ask of one bit, None where they leave it alone."""
        if self.flags is None or self.mask is None or not self.mask & bit:
            return None
        return bool(self.flags & bit)


@dataclass(frozen=True, slots=True)
class Form:
    """Which fields a command requires and which it allows; Flags and Mask, where both are allowed, come together."""

    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()

    def violation(self, parameters: ControlParameters) -> str | None:
        """Say what is wrong with the parameters of a command, None where nothing is."""
        present = parameters.present()
        if missing := sorted(self.required - present):
            return f"{missing[0]} is required but missing"
        if forbidden := sorted(present - self.required - self.optional):
            return f"{forbidden[0]} is forbidden but present"
        if {"flags", "mask"} <= self.optional and (parameters.flags is None) != (parameters.mask is None):
            return "flags must be accompanied by mask"
        return None


def form(required: str = "", optional: str = "") -> Form:
    """Write a form as two lists of words."""
    return Form(frozenset(required.split()), frozenset(optional.split()))


@dataclass(frozen=True, slots=True)
class ControlResponse:
    """The answer to a command: a code, a text, and what follows, normally the effective ControlParameters."""

    code: int
    text: str
    body: bytes = b""

    def encode(self) -> bytes:
        """Write the whole element."""
        value = tlv.number(STATUS_CODE, self.code) + tlv.tlv(STATUS_TEXT, self.text.encode()) + self.body
        return tlv.tlv(CONTROL_RESPONSE, value)

    @staticmethod
    def decode(wire: bytes) -> ControlResponse:
        """Read the element that fills `wire`; raises `BadPacket` with the reason."""
        type_, start, end = tlv.element(wire, 0, len(wire))
        if type_ != CONTROL_RESPONSE or end != len(wire):
            raise BadPacket("this is not one ControlResponse")
        type_, low, position = tlv.element(wire, start, end)
        if type_ != STATUS_CODE:
            raise BadPacket("a ControlResponse starts with its StatusCode")
        code = read_nni(wire, low, position)
        type_, low, position = tlv.element(wire, position, end)
        if type_ != STATUS_TEXT:
            raise BadPacket("a ControlResponse has a StatusText behind its StatusCode")
        return ControlResponse(code, wire[low:position].decode(errors="replace"), wire[position:end])

    @property
    def parameters(self) -> ControlParameters:
        """The body read as ControlParameters."""
        return ControlParameters.decode(self.body)

    def expect(self, *codes: int) -> ControlParameters:
        """Return the effective parameters, or raise `Refused` where the code is neither 200 nor one of `codes`."""
        if self.code != OK and self.code not in codes:
            raise Refused(f"the forwarder answered {self.code} {self.text}", self.code)
        return self.parameters if self.body else ControlParameters()


def accepted(parameters: ControlParameters) -> ControlResponse:
    """Answer 200 with the effective parameters."""
    return ControlResponse(OK, "OK", parameters.encode())
