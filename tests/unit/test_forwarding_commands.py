"""Who may command: local faces, signatures, times that go forward, verifiers, and tables that stay small."""

from __future__ import annotations

from hashlib import sha256

import pytest

from roost.forwarding.commands import Command, LastTimes, LocalCommands, signature_of
from roost.machine import MS, SECOND
from roost.naming import Name
from roost.wire import DigestSigner, Interest, NullSigner, Signer, encode_interest
from roost.wire.interest import sign_interest
from roost.wire.signature import DIGEST_SHA256, locator_of_name

NOW = 1_794_770_000_000_000_000
TIME = NOW // MS
NAME = Name.parse("/localhost/nfd/rib/register/x")


class Keyed:
    """A signer whose key nobody can check here."""

    signature_type = 3

    def __init__(self, key: str) -> None:
        self.key_locator = locator_of_name(Name.parse(key))

    def sign(self, portion: bytes) -> bytes:
        return sha256(portion).digest()


def command(
    time_ms: int = TIME,
    nonce: bytes = b"",
    *,
    signer: Signer | None = None,
    face: int = 256,
    local: bool = True,
    localhop: bool = False,
    module: str = "rib",
) -> Command:
    wire = sign_interest(NAME, signer or DigestSigner(), time_ms=time_ms, signature_nonce=nonce)
    return Command(Interest.decode(wire), module, "register", face, local, localhop)


def test_times_go_forward() -> None:
    policy = LocalCommands()
    assert policy.check(command(TIME), NOW) is None
    assert "not newer" in str(policy.check(command(TIME), NOW))
    assert "older" in str(policy.check(command(TIME - 1), NOW))
    assert policy.check(command(TIME + 1), NOW) is None


def test_within_a_millisecond_the_nonce_tells_a_new_command_from_a_replay() -> None:
    policy = LocalCommands()
    assert policy.check(command(TIME, b"1"), NOW) is None
    assert policy.check(command(TIME, b"2"), NOW) is None
    for nonce in (b"1", b"2", b""):
        assert "not newer" in str(policy.check(command(TIME, nonce), NOW))


@pytest.mark.parametrize(("off_ms", "good"), [(0, True), (120_000, True), (-120_000, True), (120_001, False)])
def test_clocks_may_differ_by_two_minutes(off_ms: int, good: bool) -> None:
    assert (LocalCommands().check(command(TIME + off_ms), NOW) is None) == good


def test_rib_commands_need_a_time_others_do_not() -> None:
    assert "no SignatureTime" in str(LocalCommands().check(command(-1), NOW))
    assert LocalCommands().check(command(-1, module="faces"), NOW) is None


def test_one_programs_fast_clock_does_not_lock_the_others_out() -> None:  # [nfd-management §8.5]
    policy = LocalCommands()
    assert policy.check(command(TIME + 100_000), NOW) is None
    assert policy.check(command(TIME, face=257), NOW) is None
    assert policy.check(command(TIME, signer=Keyed("/k/KEY/1")), NOW) is None
    assert policy.check(command(TIME, signer=Keyed("/k/KEY/2")), NOW) is None
    assert policy.check(command(TIME, signer=Keyed("/k/KEY/2")), NOW) is not None


def test_unsigned_null_signed_and_badly_digested() -> None:
    policy = LocalCommands()
    unsigned = Command(Interest.decode(encode_interest(NAME)), "rib", "register", 256, True, False)
    assert policy.check(unsigned, NOW) == "the command is not signed"
    assert policy.check(command(signer=NullSigner()), NOW) == "the command is not signed"

    class Careless:
        signature_type = DIGEST_SHA256
        key_locator = b""

        def sign(self, portion: bytes) -> bytes:
            return DigestSigner().sign(portion + b"!")

    assert policy.check(command(signer=Careless()), NOW) == "the digest does not match the command"


def test_only_local_faces_unless_a_verifier_takes_the_others() -> None:
    refused = "commands are taken from local faces only"
    assert LocalCommands().check(command(local=False), NOW) == refused
    assert LocalCommands().check(command(local=False, localhop=True), NOW) == refused
    open_to_all = LocalCommands(verify_remote=lambda _interest, _now: None)
    assert open_to_all.check(command(local=False), NOW) == refused
    assert open_to_all.check(command(local=False, localhop=True), NOW) is None
    closed = LocalCommands(verify_remote=lambda interest, now: f"{interest.name.at(0)} {now}")
    assert closed.check(command(local=False, localhop=True), NOW) == f"localhost {NOW}"
    assert closed.check(command(), NOW) is None


def test_a_verifier_decides_and_its_keys_have_one_time_on_all_faces() -> None:
    policy = LocalCommands(verify=lambda interest, _now: None if interest.signature else "no")
    key = Keyed("/k/KEY/1")
    assert policy.check(command(signer=key), NOW) is None
    assert policy.check(command(signer=key, face=257), NOW) is not None
    assert policy.check(command(-1, signer=key, module="faces"), NOW) == "the command has no SignatureTime"
    assert LocalCommands(verify=lambda _interest, _now: "no").check(command(), NOW) == "no"


def test_a_refused_command_leaves_no_trace() -> None:
    times = iter(["no", None])
    policy = LocalCommands(verify=lambda _interest, _now: next(times))
    assert policy.check(command(), NOW) == "no"
    assert policy.check(command(), NOW) is None


def test_the_table_of_times_is_bounded_by_number_and_age() -> None:
    times = LastTimes(max_keys=3)
    signature = signature_of(command().interest)
    assert signature is not None
    for face in range(10):
        assert times.admit((face, b""), signature, NOW) is None
    assert len(times) == 3
    late = signature_of(command(TIME + 3_700_000).interest)
    assert late is not None
    assert times.admit((99, b""), late, NOW + 3700 * SECOND) is None
    assert len(times) == 1
