"""The answers of introspection endpoints [RFC 7662]."""

import pytest

from roost.errors import BadConfig
from roost.machine import SECOND
from roost.process.roles.introspection import end_of_introspection, roles_of_introspection, user_of_introspection
from roost.process.roles.specification import MAX_ROLES


@pytest.mark.parametrize(
    ("response", "claim", "roles"),
    [
        ({"active": True, "roles": ["developer", "tester"]}, "roles", {"developer", "tester"}),
        ({"active": True, "roles": "developer  tester"}, "roles", {"developer", "tester"}),
        ({"active": True, "scope": "read developer"}, "scope", {"read", "developer"}),
        ({"active": True, "realm_access": {"roles": ["a"]}}, "realm_access.roles", {"a"}),
        ({"active": True, "https://x.org/roles": ["a"]}, "https://x.org/roles", {"a"}),
        ({"active": True}, "roles", set()),
        ({"active": True, "roles": None}, "roles", set()),
        ({"active": True, "roles": ["*", "a"]}, "roles", {"a"}),
        ({"active": True, "realm_access": 7}, "realm_access.roles", set()),
        ({"active": False, "roles": ["developer"]}, "roles", set()),
        ({"active": "true", "roles": ["developer"]}, "roles", set()),
        ({"active": 1, "roles": ["developer"]}, "roles", set()),
        ({"roles": ["developer"]}, "roles", set()),
    ],
)
def test_roles_are_those_of_the_claim_and_none_if_inactive(response: object, claim: str, roles: set[str]) -> None:
    assert roles_of_introspection(response, claim) == roles


@pytest.mark.parametrize(
    ("response", "told"),
    [
        ([], "the introspection is no object but []"),
        ({"active": True, "roles": 7}, "claim 'roles' of the introspection is 7; name one that is a list, or words"),
        ({"active": True, "roles": {"a": 1}}, "name one that is a list, or words"),
        ({"active": True, "roles": [7]}, "claim 'roles' of the introspection: 7 is no name for a role"),
        ({"active": True, "roles": ["a"] * (MAX_ROLES + 1)}, f"and may have {MAX_ROLES}"),
    ],
)
def test_what_cannot_be_read_is_refused(response: object, told: str) -> None:
    with pytest.raises(BadConfig) as caught:
        roles_of_introspection(response)
    assert told in str(caught.value)


def test_the_end_of_a_token_is_in_nanoseconds() -> None:
    assert end_of_introspection({"active": True, "exp": 1_700_000_000}) == 1_700_000_000 * SECOND
    assert end_of_introspection({"active": True}) is None


@pytest.mark.parametrize("end", ["soon", True, float("nan"), float("inf"), 1 << 60])
def test_an_end_that_is_no_time_is_refused(end: object) -> None:
    with pytest.raises(BadConfig, match="exp of the introspection"):
        end_of_introspection({"active": True, "exp": end})


@pytest.mark.parametrize(
    ("response", "user"),
    [
        ({"active": True, "username": "bob", "sub": "7"}, "bob"),
        ({"active": True, "sub": "7"}, "7"),
        ({"active": True, "username": ""}, None),
        ({"active": True, "username": 7}, None),
        ({"active": False, "username": "bob"}, None),
    ],
)
def test_a_token_says_whose_it_is(response: object, user: str | None) -> None:
    assert user_of_introspection(response) == user
