"""A consumer behind a node with two ways to what it wants: partitions, faces that close, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import pytest

from roost.forwarding.endpoint import Endpoint
from roost.forwarding.endpoint_effects import Asked, Delivered, Failed
from roost.forwarding.face import Arrived, FaceSpec
from roost.forwarding.pending import Question
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.machine import MS, SECOND, Effect
from roost.naming import Name
from roost.node import Node, NodeSettings
from roost.sim import Boot, Medium, Wire, World
from roost.wire import DigestSigner, encode_data

G = Name.parse("/g")
LIFETIME_MS = 1000
LIFETIME = LIFETIME_MS * MS


@dataclass(frozen=True, slots=True)
class Got(Effect):
    """A question was answered, and by whom."""

    number: int
    by: str


class Consumer:
    """Asks one question after the other, each until it is answered, `window` at a time."""

    def __init__(self, boot: Boot, window: int) -> None:
        self.endpoint = Endpoint(DigestSigner(), boot.randomness)
        self.window = window
        self.next = 1

    def start(self, now: int) -> list[Effect]:
        return self.endpoint.start(now)

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        return self.endpoint.connected(face, spec, now) + self._ask(now)

    def receive(self, event: Arrived, now: int) -> list[Effect]:
        return self._settle(self.endpoint.receive(event, now), now)

    def tick(self, now: int) -> list[Effect]:
        return self._settle(self.endpoint.tick(now), now)

    def deadline(self) -> int | None:
        return self.endpoint.deadline()

    def _ask(self, now: int) -> list[Effect]:
        effects: list[Effect] = []
        while len(self.endpoint.pending) < self.window:
            question = Question(G / str(self.next), lifetime_ms=LIFETIME_MS, tries=1000, must_be_fresh=True)
            effects += self.endpoint.ask([(self.next, question)], now)
            self.next += 1
        return effects

    def _settle(self, effects: list[Effect], now: int) -> list[Effect]:
        told: list[Effect] = []
        for effect in effects:
            assert not isinstance(effect, Failed), effect.reason
            told.append(Got(effect.ticket, effect.data.content.decode()) if isinstance(effect, Delivered) else effect)
        return told + self._ask(now)


class Producer:
    """Answers everything, with its name; while it has no news, later."""

    def __init__(self, boot: Boot) -> None:
        self.name = boot.name
        self.has_news = True
        self.asked: list[Asked] = []
        self.endpoint = Endpoint(DigestSigner(), boot.randomness)
        self.endpoint.serve(G)

    def start(self, now: int) -> list[Effect]:
        return self.endpoint.start(now)

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        return self.endpoint.connected(face, spec, now)

    def receive(self, event: Arrived, now: int) -> list[Effect]:
        self.asked += [each for each in self.endpoint.receive(event, now) if isinstance(each, Asked)]
        return self.answer(now) if self.has_news else []

    def answer(self, now: int) -> list[Effect]:
        asked, self.asked = self.asked, []
        answers = [
            (encode_data(each.interest.name, self.name.encode(), DigestSigner(), freshness_ms=1), each.token)
            for each in asked
        ]
        return self.endpoint.reply(answers, now)

    def tick(self, now: int) -> list[Effect]:
        return self.endpoint.tick(now)

    def deadline(self) -> int | None:
        return self.endpoint.deadline()


class Place:
    """consumer – node – near, far; the node prefers the near one."""

    def __init__(self, seed: int, window: int) -> None:
        self.world = world = World(seed)
        world.add("node", lambda boot: Node(NodeSettings(), boot.randomness))
        world.machine("node").forwarder.strategies.set(G, STRATEGY_PREFIX / "fail-over")
        self.wires: dict[str, Medium] = {}
        for cost, name in enumerate(("near", "far")):
            world.add(name, Producer)
            self.wires[name] = world.wire("node", name, Wire(delay_ms=40 + 10 * cost))
            self.route(name, cost)
        world.add("consumer", lambda boot: Consumer(boot, window))
        world.wire("node", "consumer", Wire(delay_ms=1, local=True))

    def route(self, name: str, cost: int) -> None:
        face = self.wires[name].face("node")
        self.world.tell("node", lambda node, now: node.add_route(G, face, cost, now), f"route to {name}")

    def got(self, since: int) -> list[tuple[int, str]]:
        return [
            (each.time, each.what.by)
            for each in self.world.history
            if isinstance(each.what, Got) and each.time >= since
        ]

    def cut_off_near(self) -> None:
        self.world.partition(["near"], ["node", "far", "consumer"])

    def close_near(self) -> None:
        self.world.detach(self.wires["near"], "node")

    def lose_near(self) -> None:
        face = self.wires["near"].face("node")
        self.world.partition(["near"], ["node", "far", "consumer"])
        self.world.tell("node", lambda node, now: node.face_down(face, now), "down")


@pytest.mark.parametrize("window", [1, 5])
@pytest.mark.parametrize(
    ("cut", "lifetimes"), [(Place.cut_off_near, 2.2), (Place.close_near, 0.2), (Place.lose_near, 0.2)]
)
def test_when_the_one_in_use_is_gone_the_other_answers_within_a_few_lifetimes(
    cut: Callable[[Place], None], lifetimes: float, window: int
) -> None:
    for seed in range(1, 4):
        place = Place(seed, window)
        place.world.run(for_=3 * SECOND)
        assert {by for _, by in place.got(0)} == {"near"}
        gone = place.world.now
        cut(place)
        place.world.run(for_=12 * SECOND)
        after = [each for each in place.got(gone) if each[1] == "far"]
        assert after[0][0] - gone <= lifetimes * LIFETIME
        gaps = [later[0] - earlier[0] for earlier, later in pairwise(after)]
        assert max(gaps) < LIFETIME, "no later question loses a lifetime to the one that is gone"


@pytest.mark.parametrize("window", [1, 5])
def test_when_the_cheaper_one_answers_again_it_is_used_again(window: int) -> None:
    for seed in range(1, 4):
        place = Place(seed, window)
        place.world.run(for_=SECOND)
        place.cut_off_near()
        place.world.run(for_=30 * SECOND)
        assert place.wires["near"].tally.severed <= 3 * window + 17, "it is probed, not flooded"
        healed = place.world.now
        place.world.heal()
        place.world.run(for_=3 * SECOND)
        settled = place.got(healed + 5 * SECOND // 2)
        assert settled
        assert {by for _, by in settled} == {"near"}


def test_every_question_is_answered_once_whatever_is_cut() -> None:
    for seed in range(1, 6):
        place = Place(seed, 5)
        draw = place.world.draws("cuts")
        for _ in range(6):
            gone = draw.choice(["near", "far"])
            place.world.partition([gone], [name for name in place.world.stations if name != gone])
            place.world.run(for_=draw.randint(1, 8 * SECOND))
            place.world.heal()
            place.world.run(for_=draw.randint(1, 2 * SECOND))
        numbers = [each.what.number for each in place.world.history if isinstance(each.what, Got)]
        assert sorted(numbers) == sorted(set(numbers))
        assert len(numbers) > 100


def test_a_question_that_waits_for_news_gets_them_from_the_one_that_is_left() -> None:
    for seed in range(1, 4):
        place = Place(seed, 1)
        for name in ("near", "far"):
            place.world.machine(name).has_news = False
        place.world.run(for_=10 * SECOND)
        place.cut_off_near()
        place.world.run(for_=3 * SECOND)
        assert place.got(0) == []
        news = place.world.now
        place.world.machine("far").has_news = True
        place.world.tell("far", lambda far, now: far.answer(now), "news")
        place.world.run(for_=3 * SECOND)
        assert {by for _, by in place.got(news)} == {"far"}
        assert place.got(news)[0][0] - news <= 2 * LIFETIME
