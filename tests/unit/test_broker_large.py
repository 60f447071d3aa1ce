"""Payloads that do not fit a packet: cut into parts on their way into a group, and joined where they come out."""

from __future__ import annotations

from random import Random

import pytest
from tests.gateway_world import GROUP, START, Beside, bring, posted

from roost.broker import past as past_module
from roost.broker.earlier import SLICE
from roost.broker.insertion import LARGE, MANY_BYTES, MAX_BATCH_BYTES, MAX_WAITING_BYTES, RETRY
from roost.broker.large import MAX_PAYLOAD_BYTES, PART_PACKET_BYTES, Summing
from roost.broker.message import Message
from roost.broker.past import Past
from roost.broker.readable import message_of
from roost.broker.recall import Recall
from roost.broker.signing_effects import Sign
from roost.broker.since import Since
from roost.broker.succession import GAP, LAST, Succession
from roost.broker.trees import NO_STREAM
from roost.columns.decoding_exact import read_packet
from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.consumers.arrival import arrival_of
from roost.repo.cause import REPLICATION
from roost.repo.payloads import owner_of, part_payload, parts_of, read_part
from roost.wire import Data, DigestSigner, make_data
from roost.wire.elsewhere import Elsewhere, decode_elsewhere
from roost.wire.posting import Posting
from roost.wire.reading import OCTET_STREAM, Reading, decode_reading
from roost.wire.tlv import MAX_PACKET_BYTES

TOPIC = "hall/camera"
AT = len(GROUP.name) + 1
STREAM = GROUP.panel("Gate1").name + Name.parse(f"/{TOPIC}")
PARTS = parts_of(STREAM, AT)


def picture(size: int, seed: int = 1) -> bytes:
    return Random(seed).randbytes(size)


def large(payload: bytes, *, topic: str = TOPIC, qos: int = 1, time: int = START, packet_id: int = 0) -> Message:
    return Message(topic.encode(), payload, qos, True, b"", 0, b"client", time, None, packet_id)


def published(*messages: Message) -> Beside:
    one = Beside()
    one.insert(1, *messages)
    one.save()
    assert [effect.refusal for effect in one.inserted] == [""]
    return one


def packets(one: Beside, stream: Name) -> list[Data]:
    return [Data.decode(wire) for _, wire in one.store.range(stream, 1, 10_000, 10_000)]


def payloads(one: Beside) -> list[bytes]:
    return [message.payload for message in one.messages]


@pytest.mark.parametrize("size", [9000, 20_000, 100_000, MAX_PAYLOAD_BYTES])
def test_a_large_message_is_one_reading_and_comes_out_as_it_was(size: int) -> None:
    sent = large(picture(size), qos=2, packet_id=7)
    one = published(posted(TOPIC, "small"), sent, posted(TOPIC, "behind"))
    assert payloads(one) == [b"small", sent.payload, b"behind"]
    message = one.messages[1]
    assert (message.topic, message.qos, message.retain) == (b"hall/camera", 2, True)
    assert (message.publisher, message.time, message.packet_id) == (b"client", START, 7)
    assert message.origin == (0, STREAM.value, 2)
    assert one.numbers(TOPIC) == [(1, 3)]
    parts = packets(one, PARTS)
    assert all(len(part.wire) <= PART_PACKET_BYTES for part in parts)
    assert len(packets(one, STREAM)[1].wire) < MAX_PACKET_BYTES
    assert {read_part(part.wire)[0] for part in parts} == {2}


def test_parts_are_written_in_front_of_their_reading_in_the_same_write() -> None:
    one = published(large(picture(20_000)))
    (write,) = [each for each in one.written if numbered(STREAM, 1) in [put.name for put in each.batch.puts]]
    names = [put.name for put in write.batch.puts if put.name.starts_with(GROUP.panel("Gate1").name)]
    assert names == [
        numbered(PARTS, 1),
        numbered(PARTS, 2),
        numbered(PARTS, 3),
        numbered(PARTS, 4),
        numbered(STREAM, 1),
    ]


