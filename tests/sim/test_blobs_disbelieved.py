"""A publication that is refused for what is in it: it is asked again, passed over in the end, and holds up nothing."""

from __future__ import annotations

import pytest
from tests.sim.blob_stations import delivered, member, publish

from roost.machine import SECOND, Rejected
from roost.naming import Name
from roost.pubsub.blobs.line_work import MAX_DISBELIEVED
from roost.pubsub.blobs.seat import Checkers
from roost.pubsub.blobs.wanted import Wanted
from roost.sim.wire import Wire
from roost.sim.world import World
from roost.trust.acceptance import ACCEPT_ANY, ACCEPT_NOTHING, AcceptAny, Checker
from roost.trust.verdict import Rejection, Verdict
from roost.wire import Data, Interest

BAD = Name.parse("/position/bad")


class Refusing(AcceptAny):
    """Believes everything but what is called `BAD`, for now or for good."""

    def __init__(self) -> None:
        self.for_now = False
        self.refuses = True

    def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict:
        """Accept or refuse."""
        if packet.name.starts_with(BAD) and self.refuses:
            return Rejection(f"{packet.name} is signed by another", rule="#position", for_now=self.for_now)
        return ACCEPT_ANY.check(packet, now, repeatable=repeatable)


def world_of(verifier: Refusing, size: int, *, in_order: bool = True) -> World:
    world = World(1)
    world.add("p", member("/p"), sync_ms=0)
    world.add("s", member("/s", Wanted(topic=Name(), in_order=in_order), verifier=verifier), sync_ms=0)
    world.bus(["p", "s"], Wire(delay_ms=5))
    world.run(for_=SECOND)
    for number, name in enumerate(["/position/1", "/position/bad", "/position/2"]):
        publish(world, "p", name, bytes([number]) * size)
    return world


@pytest.mark.parametrize("size", [1, 30_000])
@pytest.mark.parametrize("in_order", [True, False])
def test_what_is_refused_for_good_is_passed_over_counted_and_told(size: int, *, in_order: bool) -> None:
    world = world_of(Refusing(), size, in_order=in_order)
    world.run(for_=60 * SECOND)
    assert [item.blob[0] for item in delivered(world, "s")] == [0, 2]
    assert world.machine("s").part.subscriber.disbelieved == 1
    rejected = [each.what.reason for each in world.history if isinstance(each.what, Rejected) and each.station == "s"]
    assert len(rejected) == MAX_DISBELIEVED + 1
    assert "number 2 of /p is passed over" in rejected[-1]
    assert "[rule #position]" in rejected[-1]


@pytest.mark.parametrize("layer", ["inner", "outer", "mapping", None])
def test_each_layer_has_a_verifier_of_its_own(layer: str | None) -> None:
    refusing: dict[str, Checker] = {} if layer is None else {layer: ACCEPT_NOTHING}
    world = World(1)
    world.add("p", member("/p", riding=0), sync_ms=0)
    world.add("s", member("/s", Wanted(topic=Name()), checkers=Checkers(**refusing)), sync_ms=0)
    world.bus(["p", "s"], Wire(delay_ms=5))
    world.run(for_=SECOND)
    publish(world, "p", "/position/1", b"here")
    world.run(for_=30 * SECOND)
    assert [item.blob for item in delivered(world, "s")] == ([b"here"] if layer is None else [])
    refused = [each.what.reason for each in world.history if isinstance(each.what, Rejected)]
    where = {"inner": "/position/1 cannot", "outer": "/seq=1 cannot", "mapping": "/seq=1/seq=1 cannot"}
    assert [name for name, text in where.items() if any(text in reason for reason in refused)][-1:] == [layer] * bool(
        layer
    )


def test_what_could_not_be_judged_is_waited_for() -> None:
    verifier = Refusing()
    verifier.for_now = True
    world = world_of(verifier, 1)
    world.run(for_=60 * SECOND)
    assert [item.blob[0] for item in delivered(world, "s")] == [0]
    verifier.refuses = False
    world.run(for_=60 * SECOND)
    assert [item.blob[0] for item in delivered(world, "s")] == [0, 1, 2]
    assert world.machine("s").part.subscriber.disbelieved == 0
