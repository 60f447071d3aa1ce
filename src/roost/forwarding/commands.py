"""Who may command: the policy every management command is held against [nfd-management §1, §8.5].

The default, `LocalCommands`:

- Commands come from local faces. From others only under /localhop, and only if the operator handed in a verifier for
  them; without one nothing is taken from outside.
- A command is signed. A SHA-256 digest is checked; the null signature counts as none. Other signature types are, unless
  a verifier is handed in, taken as they are: a program that can open a local face is already inside, and the digest,
  which anyone can make, is accepted as well. With a verifier, it decides about every command.
- `rib` commands, and all commands once a verifier is in use, carry a SignatureTime within 120 s of ours, and not older
  than the last of the same key. At the same millisecond a new SignatureNonce tells a new command from a replay: NFD
  refuses that, and clients that register twice within a millisecond of a fast forwarder would fail for nothing.
- The last time is kept per key, for unverified keys and digests per face as well, so that one program's fast clock
  does not lock the others out. At most 1000 keys for at most an hour.

Signed Interests of format v0.3 are understood, and those of v0.2 (four extra name components), which python-ndn's first
application class still sends.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from typing import Final, Protocol

from roost.errors import BadPacket
from roost.machine import MS, SECOND
from roost.naming.number import read_nni
from roost.wire import Interest, SignatureInfo, tlv
from roost.wire.signature import DIGEST_SHA256, NULL, signature_info

GRACE_MS: Final = 120_000
MAX_KEYS: Final = 1000
RECORD_NS: Final = 3600 * SECOND
_NONCES_KEPT: Final = 64

Verify = Callable[[Interest, int], str | None]


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it came in: the Interest, what it asks, the face it came from and the scope it was sent to."""

    interest: Interest
    module: str
    verb: str
    face: int
    local: bool
    localhop: bool


class CommandPolicy(Protocol):
    """Decides about a command: None allows it, a reason refuses it (403)."""

    def check(self, command: Command, now: int) -> str | None: ...


@dataclass(frozen=True, slots=True)
class CommandSignature:
    """The signature of a command in either format."""

    info: SignatureInfo
    time_ms: int | None
    nonce: bytes | None
    portion: bytes
    value: bytes


def signature_of(interest: Interest) -> CommandSignature | None:
    """Find the signature of a command, None where there is none."""
    info = interest.signature
    if info is not None:
        return CommandSignature(info, info.time_ms, info.nonce, interest.signed_portion, interest.signature_value)
    name = interest.name
    if len(name) < 4:
        return None
    try:
        info_wire, value_wire = name.at(-2).value, name.at(-1).value
        type_, low, high = tlv.element(info_wire, 0, len(info_wire))
        value_type, start, end = tlv.element(value_wire, 0, len(value_wire))
        if type_ != tlv.SIGNATURE_INFO or value_type != tlv.SIGNATURE_VALUE:
            return None
        time = name.at(-4).value
        return CommandSignature(
            signature_info(info_wire, low, high),
            read_nni(time, 0, len(time)),
            name.at(-3).value,
            name.prefix(-1).value,
            value_wire[start:end],
        )
    except BadPacket:
        return None


class LocalCommands:
    """The default policy; `verify` decides about local commands, `verify_remote` about those from other machines."""

    def __init__(
        self, *, verify: Verify | None = None, verify_remote: Verify | None = None, max_keys: int = MAX_KEYS
    ) -> None:
        self._verify = verify
        self._verify_remote = verify_remote
        self._times = LastTimes(max_keys)

    def check(self, command: Command, now: int) -> str | None:
        """Return why a command is refused, None where it is allowed."""
        if not command.local and (not command.localhop or self._verify_remote is None):
            return "commands are taken from local faces only"
        signature = signature_of(command.interest)
        if signature is None or signature.info.type == NULL:
            return "the command is not signed"
        is_digest = signature.info.type == DIGEST_SHA256
        if is_digest and not compare_digest(sha256(signature.portion).digest(), signature.value):
            return "the digest does not match the command"
        verify = self._verify if command.local else self._verify_remote
        if verify is not None and (reason := verify(command.interest, now)) is not None:
            return reason
        if verify is None and command.module != "rib":
            return None
        anyones = is_digest or verify is None  # a key that any program may claim
        return self._times.admit((command.face if anyones else 0, _key_of(signature.info)), signature, now)


class LastTimes:
    """The last SignatureTime of each key, and the nonces seen at it."""

    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        self._max_keys = max_keys
        self._last: OrderedDict[tuple[int, bytes], tuple[int, int, frozenset[bytes]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._last)

    def admit(self, slot: tuple[int, bytes], signature: CommandSignature, now: int) -> str | None:
        """Record the time of a command; returns why it cannot be a new one, None where it is."""
        time_ms = signature.time_ms
        if time_ms is None:
            return "the command has no SignatureTime"
        if abs(time_ms - now // MS) > GRACE_MS:
            return f"the SignatureTime is more than {GRACE_MS // 1000} s off this forwarder's clock"
        while self._last and next(iter(self._last.values()))[0] <= now - RECORD_NS:
            self._last.popitem(last=False)
        nonces: frozenset[bytes] = frozenset()
        if slot in self._last:
            _, last_ms, seen = self._last[slot]
            if time_ms < last_ms:
                return "the SignatureTime is older than the last of this key"
            if time_ms == last_ms:
                if not signature.nonce or signature.nonce in seen or len(seen) >= _NONCES_KEPT:
                    return "the SignatureTime is not newer than the last of this key"
                nonces = seen
        self._last[slot] = (now, time_ms, nonces | {signature.nonce} if signature.nonce else nonces)
        self._last.move_to_end(slot)
        if len(self._last) > self._max_keys:
            self._last.popitem(last=False)
        return None


def _key_of(info: SignatureInfo) -> bytes:
    if info.key_name is not None:
        return info.key_name.wire
    return info.key_digest or b""
