"""State Vector Sync as a machine: the rules one by one, our own numbers over restarts, and a few members on a cable."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.sync_bus import GROUP, START, Bus

from roost.errors import Backpressure, BadConfig, InvalidInput
from roost.machine import MS, SECOND, Effect, Note, Randomness, Rejected
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.sync.ledger import Ledger
from roost.sync.port import Announced, Asked, Express, Learned, Member, Ready, Stream, Unanswered
from roost.sync.state_vector import StateVector
from roost.sync.svs import Svs
from roost.sync.svs_interest import build, open_interest
from roost.sync.svs_settings import SvsSettings, suppression_timeout_ms
from roost.sync.vector_format import MAX_NUMBER, key_of, stream_of
from roost.wire import DigestSigner, Interest, NullSigner
from roost.wire.signature import SHA256_RSA, locator_of_name

NOW = START
BOOT = NOW // SECOND
V2 = SvsSettings(version=2)
V3 = SvsSettings(version=3)
BOTH = pytest.mark.parametrize("settings", [V2, V3], ids=["v2", "v3"])


class Middle:
    """Randomness that always draws the middle: periodic 30 s, suppression 198.7 ms."""

    def random(self) -> float:
        return 0.5

    def getrandbits(self, k: int, /) -> int:
        return 1 << (k - 1)

    def randint(self, a: int, b: int) -> int:
        return (a + b) // 2


PERIOD = 30 * SECOND
SUPPRESSION = int(suppression_timeout_ms(100, 200) * MS)


class Solo:
    """One member, whose group the test is; the disk answers when it is told to."""

    def __init__(
        self, settings: SvsSettings, disk: bytes = b"", randomness: Randomness | None = None, now: int = NOW
    ) -> None:
        self.settings = settings
        self.version = settings.version
        self.now = now
        self.disk = disk
        self.saves: list[Save] = []
        self.member = Svs(GROUP, settings, DigestSigner(), randomness or Middle(), Ledger("f", disk))
        self.started = self._keep(self.member.start(now))

    def hear(self, _boot: int = BOOT, **numbers: int) -> list[Effect]:
        """A vector comes from somebody."""
        return self.hear_content(content(self.version, _boot, **numbers))

    def hear_content(self, data: bytes) -> list[Effect]:
        return self.hear_wire(build(self.member.prefix, self.version, data, 1000, DigestSigner()))

    def hear_wire(self, wire: bytes) -> list[Effect]:
        return self._keep(self.member.receive(Asked(Interest.decode(wire)), self.now))

    def produce(self, *names: str) -> list[Effect]:
        return [each for name in names for each in self._keep(self.member.produce(Name.parse(name), self.now))]

    def announce(self, name: str, high: int) -> list[Effect]:
        return self._keep(self.member.announce(Name.parse(name), high, self.now))

    def saved(self) -> list[Effect]:
        """The oldest save is through."""
        save = self.saves.pop(0)
        self.disk = save.data if save.replace else self.disk + save.data
        return self._keep(self.member.receive(Saved(save.file, save.ticket), self.now))

    def publish(self, name: str, high: int) -> list[Effect]:
        self.announce(name, high)
        return self.saved()

    def after(self, pause: int) -> list[Effect]:
        """Let time pass; a deadline on the way is kept."""
        end = self.now + pause
        effects: list[Effect] = []
        while (due := self.member.deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            effects += self._keep(self.member.tick(self.now))
        self.now = end
        return effects

    @property
    def left(self) -> int:
        """How long until the next deadline."""
        deadline = self.member.deadline()
        assert deadline is not None
        return deadline - self.now

    def sent(self, effects: list[Effect]) -> list[dict[str, int]]:
        """The vectors in what was sent, without boot times."""
        vectors = []
        for effect in effects:
            if isinstance(effect, Express):
                assert effect.ticket == 0
                heard = open_interest(Interest.decode(effect.interest), self.member.prefix, self.version).heard
                vectors.append({short(stream_of(key, self.version)): number for key, number in heard.entries.items()})
        return vectors

    def known(self) -> dict[str, int]:
        return {short(stream): number for stream, number in self.member.latest().items()}

    def _keep(self, effects: list[Effect]) -> list[Effect]:
        self.saves += [effect for effect in effects if isinstance(effect, Save)]
        return effects


def short(stream: Stream) -> str:
    return str(stream.name)[1:]


def stream(name: str, version: int, boot: int = BOOT) -> Stream:
    return Stream(Name.parse(name), boot if version == 3 else 0)


def content(version: int, boot: int = BOOT, **numbers: int) -> bytes:
    vector = StateVector(version, 1000, 1000)
    for name, number in numbers.items():
        vector.raise_to(key_of(stream(f"/{name}", version, boot), version), number, 0)
    return vector.encode(vector.order)


def only(effects: list[Effect], kind: type[Effect]) -> list[Effect]:
    return [effect for effect in effects if isinstance(effect, kind)]


# -- settings and timers


@pytest.mark.parametrize(("drawn", "timeout"), [(0, 199.99), (100, 198.65), (180, 126.4), (190, 78.7), (199, 9.75)])
def test_the_suppression_timeout_is_that_of_the_specification(drawn: float, timeout: float) -> None:
    assert suppression_timeout_ms(drawn, 200) == pytest.approx(timeout, abs=0.05)


def test_drawn_times_stay_in_their_bounds_and_use_them() -> None:
    random = Random(1)
    periodic = [V3.draw_periodic(random) / SECOND for _ in range(1000)]
    assert 27 <= min(periodic) < 27.1
    assert 32.9 < max(periodic) <= 33
    waits = [V3.draw_suppression(random) / MS for _ in range(1000)]
    assert 0 <= min(waits) < 10
    assert max(waits) <= 200
    assert sum(waits) / len(waits) == pytest.approx(180, abs=5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 1},
        {"version": 4},
        {"periodic_ms": 0},
        {"suppression_ms": 0},
        {"jitter": 1.0},
        {"jitter": -0.1},
        {"max_skew_s": -1},
        {"lifetime_ms": 0},
        {"max_vector_bytes": 255},
        {"max_streams": 0},
        {"recovery_ms": -1},
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(wrong: dict[str, float]) -> None:
    with pytest.raises(BadConfig, match=next(iter(wrong))):
        SvsSettings(**wrong)  # type: ignore[arg-type]


def test_a_group_whose_name_leaves_no_room_is_refused() -> None:
    with pytest.raises(BadConfig, match="no room"):
        Svs(Name.of("x" * 4000), V3, DigestSigner(), Middle(), Ledger("f", b""))


def test_an_rsa_signature_and_the_fullest_vector_fit_a_packet() -> None:
    class Rsa:
        signature_type = SHA256_RSA
        key_locator = locator_of_name(Name.parse("/a/key/KEY/%01%02%03%04/issuer/v=1700000000000000"))

        def sign(self, portion: bytes) -> bytes:
            return bytes(512 + 0 * len(portion))

    for version in (2, 3):
        member = Svs(GROUP, SvsSettings(version=version), Rsa(), Random(1), Ledger("f", b""))
        member.start(NOW)
        for at in range(0, 400, 100):
            data = content(version, **{f"panel{number}": number for number in range(at + 1, at + 101)})
            wire = build(member.prefix, version, data, 1000, Rsa())
            member.receive(Asked(Interest.decode(wire)), NOW)
            deadline = member.deadline()
            assert deadline is not None
            for effect in member.tick(deadline):
                if isinstance(effect, Express):
                    assert len(Interest.decode(effect.interest).with_nonce(b"1234")) <= 8800


# -- joining


def test_it_is_a_member_of_the_port() -> None:
    member: Member = Svs(GROUP, V3, DigestSigner(), Middle(), Ledger("f", b""))
    assert (str(member.group), str(member.prefix)) == ("/g", "/g/v=3")
    assert str(Solo(V2).member.prefix) == "/g/v=2"
    assert member.deadline() is None
    assert member.tick(NOW) == []


@BOTH
def test_it_sends_its_vector_at_once_though_it_is_empty(settings: SvsSettings) -> None:
    solo = Solo(settings)
    (express,) = solo.started
    assert isinstance(express, Express)
    assert b"\xc9\x00" in express.interest
    assert solo.sent(solo.started) == [{}]
    assert solo.left == PERIOD


@BOTH
def test_it_sends_its_vector_when_it_heard_nothing_for_the_periodic_time(settings: SvsSettings) -> None:
    solo = Solo(settings)
    assert solo.after(PERIOD - 1) == []
    assert solo.sent(solo.after(1)) == [{}]
    assert solo.left == PERIOD
    assert len(solo.sent(solo.after(10 * PERIOD))) == 10


def test_the_same_vector_is_the_same_interest_without_a_nonce() -> None:
    solo = Solo(V3)
    (again,) = solo.after(PERIOD)
    assert [again] == solo.started
    assert isinstance(again, Express)
    assert Interest.decode(again.interest).nonce == b""
    assert Interest.decode(again.interest).lifetime_ms == 1000


# -- announcing


@BOTH
def test_a_number_is_told_only_when_it_is_on_the_disk(settings: SvsSettings) -> None:
    solo = Solo(settings)
    me = stream("/me", settings.version)
    assert solo.produce("/me") == [Ready(me, 1)]
    (save,) = solo.announce("/me", 1)
    assert isinstance(save, Save)
    assert solo.known() == {}
    assert solo.sent(solo.after(PERIOD)) == [{}]  # though the timer came in between
    solo.now += SECOND
    effects = solo.saved()
    assert effects[0] == Announced(me, 1)
    assert solo.sent(effects) == [{"me": 1}]
    assert solo.left == PERIOD
    assert solo.known() == {"me": 1}


@BOTH
def test_announcements_while_a_save_is_under_way_become_one(settings: SvsSettings) -> None:
    solo = Solo(settings)
    solo.produce("/me", "/too")
    assert len(only(solo.announce("/me", 1), Save)) == 1
    for number in range(2, 50):
        assert solo.announce("/me", number) == []
    assert solo.announce("/too", 7) == []
    first = solo.saved()
    assert (solo.sent(first), len(only(first, Save))) == ([{"me": 1}], 1)
    second = solo.saved()
    assert only(second, Announced) == [
        Announced(stream("/me", settings.version), 49),
        Announced(stream("/too", settings.version), 7),
    ]
    assert solo.sent(second) == [{"me": 49, "too": 7}]


def test_announcing_nothing_new_does_nothing() -> None:
    solo = Solo(V3)
    solo.produce("/me")
    solo.publish("/me", 5)
    assert solo.announce("/me", 5) == solo.announce("/me", 4) == solo.announce("/me", 0) == []
    solo.announce("/me", 7)
    assert solo.announce("/me", 6) == solo.announce("/me", 7) == []


def test_what_cannot_be_announced_is_refused() -> None:
    solo = Solo(V3)
    with pytest.raises(InvalidInput, match="call produce first"):
        solo.announce("/me", 1)
    solo.produce("/me")
    with pytest.raises(InvalidInput, match="the last number"):
        solo.announce("/me", MAX_NUMBER + 1)
    with pytest.raises(InvalidInput, match="cannot be a stream"):
        solo.produce("/")
    with pytest.raises(InvalidInput, match="cannot be a stream"):
        solo.produce("/" + "x" * 1500)


def test_producing_twice_is_ready_twice_with_the_next_number() -> None:
    solo = Solo(V3)
    solo.produce("/me")
    solo.publish("/me", 5)
    assert solo.produce("/me") == [Ready(stream("/me", 3), 6)]
    solo.announce("/me", 9)
    assert solo.produce("/me") == [Ready(stream("/me", 3), 10)]


def test_what_is_announced_before_the_start_is_told_at_the_start() -> None:
    member = Svs(GROUP, V3, DigestSigner(), Middle(), Ledger("f", b""))
    assert member.produce(Name.parse("/me"), NOW) == [Ready(stream("/me", 3), 1)]
    (save,) = member.announce(Name.parse("/me"), 1, NOW)
    assert isinstance(save, Save)
    assert member.receive(Saved("f", save.ticket), NOW) == [Announced(stream("/me", 3), 1)]
    assert member.deadline() is None
    (express,) = member.start(NOW + 5 * SECOND)
    assert isinstance(express, Express)
    assert b"\x08\x02me" in express.interest
    assert member.produce(Name.parse("/other"), NOW + 6 * SECOND) == [Ready(stream("/other", 3), 1)]


# -- hearing, in Steady


@BOTH
def test_news_is_learned_as_ranges(settings: SvsSettings) -> None:
    solo = Solo(settings)
    one, two = stream("/one", settings.version), stream("/two", settings.version)
    assert solo.hear(one=3, two=1) == [Learned(one, 1, 3), Learned(two, 1, 1)]
    assert solo.hear(one=4, two=1) == [Learned(one, 4, 4)]
    assert solo.hear(one=10, two=1) == [Learned(one, 5, 10)]
    assert solo.known() == {"one": 10, "two": 1}


def test_of_a_name_every_boot_time_is_a_stream_of_its_own() -> None:
    solo = Solo(V3)
    solo.hear(one=3)
    assert solo.hear(_boot=BOOT + 5, one=2) == [Learned(stream("/one", 3, BOOT + 5), 1, 2)]
    assert solo.member.latest() == {stream("/one", 3): 3, stream("/one", 3, BOOT + 5): 2}


@BOTH
def test_a_vector_that_is_not_outdated_begins_the_periodic_time_again(settings: SvsSettings) -> None:
    solo = Solo(settings)
    for _ in range(5):
        solo.after(PERIOD - SECOND)
        solo.hear(one=3)
        assert solo.left == PERIOD
    assert solo.member.teller.sent == 1


@BOTH
def test_an_equal_vector_changes_nothing_but_the_timer(settings: SvsSettings) -> None:
    solo = Solo(settings)
    solo.hear(one=3)
    solo.after(PERIOD)
    assert solo.hear(one=3) == []
    (mine,) = solo.after(PERIOD)
    assert isinstance(mine, Express)
    solo.after(SECOND)
    assert solo.hear_wire(mine.interest) == []  # our own Interest comes back
    assert solo.left == PERIOD


@BOTH
def test_an_outdated_vector_is_answered_after_the_suppression_time(settings: SvsSettings) -> None:
    for outdated in ({"one": 3}, {"one": 2, "two": 1}, {}, {"two": 9}):
        solo = Solo(settings)
        solo.hear(one=3, two=1)
        solo.after(SECOND)
        solo.hear(**outdated)
        assert solo.left == SUPPRESSION
        assert solo.sent(solo.after(SUPPRESSION)) == [{"one": 3, "two": max(1, outdated.get("two", 0))}]
        assert solo.left == PERIOD


@BOTH
def test_an_outdated_vector_is_ignored_while_what_it_lacks_is_in_flight(settings: SvsSettings) -> None:
    solo = Solo(settings)
    solo.produce("/me")
    solo.hear(one=3)
    solo.after(SECOND)
    solo.publish("/me", 1)
    solo.after(199 * MS)
    left = solo.left
    assert solo.hear(one=3) == []
    assert solo.left == left  # not even the timer
    solo.after(MS)
    solo.hear(one=3)
    assert solo.left == SUPPRESSION


@BOTH
def test_what_is_in_flight_does_not_excuse_what_is_not(settings: SvsSettings) -> None:
    solo = Solo(settings)
    solo.hear(one=3, two=1)
    solo.after(SECOND)
    solo.hear(one=4, two=1)
    solo.after(MS)
    left = solo.left
    solo.hear(one=3, two=1)
    assert solo.left == left
    solo.hear(one=3)
    assert solo.left == SUPPRESSION


@BOTH
def test_news_and_being_outdated_go_together(settings: SvsSettings) -> None:
    solo = Solo(settings)
    solo.hear(one=3)
    solo.after(SECOND)
    assert solo.hear(two=5) == [Learned(stream("/two", settings.version), 1, 5)]
    assert solo.sent(solo.after(SUPPRESSION)) == [{"one": 3, "two": 5}]


# -- hearing, in Suppression


def suppressed(settings: SvsSettings) -> Solo:
    """A member that knows one=3 and two=1, and has just heard somebody who knows neither."""
    solo = Solo(settings)
    solo.hear(one=3, two=1)
    solo.after(SECOND)
    solo.hear()
    solo.after(100 * MS)
    assert solo.left == SUPPRESSION - 100 * MS
    return solo


@BOTH
def test_what_another_member_has_told_is_not_told_again(settings: SvsSettings) -> None:
    solo = suppressed(settings)
    solo.hear(one=3, two=1)
    assert solo.left == SUPPRESSION - 100 * MS
    assert solo.after(SUPPRESSION) == []
    assert solo.member.deadline() == NOW + SECOND + SUPPRESSION + PERIOD


@BOTH
def test_what_another_has_told_in_the_very_interest_that_we_said_last_is_not_told_again(settings: SvsSettings) -> None:
    solo = Solo(settings)
    solo.hear(one=3, two=1)
    (mine,) = solo.after(PERIOD)
    assert isinstance(mine, Express)
    solo.after(SECOND)
    solo.hear()
    solo.hear_wire(mine.interest)  # who signs with the same key, and knows the same, says the same
    assert solo.after(SUPPRESSION) == []


@BOTH
def test_what_several_members_have_told_together_is_not_told_again(settings: SvsSettings) -> None:
    solo = suppressed(settings)
    solo.hear(one=3)
    solo.hear(two=1)
    assert solo.after(SUPPRESSION) == []


@BOTH
def test_what_nobody_has_told_is_told(settings: SvsSettings) -> None:
    solo = suppressed(settings)
    solo.hear(one=2, two=1)
    assert solo.sent(solo.after(SUPPRESSION)) == [{"one": 3, "two": 1}]


@BOTH
def test_outdated_vectors_do_not_move_the_timer_nor_ask_twice(settings: SvsSettings) -> None:
    solo = suppressed(settings)
    solo.hear(two=1)
    solo.hear()
    assert solo.left == SUPPRESSION - 100 * MS
    assert solo.sent(solo.after(PERIOD)) == [{"one": 3, "two": 1}]


@BOTH
def test_news_in_suppression_is_learned_and_need_not_be_told(settings: SvsSettings) -> None:
    solo = suppressed(settings)
    assert solo.hear(one=9, two=1, three=1) == [
        Learned(stream("/one", settings.version), 4, 9),
        Learned(stream("/three", settings.version), 1, 1),
    ]
    assert solo.after(SUPPRESSION) == []


@BOTH
def test_an_announcement_ends_suppression(settings: SvsSettings) -> None:
    solo = suppressed(settings)
    solo.produce("/me")
    assert solo.sent(solo.publish("/me", 1)) == [{"one": 3, "two": 1, "me": 1}]
    assert solo.left == PERIOD


@BOTH
def test_however_often_it_hears_an_outdated_vector_it_answers_once_per_suppression_time(settings: SvsSettings) -> None:
    solo = Solo(settings)
    solo.hear(one=3, two=1)
    solo.after(SECOND)
    answers = 0
    for _ in range(2000):
        solo.hear()
        answers += len(solo.sent(solo.after(MS)))
    assert answers == 2000 * MS // (SUPPRESSION + MS)


# -- what is refused


def test_a_boot_time_too_far_ahead_ignores_the_vector_entirely() -> None:
    solo = Solo(V3)
    left = solo.left
    (rejected,) = solo.hear(_boot=BOOT + 86401, one=3)
    assert isinstance(rejected, Rejected)
    assert "clock" in rejected.reason
    assert (solo.known(), solo.left, solo.member.skewed) == ({}, left, 1)
    assert only(solo.hear(_boot=BOOT + 86400, one=3), Learned)
    solo.after(SECOND)
    assert only(solo.hear(_boot=BOOT + 86401, one=3), Learned)  # by now it is within a day


@BOTH
def test_malformed_vectors_are_rejected_and_nothing_else_happens(settings: SvsSettings) -> None:
    solo = Solo(settings)
    for data in (b"", b"\xc9\x01", b"\xc9\x00\xcf\x00", b"\xd3\x00", content(5 - settings.version, one=1)):
        left = solo.left
        (rejected,) = solo.hear_content(data)
        assert isinstance(rejected, Rejected)
        assert rejected.source.startswith(str(solo.member.prefix))
        assert 0 < len(rejected.sample) <= 64
        assert solo.left == left


def test_new_streams_beyond_the_limit_are_refused_counted_and_noted_once() -> None:
    solo = Solo(replace(V3, max_streams=2))
    (learned, note) = solo.hear(a=1)[:1] + solo.hear(a=1, b=1, c=1, d=1)[1:]
    assert isinstance(learned, Learned)
    assert isinstance(note, Note)
    assert note.event == "streams refused"
    assert solo.hear(a=1, b=1, e=1) == []
    assert (solo.known(), solo.member.refused) == ({"a": 1, "b": 1}, 3)
    solo.produce("/me")
    assert only(solo.publish("/me", 1), Announced)  # what is ours has room


@BOTH
def test_a_number_too_large_is_refused_and_counted_and_the_rest_is_learned(settings: SvsSettings) -> None:
    solo = Solo(settings)
    learned, note = solo.hear(huge=MAX_NUMBER + 1, one=3)
    assert learned == Learned(stream("/one", settings.version), 1, 3)
    assert isinstance(note, Note)
    assert solo.hear(huge=MAX_NUMBER + 1, one=3) == []
    assert (solo.known(), solo.member.refused) == ({"one": 3}, 2)


@BOTH
def test_members_that_are_full_of_different_streams_do_not_answer_each_other_for_ever(settings: SvsSettings) -> None:
    bus = Bus()
    full = replace(settings, max_streams=5)
    for who in ("a", "b", "c"):
        member = bus.join(who, full)
        vector = content(full.version, **{f"{who}{number}": 1 for number in range(5)})
        wire = build(member.prefix, full.version, vector, 1000, NullSigner())
        bus.act(who, member.receive(Asked(Interest.decode(wire)), bus.now))
    bus.run(300)
    assert bus.packets <= 3 * 300 // 30 * 2


@BOTH
def test_a_full_member_still_tells_who_lacks_what_it_has(settings: SvsSettings) -> None:
    solo = Solo(replace(settings, max_streams=2))
    solo.hear(one=3, two=1)
    solo.after(SECOND)
    for _ in range(2):
        solo.hear(three=1)
        assert solo.sent(solo.after(SUPPRESSION)) == [{"one": 3, "two": 1}]
        solo.hear(three=1)
        assert solo.sent(solo.after(SUPPRESSION)) == []  # not each time: it may be full, too
        solo.hear(one=2, three=1)
        assert solo.sent(solo.after(SUPPRESSION)) == [{"one": 3, "two": 1}]  # that it can take
        solo.after(PERIOD)


@BOTH
def test_answers_that_nobody_asked_for_are_passed_over(settings: SvsSettings) -> None:
    assert Solo(settings).member.receive(Unanswered(0, "expired"), NOW) == []


# -- evidence


def test_of_version_3_the_data_is_to_be_verified() -> None:
    solo = Solo(V3)
    interest = Interest.decode(build(solo.member.prefix, 3, content(3, one=1), 1000, NullSigner()))
    open_data = open_interest(interest, solo.member.prefix, 3).data
    assert solo.member.evidence(interest) is open_data is not None
    broken = Interest.decode(build(solo.member.prefix, 2, content(3, one=1), 1000, None))
    assert solo.member.evidence(broken) is None
    assert isinstance(solo.hear_wire(broken.wire)[0], Rejected)


def test_of_version_2_the_interest_is_to_be_verified_and_unsigned_ones_are_rejected() -> None:
    solo = Solo(V2)
    signed = Interest.decode(build(solo.member.prefix, 2, content(2, one=1), 1000, NullSigner()))
    unsigned = Interest.decode(build(solo.member.prefix, 2, content(2, one=1), 1000, None))
    assert solo.member.evidence(signed) is signed
    assert solo.member.evidence(unsigned) is None
    (rejected,) = solo.hear_wire(unsigned.wire)
    assert isinstance(rejected, Rejected)
    assert "not signed" in rejected.reason


def test_a_group_of_version_2_may_be_unsigned() -> None:
    solo = Solo(SvsSettings(version=2, signed=False))
    for signer in (None, NullSigner()):
        interest = Interest.decode(build(solo.member.prefix, 2, content(2, one=1 + bool(signer)), 1000, signer))
        assert solo.member.evidence(interest) is None
        assert len(only(solo.hear_wire(interest.wire), Learned)) == 1
    (express,) = solo.started
    assert isinstance(express, Express)
    assert Interest.decode(express.interest).signature is None


# -- our own numbers


@BOTH
def test_a_restarted_member_goes_on_where_it_stopped(settings: SvsSettings) -> None:
    solo = Solo(settings)
    solo.produce("/me", "/too")
    solo.publish("/me", 5)
    again = Solo(settings, solo.disk, now=NOW + 100 * SECOND)
    assert again.sent(again.started) == [{"me": 5}]
    assert again.produce("/me") == [Ready(stream("/me", settings.version), 6)]
    assert again.produce("/too") == [Ready(stream("/too", settings.version), 1)]  # with the boot time there is


def test_without_a_disk_the_boot_time_is_now() -> None:
    assert Solo(V3, now=NOW + 5 * SECOND + 1).produce("/me") == [Ready(stream("/me", 3, BOOT + 5), 1)]


def test_after_damage_version_3_takes_a_boot_time_that_cannot_have_been() -> None:
    solo = Solo(V3)
    solo.produce("/me")
    solo.publish("/me", 5)
    for now, boot in ((NOW, BOOT + 1), (NOW + 100 * SECOND, BOOT + 101), (NOW - 100 * SECOND, BOOT + 1)):
        again = Solo(V3, solo.disk + bytes(99), now=now)
        assert isinstance(again.started[0], Note)
        assert again.sent(again.started) == [{"me": 5}]  # that much was announced
        assert again.produce("/me") == [Ready(stream("/me", 3, boot), 1)]
        again.publish("/me", 1)
        assert again.member.latest() == {stream("/me", 3): 5, stream("/me", 3, boot): 1}
        third = Solo(V3, again.disk, now=NOW + 500 * SECOND)
        assert third.produce("/me", "/too") == [
            Ready(stream("/me", 3, boot), 2),
            Ready(stream("/too", 3, boot), 1),
        ]


def test_a_save_that_was_cut_off_is_no_damage() -> None:
    solo = Solo(V3)
    solo.produce("/me")
    solo.publish("/me", 5)
    (save,) = solo.announce("/me", 6)
    assert isinstance(save, Save)
    assert Solo(V3, solo.disk + save.data[:-1]).produce("/me") == [Ready(stream("/me", 3), 6)]


@BOTH
def test_a_number_of_ours_that_others_know_better_is_adopted(settings: SvsSettings) -> None:
    me = stream("/me", settings.version)
    solo = Solo(settings)
    solo.produce("/me")
    solo.publish("/me", 5)
    solo.after(SECOND)
    effects = solo.hear(me=8)
    assert only(effects, Learned) == []
    assert only(effects, Ready) == [Ready(me, 9)]
    (note,) = only(effects, Note)
    assert isinstance(note, Note)
    assert note.event == "own number adopted"
    assert solo.saved() == []  # known to the group, so nothing to announce
    assert Solo(settings, solo.disk).produce("/me") == [Ready(me, 9)]
    assert only(solo.publish("/me", 9), Announced) == [Announced(me, 9)]


@BOTH
def test_an_announcement_that_was_overtaken_is_not_announced(settings: SvsSettings) -> None:
    me = stream("/me", settings.version)
    solo = Solo(settings)
    solo.produce("/me")
    solo.announce("/me", 3)
    assert only(solo.hear(me=8), Ready) == [Ready(me, 9)]
    assert only(solo.saved(), Announced) == []
    assert only(solo.saved(), Announced) == []
    assert only(solo.publish("/me", 9), Announced) == [Announced(me, 9)]


@BOTH
def test_what_was_heard_of_a_stream_before_it_is_produced_counts(settings: SvsSettings) -> None:
    me = stream("/me", settings.version)
    solo = Solo(settings)
    assert solo.hear(me=4) == [Learned(me, 1, 4)]
    assert only(solo.produce("/me"), Ready) == [Ready(me, 5)]
    solo.saved()
    assert Solo(settings, solo.disk).produce("/me") == [Ready(me, 5)]


def test_a_full_ledger_does_not_turn_what_is_heard_into_an_exception() -> None:
    member = Svs(GROUP, V2, DigestSigner(), Middle(), Ledger("f", b"", max_streams=1))
    member.start(NOW)
    for name in ("/one", "/two"):
        member.produce(Name.parse(name), NOW)
    member.announce(Name.parse("/one"), 1, NOW)
    wire = build(member.prefix, 2, content(2, two=7), 1000, NullSigner())
    assert Ready(stream("/two", 2), 8) in member.receive(Asked(Interest.decode(wire)), NOW)
    with pytest.raises(Backpressure):
        member.announce(Name.parse("/two"), 8, NOW)


def damaged() -> Solo:
    """A member of version 2 whose disk knew me=5 and is damaged; it has just joined."""
    solo = Solo(V2)
    solo.produce("/me")
    solo.publish("/me", 5)
    again = Solo(V2, solo.disk + bytes(99))
    assert isinstance(again.started[0], Note)
    assert again.sent(again.started) == [{}]
    assert again.produce("/me") == []
    return again


def test_after_damage_version_2_waits_for_others_to_tell_its_number() -> None:
    solo = damaged()
    with pytest.raises(Backpressure) as raised:
        solo.announce("/me", 6)
    assert raised.value.retry_after_ms == 5000
    solo.after(100 * MS)
    assert only(solo.hear(me=7, other=1), Learned) == [Learned(stream("/other", 2), 1, 1)]
    assert only(solo.after(2 * 200 * MS - 1), Ready) == []
    assert only(solo.hear(me=9, other=1), Ready) == []  # somebody who knows more
    effects = solo.after(1)
    assert only(effects, Ready) == [Ready(stream("/me", 2), 10)]
    assert len(only(effects, Save)) == 1
    assert solo.saved() == []
    assert only(solo.publish("/me", 10), Announced) == [Announced(stream("/me", 2), 10)]
    assert Solo(V2, solo.disk).produce("/me") == [Ready(stream("/me", 2), 11)]


def test_while_it_waits_it_asks_again_soon() -> None:
    solo = damaged()
    asked = solo.sent(solo.after(4900 * MS))
    assert asked == [{}] * len(asked)
    assert 10 <= len(asked) <= 15


def test_if_nobody_tells_version_2_goes_on_with_what_its_disk_has() -> None:
    solo = damaged()
    solo.hear(other=1)  # does not know us
    effects = solo.after(5 * SECOND)
    assert only(effects, Ready) == [Ready(stream("/me", 2), 6)]
    assert solo.sent(effects)[-1] == {"me": 5, "other": 1}
    assert solo.left == PERIOD
    solo.saved()
    assert Solo(V2, solo.disk).produce("/me") == [Ready(stream("/me", 2), 6)]


def test_a_stream_that_comes_later_is_settled_by_what_was_heard_meanwhile() -> None:
    solo = damaged()
    solo.hear(late=3)
    assert solo.produce("/late") == []
    assert only(solo.after(400 * MS), Ready) == [Ready(stream("/late", 2), 4)]
    solo.after(5 * SECOND)
    assert only(solo.produce("/later"), Ready) == [Ready(stream("/later", 2), 1)]


def test_a_stream_that_was_not_produced_since_the_damage_is_doubtful_at_the_next_start_too() -> None:
    solo = Solo(V2)
    solo.produce("/me", "/too")
    solo.publish("/me", 5)
    solo.publish("/too", 7)
    second = Solo(V2, solo.disk + bytes(99))
    second.produce("/me")
    second.after(5 * SECOND)
    second.saved()
    third = Solo(V2, second.disk)
    assert third.produce("/me") == [Ready(stream("/me", 2), 6)]
    assert third.produce("/too") == []
    assert only(third.after(5 * SECOND), Ready) == [Ready(stream("/too", 2), 8)]


def test_our_own_interest_coming_back_tells_us_nothing() -> None:
    solo = damaged()
    (express,) = [effect for effect in solo.started if isinstance(effect, Express)]
    solo.hear_wire(express.interest)
    assert only(solo.after(4900 * MS), Ready) == []


# -- together


@BOTH
@pytest.mark.parametrize("loss", [0.0, 0.3, 0.5])
def test_members_converge_and_learn_every_number_once(settings: SvsSettings, loss: float) -> None:
    bus = Bus(seed=7, loss=loss)
    names = [f"n{number}" for number in range(6)]
    for name in names:
        bus.join(name, settings, f"/{name}")
    for number in range(1, 11):
        for name in names:
            bus.announce(name, f"/{name}", number)
            bus.run(0.01)
    bus.run_until_converged(33 if loss == 0 else 300)
    everything = {stream(f"/{name}", settings.version): 10 for name in names}
    for name in names:
        assert bus.members[name].latest() == everything
        for other, number in everything.items():
            ranges = [(low, high) for which, low, high in bus.learned(name) if which == other]
            numbers = [each for low, high in ranges for each in range(low, high + 1)]
            assert numbers == ([] if other.name == Name.parse(f"/{name}") else list(range(1, number + 1)))


@BOTH
def test_without_loss_an_announcement_is_one_interest(settings: SvsSettings) -> None:
    bus = Bus()
    for number in range(20):
        bus.join(f"n{number}", settings, f"/n{number}")
    bus.run(1)
    packets = bus.packets
    for number in range(20):
        bus.announce(f"n{number}", f"/n{number}", 1)
        bus.run(1)
    assert bus.packets - packets == 20
    bus.run(120)
    assert bus.packets - packets <= 20 + 120 // 27 + 1  # and in silence one per period, whoever's timer is first


@BOTH
def test_a_late_joiner_is_told_by_few(settings: SvsSettings) -> None:
    bus = Bus(seed=3)
    for number in range(30):
        bus.join(f"n{number}", settings, f"/n{number}")
        bus.announce(f"n{number}", f"/n{number}", 5)
        bus.run(0.1)
    bus.run(1800)  # by now most of them have said the same
    packets = bus.packets
    bus.join("late", settings)
    assert bus.run_until_converged(1) <= 0.3
    bus.run(1)
    assert bus.packets - packets <= 4


def crashing(settings: SvsSettings, seed: int, *, damage: bool) -> None:
    """A member lives twelve short lives, and announces in each; `other` is there all the time, and hears most of it."""
    bus = Bus(seed, loss=0.2)
    other = bus.join("other", settings, "/other")
    announced: set[tuple[Stream, int]] = set()
    for _ in range(12):
        bus.join("me", settings, "/me")
        bus.run(6)
        which, number = bus.ready("me")[-1]
        assert number > other.latest().get(which, 0)
        if settings.version == 3 or not damage:
            assert all(number > high for each, high in announced if each == which)
        for high in range(number, number + bus.random.randrange(4)):
            bus.announce("me", "/me", high)
            bus.run(bus.random.choice((0, 0.001, 0.5)))
        bus.run(bus.random.choice((0, 0.003)))
        bus.crash("me")
        announced.update(bus.announced("me"))
        disk = bytearray(bus.disks.get("me", b""))
        if damage and disk and bus.random.randrange(3):
            disk[bus.random.randrange(len(disk))] ^= 1 << bus.random.randrange(8)
            bus.disks["me"] = bytes(disk)
        bus.run(bus.random.choice((0, 0.2, 3)))
    assert len(announced) > 5


@BOTH
@pytest.mark.parametrize("seed", range(10))
def test_a_member_that_crashes_never_gives_a_number_twice(settings: SvsSettings, seed: int) -> None:
    crashing(settings, seed, damage=False)


@BOTH
@pytest.mark.parametrize("seed", range(10))
def test_though_its_disk_is_damaged_a_number_the_group_knows_is_not_given_again(
    settings: SvsSettings, seed: int
) -> None:
    crashing(settings, seed, damage=True)


def test_the_same_seed_gives_the_same_history() -> None:
    def history() -> list[tuple[str, Effect]]:
        bus = Bus(seed=5, loss=0.4)
        for number in range(5):
            bus.join(f"n{number}", V3, f"/n{number}")
            bus.announce(f"n{number}", f"/n{number}", number + 1)
            bus.run(0.2)
        bus.run(100)
        return bus.happened

    assert history() == history()
