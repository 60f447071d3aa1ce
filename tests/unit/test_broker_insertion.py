"""MQTT messages as readings of a group, and back."""

import pytest
from tests.gateway_world import GROUP, START, Beside, posted, replicate

from roost.broker.effects import Inserted
from roost.broker.insertion import MANY, MAX_BATCH, MAX_WAITING, PIECE, RETRY
from roost.broker.large import MAX_PAYLOAD_BYTES
from roost.broker.message import Message
from roost.broker.signing import Batch
from roost.broker.trees import NO_STREAM
from roost.errors import NoKey
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import numbered
from roost.wire import DigestSigner
from roost.wire.data import decode_data
from roost.wire.reading import JSON, decode_reading
from roost.wire.senml import Value

STREAM = GROUP.panel("Gate1").name + Name.parse("/hall/temp")


def test_a_message_is_a_signed_reading_of_the_stream_its_topic_names() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", '{"value": 21.5}', qos=2, retain=True))
    assert beside.inserted == []  # it is not on the disk
    beside.save()
    assert beside.inserted == [Inserted(1, "")]
    wire = beside.store.get(numbered(STREAM, 1))
    assert wire is not None
    reading = decode_reading(decode_data(wire).content)
    assert (reading.time, reading.format, reading.payload) == (START, JSON, b'{"value": 21.5}')
    (message,) = beside.messages
    assert (message.topic, message.payload, message.qos, message.retain) == (b"hall/temp", b'{"value": 21.5}', 2, True)
    assert (message.publisher, message.origin) == (b"client", (0, STREAM.value, 1))


def test_properties_and_expiry_come_through() -> None:
    beside = Beside()
    sent = Message(b"a/b", b"x", 1, False, b"\x01\x01", START + 60 * SECOND, b"c", START)
    beside.insert(1, sent)
    beside.save()
    (message,) = beside.messages
    assert (message.kept, message.expires) == (sent.kept, sent.expires)


def test_messages_keep_their_order_and_numbers_are_dense() -> None:
    beside = Beside()
    for number in range(1, 6):
        beside.insert(number, posted("hall/temp", str(number)), posted("hall/light", str(number)))
    beside.save()
    assert [effect.ticket for effect in beside.inserted] == [1, 2, 3, 4, 5]
    assert beside.numbers("hall/temp") == beside.numbers("hall/light") == [(1, 5)]
    assert [payload for topic, payload in beside.seen() if topic == "hall/temp"] == ["1", "2", "3", "4", "5"]


def test_what_comes_while_the_disk_works_is_signed_meanwhile_and_is_the_next_write() -> None:
    beside = Beside()
    for number in range(1, 4):
        beside.insert(number, posted("hall/temp", str(number)))
    (write,) = beside.writes
    beside.go_on()
    assert [len(batch.entries) for batch in beside.insertion._unwritten] == [1, 1]
    beside.save()
    assert [len(write.batch.puts) for write in beside.written] == [1, 2]
    assert beside.written[0] is write
    assert beside.numbers("hall/temp") == [(1, 3)]


def test_much_is_signed_in_pieces() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "0"))
    ahead = -(-MAX_BATCH // PIECE)
    for number in range(2, 2 + ahead):
        beside.insert(number, *[posted("hall/temp", str(number))] * PIECE)
    for numbered_at_once in range(1, ahead):
        assert beside.insertion.deadline() == 1
        beside.wait(0)
        assert len(beside.insertion._unwritten) == numbered_at_once
    beside.go_on()  # as far ahead of the disk as it may
    assert len(beside.insertion._waiting) == 0
    beside.save()
    assert [effect.ticket for effect in beside.inserted] == list(range(1, 2 + ahead))
    assert beside.numbers("hall/temp") == [(1, ahead * PIECE + 1)]


def test_no_more_is_signed_ahead_of_the_disk_than_one_write() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "0"))
    for number in range(2, 10):
        beside.insert(number, *[posted("hall/temp", str(number))] * PIECE)
    beside.go_on()
    assert beside.insertion.deadline() is None
    assert len(beside.insertion._unwritten) * PIECE < MAX_BATCH + PIECE
    beside.save()
    beside.go_on()
    beside.save()
    assert [effect.ticket for effect in beside.inserted] == list(range(1, 10))


def test_a_number_that_is_taken_is_passed_over_by_what_is_signed_already() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1"))
    beside.insert(2, posted("hall/temp", "2"))
    beside.insert(3, posted("hall/temp", "3"))
    beside.go_on()
    replicate(beside, "/Gate1/hall/temp", 2, Value(99))  # behind the first one, and before the others
    beside.wait(RETRY)
    beside.save()
    assert sorted(effect.ticket for effect in beside.inserted) == [1, 2, 3]
    assert beside.numbers("hall/temp") == [(1, 4)]
    assert sorted(payload for _, payload in beside.seen()) == ["1", "2", "3", "99"]


def test_numbers_go_on_after_a_restart() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1"))
    beside.save()
    again = Beside(beside.store)
    again.insert(1, posted("hall/temp", "2"))
    again.save()
    assert again.numbers("hall/temp") == [(1, 2)]


