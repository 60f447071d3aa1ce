"""A history of several streams, macros of every kind over it, and what a processor on one node makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

from tests.unit.test_process_engines import BEACONS, FIGURE_3, FIGURE_5, FIGURE_9, FIGURE_15, rssi_at

from roost.naming import Name
from roost.pipeline.macros_rows import Made, Read
from roost.process.definition import NODE, Definition, definition_of
from roost.process.effects import Publish
from roost.process.javascript import JavaScript
from roost.process.processor import Processor
from roost.process.python_code import Python
from roost.process.replay import NoHistory
from roost.process.sample import Sample
from roost.wire.reading import JSON, OCTET_STREAM, SENML_CBOR, TEXT
from roost.wire.senml import Value, encode_values

BEGIN = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
GROUP = Name.parse("/Big/B1/Raw")
PANEL = GROUP / "P1"
TOPICS = ("home/tempF", "home/front_temp", "home/rear_temp", "ee499_7/temp", "ee499_8/temp", "ee499_9/temp")


def stream_of(topic: str, panel: Name = PANEL) -> bytes:
    """The stream of a topic."""
    name = panel
    for level in topic.split("/"):
        name = name / level
    return name.value


def history(count: int = 400, seed: int = 7, plain: bool = True) -> list[Read]:
    """Readings in replay order: numbers, SenML with units, JSON, text and bytes; some at one time, some of no group."""
    chance = Random(seed)
    numbers: dict[str, int] = {}
    found: list[Read] = []
    time = BEGIN

    def add(topic: str, format_: int, payload: bytes, *, is_plain: bool = False) -> None:
        numbers[topic] = numbers.get(topic, 0) + 1
        stream, number = (b"", 0) if is_plain else (stream_of(topic), numbers[topic])
        found.append(Read(topic, time, stream, number, format_, payload))

    for step in range(count):
        time += chance.choice((0, 1, 300_000_001, SECOND, 7 * SECOND))
        topic = TOPICS[chance.randrange(len(TOPICS))]
        if chance.random() < 0.3:
            unit = Value(round(chance.uniform(10, 90), 3), "F")
            add(topic, SENML_CBOR, encode_values([unit]))
        else:
            add(topic, TEXT, repr(round(chance.uniform(10, 90), 2)).encode())
        if step % 9 == 0:
            spot = chance.uniform(5, 95), chance.uniform(5, 95)
            add("person/rssi", JSON, json.dumps(rssi_at(*spot, 4)).encode())
        if step % 11 == 0:
            add("door", TEXT, chance.choice((b"open", b"shut")), is_plain=plain)
        if step % 17 == 0:
            add("blob", OCTET_STREAM, bytes([step % 256, 0xFF]))
    return sorted(found, key=lambda read: read.order)


def _js(name: str, code: str, **more: object) -> Definition:
    return definition_of({"name": name, "code": code, **more})


SEVERAL = [
    _js("tempC", FIGURE_3),
    _js("average", FIGURE_5),
    _js("weighted", FIGURE_9),
    _js("where", FIGURE_15 % json.dumps(BEACONS)),
    _js(
        "counted",
        "(Noctua.state.n = (Noctua.state.n || 0) + 1, Noctua.topic('home/tempF', {cutoff: 3}) * Noctua.state.n)",
    ),
    _js("pairs", "Noctua.topic('ee499_7/temp') + '|' + Noctua.topic('ee499_8/temp')", trigger="set"),
    _js("often", "Noctua.topic('home/+', {limit: 5}).length + ' ' + Noctua.time", trigger="every 10s"),
    _js("newest", "Noctua.topic('+/temp', {limit: 4}).map(each => each.topic + '=' + each.value).join(' ')"),
    _js("warm", "Noctua.topic('Noctua/tempC') > 20 ? Noctua.topic('Noctua/tempC') : undefined"),
    _js("twice", "var t = Noctua.topic('Noctua/warm', {required: 2}); console.log('two', t[0]); t[0] - t[1]"),
    _js("wrong", "var d = Noctua.topic('door');\nif (d == 'open') throw new Error('it is open');\nd.length"),
    _js("dice", "Math.random() + Noctua.topic('home/tempF', {detail: true}).unit + Noctua.topic('blob')[0]"),
    definition_of(
        {"name": "py", "language": "python", "code": "print('py')\nreturn sum(Noctua.topic('home/rear_temp', limit=3))"}
    ),
]
SEARCHING = _js("search", "Noctua.topic('door') == 'open' ? Noctua.topic('home/' + 'rear' + '_temp', {limit: 3}) : 0")


def streams_of(definitions: Iterable[Definition], panel: Name = PANEL) -> dict[str, bytes]:
    """The streams of their results, by topic."""
    return {each.topic: stream_of(each.topic, panel) for each in definitions}


def on_one_node(
    definitions: Iterable[Definition], reads: Sequence[Read], streams: Mapping[str, bytes] | None = None
) -> list[Made]:
    """What a processor makes of readings: the runs as its traces and effects tell of them."""
    numbers: dict[str, int] = {}

    def reserve(topic: str, _cause: Sample) -> tuple[bytes, int]:
        numbers[topic] = numbers.get(topic, 0) + 1
        return (streams[topic], numbers[topic]) if streams else (b"", 0)

    processor = Processor({"javascript": JavaScript(), "python": Python()}, NoHistory(), reserve=reserve)
    for each in definitions:
        processor.define(replace(each, engine=NODE), 0)
    made: list[Made] = []
    told = dict.fromkeys(processor.macros(), 0)

    def tell(effects: Sequence[object]) -> None:
        published = {each.name: each for each in effects if isinstance(each, Publish)}
        for name in processor.macros():
            macro = processor.macro(name)
            if macro.runs == told[name]:
                continue
            told[name] = macro.runs
            run, result = macro.trace.runs()[0], published.get(name)
            failure = run.failure
            made.append(
                Made(
                    name,
                    macro.topic,
                    run.time,
                    result.payload if result else None,
                    run.format,
                    result.stream if result else b"",
                    result.number if result else 0,
                    run.cause.topic,
                    *run.cause.origin,
                    result.inputs
                    if result
                    else tuple(dict.fromkeys((s.stream, s.number) for g in run.inputs.values() for s in g if s.stream)),
                    macro.digest,
                    run.version,
                    failure.kind if failure else "",
                    failure.message if failure else "",
                    failure.line if failure else 0,
                    failure.column if failure else 0,
                    run.logs,
                )
            )

    def due(until: int | None) -> None:
        while (at := processor.deadline()) is not None and (until is None or at <= until):
            tell(processor.tick(at))

    for read in reads:
        due(read.time)
        tell(processor.arrived([read.sample()], read.time))
    due(None)
    return in_order(made)


def in_order(made: Iterable[Made]) -> list[Made]:
    """Runs in an order that says nothing about who did them."""
    return sorted(made, key=lambda each: (each.name, each.time, each.cause_stream, each.cause_number, each.cause_topic))
