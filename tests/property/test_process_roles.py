"""Roles against plain models: documents, decisions, reloads, look-ups in any order, and what is held."""

import json
import re
from itertools import product

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from roost.machine import SECOND, Effect
from roost.process.roles.decision import Roles
from roost.process.roles.holding import Holding, HoldingSettings
from roost.process.roles.lookup import RoleLookup
from roost.process.roles.lookup_port import GiveUp, LookUp, LookupSettings, Move, Tell
from roost.process.roles.patterns import Patterns, intersects
from roost.process.roles.policy import Policy
from roost.process.roles.reach import admits
from roost.process.roles.specification import Row, Specification
from roost.process.wildcards import covers

# -- patterns

# The empty topic is among them: nobody can send it, and so it does no harm that `+` and `/#` meet there.
TOPICS = ["/".join(levels) for depth in (1, 2, 3) for levels in product(("a", "$s", "", "z"), repeat=depth)]
FILTERS = [
    "/".join(levels)
    for depth in (1, 2, 3)
    for levels in product(("a", "$s", "", "+", "#"), repeat=depth)
    if "#" not in levels[:-1] and "/".join(levels)
]


def plainly_matches(wanted: str, topic: str) -> bool:
    """[MQTT-4.7], written as a regular expression."""
    if topic.startswith("$") and wanted[:1] in {"+", "#"}:
        return False
    form = re.escape(wanted).replace(r"\+", "[^/]*")
    form = re.sub(r"(^|/)\\#$", lambda found: "(/.*)?" if found[1] else ".*", form)
    return re.fullmatch(form, topic) is not None


def specificity(pattern: str) -> list[int]:
    """Level by level: written out, the end, '+', '#'."""
    return [{"+": 2, "#": 3}.get(level, 0) for level in pattern.split("/")] + [1]


def test_matching_is_that_of_mqtt_and_the_most_specific_comes_first() -> None:
    table: Patterns[str] = Patterns()
    for pattern in FILTERS:
        table.put(pattern, pattern)
    for topic in TOPICS:
        matching = [pattern for pattern in FILTERS if plainly_matches(pattern, topic)]
        assert table.matching(topic) == sorted(matching, key=specificity), topic


def test_two_filters_meet_where_an_enumeration_says() -> None:
    deep = [*TOPICS, *["/".join(levels) for levels in product(("a", "z"), repeat=4)]]
    reached = {each: {topic for topic in deep if plainly_matches(each, topic)} for each in FILTERS}
    for one, other in product(FILTERS[::3], FILTERS):
        assert intersects(one, other) == bool(reached[one] & reached[other]), (one, other)


def test_a_filter_that_covers_another_matches_all_that_it_does() -> None:
    deep = [*TOPICS, *["/".join(levels) for levels in product(("a", "z"), repeat=4)]]
    reached = {each: {topic for topic in deep if plainly_matches(each, topic)} for each in FILTERS}
    for one, other in product(FILTERS[::3], FILTERS):
        assert not covers(one, other) or reached[one] >= reached[other], (one, other)
    for one, topic in product(FILTERS, TOPICS):
        assert covers(one, topic) == plainly_matches(one, topic), (one, topic)


# -- documents and decisions

ROLES = ["r", "s", "q", "*"]
NAMES = ["a", "b", "a/x", "Noctua/x", "a/b"]
STREAMS = ["raw", "x", "y", "a/x", "{topic}/x", "y/{topic}"]
ASKED = [
    *NAMES,
    *[f"Noctua/{name}" for name in ("x", "y", "a/x", "b/x", "a/b/x", "y/a", "y/a/x", "a/x/x", "Noctua/x/x", "y/b")],
]

streams = st.lists(st.sampled_from(STREAMS), max_size=3, unique=True)
rows = st.builds(
    lambda role, some, at: Row(role, tuple(some), some[at % len(some)] if some else ""),
    st.sampled_from(ROLES),
    streams,
    st.integers(0, 2),
)
specifications = st.builds(
    Specification,
    st.sampled_from([*NAMES, "#", "+", "a/+", "a/#", "Noctua/+", "+/x"]),
    st.lists(rows, min_size=1, max_size=4, unique_by=lambda row: row.role).map(tuple),
)
documents = st.lists(specifications, max_size=5, unique_by=lambda document: document.topic)
roles = st.one_of(st.none(), st.frozensets(st.sampled_from(["r", "s", "q", "t"]), max_size=3))


@settings(deadline=None)
@given(specifications)
def test_a_document_comes_back_from_json_and_yaml_as_it_was(document: Specification) -> None:
    assert Specification.read(document.mapping()) == document
    assert Specification.read(json.loads(json.dumps(document.mapping()))) == document
    assert Specification.read(yaml.safe_load(yaml.safe_dump(document.mapping(), sort_keys=False))) == document


