"""The table of clauses and the tests that show them, as `docs/mqtt-clauses.md` has it.

`python -m tests.conformance.table > docs/mqtt-clauses.md` writes it anew; `test_table.py` says when that is due.
"""

import importlib
import sys
from pathlib import Path
from typing import Final

from tests.conformance.clauses import CLAUSES, NAMES

HERE: Final = Path(__file__).parent
DOCUMENT: Final = HERE.parents[1] / "docs" / "mqtt-clauses.md"

OPENING: Final = """\
# MQTT, clause by clause

Every numbered statement of both specifications, in our own words, and the tests in `tests/conformance/` that show it.
Made by `python -m tests.conformance.table`; a test compares. *server*: the server does this. *guard*: a rule for what
clients send; the server turns away who breaks it. *client*: nothing a server can see, so there is no test.
"""


def shown() -> dict[int, dict[str, list[str]]]:
    """Version → number → the tests that show it, in the order of files and of tests within them."""
    tests: dict[int, dict[str, list[str]]] = {version: {} for version in CLAUSES}
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(f"tests.conformance.{path.stem}")
        for name, member in vars(module).items():
            if not name.startswith("test_"):
                continue
            for version, numbers in getattr(member, "clauses", {}).items():
                for number in numbers:
                    tests[version].setdefault(number, []).append(f"{path.stem}::{name}")
    return tests


def document() -> str:
    tests = shown()
    parts = [OPENING]
    for version, clauses in CLAUSES.items():
        untested = sum(clause.party == "client" for clause in clauses.values())
        parts.extend(
            (
                f"\n## {NAMES[version]}\n",
                f"\n{len(clauses)} clauses: {len(clauses) - untested} concern a server, {untested} only a client.\n",
                "\n| clause | whose | what it asks | shown by |\n| --- | --- | --- | --- |\n",
            )
        )
        for clause in clauses.values():
            by = ", ".join(f"`{test}`" for test in tests[version].get(clause.number, ())) or clause.why_untested
            sentence = clause.sentence.replace("|", "\\|")
            parts.append(f"| MQTT-{clause.number} | {clause.party} | {sentence} | {by} |\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(document())
