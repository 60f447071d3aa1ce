"""Fetching segmented objects: discovery, the window, loss, Nacks, the end, the bound. Virtual time, no network."""

from __future__ import annotations

import pytest

from roost.errors import BadConfig
from roost.machine import MS, SECOND, Effect
from roost.machine.rtt import INITIAL_RTO, MIN_RTO
from roost.naming import Name
from roost.naming.conventions import METADATA, segment, version
from roost.pubsub.congestion import Aimd, Cubic, make_window
from roost.pubsub.fetch import MAX_DISTRUSTED, SegmentFetch
from roost.pubsub.fetch_effects import (
    DENIED,
    UNTRUSTED,
    UNUSABLE,
    Answered,
    Distrusted,
    Express,
    FetchSettings,
    Finished,
    Forget,
    GaveUp,
    Refused,
    Segment,
)
from roost.wire import Data, DigestSigner, make_data
from roost.wire.data import NACK
from roost.wire.lp import CONGESTION, DUPLICATE, NO_ROUTE
from roost.wire.rdr import encode_metadata

OBJECT = Name.parse("/obj")
BASE = OBJECT / version(7)
SIGNER = DigestSigner()


def piece(number: int, last: int | None = None, content: bytes = b"x") -> Data:
    final = None if last is None else segment(last)
    return make_data(BASE / segment(number), content, SIGNER, freshness_ms=1000, final_block=final)


def asked(effects: list[Effect]) -> list[Name]:
    return [effect.name for effect in effects if isinstance(effect, Express)]


def delivered(effects: list[Effect]) -> list[int]:
    return [effect.number for effect in effects if isinstance(effect, Segment)]


def gave_up(effects: list[Effect]) -> GaveUp:
    (found,) = [effect for effect in effects if isinstance(effect, GaveUp)]
    return found


def exact(**settings: object) -> SegmentFetch:
    return SegmentFetch(BASE, FetchSettings(**settings))  # type: ignore[arg-type]


def test_a_versioned_name_is_fetched_without_discovery() -> None:
    fetch = exact()
    names = asked(fetch.start(0))
    assert names[0] == BASE / segment(0)
    assert len(names) == fetch.window.size


def test_metadata_is_asked_first_and_leads_to_the_version() -> None:
    fetch = SegmentFetch(OBJECT)
    (first,) = fetch.start(0)
    assert isinstance(first, Express)
    assert (first.name, first.can_be_prefix, first.must_be_fresh) == (OBJECT / METADATA, True, True)
    answer = Data.decode(encode_metadata(OBJECT, BASE, SIGNER, version_number=1))
    assert asked(fetch.receive(Answered(answer), MS))[0] == BASE / segment(0)


def test_without_metadata_the_bare_name_is_asked_as_ndn_cxx_does() -> None:
    fetch = SegmentFetch(OBJECT)
    fetch.start(0)
    now = 0
    effects: list[Effect] = []
    while OBJECT not in asked(effects):
        deadline = fetch.deadline()
        assert deadline is not None
        now = deadline
        effects = fetch.tick(now)
    assert Forget(OBJECT / METADATA) in effects
    effects = fetch.receive(Answered(piece(0, last=2)), now)
    assert delivered(effects) == [0]  # the answer is itself segment 0
    assert asked(effects) == [BASE / segment(1), BASE / segment(2)]


def test_an_answer_that_is_no_segment_ends_it_with_the_reason() -> None:
    fetch = SegmentFetch(OBJECT, FetchSettings(discovery="prefix"))
    fetch.start(0)
    effects = fetch.receive(Answered(make_data(OBJECT / "page", b"", SIGNER)), 0)
    assert "/obj/page does not end in a segment number" in gave_up(effects).reason


def test_segments_are_delivered_in_order_whatever_the_order_of_arrival() -> None:
    fetch = exact()
    fetch.start(0)
    assert delivered(fetch.receive(Answered(piece(2)), 1)) == []
    assert delivered(fetch.receive(Answered(piece(1)), 2)) == []
    assert delivered(fetch.receive(Answered(piece(0)), 3)) == [0, 1, 2]


