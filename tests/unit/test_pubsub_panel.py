"""The panel: on its own disk first, at a repo then, and what happens when either is away."""

from __future__ import annotations

import pytest
from tests.panel_world import CURRENT, NAME, VOLTAGE, WORLD, House, reading
from tests.trust_world import NOW, settle

from roost.errors import Backpressure, BadPacket, InvalidInput, NoKey
from roost.machine import MS, SECOND, Note
from roost.machine.disk import Save
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.panels.dispatch import BATCH_READINGS, FILL, MAX_PAUSE, MIN_PAUSE, REFUSALS, WINDOW
from roost.pubsub.panels.panel import MAX_RECENT, PanelSettings
from roost.pubsub.panels.recollection import ALONE_TRIES
from roost.pubsub.resident import Part
from roost.repo.batch import MAX_BYTES, Receipt, encode_batch
from roost.repo.catalogue import Catalogue, Description
from roost.trust import Accepted
from roost.wire.reading import TEXT, Reading


def started(settings: PanelSettings = PanelSettings()) -> House:  # noqa: B008
    house = House(settings)
    house.start()
    return house


def test_a_reading_is_published_when_it_is_on_the_disk_and_acknowledged_when_a_repo_has_it() -> None:
    house = started()
    house.publish("230", "231")
    assert house.published() == []
    assert house.repo.waiting == []
    house.save()
    assert house.published() == [(VOLTAGE, 1), (VOLTAGE, 2)]
    assert house.acknowledged() == []
    house.answer()
    assert house.acknowledged() == [(VOLTAGE, 1, 2)]
    assert house.text_of(VOLTAGE, 2) == "231"
    assert len(house.panel.outbox) == 0


def test_what_it_signs_is_what_the_schema_accepts() -> None:
    house = started()
    house.publish("230")
    house.save()
    ((data,), _) = house.repo.waiting[0]
    assert isinstance(settle(WORLD.verifier(), data, WORLD.certificates()), Accepted)
    with pytest.raises(NoKey):
        house.publish("230", stream=NAME / "flat")


def test_streams_of_others_are_not_published() -> None:
    house = started()
    for stream in (NAME, NAME.prefix(-1) / "Panel2" / "Heater" / "Voltage"):
        with pytest.raises(InvalidInput, match="not a stream of"):
            house.publish("230", stream=stream)


def test_many_readings_cost_one_save_and_streams_count_by_themselves() -> None:
    house = started()
    effects = house.panel.publish_many([(VOLTAGE, reading("1")), (CURRENT, reading("2")), (VOLTAGE, reading("3"))], NOW)
    assert [type(effect) for effect in effects] == [Save]
    house.do(effects)
    house.save()
    assert house.published() == [(VOLTAGE, 1), (CURRENT, 1), (VOLTAGE, 2)]


def test_of_a_reading_too_large_for_a_batch_no_number_is_used() -> None:
    house = started()
    with pytest.raises(BadPacket, match="make it smaller"):
        house.do(house.panel.publish_many([(VOLTAGE, reading("1")), (VOLTAGE, Reading(NOW, TEXT, bytes(7900)))], NOW))
    house.publish("1")
    house.save()
    assert house.published() == [(VOLTAGE, 1)]


def test_batches_are_full_at_most_and_so_many_are_under_way_at_a_time() -> None:
    house = started(PanelSettings(copies=64))
    house.publish(*[f"{number:1000}" for number in range(100)])
    house.save()
    assert len(house.repo.waiting) == WINDOW
    for packets, _ in house.repo.waiting:
        assert len(packets) < BATCH_READINGS
        assert len(encode_batch([data.wire for data in packets], 64)) <= MAX_BYTES
    assert set(house.repo.copies) == {64}
    house.answer(1)
    assert len(house.repo.waiting) == WINDOW
    house.answer()
    assert len(house.repo.kept) == 100
    small = started()
    small.publish(*["x"] * 130)
    small.save()
    assert all(len(packets) <= BATCH_READINGS for packets, _ in small.repo.waiting)


def test_an_idle_panel_sends_at_once_and_a_busy_one_waits_a_moment_for_more() -> None:
    house = started()
    house.publish("1")
    house.save()
    assert len(house.repo.waiting) == 1
    house.publish("2")
    house.save()
    house.wait(FILL - 1)
    house.publish("3")
    house.save()
    assert len(house.repo.waiting) == 1
    house.wait(1)
    assert [len(packets) for packets, _ in house.repo.waiting] == [1, 2]


def test_what_waits_for_a_batch_to_fill_goes_as_soon_as_nothing_is_under_way() -> None:
    house = started()
    house.publish("1")
    house.save()
    house.publish("2")
    house.save()
    house.answer(1)
    assert len(house.repo.waiting) == 1


