"""The table is complete: every clause that concerns a server has a test, and the document says which."""

import pytest
from tests.conformance.clauses import CLAUSES
from tests.conformance.table import DOCUMENT, document, shown


@pytest.mark.parametrize("version", [4, 5])
def test_every_clause_that_concerns_a_server_has_a_test(version: int) -> None:
    tests = shown()[version]
    assert [
        number for number, clause in CLAUSES[version].items() if clause.party != "client" and number not in tests
    ] == []


@pytest.mark.parametrize(("version", "count"), [(4, 141), (5, 251)])
def test_no_clause_of_the_specification_is_left_out(version: int, count: int) -> None:
    assert len(CLAUSES[version]) == count


def test_the_document_is_what_the_table_says() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), (
        "run: python -m tests.conformance.table > docs/mqtt-clauses.md"
    )