@settings(deadline=None)
@given(documents, roles)
def test_a_decision_is_of_one_piece(written: list[Specification], whose: Roles) -> None:
    policy = Policy(written)
    for topic in ASKED:
        decision = policy.decide(topic, whose)
        if decision is None:
            assert not policy.governing(topic)
            assert not policy.origins(topic)
            continue
        assert decision.denied == (decision.stream is None) == (not decision.permitted) == (not decision.role)
        assert decision.stream is None or decision.stream in decision.permitted
        assert decision.document in policy.documents
        assert whose is not None or decision.denied


@settings(deadline=None)
@given(documents, roles)
def test_what_a_topic_permits_can_be_asked_for_directly(written: list[Specification], whose: Roles) -> None:
    policy = Policy(written)
    for topic in NAMES:
        decision = policy.decide(topic, whose)
        for stream in () if decision is None else decision.permitted:
            if stream != topic and stream not in policy.documents:
                direct = policy.decide(stream, whose)
                assert direct is not None
                assert direct.stream == stream


@settings(deadline=None)
@given(documents, roles)
def test_a_stream_is_open_to_whom_a_topic_it_is_of_permits_it_and_to_nobody_else(
    written: list[Specification], whose: Roles
) -> None:
    policy = Policy(written)
    for topic in ASKED:
        direct = policy.decide_direct(topic, whose)
        origins = policy.origins(topic)
        assert (direct is None) == (not origins)
        if direct is not None and not any(origin.startswith("Noctua/") for origin in origins):
            decisions = [policy.decide(origin, whose) for origin in origins]
            assert direct.denied != any(each is not None and topic in each.permitted for each in decisions)


@settings(max_examples=40)
@given(documents, documents, roles)
def test_a_reload_tells_of_everything_it_changes(
    written: list[Specification], rewritten: list[Specification], whose: Roles
) -> None:
    old = Policy(written)
    new, changed = old.reloaded(rewritten)
    for topic in ASKED:
        before, after = old.decide(topic, whose), new.decide(topic, whose)
        if before != after:
            assert any(intersects(pattern, topic) for pattern in changed), (topic, changed)


@settings(deadline=None)
@given(documents, st.permutations(range(5)), roles)
def test_the_order_of_documents_decides_nothing(written: list[Specification], order: list[int], whose: Roles) -> None:
    one, other = Policy(written), Policy([written[at] for at in order if at < len(written)])
    for topic in ASKED:
        first, second = one.decide(topic, whose), other.decide(topic, whose)
        assert (first is None) == (second is None)
        if first is not None and second is not None:
            assert (first.stream, first.permitted) == (second.stream, second.permitted)


@settings(max_examples=40)
@given(documents, roles)
def test_a_subscription_to_a_topic_is_given_what_was_decided(written: list[Specification], whose: Roles) -> None:
    policy = Policy(written)
    for wanted, topic in product(ASKED, ASKED):
        decision = policy.decide(wanted, whose)
        expected = wanted == topic if decision is None else decision.stream == topic
        assert admits(policy, wanted, topic, whose) == expected, (wanted, topic)


# -- the look-up

SETTINGS = LookupSettings(
    ttl=20 * SECOND, negative_ttl=4 * SECOND, timeout=3 * SECOND, max_users=3, max_tickets=8, max_under_way=2
)