def test_what_no_repo_confirms_is_sent_again_with_growing_pauses_one_command_at_a_time() -> None:
    house = started()
    house.publish(*[f"{number:1000}" for number in range(60)])
    house.save()
    assert len(house.repo.waiting) == WINDOW
    house.fail()
    notes = [effect for effect in house.told if isinstance(effect, Note) and effect.event == "readings unconfirmed"]
    assert len(notes) == 1
    pauses = []
    for _ in range(12):
        assert house.repo.waiting == []
        deadline = house.panel.deadline()
        assert deadline is not None
        pauses.append(deadline - house.now)
        house.wait(deadline - house.now)
        assert len(house.repo.waiting) == 1
        house.fail()
    assert MIN_PAUSE // 2 <= pauses[0] <= MIN_PAUSE
    assert MAX_PAUSE // 2 <= max(pauses) <= MAX_PAUSE
    house.wait(MAX_PAUSE)
    house.answer()
    lows = [low for _, low, _ in house.acknowledged()]
    assert lows == sorted(lows)
    assert len(house.repo.kept) == 60
    assert house.published() == [(VOLTAGE, number) for number in range(1, 61)]


def test_a_repo_that_says_when_to_come_back_is_taken_at_its_word() -> None:
    house = started()
    house.publish("1")
    house.save()
    house.fail(Receipt(503, retry_after_ms=7000))
    house.wait(6999 * MS)
    assert house.repo.waiting == []
    house.wait(MS)
    assert len(house.repo.waiting) == 1


def test_a_panel_that_is_back_on_the_network_does_not_wait_longer() -> None:
    house = started()
    house.publish("1")
    house.save()
    house.fail()
    assert house.repo.waiting == []
    house.do(house.panel.start(house.now))
    assert len(house.repo.waiting) == 1


def test_a_reading_that_is_refused_for_good_is_set_aside_at_once() -> None:
    house = started()
    house.publish("1", "2", "3")
    house.save()
    ((_, then),) = house.repo.waiting
    house.repo.waiting.clear()
    house.do(then(Receipt(206, 2, ((1, "conflict"),)), "", house.now))
    assert house.refused() == [(VOLTAGE, 2)]
    assert house.acknowledged() == [(VOLTAGE, 1, 1), (VOLTAGE, 3, 3)]


def test_a_reading_that_is_refused_again_and_again_is_told_and_set_aside_and_the_others_are_acknowledged() -> None:
    house = started()
    house.publish("1", "2", "3")
    house.save()
    waits = []
    for attempt in range(REFUSALS):
        ((packets, then),) = house.repo.waiting
        house.repo.waiting.clear()
        assert len(packets) == (1 if attempt else 3)
        index = 0 if attempt else 1
        assert house.refused() == []
        refused = ((index, "conflict"), (9, "no such index"))
        house.do(then(Receipt(206, 2, refused, retry_after_ms=1000), "", house.now))
        if attempt < REFUSALS - 1:
            before = house.now
            while not house.repo.waiting:
                house.wait(SECOND)
            waits.append(house.now - before)
    assert waits == sorted(waits)
    assert house.refused() == [(VOLTAGE, 2)]
    assert house.acknowledged() == [(VOLTAGE, 1, 1), (VOLTAGE, 3, 3)]
    house.wait(120 * SECOND)
    assert house.repo.waiting == []
    assert house.panel.outbox.refused() == [(numbered(VOLTAGE, 2), "conflict")]
    house.do(house.panel.retry_refused(house.now))
    house.answer()
    assert house.acknowledged()[-1] == (VOLTAGE, 2, 2)
    assert house.panel.outbox.refused() == []


def test_a_reading_that_is_refused_once_because_a_certificate_was_missing_is_not_given_up() -> None:
    house = started()
    house.publish("1")
    house.save()
    ((_, then),) = house.repo.waiting
    house.repo.waiting.clear()
    house.do(then(Receipt(206, 0, ((0, "certificate unknown"),), retry_after_ms=1000), "", house.now))
    house.publish("2")
    house.save()
    assert len(house.repo.waiting) == 1  # what comes behind it does not wait
    house.answer()
    house.wait(5 * SECOND)
    house.answer()
    assert house.acknowledged() == [(VOLTAGE, 2, 2), (VOLTAGE, 1, 1)]
    assert house.refused() == []


def test_what_was_set_aside_is_sent_again_with_the_next_start() -> None:
    house = started()
    house.publish("1")
    house.save()
    ((_, then),) = house.repo.waiting
    house.repo.waiting.clear()
    house.do(then(Receipt(206, 0, ((0, "no rule"),)), "", house.now))
    house.wait(120 * SECOND)
    house.save()
    assert house.repo.waiting == []
    house.crash()
    house.start()
    house.answer()
    assert house.acknowledged() == [(VOLTAGE, 1, 1)]
    assert house.panel.outbox.refused() == []


