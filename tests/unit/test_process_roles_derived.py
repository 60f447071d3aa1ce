"""Results that no document names, of macros of macros: however long the way back, and however many ways there are."""

import pytest

from roost.process.roles.derived import sees_all, sees_derived
from roost.process.roles.policy import Policy
from roost.process.roles.specification import Specification

POLICY = Policy([Specification.read({"topic": "home/hall", "roles": {"developer": {"streams": ["raw"]}}})])
DEVELOPER, CUSTOMER = frozenset({"developer"}), frozenset({"customer"})


@pytest.mark.parametrize("reach", [1, 2], ids=["a long way", "very many ways"])
@pytest.mark.parametrize("beginning", ["home/hall", "garden"])
def test_macros_of_macros_count_as_what_is_at_their_beginning(reach: int, beginning: str) -> None:
    def inputs_of(topic: str) -> list[str]:
        number = int(topic.removeprefix("Noctua/"))
        return [f"Noctua/{each}" for each in range(max(1, number - reach), number)] or [beginning]

    assert sees_derived(POLICY, "Noctua/3000", DEVELOPER, inputs_of)
    assert sees_derived(POLICY, "Noctua/3000", CUSTOMER, inputs_of) is (beginning == "garden")
    assert sees_all(POLICY, ["garden", "Noctua/3000"], CUSTOMER, inputs_of) is (beginning == "garden")


def test_macros_that_are_said_to_read_each_other_are_looked_at_once() -> None:
    assert sees_derived(POLICY, "Noctua/a", CUSTOMER, lambda topic: ["Noctua/b" if topic == "Noctua/a" else "Noctua/a"])
