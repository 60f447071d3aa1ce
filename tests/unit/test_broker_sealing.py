"""What roles govern is sealed on its way into a group: for whom, with which keys, and how it comes out again."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from tests.gateway_world import GROUP, START, Beside, bring, posted

from roost.broker import sealing as sealing_module
from roost.broker.effects import Inserted
from roost.broker.large import is_large
from roost.broker.message import Message
from roost.broker.past import Past
from roost.broker.sealing import Sealing
from roost.broker.since import Since
from roost.broker.succession import GAP
from roost.errors import NoKey
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.memory import MemoryStore
from roost.repo.payloads import parts_of
from roost.repo.store import Entry
from roost.trust import Opened, Opener, PrivateKey, Receiver, Recipient, generate
from roost.trust.access import FOR, key_data_name, parse_sealed
from roost.wire import Data, DigestSigner, Signer
from roost.wire.reading import decode_reading

TOPIC, OPEN = "home/hall", "open/door"
STREAM = GROUP.panel("Gate1").name + Name.parse(f"/{TOPIC}")
ENTROPY = random.Random(7).randbytes
NODE, OTHER, ADA, CID = (generate(Name.of("Co", who), ENTROPY) for who in ("node", "other", "ada", "cid"))


def recipient(key: PrivateKey) -> Recipient:
    return Recipient(key.public.spki)


class Home:
    """Everything below `home/` is governed, and for those who are in `readers`."""

    def __init__(self, *readers: PrivateKey) -> None:
        self.readers = list(readers)
        self.root = b"home/"
        self.asked = 0

    def governs(self, topic: bytes) -> bool:
        self.asked += 1
        return topic.startswith(self.root)

    def recipients(self, topic: bytes) -> Mapping[bytes, Recipient]:
        assert self.governs(topic)
        return {each.digest: each for each in map(recipient, self.readers)}


def sign(_name: Name, _now: int) -> Signer:
    return DigestSigner()


def beside(home: Home, store: MemoryStore | None = None) -> Beside:
    return Beside(store, sealing=Sealing(home, sign, ENTROPY), receivers=[Receiver.of(NODE)])


def published(one: Beside, *messages: Message) -> None:
    one.insert(len(one.inserted) + 1, *messages)
    one.save()
    assert one.inserted[-1].refusal == ""


def sealing_of(one: Beside) -> Sealing:
    assert one.insertion.sealing is not None
    return one.insertion.sealing


def changed(one: Beside) -> None:
    sealing_of(one).changed()
    one.go_on()
    one.save()


def packet(store: MemoryStore, name: Name) -> Data | None:
    wire = store.get(name)
    return None if wire is None else Data.decode(wire)


def reading(store: MemoryStore, number: int, stream: Name = STREAM) -> Data:
    found = packet(store, numbered(stream, number))
    assert found is not None
    return found


def content_key(store: MemoryStore, number: int) -> Name:
    return parse_sealed(reading(store, number).content)[2]


def opened(store: MemoryStore, number: int, key: PrivateKey) -> str:
    """What somebody reads who has fetched a reading, and the key to it that is for them, if there is one."""
    opener = Opener([Receiver.of(key)])
    wrapped = packet(store, key_data_name(content_key(store, number), key.public.digest))
    if wrapped is None:
        return "sealed"
    assert opener.learn(wrapped) is None
    data = reading(store, number)
    outcome = opener.open(data.name, data.content)
    assert isinstance(outcome, Opened)
    return decode_reading(outcome.content).payload.decode()


def test_a_governed_message_is_sealed_and_its_readers_have_the_key_before_it() -> None:
    one = beside(Home(NODE, ADA))
    published(one, posted(TOPIC, "21.5", START + 5))
    assert [opened(one.store, 1, key) for key in (ADA, NODE, CID)] == ["21.5", "21.5", "sealed"]
    assert b"21.5" not in reading(one.store, 1).wire
    [batch] = [each.batch for each in one.written if numbered(STREAM, 1) in [entry.name for entry in each.batch.puts]]
    names = [entry.name for entry in batch.puts if entry.name.starts_with(STREAM)]
    assert [name.at(-2) == FOR for name in names] == [True, True, False], "in one write, the keys first"
    assert one.store.between(STREAM, START, START + 10, 9) == [(START + 5, 1)], "it is found by its time"
    assert one.seen() == [(TOPIC, "21.5")]


def test_what_nothing_governs_is_as_it_was_byte_for_byte_and_asked_about_once() -> None:
    home = Home(NODE, ADA)
    one, plain = beside(home), Beside()
    for number in range(3):
        for each in (one, plain):
            published(each, posted(OPEN, str(number), START + number))
    stream = GROUP.panel("Gate1").name + Name.parse(f"/{OPEN}")
    assert [reading(one.store, number, stream).wire for number in (1, 2, 3)] == [
        reading(plain.store, number, stream).wire for number in (1, 2, 3)
    ]
    assert home.asked == 1


def test_who_is_let_in_later_gets_the_key_there_is_and_who_is_put_out_none_of_the_next() -> None:
    home = Home(NODE, ADA)
    one = beside(home)
    published(one, posted(TOPIC, "1"))
    home.readers.append(CID)
    changed(one)
    assert opened(one.store, 1, CID) == "1", "without another message"
    published(one, posted(TOPIC, "2"))
    assert content_key(one.store, 1) == content_key(one.store, 2)
    home.readers.remove(ADA)
    sealing_of(one).changed()
    published(one, posted(TOPIC, "3"))
    assert [opened(one.store, number, ADA) for number in (1, 2, 3)] == ["1", "2", "sealed"]
    assert [opened(one.store, number, CID) for number in (1, 2, 3)] == ["1", "2", "3"]


def test_readers_of_many_streams_are_compared_piece_by_piece() -> None:
    home = Home(NODE)
    one = beside(home)
    count = 2 * sealing_module.PIECE + 1
    published(one, *[posted(f"home/{number}", "x") for number in range(count)])
    wrapped = sealing_of(one).wrapped
    home.readers.append(ADA)
    sealing_of(one).changed()
    for done in (sealing_module.PIECE, 2 * sealing_module.PIECE, count):
        one.wait(0)
        one.save()
        assert sealing_of(one).wrapped == wrapped + done
    assert one.insertion.deadline() is None


def test_a_stream_that_is_governed_no_longer_is_in_the_clear_again() -> None:
    home = Home(NODE)
    one = beside(home)
    published(one, posted(TOPIC, "1"))
    home.root = b"elsewhere/"
    changed(one)
    published(one, posted(TOPIC, "2"))
    assert decode_reading(reading(one.store, 2).content).payload == b"2"


def test_after_a_restart_the_past_opens_and_a_new_key_begins() -> None:
    one = beside(Home(NODE, ADA))
    published(one, posted(TOPIC, "1", START))
    again = beside(Home(NODE, ADA), one.store)
    again.now += SECOND
    published(again, posted(TOPIC, "2", START + SECOND))
    assert content_key(again.store, 1) != content_key(again.store, 2)
    assert [opened(again.store, number, ADA) for number in (1, 2)] == ["1", "2"]
    past = Past(GROUP, again.repo, again.succession, again.opening)
    assert past.streams(TOPIC.encode()) == [STREAM.value]
    assert [message and message.payload for _, message in past.read(STREAM.value, 1, 9, 9)] == [b"1", b"2"]
    assert past.first(STREAM.value, Since(time=START + 1)) == 2
    fresh = beside(Home(NODE, ADA), one.store)
    assert [each.payload for each in fresh.succession.begin(fresh.now).messages] == [b"1", b"2"]


def test_a_message_that_is_a_sealed_reading_already_is_not_made_one_twice() -> None:
    one = beside(Home(NODE))
    message = posted(TOPIC, "1", qos=2)
    published(one, message)
    again = beside(Home(NODE), one.store)
    again.do(again.insertion.insert(1, [message], 1, again.now, again=True))
    again.save()
    assert again.numbers(TOPIC) == [(1, 1)]


def test_keys_that_the_disk_refuses_are_tried_again_with_what_they_open() -> None:
    one = beside(Home(NODE, ADA))
    one.disk_full = True
    one.insert(1, posted(TOPIC, "1"))
    one.save()
    assert one.inserted == []
    one.disk_full = False
    one.wait(SECOND)
    one.save()
    assert [each.refusal for each in one.inserted] == [""]
    assert opened(one.store, 1, ADA) == "1"


def test_a_key_of_a_name_that_is_taken_costs_its_stream_that_key() -> None:
    one = beside(Home(NODE, ADA))
    published(one, posted(TOPIC, "1"))
    name = key_data_name(content_key(one.store, 1), ADA.public.digest)
    sealing_of(one).refused(Entry(name, b""), for_ever=True)
    one.now += SECOND
    published(one, posted(TOPIC, "2"))
    assert content_key(one.store, 1) != content_key(one.store, 2)
    assert sealing_of(one).forgotten == 1


def test_a_key_that_nothing_may_sign_refuses_the_message_until_something_may() -> None:
    may = [False]

    def signer_for(name: Name, now: int) -> Signer:
        if not may[0]:
            raise NoKey(f"{name} cannot be signed by anyone")
        return sign(name, now)

    one = Beside(sealing=Sealing(Home(NODE, ADA), signer_for, ENTROPY))
    one.insert(1, posted(TOPIC, "1"))
    assert "32=CK" in one.inserted[0].detail
    may[0] = True
    published(one, posted(TOPIC, "2"))
    assert opened(one.store, 1, ADA) == "2", "its number was given to nobody, and its key is published"


def test_streams_beyond_the_bound_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing_module, "MAX_SEALERS", 2)
    one = beside(Home(NODE))
    for number, topic in enumerate(("home/a", "home/b", "home/c", "home/a")):
        one.now += SECOND
        published(one, posted(topic, str(number)))
    assert sealing_of(one).forgotten == 2
    past = Past(GROUP, one.repo, one.succession, one.opening)
    first = GROUP.panel("Gate1").name + Name.parse("/home/a")
    assert [message and message.payload for _, message in past.read(first.value, 1, 2, 2)] == [b"0", b"3"]


def test_a_message_that_does_not_fit_a_packet_once_it_is_sealed_is_cut_and_its_parts_say_nothing() -> None:
    one = beside(Home(NODE, OTHER))
    added = one.insertion.added_bytes(TOPIC.encode())
    assert one.insertion.added_bytes(OPEN.encode()) == 0
    size = 7000
    while not is_large(len(GROUP.panel("Gate1").name.value), posted(OPEN, "x" * (size + 1))):
        size += 1
    published(one, posted(OPEN, "x" * size), posted(TOPIC, "x" * (size - added)), posted(TOPIC, "x" * size))
    assert one.numbers(OPEN) == [(1, 1)]
    assert one.numbers(TOPIC) == [(1, 2)]
    assert one.numbers(f"$roost/payload/{OPEN}") == []
    assert len(one.numbers(f"$roost/payload/{TOPIC}")) == 1
    assert [len(payload) for _, payload in one.seen()] == [size, size - added, size]
    parts = one.store.range(parts_of(STREAM, len(GROUP.name) + 1), 1, 9, 9)
    assert parts
    assert not any(b"xxxx" in wire for _, wire in parts)
    other = Beside(panel="Gate2", receivers=[Receiver.of(OTHER)])
    bring(
        other,
        *[
            Data.decode(wire)
            for name in one.store.scan(GROUP.name, None, 99)
            for wire in [one.store.get(name)]
            if wire is not None and name.starts_with(GROUP.panel("Gate1").name)
        ],
    )
    assert sorted(other.seen()) == sorted(one.seen())


def test_a_large_sealed_message_that_an_earlier_process_inserted_is_no_reading_twice() -> None:
    one = beside(Home(NODE))
    sent = Message(TOPIC.encode(), b"x" * 20_000, 2, False, b"", 0, b"client", START, None, 7)
    published(one, sent)
    again = beside(Home(NODE), one.store)
    again.do(again.insertion.insert(1, [sent], 1, again.now, again=True))
    again.save()
    assert again.inserted == [Inserted(1, "")]
    assert again.numbers(TOPIC) == [(1, 1)]
    assert again.numbers(f"$roost/payload/{TOPIC}") == one.numbers(f"$roost/payload/{TOPIC}")


# -- what another node has sealed


def far(one: Beside) -> tuple[Data, Data]:
    """The key of a reading for the other node, and the reading."""
    published(one, posted(TOPIC, "1"))
    key = packet(one.store, key_data_name(content_key(one.store, 1), OTHER.public.digest))
    assert key is not None
    return key, reading(one.store, 1)


def test_a_reading_whose_key_is_late_waits_and_keeps_its_place() -> None:
    one, other = beside(Home(NODE, OTHER)), Beside(panel="Gate2", receivers=[Receiver.of(OTHER)])
    key, first = far(one)
    published(one, posted(TOPIC, "2"))
    bring(other, first)
    bring(other, reading(one.store, 2))
    assert other.seen() == []
    assert other.succession.deadline() == other.now + GAP
    bring(other, key)
    assert other.seen() == [(TOPIC, "1"), (TOPIC, "2")]
    assert (other.succession.deadline(), other.succession.locked) == (None, 0)


def test_a_key_that_never_comes_is_waited_for_once_and_counted() -> None:
    one, other = beside(Home(NODE, OTHER)), Beside(panel="Gate2", receivers=[Receiver.of(OTHER)])
    key, first = far(one)
    bring(other, first)
    other.now += GAP
    assert other.succession.tick(other.now).messages == []
    assert (other.succession.locked, other.succession.position(STREAM.value)) == (1, 1)
    for number in (2, 3):
        published(one, posted(TOPIC, str(number)))
    bring(other, reading(one.store, 2))
    assert (other.succession.locked, other.succession.deadline()) == (2, None), "at once"
    bring(other, key)
    bring(other, reading(one.store, 3))
    assert other.seen() == [(TOPIC, "3")]


def test_a_node_without_a_key_of_its_own_does_not_wait() -> None:
    one, other = beside(Home(NODE, OTHER)), Beside(panel="Gate2")
    bring(other, far(one)[1])
    assert (other.seen(), other.succession.locked, other.succession.deadline()) == ([], 1, None)
    assert Past(GROUP, other.repo, other.succession, other.opening).read(STREAM.value, 1, 1, 1) == [(1, None)]


def test_the_event_time_of_a_sealed_reading_goes_with_it_to_other_repos() -> None:
    one, other = beside(Home(NODE, OTHER)), Beside(panel="Gate2")
    bring(other, far(one)[1])
    assert other.store.between(STREAM, START, START, 1) == [(START, 1)]