def test_what_a_reading_says_of_its_payload_can_be_read_again_and_nothing_else() -> None:
    said = Elsewhere(7, 3, 20_000, bytes(range(32)), bytes(32))
    reading = Reading(START, OCTET_STREAM, b"", elsewhere=said)
    assert decode_reading(reading.encode()) == reading
    for wrong in (Elsewhere(0, 1, 1, bytes(32)), Elsewhere(1, 0, 1, bytes(32)), Elsewhere(1, 1 << 17, 1, bytes(32))):
        with pytest.raises(BadPacket, match="parts"):
            decode_reading(Reading(START, OCTET_STREAM, b"", elsewhere=wrong).encode())
    with pytest.raises(BadPacket, match="bytes"):
        decode_elsewhere(bytes(47), 0, 47)


def test_the_streams_of_parts_and_of_their_readings_name_each_other() -> None:
    assert str(PARTS) == "/Campus/Hall/Mqtt/Gate1/%24roost/payload/hall/camera"
    assert owner_of(PARTS, AT) == STREAM
    assert owner_of(STREAM, AT) is None
    assert owner_of(STREAM.prefix(AT) / "hall" + PARTS.suffix(AT), AT) is None


@pytest.mark.parametrize("order", ["parts last", "backwards", "reading last"])
def test_a_reading_of_another_node_waits_for_its_parts_and_keeps_its_place(order: str) -> None:
    sent = picture(50_000)
    far, here = published(posted(TOPIC, "1"), large(sent), posted(TOPIC, "3")), Beside(panel="Gate2")
    readings, parts = packets(far, STREAM), packets(far, PARTS)
    if order == "reading last":
        bring(here, *parts)
        assert payloads(here) == []
        bring(here, *readings)
    else:
        bring(here, *readings)
        assert payloads(here) == [b"1"]
        for part in parts if order == "parts last" else reversed(parts):
            assert payloads(here) == [b"1"]
            bring(here, part)
    assert payloads(here) == [b"1", sent, b"3"]
    assert here.succession.incomplete == here.succession.joining.refused == 0


def test_parts_that_never_come_are_waited_for_a_while_and_counted() -> None:
    far, here = published(large(picture(50_000)), posted(TOPIC, "2")), Beside(panel="Gate2")
    bring(here, *packets(far, STREAM), *packets(far, PARTS)[:-1])
    assert here.succession.tick(here.now + GAP - 1).messages == []
    assert [each.payload for each in here.succession.tick(here.now + GAP).messages] == [b"2"]
    assert here.succession.incomplete == 1


@pytest.mark.parametrize("wrong", ["bytes", "owner"])
def test_parts_that_are_others_make_no_message_and_are_counted(wrong: str) -> None:
    far, here = published(large(picture(20_000)), posted(TOPIC, "2")), Beside(panel="Gate2")
    parts = packets(far, PARTS)
    owner, piece = read_part(parts[1].wire)
    payload = part_payload(owner, bytes(len(piece))) if wrong == "bytes" else part_payload(owner + 1, piece)
    altered = make_data(parts[1].name, Reading(START, OCTET_STREAM, payload).encode(), DigestSigner())
    bring(here, parts[0], altered, *parts[2:], *packets(far, STREAM))
    assert payloads(here) == [b"2"]
    assert here.succession.joining.refused == 1


def test_a_restart_hands_on_what_is_large_too() -> None:
    sent = picture(30_000)
    one = published(large(sent))
    again = Beside(one.store)
    assert [each.payload for each in again.succession.begin(again.now).messages] == [sent]
    again.insert(1, large(picture(30_000, 2)))
    again.save()
    assert again.numbers(TOPIC) == [(1, 2)]
    assert again.numbers("$roost/payload/hall/camera") == [(1, 10)]


