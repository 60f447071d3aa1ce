"""Replay protection for signed Interests [NDN-packet-spec, signed-interest §replay].

    time       SignatureTime is there, lies within the grace of now, and exceeds the last one of that key
    nonce      SignatureNonce, where present, was not seen before from that key
    sequence   SignatureSeqNum, where present, exceeds the last one of that key

Each rule can be switched off. With any of them on, an Interest must carry something that a rule can judge. Call `admit`
after the signature has been verified: only the holder of a key may move that key's state.

Memory is bounded: `keys` keys, `nonces` nonces of each. Under the time rule, forgetting a key opens no door: its last
time becomes the floor that keys not in the table have to exceed, which costs nothing once the grace has passed.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from roost.errors import BadConfig
from roost.machine import MS
from roost.naming import Name
from roost.trust.verdict import Rejection
from roost.wire import SignatureInfo

GRACE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class ReplayRules:
    """Which rules hold, and how much is remembered."""

    time: bool = True
    nonce: bool = True
    sequence: bool = True
    grace_ms: int = GRACE_MS
    keys: int = 1024
    nonces: int = 1024

    def __post_init__(self) -> None:
        if self.keys < 1 or self.nonces < 1 or self.grace_ms < 1:
            raise BadConfig("replay rules: keys, nonces and grace_ms are at least 1; switch a rule off with time=False")


class _Seen:
    __slots__ = ("nonces", "sequence", "time_ms")

    def __init__(self) -> None:
        self.time_ms = -1
        self.sequence = -1
        self.nonces: OrderedDict[bytes, None] = OrderedDict()


class ReplayGuard:
    """What each key has signed last."""

    def __init__(self, rules: ReplayRules | None = None) -> None:
        self.rules: Final = rules or ReplayRules()
        self._seen: Final[OrderedDict[bytes, _Seen]] = OrderedDict()
        self._floor_ms = -1
        self.refused = 0
        self.forgotten = 0

    def admit(self, key: Name, info: SignatureInfo, now: int) -> Rejection | None:
        """Take note of a verified Interest, or say why it may be a replay."""
        seen = self._seen.get(key.value)
        refusal = self._judge(seen or _Seen(), seen is None, key, info, now)
        if refusal is not None:
            self.refused += 1
            return refusal
        if seen is None:
            seen = self._seen[key.value] = _Seen()
            if len(self._seen) > self.rules.keys:
                _, oldest = self._seen.popitem(last=False)
                self._floor_ms = max(self._floor_ms, oldest.time_ms)
                self.forgotten += 1
        else:
            self._seen.move_to_end(key.value)
        self._note(seen, info)
        return None

    def _judge(self, seen: _Seen, is_new: bool, key: Name, info: SignatureInfo, now: int) -> Rejection | None:  # noqa: FBT001
        rules = self.rules
        if rules.time:
            refusal = self._judge_time(max(seen.time_ms, self._floor_ms if is_new else -1), key, info, now)
            if refusal is not None:
                return refusal
        elif (rules.nonce or rules.sequence) and not (
            (rules.nonce and info.nonce is not None) or (rules.sequence and info.sequence is not None)
        ):
            return Rejection(
                "the signed Interest has neither SignatureNonce nor SignatureSeqNum, anyone could send it again",
                "replay",
                key,
                "sign it with a fresh nonce or a sequence number",
            )
        if rules.nonce and info.nonce is not None and info.nonce in seen.nonces:
            return Rejection(
                "SignatureNonce was seen before", "replay.nonce", key, "draw a new nonce for each Interest"
            )
        if rules.sequence and info.sequence is not None and info.sequence <= seen.sequence:
            return Rejection(
                f"SignatureSeqNum {info.sequence} does not exceed {seen.sequence}, the last one of this key",
                "replay.sequence",
                key,
                "count up from the last number that was used",
            )
        return None

    def _judge_time(self, last_ms: int, key: Name, info: SignatureInfo, now: int) -> Rejection | None:
        refusal = out_of_time(key, info, now, self.rules.grace_ms)
        if refusal is None and info.time_ms is not None and info.time_ms <= last_ms:
            return Rejection(
                f"SignatureTime {info.time_ms} does not exceed {last_ms}, the last one of this key",
                "replay.time",
                key,
                "sign each Interest with a later time, 1 ms is enough",
            )
        return refusal

    def _note(self, seen: _Seen, info: SignatureInfo) -> None:
        if info.time_ms is not None:
            seen.time_ms = max(seen.time_ms, info.time_ms)
        if info.sequence is not None:
            seen.sequence = max(seen.sequence, info.sequence)
        if info.nonce is not None and self.rules.nonce:
            seen.nonces[info.nonce] = None
            if len(seen.nonces) > self.rules.nonces:
                seen.nonces.popitem(last=False)


def out_of_time(key: Name, info: SignatureInfo, now: int, grace_ms: int = GRACE_MS) -> Rejection | None:
    """Why a signed Interest is not of now, or None if it is."""
    if info.time_ms is None:
        return Rejection("the signed Interest has no SignatureTime", "replay.time", key, "sign it with the time in ms")
    off_ms = info.time_ms - now // MS
    if abs(off_ms) <= grace_ms:
        return None
    where = "ahead of" if off_ms > 0 else "behind"
    return Rejection(
        f"SignatureTime is {abs(off_ms)} ms {where} our clock, {grace_ms} ms are allowed",
        "replay.time",
        key,
        "set the clocks of both sides (NTP)",
    )
