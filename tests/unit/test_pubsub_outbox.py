"""The outbox: what is on the disk after any crash, what of it can be believed, and what its bounds turn away."""

from __future__ import annotations

import pytest

from roost.errors import Backpressure
from roost.machine import Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.panels.outbox import COMPACT_BYTES, FLUSH, Outbox
from roost.pubsub.panels.outbox_log import Packet, Run
from roost.wire import encode_data
from roost.wire.digest import DigestSigner

A, B = (Name.parse(f"/G/P/device/{metric}") for metric in "ab")


def packet(stream: Name, number: int, content: bytes = b"21.5") -> Packet:
    name = numbered(stream, number)
    return Packet(stream, number, name.value, encode_data(name, content, DigestSigner()))


class Disk:
    """One file, and the saves that were carried out on it."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = content
        self.replaced = 0

    def open(self, **bounds: int) -> Outbox:
        outbox = Outbox("f", self.content, **bounds)
        if outbox.new:
            outbox.settle({})
        return outbox

    def carry_out(self, outbox: Outbox, effects: list[Effect]) -> list[Packet]:
        through: list[Packet] = []
        while effects:
            (save,) = effects
            assert isinstance(save, Save)
            self.content = save.data if save.replace else self.content + save.data
            self.replaced += save.replace
            now_through, effects = outbox.saved(Saved(save.file, save.ticket))
            through += now_through
        return through

    def keep(self, outbox: Outbox, *packets: Packet) -> None:
        assert self.carry_out(outbox, outbox.add(packets)) == list(packets)

    def flush(self, outbox: Outbox) -> None:
        deadline = outbox.deadline()
        assert deadline is not None
        assert outbox.tick(deadline - 1) == []
        self.carry_out(outbox, outbox.tick(deadline))


def written(*packets: Packet) -> Disk:
    disk = Disk()
    outbox = disk.open()
    for each in packets:
        disk.keep(outbox, each)
    return disk


def test_what_was_saved_is_there_after_a_restart_in_order() -> None:
    packets = [packet(A, 1), packet(B, 1), packet(A, 2)]
    outbox = written(*packets).open()
    assert outbox.kept() == packets
    assert (outbox.highest(A), outbox.highest(B)) == (2, 1)
    assert outbox.settled
    assert not outbox.new
    assert not outbox.damaged
    assert outbox.held_bytes == sum(len(each.wire) for each in packets)


def test_nothing_may_be_sent_before_it_is_saved() -> None:
    outbox = Disk().open()
    first = packet(A, 1)
    (save,) = outbox.add([first])
    assert isinstance(save, Save)
    assert outbox.get(first.value) is None
    assert outbox.saved(Saved("f", save.ticket + 1)) == ([], [])
    assert outbox.saved(Saved("f", save.ticket)) == ([first], [])
    assert outbox.get(first.value) == first.wire
    assert outbox.saved(Saved("f", save.ticket)) == ([], [])


def test_what_is_added_while_a_save_is_under_way_goes_into_the_next_one() -> None:
    disk = Disk()
    outbox = disk.open()
    first = outbox.add([packet(A, 1)])
    for number in range(2, 50):
        assert outbox.add([packet(A, number)]) == []
    assert [each.number for each in disk.carry_out(outbox, first)] == list(range(1, 50))
    assert outbox.saves == 2


def test_what_is_confirmed_goes_with_the_next_save_or_after_a_while_and_its_number_stays_used() -> None:
    disk = Disk()
    outbox = disk.open()
    packets = [packet(A, 1), packet(A, 2), packet(B, 1), packet(A, 3)]
    disk.keep(outbox, *packets)
    assert outbox.forget(packets[:3], 7) == [Run(A, 1, 2), Run(B, 1, 1)]
    assert outbox.forget(packets[:3], 8) == []
    assert outbox.deadline() == 7 + FLUSH
    assert [each.number for each in disk.open().kept()] == [1, 2, 1, 3]
    disk.flush(outbox)
    assert outbox.deadline() is None
    again = disk.open()
    assert again.kept() == packets[3:]
    assert (again.highest(A), again.highest(B)) == (3, 1)


def test_a_log_that_is_mostly_outdated_is_replaced_and_its_numbers_survive() -> None:
    disk = Disk()
    outbox = disk.open()
    number = 0
    while not disk.replaced:
        number += 1
        each = packet(A, number, bytes(1000))
        disk.keep(outbox, each)
        outbox.forget([each], 0)
        assert len(disk.content) < COMPACT_BYTES + 4096
    assert len(disk.content) < 2048
    again = disk.open()
    assert again.highest(A) == number
    assert outbox.compactions == 1
    assert outbox.size_bytes == len(disk.content)


def test_a_torn_tail_costs_only_what_was_never_saved() -> None:
    disk = written(packet(A, 1), packet(A, 2))
    whole = len(disk.content)
    outbox = disk.open()
    disk.keep(outbox, packet(A, 3))
    for size in range(whole, len(disk.content)):
        torn = Disk(disk.content[:size])
        found = torn.open()
        assert not found.damaged
        assert found.highest(A) == 2
        torn.keep(found, packet(A, 3, b"another"))
        assert [each.wire for each in torn.open().kept()][2] == packet(A, 3, b"another").wire


def test_any_flipped_bit_is_noticed_and_costs_one_frame_at_most() -> None:
    packets = [packet(A, 1), packet(B, 1), packet(A, 2)]
    disk = written(*packets)
    for position in range(len(disk.content)):
        flipped = bytearray(disk.content)
        flipped[position] ^= 1 << position % 8
        outbox = Outbox("f", bytes(flipped))
        assert outbox.damaged
        assert not outbox.settled
        assert len(outbox.kept()) == 2
        assert all(each in packets for each in outbox.kept())


def test_a_damaged_outbox_gives_no_number_and_saves_nothing_before_it_is_settled() -> None:
    disk = written(packet(A, 1), packet(A, 2), packet(A, 3))
    disk.content = disk.content[:-1] + bytes([disk.content[-1] ^ 1])
    outbox = Outbox("f", disk.content)
    assert outbox.highest(A) == 2
    with pytest.raises(Backpressure, match="not certain"):
        outbox.add([packet(A, 3)])
    outbox.forget(outbox.kept()[:1], 0)
    assert outbox.tick(FLUSH) == []
    disk.carry_out(outbox, outbox.settle({A: 3, B: 9}))
    assert disk.replaced == 1
    again = disk.open()
    assert not again.damaged
    assert (again.highest(A), again.highest(B)) == (3, 9)
    assert [each.number for each in again.kept()] == [2]


def test_numbers_that_a_new_outbox_was_told_survive_although_nothing_was_published() -> None:
    disk = Disk()
    outbox = Outbox("f", b"")
    assert outbox.new
    disk.carry_out(outbox, outbox.settle({A: 5}))
    again = disk.open()
    assert again.highest(A) == 5
    assert again.settled


def test_bounds_in_readings_bytes_and_streams_refuse_all_or_nothing() -> None:
    size = len(packet(A, 1).wire)
    for bounds, what in (
        ({"max_entries": 2}, "2 readings"),
        ({"max_bytes": 2 * size + 1}, "bytes"),
    ):
        disk = Disk()
        outbox = disk.open(**bounds)
        disk.keep(outbox, packet(A, 1))
        before = outbox.highest(A)
        with pytest.raises(Backpressure, match=what) as caught:
            outbox.add([packet(A, 2), packet(B, 1)])
        assert caught.value.retry_after_ms > 0
        assert (outbox.highest(A), outbox.highest(B), len(outbox)) == (before, 0, 1)
        assert outbox.turned_away == 2
    disk = Disk()
    outbox = disk.open(max_entries=1)
    disk.keep(outbox, packet(A, 1))
    outbox.forget(outbox.kept(), 0)
    disk.keep(outbox, packet(A, 2))


def test_what_will_never_fit_is_refused_without_a_time_to_try_again() -> None:
    size = len(packet(A, 1).wire)
    for bounds, what in (
        ({"max_entries": 1}, "1 readings"),
        ({"max_bytes": 2 * size - 1}, "bytes"),
        ({"max_streams": 1}, "1 streams"),
    ):
        outbox = Disk().open(**bounds)
        with pytest.raises(Backpressure, match=what) as caught:
            outbox.add([packet(A, 1), packet(B, 1)])
        assert caught.value.retry_after_ms == 0
        assert len(outbox) == 0


def test_what_was_confirmed_while_a_save_took_long_is_written_behind_it() -> None:
    disk = written(packet(A, 1))
    outbox = disk.open()
    (slow,) = outbox.add([packet(A, 2)])
    outbox.forget(outbox.kept(), 0)
    assert outbox.tick(FLUSH) == []
    assert isinstance(slow, Save)
    disk.content += slow.data
    _, (behind,) = outbox.saved(Saved(slow.file, slow.ticket))
    assert isinstance(behind, Save)
    disk.content += behind.data
    assert [each.number for each in disk.open().kept()] == [2]


def test_what_is_refused_is_set_aside_over_restarts_and_can_be_taken_back() -> None:
    disk = written(packet(A, 1), packet(A, 2))
    outbox = disk.open()
    outbox.refuse(outbox.kept()[0], "no rule", 0)
    assert outbox.refused() == [(numbered(A, 1), "no rule")]
    disk.flush(outbox)
    again = disk.open()
    assert again.refused() == [(numbered(A, 1), "no rule")]
    assert [each.number for each in again.kept()] == [2]
    assert [each.number for each in again.take_back(0)] == [1]
    assert again.refused() == []
    disk.flush(again)
    assert [each.number for each in disk.open().kept()] == [2, 1]


def test_of_too_many_refused_ones_the_oldest_goes_and_is_counted() -> None:
    disk = Disk()
    outbox = disk.open(max_refused=2)
    packets = [packet(A, number) for number in range(1, 4)]
    disk.keep(outbox, *packets)
    for each in packets:
        outbox.refuse(each, "no", 0)
    disk.flush(outbox)
    assert [name for name, _ in outbox.refused()] == [numbered(A, 2), numbered(A, 3)]
    assert outbox.dropped == 1
    again = disk.open()
    assert again.refused() == outbox.refused()
    assert again.kept() == []


def test_refused_readings_survive_a_replacement_of_the_log() -> None:
    disk = written(packet(A, 1))
    outbox = disk.open()
    outbox.refuse(outbox.kept()[0], "no", 0)
    number = 1
    while not disk.replaced:
        number += 1
        each = packet(A, number, bytes(4000))
        disk.keep(outbox, each)
        outbox.forget([each], 0)
    assert disk.open().refused() == [(numbered(A, 1), "no")]
