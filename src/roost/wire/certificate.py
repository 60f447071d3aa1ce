"""NDN certificates, version 2: a Data that binds a public key to a name for a time [NDN-packet-spec, certificate].

    /<identity>/KEY/<key id>/<issuer>/v=<version>    ContentType 2, FreshnessPeriod > 0, Content = SubjectPublicKeyInfo

SignatureInfo holds a ValidityPeriod and may hold an AdditionalDescription. This module reads and writes the format;
signing is the `Signer`'s, checking signatures and reading the public key are `roost.trust`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from roost.errors import BadName, BadPacket
from roost.machine import SECOND
from roost.naming.component import VERSION, Component
from roost.naming.conventions import KEY as KEY_MARK
from roost.naming.conventions import version as version_component
from roost.naming.name import Name
from roost.wire.data import KEY, Data, decode_data, encode_data
from roost.wire.signature import Signer, validity_element
from roost.wire.tlv import element, skip, tlv

FRESHNESS_MS: Final = 3_600_000
SELF: Final = Component(b"self")

_ADDITIONAL_DESCRIPTION: Final = 258
_ENTRY: Final = 512
_ENTRY_KEY: Final = 513
_ENTRY_VALUE: Final = 514
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Certificate:
    """A certificate, read off its Data; times are nanoseconds since 1970, both inclusive."""

    __slots__ = ("data", "description", "identity", "issuer", "key_name", "not_after", "not_before", "version")

    def __init__(self, data: Data) -> None:
        name = data.name
        if not is_certificate_name(name):
            raise BadPacket(f"{name} is no certificate name; it would be /<identity>/KEY/<key id>/<issuer>/v=<version>")
        if data.content_type != KEY:
            raise BadPacket(f"certificate {name} has ContentType {data.content_type}, not {KEY}")
        if data.freshness_ms == 0:
            raise BadPacket(f"certificate {name} has no FreshnessPeriod, it needs one above 0")
        if not data.content:
            raise BadPacket(f"certificate {name} holds no public key")
        validity = data.signature.validity
        if validity is None:
            raise BadPacket(f"certificate {name} has no ValidityPeriod")
        self.data: Final = data
        self.key_name: Final = name.prefix(-2)
        self.identity: Final = name.prefix(-4)
        self.issuer: Final = name.at(-2)
        self.not_before: Final = time_of(validity[0])
        self.not_after: Final = time_of(validity[1])
        if self.not_after < self.not_before:
            raise BadPacket(f"certificate {name} ends ({validity[1]}) before it begins ({validity[0]})")
        self.description: Final = _description(data.signature.wire)
        try:
            self.version: Final = name.at(-1).number()
        except BadName as error:
            raise BadPacket(str(error)) from None

    @staticmethod
    def decode(packet: bytes | Data) -> Certificate:
        """Check and open a certificate; raises `BadPacket` with the reason."""
        return Certificate(packet if isinstance(packet, Data) else decode_data(packet))

    @property
    def name(self) -> Name:
        return self.data.name

    @property
    def wire(self) -> bytes:
        return self.data.wire

    @property
    def key_id(self) -> Component:
        return self.key_name.at(-1)

    @property
    def public_key(self) -> bytes:
        """The SubjectPublicKeyInfo, in DER."""
        return self.data.content

    @property
    def issued_by(self) -> Name | None:
        """The name of the key that signed this, None when it is not given by name."""
        locator = self.data.signature.key_name
        return None if locator is None else key_name_of(locator)

    @property
    def is_self_signed(self) -> bool:
        return self.data.signature.key_name is not None and self.data.signature.key_name in (self.key_name, self.name)

    def valid_at(self, now: int) -> bool:
        """Whether `now` lies in the validity period."""
        return self.not_before <= now <= self.not_after

    def __repr__(self) -> str:
        return f"<Certificate {self.name}>"


def encode_certificate(
    key_name: Name,
    public_key: bytes,
    signer: Signer,
    *,
    version: int,
    not_before: int,
    not_after: int,
    issuer: Component = SELF,
    description: Mapping[str, str] | None = None,
    freshness_ms: int = FRESHNESS_MS,
) -> bytes:
    """Write and sign the certificate of a key; seconds are rounded into the period, `version` is by custom Unix ms."""
    if not is_key_name(key_name):
        raise BadName(f"{key_name} is no key name; it would be /<identity>/KEY/<key id>")
    if not public_key:
        raise BadPacket("a certificate holds a public key, none was given")
    if freshness_ms < 1:
        raise BadPacket("the FreshnessPeriod of a certificate is above 0")
    begin = text_of(-(-not_before // SECOND) * SECOND)
    end = text_of(not_after)
    if end < begin:
        raise BadPacket(f"the certificate would end ({end}) before it begins ({begin})")
    extra = validity_element(begin, end)
    if description:
        extra += _encode_description(description)
    return encode_data(
        key_name / issuer / version_component(version),
        public_key,
        signer,
        freshness_ms=freshness_ms,
        content_type=KEY,
        info_extra=extra,
    )


def is_key_name(name: Name) -> bool:
    """Whether this is `/<identity>/KEY/<key id>`."""
    return len(name) >= 2 and name.at(-2) == KEY_MARK


def is_certificate_name(name: Name) -> bool:
    """Whether this is `/<identity>/KEY/<key id>/<issuer>/v=<version>`."""
    return len(name) >= 4 and name.at(-4) == KEY_MARK and name.at(-1).type == VERSION


def key_name_of(locator: Name) -> Name:
    """Find the key that a KeyLocator names, be it by key name, by certificate name or by one without its version."""
    if is_certificate_name(locator):
        return locator.prefix(-2)
    if is_key_name(locator):
        return locator
    if len(locator) >= 3 and locator.at(-3) == KEY_MARK:
        return locator.prefix(-1)
    raise BadName(f"{locator} names no key; a KeyLocator holds a key name or a certificate name")


def time_of(text: str) -> int:
    """Read `YYYYMMDDThhmmss` (UTC) as nanoseconds since 1970."""
    try:
        year, month, day = int(text[:4]), int(text[4:6]), int(text[6:8])
        moment = datetime(year, month, day, int(text[9:11]), int(text[11:13]), int(text[13:]), tzinfo=UTC)
    except ValueError:
        raise BadPacket(f"{text!r} is no date and time; one is written as YYYYMMDDThhmmss") from None
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * SECOND


def text_of(time: int) -> str:
    """Write nanoseconds since 1970 as `YYYYMMDDThhmmss` (UTC), the fraction cut off."""
    try:
        moment = _EPOCH + timedelta(seconds=time // SECOND)
    except OverflowError:
        raise BadPacket(f"a time of {time} ns is outside the years 1 to 9999") from None
    return f"{moment.year:04}{moment:%m%dT%H%M%S}"


def told_of(time: int) -> str:
    """The same for people: `2027-05-01 08:00:00 UTC`."""
    text = text_of(time)
    return f"{text[:4]}-{text[4:6]}-{text[6:8]} {text[9:11]}:{text[11:13]}:{text[13:]} UTC"


def _encode_description(description: Mapping[str, str]) -> bytes:
    entries = [
        tlv(_ENTRY, tlv(_ENTRY_KEY, key.encode()) + tlv(_ENTRY_VALUE, value.encode()))
        for key, value in sorted(description.items())
    ]
    return tlv(_ADDITIONAL_DESCRIPTION, b"".join(entries))


def _description(info: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    position = 0
    while position < len(info):
        type_, low, position = element(info, position, len(info))
        if type_ != _ADDITIONAL_DESCRIPTION:
            continue
        while low < position:
            at = low
            type_, start, low = element(info, at, position)
            if type_ == _ENTRY:
                key, value = _entry(info, start, low)
                found[key] = value
            else:
                skip(type_, at, "AdditionalDescription")
    return found


def _entry(info: bytes, start: int, end: int) -> tuple[str, str]:
    texts: list[str] = []
    position = start
    while position < end:
        at = position
        type_, low, position = element(info, at, end)
        if len(texts) == 2 or type_ != _ENTRY_KEY + len(texts):
            skip(type_, at, "DescriptionEntry")
            continue
        try:
            texts.append(info[low:position].decode())
        except UnicodeDecodeError:
            raise BadPacket("a DescriptionEntry is not UTF-8") from None
    if len(texts) != 2:
        raise BadPacket("a DescriptionEntry holds a key and a value")
    return texts[0], texts[1]
