"""A panel crashes at any point of its saves: no number is given twice, and nothing that was published is lost."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.panel_world import CURRENT, VOLTAGE, House

from roost.errors import Backpressure
from roost.machine import SECOND
from roost.pubsub.panels.panel import PanelSettings

STREAMS = (VOLTAGE, CURRENT)


def check(house: House, texts: dict[str, None]) -> None:
    """Come to rest; the fake repo itself asserts that no number left the house with two contents."""
    before = house.published()
    house.settle()
    for stream in STREAMS:
        numbers = [number for each, number in house.published() if each == stream]
        assert len(set(numbers)) == len(numbers), "a number was published twice"
        high = max([name.at(-1).number() for name in house.repo.kept if name.prefix(-1) == stream], default=0)
        found = [house.text_of(stream, number) for number in range(1, high + 1)]  # dense, or this fails
        assert len(set(found)) == len(found)
        assert all(text in texts for text in found)
    for stream, number in before:
        assert house.text_of(stream, number) in texts, "published, and not at the repo"
    assert len(house.panel.outbox) == 0
    assert house.refused() == []


def crash(house: House, part: int) -> None:
    """Crash with tenths of the save under way on the disk; 11 is all of it, a replacement included. Start again."""
    if house.unsaved:
        save = house.unsaved[0]
        house.apply(save, None if part > 10 else len(save.data) * part // 10)
    house.crash()
    house.start(house.repo.latest())


def run(house: House, crash_at: int, part: int) -> bool:
    """Publish, save and have acknowledged some; crash at a save, of which the first part is on the disk."""
    texts: dict[str, None] = {}
    house.start()
    saves = 0
    crashed = False
    for step in range(6):
        for stream in STREAMS[: 1 + step % 2]:
            text = f"{step} {stream.at(-1)}"
            texts[text] = None
            house.publish(text, stream=stream)
        while house.unsaved:
            if saves == crash_at and not crashed:
                crash(house, part)
                crashed = True
            else:
                house.save_one()
                saves += 1
        if step % 3 == 1:
            house.answer(1)
        house.wait(SECOND)
    check(house, texts)
    return crashed


def test_a_crash_at_every_save_with_every_part_of_it_on_the_disk() -> None:
    reached = 0
    while True:
        crashed = [run(House(), reached, part) for part in range(12)]
        if not any(crashed):
            break
        assert all(crashed)
        reached += 1
    assert reached > 5


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(1, 9)),
        st.tuples(st.sampled_from(["save", "answer", "fail", "wait", "lose"]), st.integers(1, 3)),
        st.tuples(st.just("crash"), st.integers(0, 11)),
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(ACTIONS)
def test_any_order_of_publishing_saving_answering_failing_and_crashing(actions: list[tuple[str, int]]) -> None:
    house = House(PanelSettings(max_entries=20))
    texts: dict[str, None] = {}
    house.start()
    for action, number in actions:
        if action == "publish":
            fresh = [f"{len(texts) + index}" for index in range(number)]
            try:
                house.publish(*fresh, stream=STREAMS[number % 2])
            except Backpressure:
                continue
            texts |= dict.fromkeys(fresh)
        elif action == "save" and house.unsaved:
            house.save()
        elif action == "answer":
            house.answer(number)
        elif action == "fail":
            house.fail()
        elif action == "wait":
            house.wait(number * SECOND)
        elif action == "lose" and house.repo.waiting:  # kept, but the receipt does not come
            packets, then = house.repo.waiting.pop()
            house.repo.keep(packets)
            house.do(then(None, "timed out", house.now))
        elif action == "crash":
            crash(house, number)
    check(house, texts)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 7), st.booleans())
def test_a_flipped_bit_costs_one_reading_at_most_and_no_number_is_given_twice(at: int, bit: int, kept: bool) -> None:
    house = House()
    house.start()
    for number in range(6):
        house.publish(f"{number}", stream=STREAMS[number % 2])
        house.save()
    if kept:
        house.answer()
        house.wait(2 * SECOND)
        house.save()
    house.crash()
    flipped = bytearray(house.disk)
    flipped[at % len(flipped)] ^= 1 << bit
    house.disk = bytes(flipped)
    house.build()
    assert house.panel.outbox.damaged
    house.settle()
    for stream in STREAMS:
        house.publish("after", stream=stream)
    house.settle()
    assert house.refused() == []
    assert len(house.repo.kept) >= 7