def test_no_more_is_handed_on_at_once_than_some_bytes() -> None:
    far, here = published(*[large(picture(20_000, seed)) for seed in range(5)]), Beside(panel="Gate2")
    here.succession = Succession(GROUP, here.repo, START, {}, piece_bytes=40_000)
    bring(here, *packets(far, PARTS), *packets(far, STREAM)[1:])
    here.do(here.repo.shelf.put(packets(far, STREAM)[:1], REPLICATION, lambda _, __: [], here.now))
    here.save()
    counts = [len(here.messages)]
    while here.succession.deadline() == 1:
        news = here.succession.tick(here.now)
        here.messages += news.messages
        counts.append(len(news.messages))
    assert counts == [2, 2, 1]
    assert payloads(here) == [picture(20_000, seed) for seed in range(5)]


def test_the_past_has_what_is_large_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_module, "MAX_READ_BYTES", 30_000)
    one = published(*[large(picture(20_000, seed)) for seed in range(3)])
    past = Past(GROUP, one.repo, one.succession)
    assert past.streams(b"#") == [STREAM.value], "parts are nobody's past"
    assert past.first(STREAM.value, Since(START)) == 1
    read = past.read(STREAM.value, 1, 3, 99) + past.read(STREAM.value, 3, 3, 99)
    assert [None if each is None else each.payload for _, each in read] == [picture(20_000, seed) for seed in range(3)]


def test_a_recall_joins_what_is_large_when_it_is_its_turn_and_keeps_none() -> None:
    topics = [f"hall/{number}" for number in range(4)]
    one = published(*[large(picture(20_000, at), topic=topics[at % 4], time=START + at) for at in range(12)])
    past = Past(GROUP, one.repo, one.succession)
    recall = Recall(b"#", Since(number=1), past)
    for at in range(12):
        message = recall.next(5, START)
        assert message is not None
        assert message.payload == picture(20_000, at)
        held = [each[1] for strand in recall._strands.values() for each in strand.read]
        assert len(held) == 12 or at > 7, "all are read ahead"
        assert not any(each.payload for each in held if each is not None)
    assert recall.next(5, START) is None


def test_a_recall_passes_over_what_is_large_and_not_all_here() -> None:
    far, here = published(large(picture(50_000)), posted(TOPIC, "2")), Beside(panel="Gate2")
    bring(here, *packets(far, STREAM), *packets(far, PARTS)[:-1])
    here.succession.tick(here.now + GAP)
    recall = Recall(b"#", Since(number=1), Past(GROUP, here.repo, here.succession))
    found = [recall.next(5, START), recall.next(5, START)]
    assert [None if each is None else each.payload for each in found] == [b"2", None]


def test_which_topic_a_stream_has_is_known_without_its_payloads() -> None:
    far, here = published(large(picture(50_000))), Beside(panel="Gate2")
    bring(here, *packets(far, STREAM), *packets(far, PARTS)[:-1])
    assert Past(GROUP, here.repo, here.succession).streams(b"hall/+") == [STREAM.value]


def test_a_message_whose_number_is_taken_is_cut_anew_for_another() -> None:
    one = Beside()
    one.insert(1, posted(TOPIC, "1"))
    one.insert(2, large(picture(20_000)), posted(TOPIC, "3"))
    one.go_on()
    bring(one, make_data(numbered(STREAM, 2), Reading(START, OCTET_STREAM, b"theirs").encode(), DigestSigner()))
    one.wait(RETRY)
    one.save()
    assert one.numbers(TOPIC) == [(1, 4)]
    assert sorted(payloads(one)) == sorted([b"1", b"theirs", b"3", picture(20_000)])


def test_a_message_whose_part_is_taken_is_cut_anew_and_comes_once() -> None:
    one = Beside()
    one.insert(1, posted(TOPIC, "1"))
    one.insert(2, large(picture(20_000)))
    one.go_on()
    bring(one, make_data(numbered(PARTS, 2), Reading(START, OCTET_STREAM, b"theirs").encode(), DigestSigner()))
    one.wait(RETRY)
    one.save()
    assert payloads(one) == [b"1", picture(20_000)]


def test_a_large_message_that_an_earlier_process_inserted_is_no_reading_twice() -> None:
    one = published(large(picture(20_000), qos=2, packet_id=9))
    again = Beside(one.store)
    again.do(again.insertion.insert(1, [large(picture(20_000), qos=2, packet_id=9)], 1, again.now, again=True))
    again.save()
    assert again.numbers(TOPIC) == [(1, 1)]
    again.do(again.insertion.insert(2, [large(picture(20_000, 2), qos=2, packet_id=9)], 1, again.now, again=True))
    again.save()
    assert again.numbers(TOPIC) == [(1, 2)]


