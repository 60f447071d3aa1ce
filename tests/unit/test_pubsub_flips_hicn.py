"""FLIPS over hICN: the packets of the vectors, routes on probation, signatures."""

from __future__ import annotations

from random import Random

import pytest

from roost.errors import BadConfig
from roost.hicn import Data, HicnName, Interest, decode, encode
from roost.hicn.manifest import SuffixList
from roost.machine import MS, SECOND, Effect, Rejected
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.pubsub.flips.flips import Flips
from roost.pubsub.flips.hicn_binding import HicnFlips, Judge
from roost.pubsub.flips.hicn_effects import AddRoute, RemoveRoute, SendPacket
from roost.pubsub.flips.identifiers import topic_hash
from roost.pubsub.flips.port import Deliver, Registered
from roost.pubsub.flips.settings import FlipsSettings
from roost.trust.secret import HmacKey

TOPIC = "home/temp"
HASH = topic_hash(TOPIC)
START = 1_700_000_000 * SECOND
KEY = HmacKey(Name.parse("/house/flips"), b"a secret of thirty-two bytes or so")

ZEROS = "00" * 16
THCD_REQ = f"60000000001d06fe{ZEROS}{HASH.hex()}80000080000000000000000050020000"
CONTENT_REQ = f"60000000001406fe{ZEROS}{HASH.hex()}80000080000000640000000050020000fc2307d0"
SUB_REQ = f"60000000001406fe{ZEROS}{HASH.hex()}800000806553f1000000000050020000a63307d0"
CONTENT_REP = (
    f"60000000002806fe{HASH.hex()}{ZEROS}80000080000000640000000050420000918ac350"
    "01000000000000650000018bcfe57b8832312e35"
)


class Bench:
    """One machine, without a forwarder."""

    def __init__(
        self, settings: FlipsSettings | None = None, key: HmacKey | None = None, judge: Judge | None = None
    ) -> None:
        self.now = START
        self.machine = HicnFlips(Flips(settings or FlipsSettings(), Random(1)), key, judge)

    def do(self, effects: list[Effect]) -> list[Effect]:
        return self.settle(self.machine.act(effects, self.now))

    def settle(self, effects: list[Effect]) -> list[Effect]:
        out: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Save):
                out += self.settle(self.machine.receive(Saved(effect.file, effect.ticket), self.now))
            else:
                out.append(effect)
        return out

    def hear(self, wire: bytes) -> list[Effect]:
        return self.settle(self.machine.receive(decode(wire), self.now))

    def pass_time(self) -> list[Effect]:
        due = self.machine.deadline()
        assert due is not None
        self.now = max(due, self.now)
        return self.settle(self.machine.tick(self.now))

    def registered(self, interval_ms: int) -> Bench:
        told = self.do(self.machine.flips.register(TOPIC, interval_ms, self.now))
        while not any(isinstance(each, Registered) for each in told):
            told = self.pass_time()
        return self


def packets(effects: list[Effect]) -> list[bytes]:
    return [encode(each.packet) for each in effects if isinstance(each, SendPacket)]


def test_subscription_is_the_packet_of_the_vector() -> None:
    bench = Bench()
    sent = packets(bench.do(bench.machine.flips.subscribe(TOPIC, START)))
    assert [each.hex() for each in sent] == [SUB_REQ]


def test_question_and_answer_are_the_packets_of_the_vectors() -> None:
    bench = Bench().registered(5000)
    bench.now = START
    assert bench.hear(bytes.fromhex(CONTENT_REQ)) == []
    sent = packets(bench.do(bench.machine.flips.publish(TOPIC, b"21.5", START)))
    assert [each.hex() for each in sent] == [CONTENT_REP]


