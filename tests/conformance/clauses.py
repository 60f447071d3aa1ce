"""What the specifications ask, clause by clause, and which test shows it.

`CLAUSES[4]` is MQTT 3.1.1, `CLAUSES[5]` is MQTT 5.0. A clause is the rule of

- the *server*: it does this, and a test sees it do so;
- a *guard*: a rule for what clients send, most of them about form; a test breaks it and sees the server turn that away;
- the *client* alone: no server can see whether it is kept, so there is no test, and the clause says why.

A test names its clauses with `@clauses(v4="…", v5="…")`. If the test takes a `version`, it runs once for each version
that is named, so that a clause of a version is shown in that version.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import pytest
from tests.conformance import clauses_v4, clauses_v5

Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Clause:
    number: str
    party: str
    sentence: str
    why_untested: str


def _read(table: str) -> dict[str, Clause]:
    found: dict[str, Clause] = {}
    for line in table.strip().splitlines():
        number, party, rest = line.split(maxsplit=2)
        sentence, _, why = rest.partition(" | ")
        if party not in {"server", "guard", "client"} or (party == "client") != bool(why) or number in found:
            raise ValueError(f"this line of the clauses is wrong: {line}")
        found[number] = Clause(number, party, sentence, why)
    return found


CLAUSES: Final = {4: _read(clauses_v4.TABLE), 5: _read(clauses_v5.TABLE)}
NAMES: Final = {4: "MQTT 3.1.1", 5: "MQTT 5.0"}


def clauses(*, v4: str = "", v5: str = "") -> Callable[[Test], Test]:
    """Say which clauses a test shows, numbers apart by spaces, and run it in the versions they are of."""
    cited = {version: tuple(numbers.split()) for version, numbers in ((4, v4), (5, v5)) if numbers}
    for version, numbers in cited.items():
        for number in numbers:
            if CLAUSES[version][number].party == "client":
                raise ValueError(f"{NAMES[version]} {number} is the client's")

    def noted(test: Test) -> Test:
        test.__dict__["clauses"] = cited
        if "version" not in inspect.signature(test).parameters:
            return test
        parametrised: Test = pytest.mark.parametrize("version", list(cited))(test)
        return parametrised

    return noted