def test_a_full_outbox_says_so_and_takes_more_when_a_repo_has_taken_some() -> None:
    house = started(PanelSettings(max_entries=2))
    house.publish("1", "2")
    with pytest.raises(Backpressure) as caught:
        house.publish("3")
    assert caught.value.retry_after_ms > 0
    house.save()
    house.answer()
    house.publish("3")
    house.save()
    assert house.published()[-1] == (VOLTAGE, 3)


def test_it_serves_what_is_not_confirmed_and_the_last_that_is() -> None:
    house = started()
    house.publish("1")
    assert house.ask(numbered(VOLTAGE, 1)) is None
    house.save()
    assert house.ask(numbered(VOLTAGE, 1)) is not None
    house.answer()
    assert house.ask(numbered(VOLTAGE, 1)) is not None
    house.publish(*["x"] * MAX_RECENT)
    house.save()
    house.answer()
    assert house.ask(numbered(VOLTAGE, 1)) is None
    house.publish("not on the disk yet")
    newest = house.ask(VOLTAGE, can_be_prefix=True)
    assert newest is not None
    assert newest.name == numbered(VOLTAGE, MAX_RECENT + 1)
    assert house.ask(CURRENT, can_be_prefix=True) is None
    certificate = house.ask(NAME / "KEY", can_be_prefix=True)
    assert certificate is not None
    assert certificate.name.starts_with(NAME / "KEY")


def test_a_new_panel_asks_for_its_numbers_before_it_gives_any() -> None:
    house = House()
    house.do(house.panel.start(NOW))
    with pytest.raises(Backpressure, match="being asked"):
        house.publish("1")
    house.answer_latest({VOLTAGE: 41, Name.parse("/others/stream/x"): 7})
    house.publish("1")
    house.publish("1", stream=CURRENT)
    house.save()
    assert house.published() == [(VOLTAGE, 42), (CURRENT, 1)]
    house.crash()
    house.start()
    assert house.panel.outbox.highest(VOLTAGE) == 42
    assert house.repo.asked == []


def test_a_new_panel_goes_on_alone_if_nobody_answers() -> None:
    house = House()
    house.do(house.panel.start(NOW))
    for _ in range(ALONE_TRIES):
        assert not house.panel.outbox.settled
        assert len(house.repo.asked) == 1
        house.answer_latest(None)
        house.wait(MAX_PAUSE)
    house.publish("1")
    house.save()
    assert house.published() == [(VOLTAGE, 1)]


def damaged() -> House:
    house = started()
    house.publish("1")
    house.save()
    house.publish("2")
    house.save()
    house.answer()
    house.crash()
    house.disk = house.disk[:-1] + bytes([house.disk[-1] ^ 4])
    house.build()
    assert house.panel.outbox.damaged
    return house


def test_a_damaged_panel_never_goes_on_alone() -> None:
    house = damaged()
    house.do(house.panel.start(house.now))
    for _ in range(ALONE_TRIES * 3):
        house.answer_latest(None)
        house.wait(MAX_PAUSE)
        with pytest.raises(Backpressure):
            house.publish("3")
    assert house.repo.asked
    notes = [effect for effect in house.told if isinstance(effect, Note) and effect.event == "numbers unsettled"]
    assert len(notes) == ALONE_TRIES * 3
    assert dict(notes[0].facts)["reason"] == "nobody answered"


def test_a_damaged_panel_waits_until_two_answers_agree() -> None:
    house = damaged()
    house.do(house.panel.start(house.now))
    for numbers in ({VOLTAGE: 1}, {VOLTAGE: 2}, {VOLTAGE: 5}):
        house.answer_latest(numbers)
        assert not house.panel.outbox.settled
        house.wait(2 * SECOND)
    house.answer_latest({VOLTAGE: 4})
    house.publish("6")
    house.save()
    assert house.published()[-1] == (VOLTAGE, 6)


def test_it_describes_its_own_streams_only() -> None:
    house = started()
    house.do(house.panel.describe(Description(VOLTAGE, "V", "Voltage_Sensor", 1000), NOW))
    house.save()
    house.answer()
    catalogue = Catalogue(NAME.prefix(-1))
    ((data,),) = [[house.ask(name)] for name in house.repo.kept]
    assert data is not None
    assert catalogue.concerns(data.name)
    assert catalogue.take(data.name, data.content) == ""
    with pytest.raises(InvalidInput, match="cannot describe"):
        house.panel.describe(Description(NAME.prefix(-1) / "Panel2" / "Heater" / "Voltage"), NOW)


def test_every_table_has_its_size() -> None:
    house = started()
    house.publish("1")
    part: Part = house.panel
    sizes = part.sizes()
    assert sizes["outbox"] == (1, house.panel.outbox.max_entries)
    assert all(now <= most for now, most in sizes.values())
    assert tuple(part.prefixes) == tuple(part.routes) == (NAME,)
