"""The promises of a building: each one is broken here by hand, and found out."""

from __future__ import annotations

import pytest

from roost.machine import MS, SECOND, Effect
from roost.naming import Name
from roost.naming.building import numbered
from roost.naming.topic import TopicFilter
from roost.pubsub.consumers.arrival import Deliver, Missing, Subscribed, arrival_of
from roost.pubsub.consumers.policy import Policy, latest, sample, sequential
from roost.pubsub.consumers.wishes import Wishes
from roost.pubsub.panels.panel import Acknowledged, Published, Refused
from roost.sim import START, Crash, Crashed, Violation, World
from roost.sim.deployment import GROUP, streams
from roost.sim.happened import Happened
from roost.sim.promises import Promises, Subscriber
from roost.wire import Data, DigestSigner, make_data
from roost.wire.reading import TEXT, Reading

STREAM = streams("pi1")[0]
FROM_ONE = sequential().since(number=1)


def reading(number: int, text: str = "21", stream: Name = STREAM) -> Data:
    return make_data(numbered(stream, number), Reading(START + number, TEXT, text.encode()).encode(), DigestSigner())


class Told:
    """A history in the making: one consumer, one stream of nine readings."""

    def __init__(self, policy: Policy = FROM_ONE, *, prunes: bool = False) -> None:
        self.world = World(1)
        self.published = {reading(number).name.value: reading(number).wire for number in range(1, 10)}
        subscriber = Subscriber(Wishes(GROUP.name, [TopicFilter("pi1/#")]), policy)
        self.promises = Promises(self.world, [], self.published, {"c1": subscriber}, prunes=prunes)
        self.incarnation = 1
        self.time = START

    def tell(self, what: object, after: int = SECOND) -> None:
        self.time += after
        self.world.history.append(Happened(self.time, "c1", self.incarnation, what))
        self.promises.follow()

    def deliver(self, *numbers: int) -> None:
        for number in numbers:
            self.tell(Deliver(arrival_of(STREAM, number, reading(number), self.time)))

    def crash(self, after: int) -> None:
        self.tell(Crashed(Crash.KEEP), after)
        self.incarnation += 1


def test_all_in_order_is_as_promised() -> None:
    told = Told()
    told.deliver(*range(1, 10))
    told.promises.delivered()


@pytest.mark.parametrize("numbers", [(1, 1), (1, 2, 1), (1, 3), (2,)])
def test_what_comes_again_or_too_early_is_found(numbers: tuple[int, ...]) -> None:
    told = Told()
    told.deliver(*numbers[:-1])
    with pytest.raises(Violation, match=r"again|was next"):
        told.deliver(numbers[-1])


def test_what_was_not_given_is_owed() -> None:
    told = Told()
    told.deliver(*range(1, 9))
    with pytest.raises(Violation, match=r"was not given .* 9"):
        told.promises.delivered()
    told.promises.delivered(lost={reading(9).name.value})


def test_after_a_crash_only_what_came_right_before_it_may_come_again() -> None:
    told = Told()
    told.deliver(1, 2)
    told.crash(after=4 * MS)
    told.deliver(2, 3)
    told.crash(after=SECOND)
    with pytest.raises(Violation, match="again"):
        told.deliver(3)


def test_after_a_crash_nothing_is_skipped() -> None:
    told = Told()
    told.deliver(1, 2)
    told.crash(after=4 * MS)
    with pytest.raises(Violation, match="but 3 was next"):
        told.deliver(4)


def test_what_nobody_published_and_what_nobody_wants_is_found() -> None:
    told = Told()
    forged = Deliver(arrival_of(STREAM, 1, reading(1, "22"), START))
    with pytest.raises(Violation, match="nobody published"):
        told.tell(forged)
    other = streams("pi2")[0]
    unwanted = reading(1, stream=other)
    told = Told()
    told.published[unwanted.name.value] = unwanted.wire
    with pytest.raises(Violation, match="did not ask"):
        told.tell(Deliver(arrival_of(other, 1, unwanted, START)))


def test_a_sample_has_one_of_each_block_and_no_other() -> None:
    policy = sample(3).since(number=1)
    picked = [number for number in range(1, 10) if policy.next(STREAM, number, number) == number]
    told = Told(policy)
    told.deliver(*picked)
    told.promises.delivered()
    told = Told(policy)
    with pytest.raises(Violation, match="sample"):
        told.deliver(next(number for number in range(1, 10) if number not in picked))
    told = Told(policy)
    told.deliver(picked[0])
    with pytest.raises(Violation, match="was not given"):
        told.promises.delivered()


def test_the_latest_is_the_last_one() -> None:
    told = Told(latest().since(number=1))
    told.deliver(2, 5)
    with pytest.raises(Violation, match="the latest is 9"):
        told.promises.delivered()
    told.deliver(9)
    told.promises.delivered()


def test_who_subscribed_is_owed_what_was_published_since() -> None:
    told = Told(sequential())
    told.tell(Published(STREAM, 1))
    with pytest.raises(Violation, match="could not subscribe"):
        told.promises.delivered()
    told.tell(Subscribed(1))
    for number in range(2, 10):
        told.tell(Published(STREAM, number))
    with pytest.raises(Violation, match=r"was not given .* 2"):
        told.promises.delivered()
    told.deliver(*range(2, 10))
    told.promises.delivered()


@pytest.mark.parametrize("what", [Missing(STREAM, 1, 2), Refused(STREAM, 1, "no")])
def test_what_is_dropped_or_refused_without_a_rule_is_found(what: Effect) -> None:
    with pytest.raises(Violation, match=r"are gone|refused"):
        Told().tell(what)


def test_what_retention_dropped_counts_as_given() -> None:
    told = Told(prunes=True)
    told.tell(Missing(STREAM, 1, 4))
    told.deliver(*range(5, 10))
    told.promises.delivered()


def test_what_is_acknowledged_and_on_no_repo_is_found() -> None:
    told = Told()
    told.promises.lost()
    told.tell(Acknowledged(STREAM, 3, 3))
    with pytest.raises(Violation, match="acknowledged, and is on no repo"):
        told.promises.lost()
