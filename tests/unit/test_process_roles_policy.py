"""What a user gets of a topic: the table of the paper's figure 7, and all that goes beyond it."""

import pytest

from roost.errors import BadConfig
from roost.process.roles.decision import NO_ROLES, Roles
from roost.process.roles.patterns import Patterns
from roost.process.roles.policy import MAX_DOCUMENTS, MAX_SHAPES, Policy
from roost.process.roles.specification import Specification

RESULT = "Noctua/t/anonymize"


def document(topic: str, **roles: list[str]) -> Specification:
    """The first stream of each role is its default."""
    rows = {
        role: {"streams": streams, **({"default": streams[0]} if streams else {})} for role, streams in roles.items()
    }
    return Specification.read({"topic": topic, "roles": rows})


FIGURE_7 = document("t", developer=["raw", "t/anonymize"], customer=["t/anonymize"])


@pytest.mark.parametrize(
    ("roles", "subscribed", "stream", "permitted"),
    [
        ({"developer"}, "t", "t", ("t", RESULT)),
        ({"developer"}, RESULT, RESULT, (RESULT,)),
        ({"customer"}, "t", RESULT, (RESULT,)),
        ({"customer"}, RESULT, RESULT, (RESULT,)),
        ({"other"}, "t", None, ()),
        ({"other"}, RESULT, None, ()),
        (set(), "t", None, ()),
        (set(), RESULT, None, ()),
        (None, "t", None, ()),
        (None, RESULT, None, ()),
    ],
)
def test_the_table_of_figure_7(
    roles: set[str] | None, subscribed: str, stream: str | None, permitted: tuple[str, ...]
) -> None:
    decision = Policy([FIGURE_7]).decide(subscribed, None if roles is None else frozenset(roles))
    assert decision is not None
    assert decision.stream == stream
    assert decision.permitted == permitted
    assert decision.denied is (stream is None)
    assert decision.document == "t"


def decided(policy: Policy, topic: str, *roles: str) -> str | None:
    decision = policy.decide(topic, frozenset(roles))
    assert decision is not None
    return decision.stream


@pytest.mark.parametrize("topic", ["u", "Noctua/u", "t/anonymize", "Noctua", "Noctua/"])
@pytest.mark.parametrize("roles", [None, NO_ROLES, frozenset({"developer"})])
def test_what_no_document_governs_is_left_to_the_permissions(topic: str, roles: Roles) -> None:
    assert Policy([FIGURE_7]).decide(topic, roles) is None


def test_several_roles_may_see_what_any_may_and_the_first_of_the_document_has_the_default() -> None:
    policy = Policy([document("t", admin=[], boss=["x", "raw"], clerk=["y", "x"])])
    decision = policy.decide("t", frozenset({"clerk", "boss", "admin"}))
    assert decision is not None
    assert decision.stream == "Noctua/x"
    assert decision.permitted == ("Noctua/x", "t", "Noctua/y")
    assert decision.role == "boss"
    assert decision.reason == "x is the default of role 'boss'"


def test_a_denial_says_why() -> None:
    policy = Policy([document("t", admin=[], boss=["x"])])
    reasons = [
        getattr(policy.decide(topic, roles), "reason", None)
        for topic in ("t", "Noctua/x")
        for roles in (frozenset({"admin"}), frozenset({"clerk"}), None)
    ]
    assert reasons == [
        "role 'admin' has no streams",
        "no role of the user's is mentioned",
        "the roles of the user are not known",
        "it is a stream of t, and no role of the user's may see it",
        "it is a stream of t, and no role of the user's may see it",
        "the roles of the user are not known",
    ]


def test_anybody_has_a_row_but_not_who_is_unknown() -> None:
    policy = Policy([document("t", **{"banned": [], "*": ["raw"]})])
    assert decided(policy, "t") == "t"
    assert decided(policy, "t", "stranger") == "t"
    assert decided(policy, "t", "banned") is None
    unknown = policy.decide("t", None)
    assert unknown is not None
    assert unknown.denied


def test_one_document_covers_many_topics() -> None:
    policy = Policy([document("home/+", customer=["{topic}/anonymize"])])
    assert decided(policy, "home/hall", "customer") == "Noctua/home/hall/anonymize"
    assert decided(policy, "Noctua/home/hall/anonymize", "customer") == "Noctua/home/hall/anonymize"
    assert decided(policy, "Noctua/home/hall/anonymize", "other") is None
    assert policy.decide("Noctua/home/hall/blur", frozenset()) is None
    assert policy.decide("Noctua/garden/gate/anonymize", frozenset()) is None
    assert policy.decide("Noctua/anonymize", frozenset()) is None


def test_a_macro_for_a_whole_filter_is_one_stream() -> None:
    policy = Policy([document("home/+", customer=["home/mean"])])
    assert decided(policy, "home/hall", "customer") == "Noctua/home/mean"
    assert decided(policy, "Noctua/home/mean", "customer") == "Noctua/home/mean"
    assert decided(policy, "Noctua/home/mean", "other") is None
    assert policy.origins("Noctua/home/mean") == ("home/+",)


def test_the_most_specific_document_counts_alone() -> None:
    policy = Policy(
        [
            document("#", a=["all"], z=["raw"]),
            document("home/#", a=["home"]),
            document("home/+", a=["one"]),
            document("home/hall", a=["hall"]),
        ]
    )
    assert decided(policy, "home/hall", "a", "z") == "Noctua/hall"
    assert decided(policy, "home/attic", "a", "z") == "Noctua/one"
    assert decided(policy, "home/attic/door", "a", "z") == "Noctua/home"
    assert decided(policy, "garden", "a", "z") == "Noctua/all"
    assert decided(policy, "home/hall", "z") is None


