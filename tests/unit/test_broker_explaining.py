"""Sentences beside reason codes: what a client is told of a refusal, and what not."""

from __future__ import annotations

import pytest
from tests import broker_packets as packets
from tests.broker_packets import Seen, props
from tests.broker_world import World

from roost.broker.large import MAX_PAYLOAD_BYTES
from roost.broker.message import Message
from roost.broker.settings import BrokerSettings
from roost.broker.trees import why_not

MANY_LEVELS = b"/".join([b"a"] * 17)


class Halls:
    """One tree, of everything: what cannot be a reading is refused as a group does it."""

    def of(self, topic: bytes) -> int | None:  # noqa: ARG002  a stand-in
        return 0

    def refusal_of(self, tree: int, message: Message) -> str:  # noqa: ARG002  a stand-in
        return why_not(40, message)


def asked(packet: bytes, *, properties: bytes = b"", **settings: object) -> Seen:
    world = World(BrokerSettings(sys_interval_s=0, **settings), gateway=Halls())  # type: ignore[arg-type]
    client = world.connect(b"ann", 5, properties=properties)
    client.send(packet)
    (answer,) = client.seen()
    return answer


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize(
    ("topic", "payload", "reason", "why"),
    [
        (MANY_LEVELS, b"", 0x90, b"levels"),
        (b"temp", b"", 0x90, b"levels"),
        (b"catalogue/streams", b"", 0x90, b"describes its streams"),
        (b"hall/temp", bytes(MAX_PAYLOAD_BYTES + 1), 0x97, b"1048576 bytes of payload at most"),
        (b"/".join([b"a"] * 15), bytes(9000), 0x97, b"14 levels"),
    ],
)
def test_a_message_that_can_be_no_reading_is_refused_with_a_sentence(
    qos: int, topic: bytes, payload: bytes, reason: int, why: bytes
) -> None:
    answer = asked(packets.publish(topic, payload, qos=qos, packet_id=1, version=5), max_packet_bytes=2 << 20)
    assert answer.reason == reason
    assert why in answer.properties["reason_string"]


def test_what_nobody_but_the_server_publishes_is_called_so() -> None:
    answer = asked(packets.publish(b"$SYS/broker/uptime", b"1", qos=1, packet_id=1, version=5))
    assert (answer.reason, answer.properties["reason_string"]) == (0x87, b"the topic is the server's own")


def test_a_bad_past_is_refused_with_what_to_write() -> None:
    answer = asked(packets.subscribe(1, b"a", version=5, properties=props(user=[(b"since", b"yesterday")])))
    assert answer.codes == [0x8F]
    assert answer.properties["reason_string"].startswith(b"'a': since 'yesterday' is no time: write how long ago")


def test_of_several_filters_that_are_refused_the_first_is_explained_and_the_others_counted() -> None:
    filters = (b"fine", b"$share/all/x", b"a/+", b"b/#")
    answer = asked(packets.subscribe(1, *filters, version=5), wildcards_available=False)
    assert answer.codes == [0, 0, 0xA2, 0xA2]
    assert answer.properties["reason_string"] == b"'a/+': wildcards are switched off (and 1 more)"


def test_a_filter_that_was_none_is_named() -> None:
    answer = asked(packets.unsubscribe(1, b"nothing", version=5))
    assert answer.codes == [0x11]
    assert answer.properties["reason_string"] == b"'nothing': there is no subscription by this filter"


def test_a_sentence_is_no_longer_than_a_packet_can_say() -> None:
    long = b"x" * 60_000
    answer = asked(packets.subscribe(1, b"a", version=5, properties=props(user=[(b"since", long)])))
    assert 0 < len(answer.properties["reason_string"]) < 2000


def test_what_went_well_has_no_sentence() -> None:
    assert asked(packets.subscribe(1, b"a", version=5)).properties == {}


@pytest.mark.parametrize("qos", [1, 2])
def test_a_client_without_words_for_it_gets_no_answer_and_all_else_of_it_comes_through(qos: int) -> None:
    world = World(BrokerSettings(sys_interval_s=0, max_packet_bytes=2 << 20), gateway=Halls())
    client = world.connect(b"ann", 4, clean=False)
    client.publish(b"hall/camera", bytes(MAX_PAYLOAD_BYTES + 1), qos=qos, packet_id=1)
    client.publish(b"hall/temp", b"21", qos=qos, packet_id=2)
    (insert,) = world.inserts
    assert [message.topic for message in insert.messages] == [b"hall/temp"]
    world.run(world.broker.inserted(insert.ticket, "", world.now))
    assert [answer.packet_id for answer in client.seen()] == [2]
    client.publish(b"hall/camera", bytes(MAX_PAYLOAD_BYTES + 1), qos=qos, packet_id=1, dup=True)
    assert (client.seen(), client.closed) == ([], False)
    assert world.broker.statistics().unfit == 2
    assert len(world.rejected) == 2