class LookUps(RuleBasedStateMachine):
    """Any order of questions, answers, failures, changes and time."""

    tickets = Bundle("tickets")

    def __init__(self) -> None:
        super().__init__()
        self.lookup = RoleLookup(SETTINGS)
        self.now = 1_700_000_000 * SECOND
        self.under_way: dict[int, str] = {}
        self.untold: dict[tuple[str, int], int] = {}  # who waits, and since when
        self.believed: dict[tuple[str, int], Roles] = {}  # what who holds a ticket goes by
        self.given: dict[str, tuple[frozenset[str], int]] = {}  # the last answer, and until when it holds
        self.changed_at: dict[str, int] = {}
        self.next = 0

    def act(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, LookUp):
                assert effect.user not in self.under_way.values()
                self.under_way[effect.number] = effect.user
            elif isinstance(effect, GiveUp):
                del self.under_way[effect.number]
            elif isinstance(effect, Tell):
                del self.untold[effect.user, effect.ticket]
                if effect.why != "the roles of too many users are in use":
                    self.believed[effect.user, effect.ticket] = effect.roles
                assert (effect.roles is None) == bool(effect.why)
            elif isinstance(effect, Move):
                holders = [key for key in self.believed if key[0] == effect.user]
                assert holders
                assert any(self.believed[key] != effect.roles for key in holders)
                self.believed.update(dict.fromkeys(holders, effect.roles))

    @rule(target=tickets, user=st.sampled_from("abcd"))
    def ask(self, user: str) -> tuple[str, int]:
        self.next += 1
        self.untold[user, self.next] = self.now
        self.act(self.lookup.ask(user, self.next, self.now))
        return user, self.next

    @rule(held=consumes(tickets))
    def release(self, held: tuple[str, int]) -> None:
        self.lookup.release(*held)
        self.believed.pop(held, None)
        self.untold.pop(held, None)

    @rule(which=st.integers(0, 1), found=st.frozensets(st.sampled_from("rs")), soon=st.sampled_from([None, 0, 2]))
    def answer(self, which: int, found: frozenset[str], soon: int | None) -> None:
        if which < len(self.under_way):
            number, user = list(self.under_way.items())[which]
            del self.under_way[number]
            until = None if soon is None else self.now + soon * SECOND
            ends = self.now + (SETTINGS.ttl if found else SETTINGS.negative_ttl)
            if soon != 0:
                self.given[user] = (found, ends if until is None else min(ends, until))
                self.changed_at.pop(user, None)
            self.act(self.lookup.answered(number, found, self.now, until))

    @rule(which=st.integers(0, 1))
    def fail(self, which: int) -> None:
        if which < len(self.under_way):
            number = list(self.under_way)[which]
            del self.under_way[number]
            self.act(self.lookup.failed(number, "down", self.now))

    @rule(number=st.integers(1, 30))
    def answer_what_nobody_asked(self, number: int) -> None:
        if number not in self.under_way:
            assert self.lookup.answered(number, frozenset("r"), self.now) == []

    @rule(user=st.sampled_from("abcd"))
    def change(self, user: str) -> None:
        self.changed_at.setdefault(user, self.now)
        self.act(self.lookup.changed(user, self.now))

    @rule(seconds=st.sampled_from([1, 3, 7, 30]))
    def pass_time(self, seconds: int) -> None:
        end = self.now + seconds * SECOND
        while (deadline := self.lookup.deadline()) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.act(self.lookup.tick(self.now))
            following = self.lookup.deadline()
            assert following is None or following > self.now
        self.now = end

    @invariant()
    def roles_are_those_of_an_answer_that_still_holds(self) -> None:
        for (user, _), believed in self.believed.items():
            if believed is not None:
                answer, until = self.given[user]
                assert believed == answer
                assert self.now <= until
                assert self.now <= self.changed_at.get(user, self.now) + SETTINGS.timeout

    @invariant()
    def nobody_waits_longer_than_the_timeout_after_the_last_change(self) -> None:
        for (user, _), since in self.untold.items():
            assert user in self.under_way.values() or len(self.under_way) == SETTINGS.max_under_way
            assert self.now <= max(since, self.now if user in self.changed_at else 0) + SETTINGS.timeout

    @invariant()
    def bounds_hold(self) -> None:
        assert all(size <= bound for size, bound in self.lookup.sizes().values())
        assert self.lookup.sizes()["under way"][0] == len(self.under_way)


TestLookUps = LookUps.TestCase
TestLookUps.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


# -- what is held

arrivals = st.lists(st.tuples(st.sampled_from(["a", "b", "a/x", "c"]), st.integers(0, 5)), max_size=30)
wants = st.lists(st.sampled_from(["a", "b", "a/+", "a/#", "#"]), min_size=1, max_size=3)


@settings(deadline=None)
@given(arrivals, arrivals, wants, st.sampled_from(["a", "b", "a/x"]))
def test_held_messages_are_those_since_the_subscribe_in_order(
    before: list[tuple[str, int]], since: list[tuple[str, int]], wanted: list[str], decided: str
) -> None:
    holding: Holding[int] = Holding()
    holding.begin(1, ["#"])
    for number, (topic, size_bytes) in enumerate(before):
        holding.arrived(topic, number, size_bytes)
    holding.begin(2, wanted)
    for number, (topic, size_bytes) in enumerate(since):
        holding.arrived(topic, number, size_bytes)
    released = holding.release(2, lambda topic: topic == decided)
    is_wanted = any(plainly_matches(each, decided) for each in wanted)
    assert list(released.messages) == [at for at, (topic, _) in enumerate(since) if topic == decided and is_wanted]
    assert released.dropped == 0
    assert len(holding.release(1, lambda _: True).messages) == len(before) + len(since)


@settings(deadline=None)
@given(arrivals, st.integers(1, 6), st.integers(1, 8), st.integers(1, 12))
def test_what_is_held_stays_in_bounds_and_nothing_goes_uncounted(
    arriving: list[tuple[str, int]], max_messages: int, max_bytes: int, max_total_bytes: int
) -> None:
    bounds = HoldingSettings(max_messages=max_messages, max_bytes=max_bytes, max_total_bytes=max_total_bytes)
    holding: Holding[int] = Holding(bounds)
    holding.begin(1, ["a", "b"])
    holding.begin(2, ["a/#"])
    for number, (topic, size_bytes) in enumerate(arriving):
        holding.arrived(topic, number, size_bytes)
        assert holding.sizes()["bytes"][0] <= max_total_bytes
    for ticket, topics in ((1, {"a", "b"}), (2, {"a", "a/x"})):
        released = holding.release(ticket, lambda _: True)
        offered = [number for number, (topic, _) in enumerate(arriving) if topic in topics]
        assert len(released.messages) + released.dropped == len(offered)
        assert len(released.messages) <= max_messages
        assert sum(arriving[number][1] for number in released.messages) <= max_bytes
        assert list(released.messages) == [number for number in offered if number in released.messages]
    assert holding.sizes()["bytes"][0] == 0