def test_collision_is_asked_for_and_answered_as_in_the_vectors() -> None:
    bench = Bench(FlipsSettings(probe_lifetime_ms=2000, probe_timeout_ms=2500))
    sent = packets(bench.do(bench.machine.flips.register(TOPIC, 0, START)))
    assert [each.hex() for each in sent] == [THCD_REQ + "21c807d0" + TOPIC.encode().hex()]
    asked = Interest(HicnName(HASH, 0), 500, b"home/other")
    (answer,) = packets(Bench().registered(0).hear(encode(asked)))
    reply = decode(answer)
    assert isinstance(reply, Data)
    assert (reply.name, reply.payload, reply.lifetime_ms) == (asked.name, b"\x01", 0)  # E9: nobody keeps it


def test_route_on_probation_is_away_while_a_probe_is_out() -> None:  # E10
    bench = Bench()
    told = bench.do(bench.machine.flips.register(TOPIC, 0, START))
    assert [type(each) for each in told] == [SendPacket]
    assert [type(each) for each in bench.pass_time()] == [AddRoute]
    assert bench.now == START + 500 * MS
    assert [type(each) for each in bench.pass_time()] == [RemoveRoute, SendPacket]
    assert [type(each) for each in bench.pass_time()] == [AddRoute]
    assert [type(each) for each in bench.pass_time()] == [AddRoute, Registered]
    told = bench.do(bench.machine.flips.unregister(TOPIC, bench.now))
    assert [type(each) for each in told] == [RemoveRoute]


def test_list_of_suffixes_is_so_many_questions() -> None:
    bench = Bench().registered(1000)
    for content in (b"a", b"b"):
        bench.do(bench.machine.flips.publish(TOPIC, content, bench.now))
    wire = encode(Interest(HicnName(HASH, 100), manifest=SuffixList((100, 101), 0b11)))
    assert [decode(each).name.suffix for each in packets(bench.hear(wire))] == [100, 101]


def test_what_is_not_of_flips_is_refused() -> None:
    told = Bench().hear(encode(Data(HicnName.parse("2001:db8::1|100"))))
    assert [type(each) for each in told] == [Rejected]


def test_signed_content_is_verified_against_who_may_sign() -> None:
    publisher = Bench(FlipsSettings(segment_bytes=1300), KEY).registered(1000)
    publisher.do(publisher.machine.flips.publish(TOPIC, b"21.5", publisher.now))

    def judge(topic: str, key_id: bytes, now: int) -> tuple[str, HmacKey] | None:  # noqa: ARG001  it knows one key
        return (str(KEY.name), KEY) if topic == TOPIC else None

    for trusts, expected in ((judge, [str(KEY.name)]), (lambda topic, key_id, now: None, [])):  # noqa: ARG005
        reader = Bench(judge=trusts)
        reader.now = publisher.now
        (question,) = packets(reader.do(reader.machine.flips.subscribe(TOPIC, reader.now)))
        (answer,) = packets(publisher.hear(question))
        told = reader.hear(answer)
        assert [each.signer for each in told if isinstance(each, Deliver)] == expected
        assert any(isinstance(each, Rejected) for each in told) == (not expected)


@pytest.mark.parametrize("change", ["unsigned", "other content"])
def test_content_that_was_changed_is_refused(change: str) -> None:
    publisher = Bench(FlipsSettings(segment_bytes=1300), KEY).registered(1000)
    publisher.do(publisher.machine.flips.publish(TOPIC, b"21.5", publisher.now))
    reader = Bench(judge=lambda topic, key_id, now: (str(KEY.name), KEY))  # noqa: ARG005
    reader.now = publisher.now
    (question,) = packets(reader.do(reader.machine.flips.subscribe(TOPIC, reader.now)))
    (answer,) = packets(publisher.hear(question))
    data = decode(answer)
    unsigned = encode(Data(data.name, data.payload))
    answer = unsigned if change == "unsigned" else answer[:-1] + bytes([answer[-1] ^ 1])
    assert [type(each) for each in reader.hear(answer)] == [Rejected]


def test_segments_leave_room_for_the_signature() -> None:
    with pytest.raises(BadConfig, match="no room for a signature"):
        HicnFlips(Flips(FlipsSettings(segment_bytes=1400), Random(1)), KEY)
