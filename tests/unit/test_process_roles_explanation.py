"""What `roost role explain` says."""

from roost.process.roles.explanation import explain
from roost.process.roles.policy import Policy
from roost.process.roles.specification import Specification

POLICY = Policy(
    [
        Specification.read({"topic": "#", "roles": {"developer": {"streams": ["raw"]}}}),
        Specification.read(
            {
                "topic": "home/+",
                "roles": {
                    "developer": {"streams": ["raw", "{topic}/anonymize"], "default": "raw"},
                    "customer": {"streams": ["{topic}/anonymize"]},
                    "visitor": {"streams": []},
                },
            }
        ),
    ]
)
ROWS = ["developer: raw (default), {topic}/anonymize", "customer: {topic}/anonymize (default)", "visitor: nothing"]


def test_what_a_customer_gets_and_why() -> None:
    assert explain(POLICY, "bob", "home/hall", frozenset({"customer", "a"})) == [
        "user: bob",
        "topic: home/hall",
        "roles: a, customer",
        "document: home/+, rather than the less specific #",
        f"    {ROWS[0]}",
        f"  > {ROWS[1]}",
        f"    {ROWS[2]}",
        "gets: Noctua/home/hall/anonymize, for {topic}/anonymize is the default of role 'customer'",
        "refused: home/hall",
    ]


def test_what_else_a_developer_may_ask_for() -> None:
    lines = explain(POLICY, "alice", "home/hall", frozenset({"developer"}))
    assert lines[-2:] == [
        "gets: home/hall, for raw is the default of role 'developer'",
        "may ask for: Noctua/home/hall/anonymize",
    ]


def test_a_denial_names_its_reason_and_all_that_is_refused() -> None:
    lines = explain(POLICY, "eve", "home/hall", frozenset({"visitor"}))
    assert lines[-2:] == [
        "gets: nothing, for role 'visitor' has no streams",
        "refused: home/hall, Noctua/home/hall/anonymize",
    ]


def test_a_result_is_explained_by_the_topic_it_is_a_stream_of() -> None:
    assert explain(POLICY, "", "Noctua/home/hall/anonymize", frozenset()) == [
        "user: (anonymous)",
        "topic: Noctua/home/hall/anonymize",
        "roles: none",
        "stream of: home/hall",
        "document: home/+",
        *[f"    {row}" for row in ROWS],
        "gets: nothing, for it is a stream of home/hall, and no role of the user's may see it",
    ]


def test_why_roles_are_not_known_is_said() -> None:
    lines = explain(POLICY, "bob", "home/hall", None, "no answer in 5 s")
    assert "roles: not known: no answer in 5 s" in lines
    assert "gets: nothing, for the roles of the user are not known" in lines


def test_a_topic_without_a_document_is_left_to_the_permissions() -> None:
    assert explain(Policy(), "bob", "t", None) == [
        "user: bob",
        "topic: t",
        "roles: not known",
        "document: none",
        "gets: t, if the permissions grant it, for roles do not matter here",
    ]


def test_a_result_without_a_document_is_explained_by_what_it_is_made_of() -> None:
    made = {"Noctua/copy": ["home/hall", "garden"]}
    policy = Policy([POLICY.documents["home/+"]])
    assert explain(policy, "bob", "Noctua/copy", frozenset({"customer"}), inputs_of=made.get)[3:] == [
        "document: none",
        "made of: home/hall, garden",
        "gets: nothing, for the roles may not see home/hall",
    ]
    assert explain(policy, "ada", "Noctua/copy", frozenset({"developer"}), inputs_of=made.get)[-1] == (
        "gets: Noctua/copy, for the roles may see all of that"
    )