def test_what_a_full_disk_refuses_is_tried_again_without_a_hole() -> None:
    beside = Beside()
    beside.disk_full = True
    beside.insert(1, posted("hall/temp", "1"))
    beside.insert(2, posted("hall/temp", "2"))
    beside.save()
    assert beside.inserted == []
    beside.disk_full = False
    beside.wait(RETRY)
    beside.save()
    assert beside.inserted == [Inserted(1, ""), Inserted(2, "")]
    assert beside.numbers("hall/temp") == [(1, 2)]
    assert beside.seen() == [("hall/temp", "1"), ("hall/temp", "2")]


def test_copies_that_nobody_can_make_hold_back_the_acknowledgement_and_not_the_message() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1"), copies=2)
    beside.save()
    beside.wait(RETRY)
    assert (beside.inserted, beside.seen()) == ([], [("hall/temp", "1")])
    assert beside.insertion.deadline() is not None  # it is tried again
    assert beside.insertion.uncopied == 1
    assert beside.insertion.why_uncopied == "2 copies were asked for, 0 other repos of the group are known"


def test_one_message_that_cannot_be_a_reading_costs_no_other() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1"))
    beside.insert(2, posted("hall/temp", "x" * (MAX_PAYLOAD_BYTES + 1)))
    beside.insert(3, posted("/".join("a" * 17), "1"))
    beside.insert(4, posted("hall/temp", "2"))
    beside.insert(5, posted("catalogue/streams", "1"))  # nobody would get it, and it is no description
    beside.insert(6, posted("hall/catalogue/streams", "1"))
    beside.save()
    refusals = {effect.ticket: effect.refusal for effect in beside.inserted}
    assert refusals[1] == refusals[4] == refusals[6] == ""
    assert "1048576 bytes of payload at most" in refusals[2]
    assert "2 to 16 levels" in refusals[3]
    assert "describes its streams" in refusals[5]
    assert beside.numbers("hall/temp") == [(1, 2)]


def test_what_comes_at_once_is_taken_however_much_it_is_while_the_disk_goes_on() -> None:
    beside = Beside()
    for ticket in range(1, 5):
        beside.insert(ticket, *[posted("hall/temp", "1")] * MAX_WAITING)
    assert beside.insertion.is_behind()
    while not beside.insertion.is_idle:
        beside.go_on()
        beside.save()
    assert beside.inserted == [Inserted(ticket, "") for ticket in range(1, 5)]
    assert beside.numbers("hall/temp") == [(1, 4 * MAX_WAITING)]


def test_what_is_on_its_way_counts_for_who_is_to_wait() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1"))
    assert not beside.insertion.is_behind(MANY - 2)
    assert beside.insertion.is_behind(MANY - 1)


def test_behind_a_disk_that_takes_nothing_no_more_messages_wait_than_the_bound() -> None:
    beside = Beside()
    message = posted("hall/temp", "1")
    beside.insert(1, *[message] * MAX_WAITING)
    beside.disk_full = True
    beside.save()
    beside.insert(2, message)
    beside.wait(RETRY)  # it is tried again now, and no more hopeful
    beside.insert(3, message)
    why = f"{MAX_WAITING} messages wait for a disk that takes them, which is the limit; try again later"
    assert beside.inserted == [Inserted(2, why), Inserted(3, why)]
    assert beside.insertion.turned_away == 2
    beside.disk_full = False
    beside.save()
    beside.insert(4, message)
    assert beside.inserted[2:] == [Inserted(1, "")]


def test_with_copies_that_nobody_takes_no_more_messages_wait_than_the_bound() -> None:
    beside = Beside()
    message = posted("hall/temp", "1")
    beside.insert(1, *[message] * MAX_WAITING, copies=2)
    beside.save()
    assert not beside.insertion.is_behind()
    beside.insert(2, message, copies=2)
    assert [effect.ticket for effect in beside.inserted] == [2]
    assert "another repo of the group" in beside.inserted[0].refusal


def test_who_brings_more_than_others_copy_is_to_wait_until_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = Beside()
    monkeypatch.setattr(beside.insertion.repo, "copy", lambda *_: [])  # they are busy with it
    beside.insert(1, *[posted("hall/temp", "1")] * MANY, copies=2)
    beside.save()
    assert (beside.insertion.uncopied, beside.insertion.is_behind()) == (MANY, True)
    beside.insertion.why_uncopied = "nobody answers"
    assert not beside.insertion.is_behind()


def test_a_burst_of_new_topics_does_not_go_beyond_the_streams_there_may_be() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1"))
    beside.save()
    beside.repo.shelf.holdings.max_streams = len(beside.repo.shelf.holdings) + 2
    beside.insert(2, posted("hall/a", "1"))
    beside.insert(3, posted("hall/b", "1"))
    beside.insert(4, posted("hall/temp", "2"))
    beside.save()
    beside.go_on()
    beside.save()
    assert {effect.ticket: effect.refusal for effect in beside.inserted} == {1: "", 2: "", 3: NO_STREAM, 4: ""}