def test_who_overrides_a_filter_closes_its_streams_of_that_topic() -> None:
    policy = Policy(
        [
            document("home/+", customer=["{topic}/anonymize"]),
            document("home/hall", developer=["raw"]),
        ]
    )
    assert decided(policy, "Noctua/home/attic/anonymize", "customer") == "Noctua/home/attic/anonymize"
    assert decided(policy, "Noctua/home/hall/anonymize", "customer") is None
    assert decided(policy, "Noctua/home/hall/anonymize", "developer") is None


def test_a_result_of_several_topics_is_open_to_whom_one_of_them_gives_it() -> None:
    policy = Policy([document("a", one=["distance"]), document("b", two=["distance"])])
    assert policy.origins("Noctua/distance") == ("a", "b")
    assert decided(policy, "Noctua/distance", "one") == "Noctua/distance"
    assert decided(policy, "Noctua/distance", "two") == "Noctua/distance"
    assert decided(policy, "Noctua/distance", "three") is None


def test_a_result_with_a_document_of_its_own_is_a_topic_like_any_other() -> None:
    policy = Policy([document("t", a=["x"]), document("Noctua/x", a=[], b=["{topic}/y", "raw"])])
    assert decided(policy, "t", "a") == "Noctua/x"
    assert decided(policy, "Noctua/x", "a") is None
    assert decided(policy, "Noctua/x", "b") == "Noctua/Noctua/x/y"


def test_naming_a_stream_comes_before_a_filter_that_matches_its_results() -> None:
    policy = Policy([document("#", developer=["raw"]), document("t", customer=["x"])])
    assert decided(policy, "Noctua/x", "customer") == "Noctua/x"
    assert decided(policy, "Noctua/x", "developer") is None
    assert decided(policy, "Noctua/y", "customer") is None
    assert decided(policy, "Noctua/y", "developer") == "Noctua/y"


def test_the_filter_of_a_document_is_decided_as_a_whole() -> None:
    policy = Policy([document("home/+", a=["{topic}/x"])])
    assert decided(policy, "home/+", "a") == "Noctua/home/+/x"


def test_decisions_are_remembered_up_to_a_bound() -> None:
    policy = Policy([document("home/+", a=["{topic}/x"])], max_remembered=10)
    first = policy.decide("home/0", frozenset({"a"}))
    assert policy.decide("home/0", frozenset({"a"})) is first
    for number in range(1, 11):
        policy.decide(f"home/{number}", frozenset({"a"}))
    assert policy.forgotten == 1
    assert len(policy._decided) == 10
    again = policy.decide("home/0", frozenset({"a"}))
    assert again == first
    assert again is not first


def test_an_exact_topic_is_decided_without_a_walk_through_the_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy([document(f"t{number}", a=["x", f"x{number}"]) for number in range(100)])

    def walk(_: object, topic: str) -> list[Specification]:
        pytest.fail(f"walked for {topic}")

    monkeypatch.setattr(Patterns, "matching", walk)
    assert decided(policy, "t50", "a") == "Noctua/x"
    assert decided(policy, "Noctua/x50", "a") == "Noctua/x50"


def test_two_documents_for_one_topic_are_refused() -> None:
    with pytest.raises(BadConfig, match="two documents for 't'; write one"):
        Policy([FIGURE_7, document("t", a=["raw"])])


def test_documents_are_bounded() -> None:
    row = FIGURE_7.rows
    with pytest.raises(BadConfig, match="more than 10,000 documents; use filters"):
        Policy([Specification(f"t{number}", row) for number in range(MAX_DOCUMENTS + 1)])


def test_streams_are_bounded_over_all_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.process.roles.policy.MAX_NAMED", 2)
    Policy([document("t", a=["x", "y", "raw"]), document("u", a=["x"])])
    with pytest.raises(BadConfig, match="more than 2 different streams"):
        Policy([document("t", a=["x", "y"]), document("u", a=["z"])])


def test_names_with_a_placeholder_are_bounded() -> None:
    with pytest.raises(BadConfig, match="more than 256 different streams"):
        Policy([document(f"t{number}/+", a=[f"{{topic}}/{number}"]) for number in range(MAX_SHAPES + 1)])


def test_a_reload_tells_the_topics_that_changed_and_leaves_the_old_policy_as_it_was() -> None:
    same = document("same", a=["raw"])
    old = Policy([same, document("home/+", a=["{topic}/x"]), document("gone", a=["y"])])
    new, changed = old.reloaded([same, document("home/hall", a=["raw"]), document("home/+", a=["{topic}/x"])])
    assert set(changed) == {
        "gone",
        "Noctua/y",
        "Noctua/gone/x",
        "home/hall",
        "Noctua/home/hall/x",
    }
    assert decided(old, "home/hall", "a") == "Noctua/home/hall/x"
    assert decided(new, "home/hall", "a") == "home/hall"
    assert new.decide("gone", frozenset()) is None


def test_a_reload_of_the_same_changes_nothing() -> None:
    old = Policy([FIGURE_7])
    assert old.reloaded([FIGURE_7])[1] == ()


def test_the_order_of_roles_is_a_change() -> None:
    turned = Specification(FIGURE_7.topic, FIGURE_7.rows[::-1])
    assert "t" in Policy([FIGURE_7]).reloaded([turned])[1]