def test_what_is_retained_and_large_is_found_however_many_plain_messages_are_behind_it() -> None:
    picked = large(picture(20_000), time=START - 2)
    before = published(picked, *[posted(TOPIC, str(number), START - 1) for number in range(SLICE + LAST)])
    succession = Succession(GROUP, before.repo, START, {})
    found = succession.begin(START).messages
    while succession.deadline() is not None:
        found += succession.tick(START).messages
    assert [message.payload for message in found] == [picked.payload]


def looked_through(succession: Succession, now: int = START) -> list[bytes]:
    found: list[bytes] = []
    for _ in range(9):
        if (succession.deadline() or now + 1) <= now:
            found += [message.payload for message in succession.tick(now).messages]
    return found


def test_of_what_is_large_and_older_only_what_holds_on_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [Message(TOPIC.encode(), picture(20_000, at), 1, False, b"", 0, b"client", START - 1) for at in range(40)]
    picked = large(picture(20_000, 99), time=START - 2)
    before = published(large(picture(20_000, 98), time=START - 3), picked, *seen)
    succession, joined = Succession(GROUP, before.repo, START, {}), list[int]()
    joining = succession.joining.payload_of

    def counted(stream: Name, number: int, said: Elsewhere) -> bytes:
        joined.append(number)
        return joining(stream, number, said)

    monkeypatch.setattr(succession.joining, "payload_of", counted)
    found = [message.payload for message in succession.begin(START).messages]
    assert found + looked_through(succession) == [picked.payload]
    assert joined == [*range(43 - LAST, 43), 2]


def lacking(*parts: int) -> tuple[Beside, list[Data]]:
    """A node that has two large messages that are retained, and small ones behind, but for parts of the second one."""
    messages = [large(picture(20_000, at), time=START - 2) for at in (1, 2)]
    far = published(*messages, *[posted(TOPIC, "plain", START - 1)] * (LAST + 2))
    here, cut = Beside(panel="Gate2"), packets(far, PARTS)
    late = [cut[at] for at in parts]
    bring(here, *[each for each in cut if each not in late], *packets(far, STREAM))
    here.succession = Succession(GROUP, here.repo, START, {})
    here.succession.begin(START)
    return here, late


def test_what_holds_on_and_is_large_is_waited_for_and_nothing_older_taken_for_it() -> None:
    here, late = lacking(-1, -2)
    succession = here.succession
    assert looked_through(succession) == []
    assert succession.deadline() == START + GAP
    bring(here, late[0])
    assert looked_through(succession) == []
    assert succession.deadline() == START + GAP
    bring(here, late[1])
    assert looked_through(succession) == [picture(20_000, 2)]
    assert (succession.deadline(), succession.incomplete) == (None, 0)


def test_what_holds_on_and_is_large_is_not_waited_for_for_ever() -> None:
    here, _ = lacking(-1)
    assert looked_through(here.succession) == []
    assert looked_through(here.succession, START + GAP) == [picture(20_000, 1)]
    assert (here.succession.deadline(), here.succession.incomplete) == (None, 1)


def test_what_holds_on_is_waited_for_no_more_when_its_parts_are_others() -> None:
    here, (part,) = lacking(-1)
    assert looked_through(here.succession) == []
    bring(here, make_data(part.name, Reading(START, OCTET_STREAM, part_payload(2, b"theirs")).encode(), DigestSigner()))
    assert looked_through(here.succession) == [picture(20_000, 1)]
    assert here.succession.deadline() is None


def test_what_another_node_says_of_a_payload_is_not_believed_beyond_the_bounds() -> None:
    here = Beside(panel="Gate2")
    posting = Posting(1)
    for number, said in enumerate([Elsewhere(1, 60_000, 9000, bytes(32)), Elsewhere(1, 9, 1 << 31, bytes(32))], 1):
        content = Reading(START, OCTET_STREAM, b"", posting=posting, elsewhere=said).encode()
        bring(here, make_data(numbered(STREAM, number), content, DigestSigner()))
    assert payloads(here) == []
    assert here.succession.joining.refused == 2
    assert here.succession.position(STREAM.value) == 2