def test_a_new_disk_waits_for_another_repo_before_it_gives_numbers() -> None:
    beside = Beside(alone=False)
    beside.insert(1, posted("hall/temp", "1"))
    beside.save()
    beside.wait(SECOND)
    beside.save()
    assert beside.numbers("hall/temp") == []
    beside.repo.comparison.compared = 1
    beside.wait(SECOND)
    beside.save()
    assert beside.numbers("hall/temp") == [(1, 1)]


def test_a_message_that_an_earlier_process_inserted_is_no_reading_twice() -> None:
    beside = Beside()
    first = [posted("hall/temp", payload, START + 1, qos=2) for payload in ("1", "2")]
    beside.insert(1, *first)
    beside.save()
    again = Beside(beside.store)
    again.do(again.insertion.insert(1, [*first, posted("hall/temp", "3", START + 1, qos=2)], 1, START, again=True))
    again.save()
    assert again.inserted == [Inserted(1, "")]
    assert again.numbers("hall/temp") == [(1, 3)]


def test_a_reading_says_which_packet_identifier_its_message_had() -> None:
    beside = Beside()
    sent = Message(b"hall/temp", b"1", 2, False, b"", 0, b"client", START, None, 7)
    beside.insert(1, sent)
    beside.save()
    (message,) = beside.messages
    assert message.packet_id == 7
    again = Beside(beside.store)
    again.do(again.insertion.insert(1, [sent], 1, START, again=True))
    again.save()
    assert again.numbers("hall/temp") == [(1, 1)]


def test_a_client_that_says_the_same_again_is_heard_twice() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1", qos=2))
    beside.insert(2, posted("hall/temp", "1", qos=2))
    beside.save()
    assert beside.numbers("hall/temp") == [(1, 2)]


def test_a_number_that_was_deleted_is_not_given_again() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1"), posted("hall/temp", "2"))
    beside.save()
    beside.do(beside.repo.shelf.drop([numbered(STREAM, 2)], lambda _, __: [], START))
    beside.save()
    again = Beside(beside.store)
    again.insert(1, posted("hall/temp", "3"))
    again.save()
    assert again.inserted == [Inserted(1, "")]
    assert again.numbers("hall/temp") == [(1, 1), (3, 3)]


def test_a_number_that_somebody_else_took_is_passed_over_and_costs_no_other_message() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1"))
    beside.save()
    replicate(beside, "/Gate1/hall/temp", 2, Value(5))
    beside.insert(2, posted("hall/temp", "2"))
    beside.insert(3, posted("hall/light", "on"))
    beside.save()
    beside.wait(RETRY)
    beside.save()
    assert sorted(effect.ticket for effect in beside.inserted) == [1, 2, 3]
    assert beside.numbers("hall/temp") == [(1, 3)]
    assert beside.numbers("hall/light") == [(1, 1)]


def test_what_a_disk_wrote_and_called_a_failure_is_one_reading() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1"))
    (write,) = beside.writes
    beside.store.write([write.batch])
    beside.disk_full = True
    beside.save()
    beside.disk_full = False
    beside.wait(RETRY)
    beside.save()
    assert beside.inserted == [Inserted(1, "")]
    assert beside.seen() == [("hall/temp", "1")]


def test_a_key_that_is_not_there_refuses_every_message_and_leaves_no_hole() -> None:
    beside = Beside()
    minting = beside.insertion._minting
    signer_for = minting.signer_for
    minting.signer_for = no_key
    for ticket in range(2000):
        beside.insertion._waiting.append(Batch(ticket, [posted("hall/temp", "1")], 1, again=False, spread=False))
    beside.insert(2000, posted("hall/temp", "1"))
    beside.go_on()
    assert len(beside.inserted) == 2001
    minting.signer_for = signer_for
    beside.insert(2001, posted("hall/temp", "2"))
    beside.save()
    assert beside.numbers("hall/temp") == [(1, 1)]


def no_key(name: Name, now: int) -> DigestSigner:
    raise NoKey(f"no key for {name} at {now}")


def test_a_repo_with_as_many_streams_as_it_may_have_takes_only_topics_it_knows() -> None:
    beside = Beside()
    beside.insert(1, posted("hall/temp", "1"))
    beside.save()
    assert beside.insertion.has_room(b"hall/light")
    beside.repo.shelf.holdings.max_streams = len(beside.repo.shelf.holdings)
    assert not beside.insertion.has_room(b"hall/light")
    assert beside.insertion.has_room(b"hall/temp")


def test_who_brings_more_than_the_disk_takes_is_to_wait_unless_the_disk_is_broken() -> None:
    beside = Beside()
    beside.insert(1, *[posted("hall/temp", "1")] * MAX_WAITING)
    assert beside.insertion.is_behind()
    beside.disk_full = True
    beside.save()
    is_behind = beside.insertion.is_behind()
    beside.disk_full = False
    beside.wait(RETRY)
    beside.save()
    assert (is_behind, beside.insertion.is_behind(), beside.insertion.is_idle) == (False, False, True)
