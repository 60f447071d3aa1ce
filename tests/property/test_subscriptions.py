"""Whatever is lost, late, restarted or failed over: every reading in order, and once but for what a crash took back."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.subscription_world import START, World, stream

from roost.machine import MS, SECOND
from roost.naming import Name
from roost.pubsub.consumers.consumer import ConsumerSettings
from roost.pubsub.consumers.policy import Policy, latest, sample, sequential

STREAMS = [stream("Panel1"), stream("Panel2"), stream("Panel1", "Vent")]
HEAL = 40 * SECOND

Step = tuple[str, int]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(0, len(STREAMS) - 1)),
        st.tuples(st.just("backlog"), st.integers(0, len(STREAMS) - 1)),
        st.tuples(st.just("swap"), st.integers(0, len(STREAMS) - 1)),
        st.tuples(st.just("run"), st.integers(1, 400)),
        st.tuples(st.just("restart"), st.just(0)),
        st.tuples(st.just("fail over"), st.just(0)),
    ),
    max_size=30,
)


def lived(steps: list[Step], world: World, before: int = 0) -> dict[Name, int]:
    """Run a story and let things heal; returns how far each stream came, the first of them beginning with `before`."""
    highest = dict.fromkeys(STREAMS, 0) | {STREAMS[0]: before}

    def publish(name: Name, count: int, *, swapped: bool = False) -> None:
        low = highest[name] + 1
        highest[name] += count
        numbers = list(range(low, low + count))
        if swapped:  # a later one is stored and told first
            world.publish(name, numbers[1:], lag=50 * MS)
            world.run(20 * MS)
            numbers = numbers[:1]
        world.publish(name, numbers, lag=50 * MS)

    for what, value in steps:
        if what == "publish":
            publish(STREAMS[value], 1)
        elif what == "backlog":
            publish(STREAMS[value], 90)
        elif what == "swap":
            publish(STREAMS[value], 5, swapped=True)
        elif what == "run":
            world.run(value * MS)
        elif what == "restart":
            world.restart()
        else:
            world.nearest = 1 - world.nearest
    world.loss = 0.0
    world.run(HEAL)
    return highest


@settings(max_examples=60, deadline=None)
@given(
    STEPS,
    st.integers(0, 1 << 16),
    st.sampled_from([0.0, 0.1, 0.4]),
    st.sampled_from([1, 5, 256]),
    st.booleans(),
    st.booleans(),
)
def test_a_sequential_consumer_gets_everything_in_order_and_twice_only_what_a_crash_took_back(
    steps: list[Step], seed: int, loss: float, credit: int, carries: bool, live: bool
) -> None:
    policy = sequential() if live else sequential().since(number=1)
    settings = ConsumerSettings(credit=credit)
    world = World(policy=policy, seed=seed, repos=2, carries=carries, settings=settings)
    world.publish(STREAMS[0], range(1, 6))
    world.run(SECOND)
    world.start()
    world.run(SECOND)  # a subscription begins when it is on the disk
    world.loss = loss
    highest = lived(steps, world, before=5)
    restarts = sum(what == "restart" for what, _ in steps)
    for name in STREAMS:
        numbers = world.numbers(name)
        first = 6 if live and name == STREAMS[0] else 1
        assert sorted(set(numbers)) == list(range(first, highest[name] + 1))
        backwards = [after for before, after in pairwise(numbers) if after != before + 1]
        assert len(backwards) <= restarts
    if not restarts:
        assert len(world.arrivals) == sum(highest.values()) - (5 if live else 0)


@settings(max_examples=40, deadline=None)
@given(STEPS, st.integers(0, 1 << 16), st.sampled_from([0.0, 0.2]), st.sampled_from([latest(), sample(3)]))
def test_other_policies_stay_in_order_and_come_to_the_end(
    steps: list[Step], seed: int, loss: float, policy: Policy
) -> None:
    steps = [step for step in steps if step[0] != "restart"]
    world = World(policy=policy.since(number=1), seed=seed, loss=loss, repos=2)
    world.start()
    highest = lived(steps, world)
    for name in STREAMS:
        numbers = world.numbers(name)
        assert numbers == sorted(set(numbers))
        if policy == latest() and highest[name]:
            assert numbers[-1] == highest[name]
        if policy == sample(3):
            assert len(numbers) in {highest[name] // 3, highest[name] // 3 + 1}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=20), st.integers(0, 25), st.integers(0, 1 << 16))
def test_history_since_a_time_and_what_follows_live_have_neither_gap_nor_overlap(
    gaps_s: list[int], into_s: int, seed: int
) -> None:
    live = len(gaps_s) // 2
    since = START + min(into_s, sum(gaps_s[: max(0, live - 1)])) * SECOND  # no later than we subscribe
    world = World(policy=sequential().since(time_ns=since), seed=seed, loss=0.1, repos=2)
    times: list[int] = []
    for number, gap_s in enumerate(gaps_s, 1):
        if number == live:
            world.start()
        world.run(gap_s * SECOND)
        times.append(world.now)
        world.publish(STREAMS[0], [number])
    if not live:
        world.start()
    world.loss = 0.0
    world.run(HEAL)
    first = next(number for number, time in enumerate(times, 1) if time >= since)
    assert world.numbers() == list(range(first, len(times) + 1))