def test_final_block_ends_it_and_forgets_what_was_asked_beyond() -> None:
    fetch = exact()
    fetch.start(0)
    effects = fetch.receive(Answered(piece(1, last=1)), 1)
    assert {effect.name for effect in effects if isinstance(effect, Forget)} == {
        BASE / segment(2),
        BASE / segment(3),
    }
    effects = fetch.receive(Answered(piece(0, last=1)), 2)
    assert effects[-1] == Finished(BASE, 2)
    assert fetch.deadline() is None
    assert fetch.tick(100 * SECOND) == []


def test_a_duplicate_is_delivered_once() -> None:
    fetch = exact()
    fetch.start(0)
    assert delivered(fetch.receive(Answered(piece(0)), 1)) == [0]
    assert delivered(fetch.receive(Answered(piece(0)), 2)) == []


def test_no_segment_beyond_taken_plus_capacity_is_asked() -> None:
    fetch = exact(capacity=4)
    names = asked(fetch.start(0))
    assert names == [BASE / segment(number) for number in range(4)]
    effects: list[Effect] = []
    for number in range(4):
        effects += fetch.receive(Answered(piece(number)), 1)
    assert asked(effects) == []
    assert asked(fetch.take(2, 2)) == [BASE / segment(4), BASE / segment(5)]


def test_a_lost_segment_is_asked_again_and_the_window_shrinks() -> None:
    fetch = exact()
    fetch.start(0)
    before = fetch.window.size
    assert fetch.deadline() == INITIAL_RTO
    effects = fetch.tick(INITIAL_RTO)
    assert BASE / segment(0) in asked(effects)
    assert fetch.window.size < before
    assert fetch.retransmitted == len(asked(effects))


def test_losses_of_one_blackout_double_the_time_out_once() -> None:
    fetch = exact()
    fetch.start(0)
    for number in range(4):  # each answer lets two more out, 10 ms after the two before
        fetch.receive(Answered(piece(number)), (number + 1) * 10 * MS)
    assert fetch.rtt.rto == MIN_RTO
    ticks = 0
    while (due := fetch.deadline() or 0) <= 40 * MS + MIN_RTO:
        fetch.tick(due)
        ticks += 1
    assert ticks > 2
    assert fetch.rtt.rto == 2 * MIN_RTO


def test_giving_up_says_which_segment_how_often_and_what_came_back() -> None:
    fetch = exact(tries=3, capacity=1)
    fetch.start(0)
    fetch.receive(Answered(piece(0)), MS)
    now = MS
    effects = fetch.take(1, now)
    while not fetch.over:
        now = fetch.deadline() or 0
        effects = fetch.tick(now)
    reason = gave_up(effects).reason
    assert "segment 1 of /obj/v=7 was asked 3 times as /obj/v=7/seg=1" in reason
    assert "nothing came back" in reason
    assert "segments 0 to 0 had come" in reason


def test_a_congestion_nack_waits_and_shrinks_the_window() -> None:
    fetch = exact(capacity=1)
    fetch.start(0)
    before = fetch.window.size
    effects = fetch.receive(Refused(BASE / segment(0), CONGESTION), 1)
    assert BASE / segment(0) not in asked(effects)
    assert fetch.window.size < before
    again = fetch.deadline()
    assert again is not None
    assert again > 1
    assert BASE / segment(0) in asked(fetch.tick(again))


def test_no_route_ends_it_after_three_refusals_with_the_nack() -> None:
    fetch = exact(capacity=1)
    fetch.start(0)
    effects: list[Effect] = []
    now = 0
    for _ in range(3):
        effects = fetch.receive(Refused(BASE / segment(0), NO_ROUTE), now)
        now = fetch.deadline() or 0
        if not fetch.over:
            fetch.tick(now)
    assert gave_up(effects).nack == NO_ROUTE
    assert "no route" in gave_up(effects).reason


def test_a_duplicate_nack_is_tried_again() -> None:
    fetch = exact(capacity=1)
    fetch.start(0)
    fetch.receive(Refused(BASE / segment(0), DUPLICATE), 1)
    assert BASE / segment(0) in asked(fetch.tick(fetch.deadline() or 0))


