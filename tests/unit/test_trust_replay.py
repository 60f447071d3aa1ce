"""Replay protection of signed Interests: each rule, each switch, each bound [NDN-packet-spec, signed-interest]."""

import pytest

from roost.errors import BadConfig
from roost.machine import MS
from roost.naming import Name
from roost.trust import ReplayGuard, ReplayRules
from roost.wire.signature import SignatureInfo

KEY = Name.parse("/k/KEY/1")
NOW_MS = 1_800_000_000_000
NOW = NOW_MS * MS


def info(time_ms: int | None = None, nonce: bytes | None = None, sequence: int | None = None) -> SignatureInfo:
    made = SignatureInfo(b"")
    made.time_ms, made.nonce, made.sequence = time_ms, nonce, sequence
    return made


def rule(guard: ReplayGuard, what: SignatureInfo, key: Name = KEY, now: int = NOW) -> str:
    refusal = guard.admit(key, what, now)
    return "" if refusal is None else refusal.rule


def test_time_lies_within_the_grace() -> None:
    for off, refused in ((-60_001, "replay.time"), (-60_000, ""), (60_000, ""), (60_001, "replay.time")):
        assert rule(ReplayGuard(), info(NOW_MS + off)) == refused


def test_time_increases_per_key() -> None:
    guard = ReplayGuard()
    assert rule(guard, info(NOW_MS)) == ""
    assert rule(guard, info(NOW_MS)) == "replay.time"
    assert rule(guard, info(NOW_MS - 1)) == "replay.time"
    assert rule(guard, info(NOW_MS + 1)) == ""
    assert rule(guard, info(NOW_MS), Name.parse("/other/KEY/1")) == ""
    assert guard.refused == 2


def test_a_refused_interest_leaves_no_trace() -> None:
    guard = ReplayGuard()
    assert rule(guard, info(NOW_MS, nonce=b"a", sequence=5)) == ""
    assert rule(guard, info(NOW_MS + 9, nonce=b"b", sequence=4)) == "replay.sequence"
    assert rule(guard, info(NOW_MS + 1, nonce=b"b", sequence=6)) == ""


def test_nonces_do_not_repeat() -> None:
    guard = ReplayGuard(ReplayRules(time=False, nonces=2))
    assert [rule(guard, info(nonce=nonce)) for nonce in (b"a", b"b", b"a")] == ["", "", "replay.nonce"]
    assert [rule(guard, info(nonce=nonce)) for nonce in (b"c", b"a")] == ["", ""]  # only the last two are remembered


def test_sequence_numbers_increase() -> None:
    guard = ReplayGuard(ReplayRules(time=False))
    assert [rule(guard, info(sequence=n)) for n in (3, 3, 2, 4)] == ["", "replay.sequence", "replay.sequence", ""]


def test_what_no_rule_can_judge_is_refused() -> None:
    assert rule(ReplayGuard(), info(nonce=b"a")) == "replay.time"
    assert rule(ReplayGuard(ReplayRules(time=False)), info(NOW_MS)) == "replay"
    assert rule(ReplayGuard(ReplayRules(time=False, nonce=False)), info(nonce=b"a")) == "replay"


@pytest.mark.parametrize("off", ["time", "nonce", "sequence"])
def test_each_rule_can_be_switched_off(off: str) -> None:
    rules = ReplayRules(**{off: False})
    guard = ReplayGuard(rules)
    first = info(NOW_MS, b"a", 1)
    assert rule(guard, first) == ""
    again = {
        "time": info(NOW_MS, b"b", 2),
        "nonce": info(NOW_MS + 1, b"a", 2),
        "sequence": info(NOW_MS + 1, b"b", 1),
    }
    assert rule(guard, again[off]) == ""
    strict = ReplayGuard()
    assert rule(strict, first) == ""
    assert rule(strict, again[off]) == f"replay.{off}"


def test_all_rules_off_admit_everything() -> None:
    guard = ReplayGuard(ReplayRules(time=False, nonce=False, sequence=False))
    assert rule(guard, info()) == ""
    assert rule(guard, info()) == ""


def test_forgetting_a_key_does_not_let_its_interests_in_again() -> None:
    guard = ReplayGuard(ReplayRules(keys=2))
    keys = [Name.of(str(number)) for number in range(4)]
    for number, key in enumerate(keys):
        assert rule(guard, info(NOW_MS + number), key) == ""
    assert guard.forgotten == 2
    assert rule(guard, info(NOW_MS), keys[0]) == "replay.time"
    assert rule(guard, info(NOW_MS + 1), keys[1]) == "replay.time"
    assert rule(guard, info(NOW_MS + 2), keys[0]) == ""
    assert len(guard._seen) == 2


def test_bounds_are_at_least_one() -> None:
    with pytest.raises(BadConfig, match="at least 1"):
        ReplayRules(keys=0)
