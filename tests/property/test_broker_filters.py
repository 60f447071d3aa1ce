"""Both tries against the rules of section 4.7 written down the long way, whatever is added and removed in between."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from roost.broker.filters import Options, Subscriptions
from roost.broker.retained import Retained
from roost.broker.shared import Shares

LEVELS = ["", "a", "b", "$", "$SYS", "ä", "a\u0308", "水", "🜂", " ", "\ufeff"]
TOPIC = st.lists(st.sampled_from(LEVELS), min_size=1, max_size=5).map("/".join).filter(bool).map(str.encode)
_BEGINNING = st.lists(st.sampled_from([*LEVELS, "+", "+"]), max_size=4)
FILTER = (
    st.tuples(_BEGINNING, st.sampled_from([*LEVELS, "+", "#", "#"]))
    .map(lambda parts: "/".join([*parts[0], parts[1]]))
    .filter(bool)
    .map(str.encode)
)
WHO = st.integers(1, 4)


def does_match(filter_: bytes, topic: bytes) -> bool:
    """The specification's rules, one after the other, on text."""
    wanted, given_ = filter_.decode().split("/"), topic.decode().split("/")
    if given_[0].startswith("$") and wanted[0] in {"+", "#"}:
        return False
    if wanted[-1] == "#":
        wanted.pop()
        given_ = given_[: len(wanted)]
    return len(wanted) == len(given_) and all(want in {"+", level} for want, level in zip(wanted, given_, strict=True))


@given(st.lists(st.tuples(FILTER, WHO), max_size=40), st.lists(TOPIC, min_size=1, max_size=10))
def test_trie_finds_exactly_the_filters_that_match(pairs: list[tuple[bytes, int]], topics: list[bytes]) -> None:
    subscriptions = Subscriptions()
    for filter_, who in pairs:
        subscriptions.add(filter_, who, Options(0, shared=filter_))
    assert len(subscriptions) == len(set(pairs))
    for topic in topics:
        found = sorted((options.shared or b"", who) for who, options in subscriptions.matches(topic))
        assert found == sorted(pair for pair in set(pairs) if does_match(pair[0], topic))


@given(st.lists(TOPIC, max_size=40), st.lists(FILTER, min_size=1, max_size=10))
def test_retained_finds_exactly_the_topics_that_match(topics: list[bytes], filters: list[bytes]) -> None:
    retained: Retained[bytes] = Retained(max_messages=100, max_bytes=100)
    for topic in topics:
        assert retained.set(topic, topic, 1)
    assert len(retained) == retained.held_bytes == len(set(topics))
    for filter_ in filters:
        found = sorted(topic for topic, _ in retained.matching(filter_, 0))
        assert found == sorted(topic for topic in set(topics) if does_match(filter_, topic))


class Coming(RuleBasedStateMachine):
    """Subscribers, groups and retained messages come and go; three dicts say what should be there."""

    def __init__(self) -> None:
        super().__init__()
        self.subscriptions, self.alone = Subscriptions(), dict[tuple[bytes, int], Options]()
        self.shares, self.members = Shares(), dict[tuple[bytes, bytes], list[int]]()
        self.retained: Retained[int] = Retained(max_messages=6, max_bytes=1000)
        self.messages: dict[bytes, tuple[int, int, int]] = {}
        self.turned_away = 0
        self.now = 1

    @rule(filter_=FILTER, who=WHO)
    def subscribe(self, filter_: bytes, who: int) -> None:
        options = Options(0)
        assert self.subscriptions.add(filter_, who, options) == ((filter_, who) not in self.alone)
        self.alone[filter_, who] = options

    @rule(filter_=FILTER, who=WHO, data=st.data())
    def unsubscribe(self, filter_: bytes, who: int, data: st.DataObject) -> None:
        if self.alone:
            filter_, who = data.draw(st.sampled_from([*self.alone, (filter_, who)]))
        assert self.subscriptions.remove(filter_, who) == (self.alone.pop((filter_, who), None) is not None)

    @rule(name=st.sampled_from([b"g", b"h"]), filter_=FILTER, who=WHO)
    def join(self, name: bytes, filter_: bytes, who: int) -> None:
        members = self.members.setdefault((name, filter_), [])
        assert self.shares.add(name, filter_, who, Options(0)) == (who not in members)
        if who not in members:
            members.append(who)

    @rule(who=WHO, data=st.data())
    def leave(self, who: int, data: st.DataObject) -> None:
        if not self.members:
            return
        name, filter_ = data.draw(st.sampled_from(list(self.members)))
        members = self.members[name, filter_]
        assert self.shares.remove(name, filter_, who) == (who in members)
        if who in members:
            members.remove(who)
        if not members:
            del self.members[name, filter_]

    @rule(topic=TOPIC, size_bytes=st.integers(0, 400), lasts=st.sampled_from([0, 0, 1, 5]))
    def retain(self, topic: bytes, size_bytes: int, lasts: int) -> None:
        self.messages.pop(topic, None)
        until = self.now + lasts if lasts else 0
        fits = len(self.messages) < 6 and size_bytes + sum(size for _, size, _ in self.messages.values()) <= 1000
        assert self.retained.set(topic, self.now, size_bytes, until) == fits
        if fits:
            self.messages[topic] = (self.now, size_bytes, until)
        else:
            self.turned_away += 1

    @rule(topic=TOPIC, data=st.data())
    def clear(self, topic: bytes, data: st.DataObject) -> None:
        topic = data.draw(st.sampled_from([*self.messages, topic]))
        assert not self.retained.set(topic, None)
        self.messages.pop(topic, None)

    @rule(passed=st.integers(1, 3))
    def expire(self, passed: int) -> None:
        self.now += passed
        over = [topic for topic, (_, _, until) in self.messages.items() if 0 < until <= self.now]
        assert sorted(self.retained.expire(self.now)) == sorted(over)
        for topic in over:
            del self.messages[topic]

    @rule(topic=TOPIC)
    def match(self, topic: bytes) -> None:
        found = {(who, id(options)) for who, options in self.subscriptions.matches(topic)}
        assert found == {(who, id(options)) for (f, who), options in self.alone.items() if does_match(f, topic)}
        groups = {(group.name, group.filter): group for group in self.shares.matches(topic)}
        assert groups.keys() == {key for key in self.members if does_match(key[1], topic)}
        for key, group in groups.items():
            turns = [group.choose(lambda _: True) for _ in self.members[key]]
            assert sorted(turns) == sorted(self.members[key])

    @rule(filter_=FILTER)
    def look(self, filter_: bytes) -> None:
        found = sorted(self.retained.matching(filter_, self.now))
        assert found == sorted((topic, at) for topic, (at, _, _) in self.messages.items() if does_match(filter_, topic))

    @invariant()
    def counts_agree(self) -> None:
        assert len(self.subscriptions) == len(self.alone)
        assert len(self.shares) == sum(len(members) for members in self.members.values())
        assert len(self.retained) == len(self.messages)
        assert self.retained.held_bytes == sum(size for _, size, _ in self.messages.values())
        assert self.retained.turned_away == self.turned_away
        ends = [until for _, _, until in self.messages.values() if until]
        assert not ends or (self.retained.deadline() or 0) in range(1, min(ends) + 1)


Coming.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
test_what_comes_and_goes_leaves_what_the_model_says = Coming.TestCase
