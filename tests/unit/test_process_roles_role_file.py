"""The roles file."""

import pytest

from roost.errors import BadConfig
from roost.process.roles.role_file import MAX_USERS, differing, read_roles
from roost.process.roles.specification import MAX_ROLES


def test_users_have_the_roles_that_are_listed() -> None:
    assert read_roles({"alice": ["developer", "tester"], "bob": "customer", "carol": []}) == {
        "alice": {"developer", "tester"},
        "bob": {"customer"},
        "carol": set(),
    }


def test_an_empty_file_has_no_users() -> None:
    assert read_roles(None) == {}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (["alice"], "no mapping of users to roles; write NAME: [ROLE, …]"),
        ({7: ["a"]}, "user 7 is not text; put the name in quotes"),
        ({"": ["a"]}, "a user without a name"),
        ({"alice": {"roles": []}}, "user 'alice': {'roles': []} is no list of roles; write NAME: [ROLE, …]"),
        ({"alice": None}, "user 'alice': None is no list of roles"),
        ({"alice": [True]}, "user 'alice': True is no name for a role: it is not text; put it in quotes"),
        ({"alice": "*"}, "user 'alice': '*' is for who has no role"),
        ({"alice": ["r"] * (MAX_ROLES + 1)}, f"and may have {MAX_ROLES}"),
        (dict.fromkeys([str(number) for number in range(MAX_USERS + 1)], "r"), "use a service instead"),
    ],
)
def test_mistakes_are_told_with_the_user_and_a_remedy(document: object, told: str) -> None:
    with pytest.raises(BadConfig) as caught:
        read_roles(document)
    assert told in str(caught.value)


def test_users_whose_roles_differ_are_found_and_no_others() -> None:
    before = read_roles({"same": "a", "gone": "a", "nothing": [], "other": ["a", "b"]})
    after = read_roles({"other": ["b"], "new": "a", "empty": [], "same": "a"})
    assert differing(before, after) == ["gone", "other", "new"]
