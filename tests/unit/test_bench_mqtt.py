"""The load generator of bench/mqtt: a figure counts only if nothing was lost, so it must see what was."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from bench.mqtt._layout import LAST_ID, Check, Layout, Lost, Rows
from bench.mqtt._publisher import Publisher
from bench.mqtt._subscriber import ExactSubscriber, Subscriber


class Wire(NamedTuple):
    """An end under test and the broker's side of its connection."""

    end: socket.socket
    poll: select.epoll
    broker: socket.socket


@pytest.fixture
def wire() -> Iterator[Wire]:
    ours, theirs = socket.socketpair()
    with ours, theirs, select.epoll() as poll:
        theirs.settimeout(5)
        yield Wire(ours, poll, theirs)


def messages(layout: Layout, publisher: int, count: int) -> list[Rows]:
    rows = layout.rows(publisher, count)
    return [rows[at : at + 1] for at in range(count)]


def test_a_message_is_a_publish_packet_with_its_topic_and_stamp() -> None:
    packet = Layout(1, 16).rows(7, 3)[2].tobytes()
    head, topic, rest = packet[:4], packet[4:10], packet[10:]
    assert head == bytes([0x32, len(packet) - 2, 0, 6])
    assert topic == b"b/0007"
    assert rest == b"\x00\x03" + b"\x07\x00" + b"\x00\x00" + b"\x02\x00\x00\x00" + bytes(8)


def test_the_length_of_a_large_message_takes_two_bytes() -> None:
    packet = Layout(0, 1350).rows(0, 1).tobytes()
    assert (packet[1] & 127) + 128 * packet[2] == len(packet) - 3


def test_packet_identifiers_begin_again_after_the_last_one() -> None:
    layout = Layout(1, 16)
    rows = layout.rows(0, 3)
    layout.renumber(rows, np.arange(LAST_ID - 1, LAST_ID + 2))
    assert rows["id"].tolist() == [LAST_ID, 1, 2]


def test_messages_of_several_publishers_may_come_in_any_mixture() -> None:
    layout = Layout(0, 16)
    first, second = messages(layout, 0, 3), messages(layout, 1, 2)
    check = Check(layout, 2)
    check.see(np.concatenate([first[0], second[0], first[1]]))
    check.see(np.concatenate([second[1], first[2]]))


@pytest.mark.parametrize("came", [[1], [0, 2], [0, 0], [1, 0], [0, 1, 1]], ids=str)
def test_what_is_missing_doubled_or_disordered_is_lost(came: list[int]) -> None:
    layout = Layout(0, 16)
    sent = messages(layout, 1, 3)
    with pytest.raises(Lost):
        Check(layout, 2).see(np.concatenate([messages(layout, 0, 1)[0], *[sent[number] for number in came]]))


def test_a_repeated_delivery_is_lost_even_when_it_is_marked_as_one() -> None:
    layout = Layout(1, 16)
    rows = layout.rows(0, 1)
    rows["kind"] |= 0x08
    with pytest.raises(Lost):
        Check(layout, 1).see(rows)


@pytest.mark.parametrize("size_bytes", [1, 7, 1000])
def test_a_subscriber_acknowledges_each_message_once_however_the_bytes_come(wire: Wire, size_bytes: int) -> None:
    layout = Layout(1, 16)
    end = Subscriber(wire.end, wire.poll, layout, 1)
    data = layout.rows(0, 3).tobytes()
    for at in range(0, len(data), size_bytes):
        wire.broker.sendall(data[at : at + size_bytes])
        end.readable()
    end.verify()
    assert end.delivered == 3
    assert wire.broker.recv(100) == b"".join(bytes([0x40, 2, 0, number]) for number in (1, 2, 3))


@pytest.mark.parametrize("size_bytes", [1, 7, 1000])
def test_an_exact_subscriber_answers_messages_and_releases_in_their_order(wire: Wire, size_bytes: int) -> None:
    layout = Layout(2, 16)
    end = ExactSubscriber(wire.end, wire.poll, layout, 1)
    first, second = messages(layout, 0, 2)
    data = first.tobytes() + b"\x62\x02\x00\x01" + second.tobytes() + b"\x62\x02\x00\x02"
    for at in range(0, len(data), size_bytes):
        wire.broker.sendall(data[at : at + size_bytes])
        end.readable()
    end.verify()
    assert (end.delivered, end.settled) == (2, 2)
    assert wire.broker.recv(100).hex(" ", 4) == "50020001 70020001 50020002 70020002"


def test_the_delay_of_a_message_is_from_its_stamp_to_its_arrival(wire: Wire) -> None:
    layout = Layout(0, 16)
    end = Subscriber(wire.end, wire.poll, layout, 1, timed=True)
    wire.broker.sendall(layout.rows(0, 2).tobytes())
    end.readable()
    delays = end.delays_ns(0).tolist()
    assert len(delays) == 2
    assert delays[0] == delays[1] > 0
    assert not len(end.delays_ns(1))  # both say that they were sent at 0


def test_a_publisher_goes_on_counting_from_one_block_of_packets_to_the_next(wire: Wire) -> None:
    layout = Layout(0, 1350)
    end = Publisher(wire.end, wire.poll, layout, 0)
    check, data = Check(layout, 1), b""
    for _ in range(200):
        end.publish(1)
        data = wire.broker.recv(layout.size, socket.MSG_WAITALL)
        check.see(np.frombuffer(data, layout.row))
    assert end.acked == 200


@pytest.mark.parametrize(
    ("qos", "said", "fine"),
    [
        (1, "40020001 40020002", True),
        (1, "40020002 40020001", True),
        (1, "40020001 40020001", False),
        (1, "50020001 50020002", False),
        (2, "50020001 70020001 50020002 70020002", True),
        (2, "50020001 70020001 70020002 50020003", False),
    ],
)
def test_a_publisher_sees_whether_everything_was_acknowledged_once(wire: Wire, qos: int, said: str, fine: bool) -> None:
    end = Publisher(wire.end, wire.poll, Layout(qos, 16), 0)
    end.publish(2)
    wire.broker.sendall(bytes.fromhex(said))
    end.readable()
    if fine:
        end.verify()
        assert end.acked == 2
    else:
        with pytest.raises(Lost):
            end.verify()
