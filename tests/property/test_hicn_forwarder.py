"""The hICN forwarder against a plain model of its table, over random histories of Interests, Data and time."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from roost.hicn import Data, HicnName, Interest, Prefix, encode
from roost.hicn.face import Arrived, HicnFaceSpec, Send
from roost.hicn.forwarder import HicnForwarder, HicnSettings
from roost.machine import MS

FACES = {1: False, 2: False, 3: True, 4: False}  # id → local; everything is routed to 3
UP = 3
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from([*FACES]), st.integers(0, 2), st.sampled_from([0, 300, 1000, 3000])),
        st.tuples(st.just("answer"), st.sampled_from([*FACES]), st.integers(0, 2), st.sampled_from([0, 1500, 4000])),
        st.tuples(st.just("wait"), st.just(0), st.just(0), st.sampled_from([1, 20, 100, 300, 1000, 1500, 2900])),
        st.tuples(st.just("tick"), st.just(0), st.just(0), st.just(0)),
    ),
    max_size=40,
)
STORE = 2
START = 1000


@dataclass
class Row:
    """What is known of one name, in the words of the table; expiry is looked at when the name is next met."""

    askers: dict[int, int] = field(default_factory=dict)  # each until when
    sent: int = 0
    sent_until: int = 0
    pause: int = 20
    until: int = 0


class Model:
    """The table as it is written down, without any of the forwarder's means."""

    def __init__(self) -> None:
        self.now = 0
        self.pending: dict[int, Row] = {}
        self.cached: dict[int, int] = {}  # name → stale at, in the order of coming
        self.lately: dict[int, tuple[int, int]] = {}  # name → who asked first of what may come round, and until when

    def ask(self, face: int, name: int, lifetime: int) -> list[int]:
        if self.cached.get(name, 0) > self.now:
            return [face]
        self.cached.pop(name, None)
        row = self.pending.get(name)
        if row is not None and row.until <= self.now:
            del self.pending[name]
            row = None
        if row is not None:
            longest = min(1000, max(500, lifetime // 2))
            wait = longest if face == UP else min(row.pause, longest)
            own = row.askers.get(face, 0)
            others_go_on = own <= self.now < row.sent_until  # and its own is over
            if face not in row.askers or self.now - row.sent < wait or others_go_on:
                row.askers[face] = max(own, self.now + lifetime)
                row.until = max(row.until, self.now + lifetime)
                return []
        first, until = self.lately.get(name, (face, 0))
        if face == UP or (row is None and until > self.now and first != face):
            return []
        if lifetime < 500:
            self.lately[name] = (face, self.now + 500)
        if lifetime or row is not None:
            if row is None:
                row = self.pending[name] = Row()
            else:
                row.pause = min(2 * row.pause, 1000)
            row.askers[face] = max(row.askers.get(face, 0), self.now + lifetime)
            row.sent = self.now
            row.sent_until = max(row.sent_until, self.now + lifetime)
            row.until = max(row.until, self.now + lifetime)
        return [UP]

    def answer(self, face: int, name: int, lifetime: int) -> list[int]:
        row = self.pending.get(name)
        if row is None or row.until <= self.now:
            self.pending.pop(name, None)
            if FACES[face]:
                self._cache(name, lifetime)
            return []
        if face != UP:
            return []
        del self.pending[name]
        self._cache(name, lifetime)
        if not lifetime:
            self.lately[name] = (next(iter(row.askers)), self.now + 500)
        return [*row.askers]

    def _cache(self, name: int, lifetime: int) -> None:
        self.cached.pop(name, None)
        if lifetime:
            if len(self.cached) >= STORE:
                del self.cached[next(iter(self.cached))]
            self.cached[name] = self.now + lifetime


@given(STEPS)
def test_the_forwarder_does_what_its_table_says(steps: list[tuple[str, int, int, int]]) -> None:
    machine = HicnForwarder(HicnSettings(store_packets=STORE), Random(1))
    for face, local in FACES.items():
        machine.open_face(face, HicnFaceSpec(str(face), local=local))
    machine.add_route(Prefix.parse("abcd::/16"), UP)
    model = Model()
    model.now = START
    for verb, face, suffix, number in steps:
        name = HicnName.parse(f"abcd::1|{suffix}")
        now = model.now * MS
        if verb == "wait":
            model.now += number
        elif verb == "tick":
            assert machine.tick(now) == []
        else:
            packet = Interest(name, number) if verb == "ask" else Data(name, b"x", number)
            effects = machine.receive(Arrived(face, [encode(packet)]), now)
            expected = (model.ask if verb == "ask" else model.answer)(face, suffix, number)
            assert [effect.face for effect in effects if isinstance(effect, Send)] == expected
    machine.tick((model.now + 10_000) * MS)
    assert not machine.table.pending
    assert machine.deadline() is None
    assert not any(face.wants or face.owes for face in machine.faces.values())