def test_with_as_many_streams_as_there_may_be_only_topics_with_parts_already_take_large_messages() -> None:
    one = published(large(picture(20_000)), posted("hall/door", "shut"))
    one.repo.shelf.holdings.max_streams = len(one.repo.shelf.holdings)
    one.insert(2, large(picture(20_000, 2)))
    one.save()
    one.insert(3, large(picture(20_000, 3), topic="hall/door"))
    one.insert(4, posted("hall/door", "open"))
    one.save()
    assert [(each.ticket, each.refusal) for each in one.inserted[1:]] == [(2, ""), (3, NO_STREAM), (4, "")]


def test_large_messages_wait_by_their_bytes_and_are_written_some_at_a_time() -> None:
    one, sent = Beside(), large(bytes(MAX_PAYLOAD_BYTES))
    many = MANY_BYTES // MAX_PAYLOAD_BYTES
    for ticket in range(1, many + 1):
        assert not one.insertion.is_behind()
        one.insert(ticket, sent)
    assert one.insertion.is_behind()
    assert not Beside().insertion.is_behind(0, MANY_BYTES - 1)
    assert Beside().insertion.is_behind(0, MANY_BYTES)
    one.go_on()
    ahead = [batch.size_bytes for batch in one.insertion._unwritten]
    assert MAX_BATCH_BYTES <= sum(ahead) < MAX_BATCH_BYTES + 2 * MAX_PAYLOAD_BYTES
    while one.writes:
        one.save()
        one.go_on()
    assert [effect.ticket for effect in one.inserted] == list(range(1, many + 1))
    assert one.numbers(TOPIC) == [(1, many)]
    assert not one.insertion.is_behind()
    assert one.insertion.is_idle
    one.insert(many + 1, sent)
    one.save()
    assert not one.insertion.is_behind()


def test_behind_a_broken_disk_no_more_bytes_wait_than_the_bound() -> None:
    one, sent = Beside(), large(bytes(MAX_PAYLOAD_BYTES))
    one.disk_full = True
    for ticket in range(1, MAX_WAITING_BYTES // MAX_PAYLOAD_BYTES + 1):
        one.insert(ticket, sent)
        one.save()
    assert one.inserted == []
    assert not one.insertion.is_behind()
    one.insert(0, sent)
    assert one.inserted[0].refusal.startswith(f"{MAX_WAITING_BYTES} bytes of messages wait for a disk that takes them")


def test_parts_are_signed_elsewhere_as_their_readings_are() -> None:
    one = Beside()
    one.insertion.signing.aside = True
    one.insert(1, posted(TOPIC, "0"))
    one.insert(2, *[posted(TOPIC, "1")] * LARGE, large(picture(20_000)))
    asked = [effect for effect in one.insertion.tick(one.now) if isinstance(effect, Sign)]
    assert [len(each.digests) for each in asked] == [LARGE + 4 + 1]
    one.do(one.insertion.signed(asked[0].ticket, [], one.now))
    one.save()
    assert payloads(one)[-1] == picture(20_000)


def test_who_does_not_join_shows_that_there_is_more_and_nothing_false() -> None:
    one = published(large(picture(20_000)))
    (reading,) = packets(one, STREAM)
    assert message_of(len(GROUP.name), STREAM, 1, reading.wire) is None
    shown = message_of(len(GROUP.name), STREAM, 1, reading.wire, None, Summing())
    assert shown is not None
    assert shown.payload == b"a payload of 20000 bytes, which are not shown"
    arrival = arrival_of(STREAM, 1, reading, START)
    assert (arrival.value, arrival.event_time) == (None, START)
    row = read_packet(STREAM, 1, reading.wire)
    assert (row.meaning.quality, row.payload, row.time_us, row.named) == ("unreadable", None, START // 1000, True)
