"""Vectors too large for one Interest: what is chosen, how it is written, and that everything gets everywhere."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.sync_bus import GROUP, START, Bus

from roost.machine import SECOND, Effect, Note
from roost.naming import Name
from roost.sync.ledger import Ledger
from roost.sync.port import Asked, Express, Stream
from roost.sync.state_vector import StateVector
from roost.sync.svs import Svs
from roost.sync.svs_catchup import MAX_STRETCHES, PASSES, CatchUp, Stretches
from roost.sync.svs_interest import build, open_interest
from roost.sync.svs_settings import SvsSettings
from roost.sync.svs_teller import Teller
from roost.sync.svs_window import Selection, decode_window, encode_window, select, select_recent
from roost.sync.vector_format import Heard, key_of, stream_of
from roost.wire import DigestSigner, Interest
from roost.wire.tlv import element

NOW = START
BOOT = NOW // SECOND
SMALL = SvsSettings(max_vector_bytes=400)  # a dozen entries
BOTH = pytest.mark.parametrize("version", [2, 3])


def key(name: str, version: int = 3, boot: int = BOOT) -> bytes:
    return key_of(Stream(Name.parse(f"/{name}"), boot if version == 3 else 0), version)


def keys(low: int, high: int, version: int = 3) -> list[bytes]:
    return [key(f"s{number:04}", version) for number in range(low, high + 1)]


def vector_of(count: int, version: int = 3) -> StateVector:
    vector = StateVector(version, 100_000, 100)
    vector.load(dict.fromkeys(keys(1, count, version), 1))
    return vector


def fill(member: Svs, streams: list[bytes]) -> None:
    """Have a member know these streams from before."""
    member._vector.load(dict.fromkeys(streams, 1))


def vectors(member: Svs, effects: list[Effect]) -> list[Heard]:
    """What was sent."""
    wires = [effect.interest for effect in effects if isinstance(effect, Express)]
    return [open_interest(Interest.decode(wire), member.prefix, member.settings.version).heard for wire in wires]


# -- the format


@BOTH
@pytest.mark.parametrize(("after", "upto"), [("", ""), ("a", ""), ("", "b"), ("a", "b"), ("a", "a"), ("a/b", "b/c/d")])
def test_a_window_is_read_as_it_was_written(version: int, after: str, upto: str) -> None:
    low = key(after, version) if after else b""
    high = key(upto, version) if upto else None
    wire = encode_window(Selection([], low, high), version)
    type_, start, end = element(wire, 0, len(wire))
    assert (type_, end) == (240, len(wire))
    assert decode_window(wire, start, end, version) == (low, high)


def test_the_bytes_of_a_window() -> None:
    selection = Selection([], key("a", 3, 7), key("b", 3, 300))
    assert encode_window(selection, 3).hex() == "f015f2080703080161d40107f40907030801" + "62d402012c"
    assert encode_window(Selection([], b"", key("b", 2)), 2).hex() == "f007f4050703080162"


@pytest.mark.parametrize(
    ("version", "value"),
    [
        (2, "f4050703080161f2050703080162"),  # the wrong way round
        (2, "f2050703080162f4050703080161"),  # backwards
        (2, "f2050703080162f2050703080163"),  # twice
        (2, "f20703080161"),
        (2, "f2020700"),
        (2, "f2080703080161d40107"),
        (3, "f2050703080161"),
        (3, "f20d0703080161d40107d6010100"),
        (3, "f20f0703080161d408ffffffffffffffff"),
        (2, "00"),
        (2, "ee00"),
    ],
)
def test_a_window_that_cannot_be_read_is_none(version: int, value: str) -> None:
    data = bytes.fromhex(value)
    assert decode_window(data, 0, len(data), version) is None


@pytest.mark.parametrize("window", ["f00af2020700f404070208ff", "f0020102"])
def test_a_vector_with_another_element_240_is_taken_whole(window: str) -> None:
    data = vector_of(3, 2).encode(keys(1, 3, 2)) + bytes.fromhex(window)
    prefix = Name.parse("/g/v=2")
    heard = open_interest(Interest.decode(build(prefix, 2, data, 1000, None)), prefix, 2).heard
    assert (len(heard.entries), heard.windowed) == (3, False)


# -- what is chosen


@BOTH
def test_what_is_sent_fits_the_room(version: int) -> None:
    for count in (100, 1000):
        for room in (300, 500, 1000):
            vector = vector_of(count, version)
            lacking = dict.fromkeys(keys(20, count // 2, version))
            for missing in ({}, lacking):
                selection = select(vector, [], missing, b"", room)
                size = len(vector.encode(selection.keys)) + len(encode_window(selection, version))
                assert room - 130 < size <= room + 4


def test_a_window_lists_all_there_is_in_it() -> None:
    vector = vector_of(200)
    for after in (b"", key("s0050"), key("s0050x"), key("s0199"), key("zzzzz")):
        selection = select(vector, [], {}, after, 1000)
        assert selection.after == after
        upto = selection.upto
        inside = [each for each in vector.order if each > after and (upto is None or each <= upto)]
        assert set(inside) <= set(selection.keys)
        assert selection.keys == sorted(selection.keys)


@BOTH
def test_windows_follow_each_other_and_tell_everything_in_few(version: int) -> None:
    vector = vector_of(1000, version)
    told: set[bytes] = set()
    after = b""
    windows = 0
    fit_half = 500 // 45  # an entry takes at most 45 bytes here, and a window has at least half of the room
    while True:
        selection = select(vector, [], {}, after, 1100)
        told.update(selection.keys)
        windows += 1
        if selection.upto is None:
            break
        after = selection.upto
    assert told == set(vector.order)
    assert windows <= -(-1000 // fit_half)


def test_the_most_recently_updated_come_first() -> None:
    vector = vector_of(1000)
    for number, each in enumerate(keys(700, 710)):
        vector.raise_to(each, 2 + number, NOW + number)
    selection = select(vector, [], {}, b"", 1000)
    assert set(keys(700, 710)) <= set(selection.keys)
    assert keys(1, 3) == selection.keys[:3]  # and the window
    tiny = select(vector, [], {}, b"", 500)
    recent = [each for each in tiny.keys if each >= key("s0700")]
    assert recent
    assert recent == keys(711 - len(recent), 710)


def test_our_own_come_before_the_most_recent_but_leave_them_room() -> None:
    vector = vector_of(1000)
    for each in keys(700, 720):
        vector.raise_to(each, 2, NOW)
    own = reversed(keys(900, 999))
    selection = select(vector, own, {}, b"", 1000)
    ours = [each for each in selection.keys if each >= key("s0900")]
    assert ours == keys(1000 - len(ours), 999)
    assert 5 <= len(ours) <= 12
    assert key("s0720") in selection.keys
    assert key("s0001") in selection.keys


def test_what_is_lacked_is_told_wherever_it_is_and_the_window_goes_on() -> None:
    vector = vector_of(1000)
    lacking = dict.fromkeys([key("s0333"), key("s0444")])
    selection = select(vector, [], lacking, key("s0100"), 1000)
    assert set(lacking) <= set(selection.keys)
    assert selection.after == key("s0100")


def test_if_too_much_is_lacked_the_window_is_there() -> None:
    vector = vector_of(1000)
    selection = select(vector, [], dict.fromkeys(keys(301, 900)), key("s0100"), 1000)
    assert selection.after == key("s0300")
    assert selection.keys == keys(301, 300 + len(selection.keys))
    assert selection.upto == selection.keys[-1]
    first = select(vector, [], dict.fromkeys(keys(1, 900)), key("s0100"), 1000)
    assert (first.after, first.keys[0]) == (b"", key("s0001"))


def test_if_nothing_is_left_for_a_window_it_is_empty() -> None:
    vector = vector_of(1000)
    room = 400
    count = len(select(vector, [], dict.fromkeys(keys(301, 900)), b"", room).keys)
    lacking = dict.fromkeys(keys(301, 300 + count))
    for after in (b"", key("s0100")):
        selection = select(vector, [], lacking, after, room)
        assert selection.keys == list(lacking)
        assert selection.after == selection.upto
        heard = Heard(dict.fromkeys(selection.keys, 1), BOOT, 0)
        heard.narrow(selection.after, selection.upto)
        assert vector.lacking(heard, vector.merge(heard, 0), listed_only=False) == []


def test_without_windows_the_most_recent_that_fit_are_chosen() -> None:
    vector = vector_of(1000)
    for each in keys(700, 730):
        vector.raise_to(each, 2, NOW)
    selection = select_recent(vector, [key("s0001")], {}, 600)
    assert selection.keys[0] == key("s0001")
    assert selection.keys[1:] == keys(731 - len(selection.keys[1:]), 730)


# -- catching up


def test_stretches_join_where_they_touch() -> None:
    stretches = Stretches()
    assert stretches.gap == b""
    stretches.add(b"f", b"h")
    assert stretches.gap == b""
    stretches.add(b"", b"c")
    assert stretches.gap == b"c"
    stretches.add(b"d", b"f")
    assert stretches.gap == b"c"
    stretches.add(b"b", b"e")
    assert stretches.gap == b"h"
    stretches.add(b"k", None)
    assert stretches.gap == b"h"
    stretches.add(b"h", b"k")
    assert stretches.gap is None


def test_stretches_are_as_good_as_a_set() -> None:
    random = Random(4)
    for _ in range(200):
        stretches = Stretches()
        covered: set[int] = set()
        for _ in range(random.randrange(1, 12)):
            low, high = sorted((random.randrange(31), random.randrange(1, 31)))
            stretches.add(bytes([low]) if low else b"", bytes([high]))
            covered.update(range(low + 1, high + 1))
            first = next(number for number in range(1, 32) if number not in covered)
            assert stretches.gap == (bytes([first - 1]) if first > 1 else b"")


def test_stretches_are_bounded() -> None:
    stretches = Stretches()
    for number in range(1, 2 * MAX_STRETCHES):
        stretches.add(f"{number:06}a".encode(), f"{number:06}b".encode())
    assert stretches.turned_away == MAX_STRETCHES - 1
    stretches.add(b"", b"000000a")
    assert stretches.gap == b"000000a"  # the first gap can always be closed
    assert stretches.turned_away == MAX_STRETCHES
    stretches.add(b"", None)
    assert stretches.gap is None


def test_catching_up_ends_when_all_has_been_told() -> None:
    catch_up = CatchUp()
    catch_up.told(b"", b"m")
    assert (catch_up.gap, catch_up.over) == (b"m", False)
    catch_up.told(b"m", None)
    assert catch_up.over


def test_catching_up_goes_over_the_gaps_several_times_and_then_ends() -> None:
    catch_up = CatchUp()
    catch_up.told(b"", b"c")
    catch_up.told(b"f", b"k")
    for _ in range(PASSES):
        assert not catch_up.over
        assert catch_up.gap == b"c"
        catch_up.asked(b"c", b"f")
        assert catch_up.gap == b"k"
        catch_up.asked(b"k", None)
    assert catch_up.over


def test_news_begins_the_passes_anew() -> None:
    catch_up = CatchUp()
    for _ in range(PASSES - 1):
        catch_up.asked(b"", None)
    catch_up.told(b"a", b"b")
    for _ in range(PASSES - 1):
        catch_up.asked(b"", None)
    assert not catch_up.over


# -- the machine


def test_a_vector_that_fits_is_sent_whole() -> None:
    member = Svs(GROUP, SMALL, DigestSigner(), Random(1), Ledger("f", b""))
    fill(member, keys(1, 12))
    (heard,) = vectors(member, member.start(NOW))
    assert (len(heard.entries), heard.windowed) == (12, False)


@BOTH
def test_whoever_sends_the_group_goes_round_all_streams(version: int) -> None:
    settings = replace(SMALL, version=version)
    members = [Svs(GROUP, settings, DigestSigner(), Random(seed), Ledger("f", b"")) for seed in range(4)]
    streams = keys(1, 300, version)
    for member in members:
        fill(member, streams)
        member.start(NOW)
    told: set[bytes] = set()
    now = NOW
    interests = 0
    random = Random(1)
    while told != set(streams):
        now += 40 * SECOND
        sender = random.choice(members)
        (express,) = [effect for effect in sender.tick(now) if isinstance(effect, Express)]
        (heard,) = vectors(sender, [express])
        told.update(heard.entries)
        interests += 1
        for member in members:
            assert member.receive(Asked(Interest.decode(express.interest)), now) == []
    assert interests <= 300 // 4


@pytest.mark.parametrize("loss", [0.0, 0.3])
@BOTH
def test_a_large_group_converges_with_windows(version: int, loss: float) -> None:
    settings = replace(SMALL, version=version)
    bus = Bus(seed=2, loss=loss)
    for number in range(8):
        bus.join(f"n{number}", settings, *[f"/n{number}/{each}" for each in range(10)])
    for number in range(8):
        for each in range(10):
            bus.announce(f"n{number}", f"/n{number}/{each}", 1 + each)
        bus.run(0.1)
    bus.run_until_converged(5 if loss == 0 else 900)
    assert len(bus.members["n0"].latest()) == 80
    bus.announce("n3", "/n3/3", 99)  # what is new is heard at once, however many streams there are
    bus.run(0.01)
    knowing = sum(99 in member.latest().values() for member in bus.members.values())
    assert knowing == 8 if loss == 0 else knowing >= 4


@pytest.mark.parametrize(("loss", "seconds", "packets"), [(0.0, 15, 120), (0.3, 60, 400)])
def test_a_late_joiner_to_ten_thousand_streams_catches_up_in_a_burst(loss: float, seconds: int, packets: int) -> None:
    bus = Bus(seed=4, loss=loss)
    streams = [key(f"building/panel{number}/voltage") for number in range(10_000)]
    for number in range(3):
        fill(bus.join(f"n{number}", SvsSettings()), streams)
    bus.run(1)
    before = bus.packets
    late = bus.join("late", SvsSettings())
    assert bus.run_until_converged(seconds, step_seconds=2) > 1
    assert len(late.latest()) == 10_000
    bus.run(90)
    assert bus.packets - before <= packets  # and then there is silence


@pytest.mark.parametrize("seed", range(3))
def test_two_halves_of_a_group_that_never_met_become_one(seed: int) -> None:
    bus = Bus(seed, loss=0.2)
    for number in range(4):
        half = keys(1, 300) if number % 2 else keys(301, 600)
        fill(bus.join(f"n{number}", SMALL), half)
    bus.run_until_converged(300)
    assert len(bus.members["n0"].latest()) == 600


def test_a_burst_ends_though_nobody_answers() -> None:
    member = Svs(GROUP, SMALL, DigestSigner(), Random(1), Ledger("f", b""))
    fill(member, keys(1, 300))
    now = NOW
    member.start(now)
    empty = Interest.decode(build(member.prefix, 3, b"\xc9\x00", 1000, DigestSigner()))
    now += SECOND
    member.receive(Asked(empty), now)
    told: list[bytes] = []
    sent = 0
    while (deadline := member.deadline()) is not None and deadline < now + 20 * SECOND:
        member.receive(Asked(empty), deadline)  # and who lacks everything keeps saying so, until it has been told once
        for heard in vectors(member, member.tick(deadline)):
            sent += 1
            told += heard.entries
        if len(told) >= 300:
            break
    assert set(told) == set(keys(1, 300))
    assert sent <= 300 // 4
    deadline = member.deadline()
    assert deadline is not None
    assert deadline > now + 20 * SECOND


def test_a_member_in_suppression_leaves_to_others_what_they_tell() -> None:
    members = [Svs(GROUP, SMALL, DigestSigner(), Random(seed), Ledger("f", b"")) for seed in (1, 2)]
    empty = Interest.decode(build(members[0].prefix, 3, b"\xc9\x00", 1000, DigestSigner()))
    for member in members:
        fill(member, keys(1, 100))
        member.start(NOW)
        member.receive(Asked(empty), NOW + SECOND)
    now = NOW + SECOND
    told: list[bytes] = []
    while True:
        due, turn = min((member.deadline() or 0, index) for index, member in enumerate(members))
        if due > NOW + 20 * SECOND:
            break
        now = due
        sender, listener = members[turn], members[1 - turn]
        for effect in sender.tick(now):
            assert isinstance(effect, Express)
            told += [each for heard in vectors(sender, [effect]) for each in heard.entries]
            listener.receive(Asked(Interest.decode(effect.interest)), now)
    assert set(told) == set(keys(1, 100))
    assert len(told) < 150  # not everything twice


def test_after_each_window_of_another_the_wait_is_drawn_anew_while_something_is_lacking() -> None:
    member = Svs(GROUP, SMALL, DigestSigner(), Random(1), Ledger("f", b""))
    fill(member, keys(1, 40))
    member.start(NOW)
    vector = vector_of(40)
    now = NOW + SECOND
    for low in (41, 1, 11, 21, 31):  # the first of them nobody has, and the last leaves nothing
        heard = vector.encode(keys(low, low + 9)[: 40 if low < 41 else 0])
        window = encode_window(Selection([], b"", None if low == 41 else b"\x08\x00" + bytes(8)), 3)
        before = member.deadline()
        member.receive(Asked(Interest.decode(build(member.prefix, 3, heard + window, 1000, DigestSigner()))), now)
        assert (member.deadline() != before) == (low != 31)
    deadline = member.deadline()
    assert deadline is not None
    assert member.tick(deadline) == []


def test_an_empty_window_does_not_move_the_next_one() -> None:
    teller = Teller(Name.parse("/g/v=3"), SMALL, DigestSigner())
    vector = vector_of(300)
    teller.move_to(key("s0100"))
    empty = Heard({}, 0, 0)
    empty.narrow(key("s0200"), key("s0200"))
    teller.follow(empty)
    teller.tell(vector, {}, {})
    assert teller.window[0] == key("s0100")
    ahead = Heard({}, 0, 0)
    ahead.narrow(key("s0200"), key("s0250"))
    teller.follow(ahead)
    teller.tell(vector, {}, {})
    assert teller.window[0] == key("s0250")
    ahead.narrow(key("s0250"), None)
    teller.follow(ahead)
    teller.tell(vector, {}, {})
    assert teller.window[0] == b""


# -- peers who know nothing of windows


STRICT = replace(SMALL, large_vectors=False)


def test_for_strict_peers_the_vector_is_cut_noted_once_and_counted() -> None:
    member = Svs(GROUP, STRICT, DigestSigner(), Random(1), Ledger("f", b""))
    fill(member, keys(1, 300))
    first = member.start(NOW)
    (note,) = [effect for effect in first if isinstance(effect, Note)]
    assert note.event == "vector cut"
    (heard,) = vectors(member, first)
    assert not heard.windowed
    assert list(heard.entries) == keys(301 - len(heard.entries), 300)
    (wire,) = [effect.interest for effect in first if isinstance(effect, Express)]
    data = open_interest(Interest.decode(wire), member.prefix, 3).data
    assert data is not None
    assert data.content == vector_of(300).encode(list(heard.entries))  # the vector and nothing else
    assert not [effect for effect in member.tick(NOW + 40 * SECOND) if isinstance(effect, Note)]
    assert member.teller.cut == 2


def test_strict_members_whose_vectors_are_cut_do_not_answer_each_other_for_ever() -> None:
    bus = Bus(seed=1)
    for number in range(3):
        fill(bus.join(f"n{number}", STRICT), [key(f"s{each:04}") for each in range(number, 300)])
    bus.run(5)
    packets = bus.packets
    bus.run(270)
    assert bus.packets - packets <= 12


def test_strict_members_still_spread_what_is_new_and_help_who_knows_little() -> None:
    bus = Bus(seed=1)
    for number in range(3):
        fill(bus.join(f"n{number}", STRICT, f"/n{number}"), keys(1, 300))
    bus.run(5)
    bus.announce("n0", "/n0", 7)
    bus.run(1)
    me = Stream(Name.parse("/n0"), BOOT)
    assert all(member.latest()[me] == 7 for member in bus.members.values())
    late = bus.join("late", STRICT)
    bus.run(0.5)
    assert late.latest()[me] == 7
    bus.run(10)
    assert bus.converged()  # who knows little is told all, one cut vector after the other


def test_strict_and_other_members_of_a_small_group_are_one_group() -> None:
    bus = Bus(seed=1, loss=0.2)
    for number in range(4):
        settings = STRICT if number % 2 else SMALL
        bus.join(f"n{number}", settings, f"/n{number}")
    for number in range(4):
        bus.announce(f"n{number}", f"/n{number}", 5)
    bus.run(0.1)
    bus.run_until_converged(120)
    assert len(bus.members["n0"].latest()) == 4


def test_a_strict_member_reads_windows_all_the_same() -> None:
    bus = Bus(seed=1)
    fill(bus.join("large", SMALL), keys(1, 100))
    strict = bus.join("strict", STRICT)
    bus.run_until_converged(60)
    assert len(strict.latest()) == 100
    assert {stream_of(each, 3) for each in keys(1, 100)} == set(strict.latest())
