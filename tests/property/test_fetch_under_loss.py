"""A segmented object under loss, reordering, duplicates, Nacks and marks: every byte, in order, within the bound.

The network here is a heap of packets under a virtual clock; a failure replays from its Hypothesis example.
"""

from __future__ import annotations

import random
from heapq import heappop, heappush

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.machine import MS, Effect
from roost.naming import Name
from roost.naming.conventions import version
from roost.pubsub.fetch import SegmentFetch
from roost.pubsub.fetch_effects import Answered, Express, FetchSettings, Finished, Forget, Refused, Segment
from roost.wire import Data, DigestSigner
from roost.wire.lp import CONGESTION
from roost.wire.segment import split

OBJECT = Name.parse("/obj")
BASE = OBJECT / version(1)


class Network:
    """Answers Interests for one object after a delay, or does not."""

    def __init__(self, content: bytes, size: int, seed: int, loss: float, nacks: float) -> None:
        self.segments = [Data.decode(wire) for wire in split(BASE, content, DigestSigner(), segment_bytes=size)]
        self.by_name = {data.name: data for data in self.segments}
        self.random = random.Random(seed)
        self.loss = loss
        self.nacks = nacks
        self.queue: list[tuple[int, int, Answered | Refused]] = []
        self.count = 0

    def send(self, express: Express, now: int) -> None:
        draw = self.random.random
        if draw() < self.loss:
            return
        data = self.by_name.get(express.name) or (self.segments[0] if express.can_be_prefix else None)
        if data is None:
            return
        copies = 2 if draw() < 0.1 else 1
        for _ in range(copies):
            delay = self.random.randint(1, 80) * MS
            self.count += 1
            event: Answered | Refused = Answered(data, congested=draw() < 0.05)
            if draw() < self.nacks:
                event = Refused(express.name, CONGESTION)
            heappush(self.queue, (now + delay, self.count, event))


@given(
    content=st.binary(max_size=6000),
    size=st.integers(20, 200),
    seed=st.integers(0, 2**32),
    loss=st.sampled_from([0.0, 0.05, 0.3]),
    nacks=st.sampled_from([0.0, 0.05]),
    capacity=st.sampled_from([1, 3, 16, 256]),
    discovery=st.sampled_from(["prefix", "exact"]),
    algorithm=st.sampled_from(["aimd", "cubic"]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_byte_in_order_within_the_bound(
    content: bytes, size: int, seed: int, loss: float, nacks: float, capacity: int, discovery: str, algorithm: str
) -> None:
    network = Network(content, size, seed, loss, nacks)
    name = BASE if discovery == "exact" else OBJECT
    fetch = SegmentFetch(name, FetchSettings(discovery, algorithm, capacity=capacity, tries=1000))
    now = 0
    got: list[bytes] = []
    waiting: list[bytes] = []
    finished = False

    def execute(effects: list[Effect]) -> None:
        nonlocal finished
        for effect in effects:
            if isinstance(effect, Express):
                network.send(effect, now)
            elif isinstance(effect, Segment):
                assert effect.number == len(got) + len(waiting)
                waiting.append(effect.data.content)
            else:
                assert isinstance(effect, (Finished, Forget)), effect
                finished |= isinstance(effect, Finished)

    execute(fetch.start(now))
    steps = 0
    while not finished:
        steps += 1
        assert steps < 100_000
        deadline = fetch.deadline()
        arrival = network.queue[0][0] if network.queue else None
        assert deadline is not None or arrival is not None or waiting, "it waits for nothing"
        if arrival is not None and (deadline is None or arrival <= deadline):
            now, _, event = heappop(network.queue)
            execute(fetch.receive(event, now))
        elif deadline is not None:
            now = deadline
            execute(fetch.tick(now))
        assert len(fetch.flights) + len(fetch.arrivals) + len(waiting) <= capacity + 1  # + the discovery
        assert fetch.flights.timers.entries <= 4 * (capacity + 1) + 64
        if waiting and network.random.random() < 0.5:
            got.append(waiting.pop(0))
            execute(fetch.take(1, now))
    assert b"".join(got + waiting) == content
    assert fetch.deadline() is None
