"""Traces: which messages are followed, and what their spans are, with an exporter that keeps them in memory."""

from __future__ import annotations

from collections.abc import Callable

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from roost.broker.effects import Insert, Inserted
from roost.broker.message import Message
from roost.host.clock import Clock
from roost.host.mqtt import tracing
from roost.host.mqtt.tracing import Tracing

TRACE, ABOVE = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
STREAM = b"\x08\x01a"


def parent(text: str) -> bytes:
    """The user property, behind a content type."""
    return b"\x03\x00\x04json\x26\x00\x0btraceparent" + len(text).to_bytes(2, "big") + text.encode()


SAMPLED = parent(f"00-{TRACE}-{ABOVE}-01")


def message(kept: bytes = b"", topic: bytes = b"hall/temp", time: int = 7, number: int = 0) -> Message:
    origin = (0, STREAM, number) if number else None
    return Message(topic, b"21", 1, False, kept, 0, b"device", time, origin)


class World:
    def __init__(self, sample: float = 0.0, draw: Callable[[], float] = lambda: 0.5) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracing = Tracing(provider.get_tracer("test"), Clock(), sample, draw)

    def spans(self) -> dict[str, ReadableSpan]:
        return {each.name.removeprefix("roost "): each for each in self.exporter.get_finished_spans()}

    def through_group(self, kept: bytes = b"", ticket: int = 1, refusal: str = "") -> None:
        self.tracing.inserting(Insert(0, ticket, [message(kept)]))
        self.tracing.numbered(ticket)
        if not refusal:
            self.tracing.heard([message(kept, number=1)])
            self.tracing.written()
        self.tracing.inserted(Inserted(ticket, refusal))


def test_a_message_with_a_trace_is_followed_through_its_group() -> None:
    world = World()
    world.through_group(SAMPLED)
    spans = world.spans()
    assert set(spans) == {"publish", "insert", "store", "deliver"}
    publish = spans["publish"]
    assert format(publish.context.trace_id, "032x") == TRACE
    assert publish.parent is not None
    assert format(publish.parent.span_id, "016x") == ABOVE
    assert publish.start_time == 7
    assert publish.attributes is not None
    assert publish.attributes["messaging.destination.name"] == "hall/temp"
    for name in ("insert", "store", "deliver"):
        above = spans[name].parent
        assert above is not None
        assert above.span_id == publish.context.span_id


def test_at_another_node_the_delivery_continues_the_trace() -> None:
    world = World(sample=1.0)
    world.tracing.heard([message(SAMPLED, number=3), message(number=4)])
    world.tracing.written()
    (deliver,) = world.exporter.get_finished_spans()
    assert (deliver.name, format(deliver.context.trace_id, "032x")) == ("roost deliver", TRACE)


def test_a_plain_message_is_published_and_delivered() -> None:
    world = World(sample=1.0)
    world.tracing.heard([message()])
    assert not world.spans()
    world.tracing.written()
    spans = world.spans()
    assert spans["deliver"].context.trace_id == spans["publish"].context.trace_id
    assert spans["publish"].parent is None


def test_a_share_of_the_others_is_followed() -> None:
    draws = iter([0.4, 0.6, 0.1])
    world = World(0.5, lambda: next(draws))
    for ticket in range(3):
        world.through_group(ticket=ticket)
    assert [each.name for each in world.exporter.get_finished_spans()].count("roost publish") == 2


def test_what_says_that_it_is_not_followed_or_says_nonsense_is_not() -> None:
    unsampled = parent(f"00-{TRACE}-{ABOVE}-00")
    for kept in (unsampled, parent(f"00-{'0' * 32}-{ABOVE}-01"), parent("00-x-y-01"), SAMPLED[:-1], SAMPLED.upper()):
        world = World()
        world.through_group(kept)
        assert not world.spans()


def test_what_the_broker_tells_itself_is_not_followed() -> None:
    world = World(sample=1.0)
    world.tracing.heard([message(SAMPLED, topic=b"$SYS/broker/uptime")])
    world.tracing.written()
    assert not world.spans()


def test_what_is_refused_says_so_and_is_not_waited_for() -> None:
    world = World()
    world.through_group(SAMPLED, refusal="the disk is full")
    publish = world.spans()["publish"]
    assert publish.attributes is not None
    assert publish.attributes["roost.refusal"] == "the disk is full"
    world.tracing.heard([message(SAMPLED, number=1)])
    world.tracing.written()
    deliver = world.spans()["deliver"].parent
    assert deliver is not None
    assert format(deliver.span_id, "016x") == ABOVE  # as at another node


def test_those_that_never_come_out_make_room() -> None:
    world = World(sample=1.0)
    count = tracing.MAX_OPEN + 3
    for ticket in range(count):
        world.tracing.inserting(Insert(0, ticket, [message(time=ticket)]))
        world.tracing.inserted(Inserted(ticket, ""))
    assert world.tracing.lost == 3