def test_a_congestion_mark_shrinks_the_window_once_per_window() -> None:
    fetch = exact()
    fetch.start(0)
    sizes = [fetch.window.size]
    for number in range(3):
        fetch.receive(Answered(piece(number), congested=True), 1)
        sizes.append(fetch.window.size)
    assert sizes[1] < sizes[0]
    assert sizes[2] >= sizes[1]
    assert sizes[3] >= sizes[2]


# -- the producer says no


def denial(number: int) -> Data:
    return make_data(BASE / segment(number), b"", SIGNER, content_type=NACK)


def test_an_application_nack_for_the_first_segment_ends_it() -> None:
    fetch = exact()
    fetch.start(0)
    found = gave_up(fetch.receive(Answered(denial(0)), 1))
    assert "/obj/v=7/seg=0: the producer answered with an application Nack" in found.reason
    assert found.kind == DENIED


def test_an_application_nack_behind_the_end_ends_nothing() -> None:
    fetch = exact()
    assert len(asked(fetch.start(0))) == 4
    effects = fetch.receive(Answered(denial(2)), 1)
    assert effects == [Forget(BASE / segment(3))]  # nothing from there on is asked
    assert asked(fetch.receive(Answered(piece(0)), 2)) == []
    effects = fetch.receive(Answered(piece(1, last=1)), 3)
    assert effects[-1] == Finished(BASE, 2)


def test_an_application_nack_that_comes_after_the_end_is_known_ends_nothing() -> None:
    fetch = exact()
    fetch.start(0)
    fetch.receive(Answered(piece(1, last=1)), 1)
    assert fetch.receive(Answered(denial(3)), 2) == []
    assert fetch.receive(Answered(piece(0)), 3)[-1] == Finished(BASE, 2)


def test_an_object_that_does_not_say_where_it_ends_is_given_up_at_the_nack() -> None:
    fetch = exact()
    fetch.start(0)
    fetch.receive(Answered(denial(2)), 1)
    fetch.receive(Answered(piece(1)), 2)
    effects = fetch.receive(Answered(piece(0)), 3)
    assert delivered(effects) == [0, 1]
    assert "/obj/v=7/seg=2: the producer answered with an application Nack" in gave_up(effects).reason


def test_a_nack_within_the_object_ends_it_as_soon_as_that_is_known() -> None:
    fetch = exact()
    fetch.start(0)
    fetch.receive(Answered(denial(2)), 1)
    assert gave_up(fetch.receive(Answered(piece(1, last=5)), 2)).kind == DENIED


def test_an_application_nack_for_the_metadata_leads_to_the_other_way_if_there_is_one() -> None:
    refused = make_data(OBJECT / METADATA / version(1) / segment(0), b"", SIGNER, content_type=NACK)
    fetch = SegmentFetch(OBJECT)
    fetch.start(0)
    effects = fetch.receive(Answered(refused), 1)
    assert effects[0] == Forget(OBJECT / METADATA)
    assert asked(effects) == [OBJECT]
    only = SegmentFetch(OBJECT, FetchSettings(discovery="metadata"))
    only.start(0)
    assert gave_up(only.receive(Answered(refused), 1)).kind == DENIED


# -- what fails verification


def test_a_segment_that_fails_verification_is_asked_again_fresh_after_a_pause() -> None:
    fetch = exact(capacity=1)
    fetch.start(0)
    assert fetch.receive(Distrusted(BASE / segment(0), "forged"), 1) == []
    again = fetch.deadline()
    assert again is not None
    assert again > 1
    (express,) = fetch.tick(again)
    assert express == Express(BASE / segment(0), can_be_prefix=False, must_be_fresh=True, lifetime_ms=4000)
    assert fetch.receive(Answered(piece(0, last=0)), again + 1)[-1] == Finished(BASE, 1)


def test_three_answers_that_fail_verification_end_it_with_the_segment_and_the_rule() -> None:
    fetch = exact()
    fetch.start(0)
    fetch.receive(Answered(piece(0)), 1)
    now = 1
    effects: list[Effect] = []
    for _ in range(MAX_DISTRUSTED):
        effects = fetch.receive(Distrusted(BASE / segment(1), "altered [rule #reading]"), now)
        while not fetch.over and BASE / segment(1) not in asked(effects):
            now = fetch.deadline() or 0
            effects = fetch.tick(now)
    found = gave_up(effects)
    assert found.kind == UNTRUSTED
    assert "segment 1 of /obj/v=7 was asked 3 times as /obj/v=7/seg=1" in found.reason
    assert "failed verification: altered [rule #reading]; segments 0 to 0 had come" in found.reason


