"""The load of bench/process: a figure counts only if the results are right, so it must see when they are not."""

from __future__ import annotations

from math import sqrt
from statistics import fmean, stdev

import pytest
from bench.mqtt._layout import Lost
from bench.process import loss
from bench.process._flow import Cycle, Flow, Watch, flow_of, publish, relayed
from bench.process._macros import Bench, average, conversion, localization
from bench.process._many import definitions, many
from bench.process._pure import Pure
from bench.process.beacons import r_squared

LETTERS = [("a", b"1"), ("bb", b"22"), ("ccc", b"333")]
PACKETS = [publish(topic, payload) for topic, payload in LETTERS]


def proven(flow: Flow, pure: Pure) -> bool:
    return all(pure.results(flow.readings) == due for due in (flow.first, flow.steady))


@pytest.mark.parametrize("bench", [conversion(), average(3), localization(4)], ids=lambda bench: bench.name)
def test_macros_give_what_was_worked_out_in_plain_python(bench: Bench) -> None:
    assert proven(flow_of(bench), Pure([bench.definition]))


def test_the_average_has_no_result_before_every_sensor_sent_three_readings() -> None:
    flow = flow_of(average(3))
    assert (len(flow.readings) - len(flow.first), len(flow.steady)) == (8, len(flow.readings))


def test_many_macros_give_one_result_for_every_reading() -> None:
    flow = many(7)
    assert (len(flow.readings), len(flow.first), len(flow.steady)) == (70, 7, 70)
    assert proven(flow, Pure(definitions(7)))


def test_relayed_readings_are_their_own_results() -> None:
    flow = relayed(conversion())
    assert flow.readings == flow.steady
    assert [payload for _, payload in flow.readings] == [payload for _, payload in conversion().cycle]


def test_a_long_message_has_a_length_of_two_bytes() -> None:
    assert publish("t", bytes(200))[:3] == bytes([0x30, 203 & 127 | 128, 1])


def test_packets_go_round_and_round() -> None:
    cycle = Cycle(LETTERS)
    assert cycle.packets(0, 3) == b"".join(PACKETS)
    assert cycle.packets(5, 2) == PACKETS[2] + PACKETS[0]


def test_results_are_counted_when_they_are_whole() -> None:
    watch = Watch(Cycle(LETTERS))
    stream = b"".join(PACKETS) * 2
    counts = []
    for byte in stream:
        watch.see(bytes([byte]))
        counts.append(watch.done)
    ends = [sum(map(len, (PACKETS * 2)[: number + 1])) for number in range(6)]
    assert counts == [sum(end <= at for end in ends) for at in range(1, len(stream) + 1)]


@pytest.mark.parametrize("wrong", [PACKETS[1], PACKETS[0] + PACKETS[2], PACKETS[0][:-1] + b"2"])
def test_a_result_that_is_wrong_missing_or_out_of_order_is_noticed(wrong: bytes) -> None:
    with pytest.raises(Lost):
        Watch(Cycle(LETTERS)).see(wrong)


@pytest.mark.parametrize(("draw", "expected"), [(loss.fixed, loss.equation_3(2)), (loss.anywhere, 2)])
def test_as_much_is_lost_as_is_expected_and_nothing_if_it_is_held(draw: loss.Draw, expected: float) -> None:
    counts = list(loss.lost(draw, 2, hold=False, draws=300))
    assert abs(fmean(counts) - expected) < 3 * stdev(counts) / sqrt(len(counts))
    assert not any(loss.lost(draw, 2, hold=True, draws=50))


def test_a_straight_line_explains_everything_and_a_bent_one_less() -> None:
    assert r_squared([2, 3, 4], [5, 7, 9]) == pytest.approx(1)
    assert r_squared([2, 3, 4], [5, 6, 9]) < 0.95
