"""Traces for OpenTelemetry: each message that is followed is a span with one for each part of its way.

    publish  from when it came until it is as durable as was asked     (a plain one: until it is written to subscribers)
    ├ insert   numbered and signed, and handed to the repo
    ├ store    until its disk, and those of the copies, have it
    └ deliver  from when it comes out of the group until it is written; at other nodes of the group, too

A message with the user property `traceparent` [W3C Trace Context] continues that trace if it is sampled; the property
travels on to subscribers and other nodes as all user properties do. Of the others a share is followed. Nothing is done
per message while this is off: the driver has no observer then. What is open has a bound, and so has the exporter.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from roost import __version__
from roost.broker.core import Core
from roost.broker.effects import Insert, Inserted
from roost.broker.message import Message
from roost.errors import BadConfig
from roost.host.clock import Clock
from roost.host.mqtt.config_web import WebSettings
from roost.host.mqtt.server import Server

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

MAX_OPEN: Final = 10_000  # messages that are followed at once; the oldest make room
_PROPERTY: Final = re.compile(
    rb"\x26\x00\x0btraceparent\x00\x3700-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})", re.DOTALL
)
_HINT: Final = b"traceparent"
_RESERVED: Final = b"$"
_SAMPLED: Final = 1
_PATH: Final = "/v1/traces"
_MISSING: Final = (
    "tracing.otlp: OpenTelemetry is not installed: in a clone of Roost, python -m pip install '.[tracing]'; "
    "or leave out `tracing`"
)
_TIMEOUT_S: Final = 5  # for a collector to take some

_Key = tuple[bytes, bytes, int]  # by which a message is known again when it comes out of its group


class _Followed:
    """A message on its way."""

    __slots__ = ("key", "part", "span")

    def __init__(self, key: _Key, span: Span, part: Span) -> None:
        self.key: Final = key
        self.span: Final = span  # publish
        self.part = part  # insert, then store


class Tracing:
    """Satisfies `Observer`; `sample` is the share of messages without a trace of their own that are followed."""

    def __init__(self, tracer: Tracer, clock: Clock, sample: float, draw: Callable[[], float]) -> None:
        self.lost = 0  # by MAX_OPEN: they did not come out of their groups for so long
        self._tracer: Final = tracer
        self._clock: Final = clock
        self._sample: Final = sample
        self._draw: Final = draw
        self._tickets: Final[OrderedDict[int, list[_Followed]]] = (
            OrderedDict()
        )  # bound: the messages that groups take at once
        self._emerging: Final[dict[_Key, deque[Span]]] = {}  # until they come out; bound: MAX_OPEN
        self._open = 0  # messages in that
        self._writing: Final[list[Span]] = []  # to be ended when this call's answers are written; bound: the call

    def inserting(self, effect: Insert) -> None:
        """Begin to follow messages into a group."""
        followed: list[_Followed] = []
        for message in effect.messages:
            context = self._context(message)
            if context is not None:
                span = self._begin("roost publish", message, context, message.time)
                part = self._part("roost insert", span)
                key = (message.topic, message.publisher, message.time)
                followed.append(_Followed(key, span, part))
                self._emerging.setdefault(key, deque()).append(span)
                self._open += 1
        while self._open > MAX_OPEN:
            lost = len(self._emerging.pop(next(iter(self._emerging))))
            self._open -= lost
            self.lost += lost
        if followed:
            self._tickets[effect.ticket] = followed

    def numbered(self, ticket: int) -> None:
        """Note that messages are on their way to the disk."""
        for each in self._tickets.get(ticket, ()):
            each.part.end(self._clock())
            each.part = self._part("roost store", each.span)

    def inserted(self, effect: Inserted) -> None:
        """End what was followed into a group."""
        for each in self._tickets.pop(effect.ticket, ()):
            now = self._clock()
            if effect.refusal:
                self._forget(each)
                each.span.set_attribute("error.type", "refused")
                each.span.set_attribute("roost.refusal", effect.refusal[:200])
            each.part.end(now)
            each.span.end(now)

    def heard(self, messages: list[Message]) -> None:
        """Follow messages to their subscribers."""
        for message in messages:
            parent = self._emerged(message)
            if parent is not None:
                self._writing.append(self._part("roost deliver", parent))
                continue
            context = self._context(message, only_told=message.origin is not None)
            if context is None:
                continue
            if message.origin is None:  # a plain one, which goes no other way
                span = self._begin("roost publish", message, context, message.time)
                self._writing.extend((self._part("roost deliver", span), span))
            else:
                self._writing.append(self._begin("roost deliver", message, context, self._clock()))

    def written(self) -> None:
        """End deliveries."""
        if self._writing:
            now = self._clock()
            for span in self._writing:
                span.end(now)
            self._writing.clear()

    # -- inside

    def _context(self, message: Message, *, only_told: bool = False) -> Context | None:
        """Of which trace a message is to be a part; None if it is not to be followed."""
        if message.topic.startswith(_RESERVED):
            return None
        from opentelemetry.context import Context
        from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

        if message.kept and _HINT in message.kept:
            found = _PROPERTY.search(message.kept)
            if found is not None and int(found[1], 16) and int(found[2], 16):
                if not int(found[3], 16) & _SAMPLED:
                    return None
                flags = TraceFlags(TraceFlags.SAMPLED)
                above = SpanContext(int(found[1], 16), int(found[2], 16), is_remote=True, trace_flags=flags)
                return set_span_in_context(NonRecordingSpan(above), Context())
        return None if only_told or self._draw() >= self._sample else Context()

    def _begin(self, name: str, message: Message, context: Context, start: int) -> Span:
        from opentelemetry.trace import SpanKind

        attributes: dict[str, str | int] = {
            "messaging.system": "mqtt",
            "messaging.destination.name": message.topic.decode(errors="replace"),
            "messaging.message.body.size": len(message.payload),
        }
        if message.publisher:
            attributes["messaging.client.id"] = message.publisher.decode(errors="replace")
        kind = SpanKind.CONSUMER if name.endswith("publish") else SpanKind.PRODUCER
        return self._tracer.start_span(name, context, kind, attributes, start_time=start)

    def _part(self, name: str, span: Span) -> Span:
        from opentelemetry.trace import set_span_in_context

        return self._tracer.start_span(name, set_span_in_context(span), start_time=self._clock())

    def _emerged(self, message: Message) -> Span | None:
        """What was followed into the group, if this is it."""
        key = (message.topic, message.publisher, message.time)
        waiting = self._emerging.get(key) if message.origin is not None else None
        if waiting is None:
            return None
        span = waiting.popleft()
        self._open -= 1
        if not waiting:
            del self._emerging[key]
        return span

    def _forget(self, followed: _Followed) -> None:
        """A message will not come out."""
        waiting = self._emerging.get(followed.key)
        if waiting is not None and followed.span in waiting:
            waiting.remove(followed.span)
            self._open -= 1
            if not waiting:
                del self._emerging[followed.key]


@asynccontextmanager
async def traced(server: Server, core: Core, settings: WebSettings, name: str) -> AsyncIterator[None]:
    """Send traces to a collector while the block runs, if there is one; raises `BadConfig` without OpenTelemetry."""
    if settings.otlp is None:
        yield
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise BadConfig(_MISSING) from None
    endpoint = settings.otlp.rstrip("/").removesuffix(_PATH) + _PATH
    about = {"service.name": "roost", "service.version": __version__, "service.instance.id": name}
    provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, timeout=_TIMEOUT_S)))
    tracer = provider.get_tracer("roost", __version__)
    server.observer = Tracing(tracer, server.clock, settings.otlp_sample, random.random)
    core.listen(wanted=True)
    try:
        yield
    finally:
        core.listen(wanted=False)
        server.observer = None
        await asyncio.to_thread(provider.shutdown)
