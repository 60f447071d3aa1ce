"""Whoever signs, in whatever order and if at all, and whatever the disk does: numbers are dense, and in order."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.gateway_world import posted
from tests.signing_world import Aside

from roost.broker.insertion import LARGE
from roost.broker.signing import MAX_PIECES
from roost.wire import DigestSigner

TOPICS = ("hall/temp", "hall/light")
SIZES = (1, 5, LARGE, LARGE + 9)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.sampled_from(SIZES)),
        st.tuples(
            st.sampled_from(("sign", "decline", "save", "fill", "empty", "go on", "wait", "lose")), st.integers(0, 1)
        ),
    ),
    max_size=25,
)


class Digesting(Aside):
    """Signs with digests, which are their own signatures: many examples in little time."""

    def __init__(self) -> None:
        super().__init__()
        self.insertion._minting.signer_for = lambda _, __: DigestSigner()

    def sign(self, at: int = 0) -> None:
        asked = self.signs.pop(at)
        self.do(self.insertion.signed(asked.ticket, asked.digests, self.now))


@settings(max_examples=60, deadline=None)
@given(STEPS)
@example([("insert", LARGE), ("lose", 0), ("insert", LARGE)])
def test_everything_is_inserted_once_and_in_order(steps: list[tuple[str, int]]) -> None:
    world = Digesting()
    sent: dict[str, list[str]] = {topic: [] for topic in TOPICS}
    tickets = 0
    for step, number in steps:
        if step == "insert":
            messages = [posted(TOPICS[at % 2], f"{tickets}.{at}") for at in range(number)]
            for message in messages:
                sent[message.topic.decode()].append(message.payload.decode())
            world.insert(tickets, *messages)
            tickets += 1
        elif step in {"sign", "decline"} and number < len(world.signs):
            world.sign(number) if step == "sign" else world.decline(number)
        elif step == "save":
            world.save()
        elif step in {"fill", "empty"}:
            world.disk_full = step == "fill"
        elif step == "go on":
            world.go_on()
        elif step == "wait":
            world.wait(1_000_000_000)
        elif step == "lose":
            world.insertion.signing.aside = False
        assert len(world.signs) <= MAX_PIECES
    world.disk_full = False
    world.finish()
    assert [(effect.ticket, effect.refusal) for effect in world.inserted] == [(ticket, "") for ticket in range(tickets)]
    assert world.insertion.is_idle
    for topic in TOPICS:
        assert world.numbers(topic) == ([(1, len(sent[topic]))] if sent[topic] else [])
        assert [payload for at, payload in world.seen() if at == topic] == sent[topic]