def test_metadata_that_fails_verification_leads_to_the_other_way() -> None:
    fetch = SegmentFetch(OBJECT)
    fetch.start(0)
    now = 0
    effects: list[Effect] = []
    for _ in range(MAX_DISTRUSTED):
        effects = fetch.receive(Distrusted(OBJECT / METADATA, "forged"), now)
        if not effects:
            now = fetch.deadline() or 0
            fetch.tick(now)
    assert asked(effects) == [OBJECT]
    assert fetch.receive(Distrusted(OBJECT / METADATA, "forged, and late"), now) == []


@pytest.mark.parametrize("target", ["/other/v=7", "/ob/v=7", "/"])
def test_metadata_that_points_elsewhere_is_refused(target: str) -> None:
    fetch = SegmentFetch(OBJECT)
    fetch.start(0)
    answer = Data.decode(encode_metadata(OBJECT, Name.parse(target), SIGNER, version_number=1))
    found = gave_up(fetch.receive(Answered(answer), 1))
    assert f"points to {target}, which is not under /obj" in found.reason
    assert found.kind == UNUSABLE


def test_metadata_may_be_asked_for_by_its_own_name_and_point_below_the_object() -> None:
    fetch = SegmentFetch(OBJECT / METADATA, FetchSettings(discovery="metadata"))
    assert asked(fetch.start(0)) == [OBJECT / METADATA]
    deeper = OBJECT / "list" / version(3)
    answer = Data.decode(encode_metadata(OBJECT, deeper, SIGNER, version_number=1))
    assert asked(fetch.receive(Answered(answer), 1))[0] == deeper / segment(0)


def test_data_of_another_object_is_passed_over() -> None:
    fetch = exact()
    fetch.start(0)
    assert fetch.receive(Answered(make_data(Name.parse("/other/seg=0"), b"", SIGNER)), 1) == []


def test_unknown_settings_say_what_there_is() -> None:
    with pytest.raises(BadConfig, match="auto, exact, metadata or prefix"):
        SegmentFetch(OBJECT, FetchSettings(discovery="psychic"))
    with pytest.raises(BadConfig, match="aimd, cubic"):
        make_window("vegas")


@pytest.mark.parametrize("field", ["capacity", "tries", "lifetime_ms"])
@pytest.mark.parametrize("value", [0, -1])
def test_settings_that_would_fetch_nothing_are_refused(field: str, value: int) -> None:
    with pytest.raises(BadConfig, match=f"{field}={value} would fetch nothing: it is at least 1"):
        exact(**{field: value})


@pytest.mark.parametrize("kind", [Aimd, Cubic])
@pytest.mark.parametrize("initial", [0.0, -4.0, 1e9])
def test_windows_that_cannot_be_are_refused(kind: type[Aimd | Cubic], initial: float) -> None:
    with pytest.raises(BadConfig, match="1 to 65536"):
        kind(initial)


@pytest.mark.parametrize("kind", [Aimd, Cubic])
def test_windows_start_slowly_shrink_and_grow_again(kind: type[Aimd | Cubic]) -> None:
    window = kind()
    first = window.size
    for _ in range(60):
        window.grow(0, 50 * MS)
    assert window.size == first + 60
    top = window.size
    window.shrink(SECOND)
    low = window.size
    assert low < top
    now = SECOND
    for _ in range(2000):
        now += 5 * MS
        window.grow(now, 50 * MS)
    assert window.size > top
    for _ in range(50):
        window.shrink(now)
    assert window.size >= 2


def test_discovery_asks_no_more_often_and_waits_no_longer_than_it_was_told() -> None:
    fetch = SegmentFetch(OBJECT, FetchSettings(tries=1, lifetime_ms=200))
    assert asked(fetch.start(0)) == [OBJECT / METADATA]
    assert fetch.deadline() == 200 * MS
    assert asked(fetch.tick(200 * MS)) == [OBJECT]  # the other way, once
    assert fetch.deadline() == 400 * MS
    assert "asked once" in gave_up(fetch.tick(400 * MS)).reason
