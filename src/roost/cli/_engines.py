"""The languages of macros, for verbs that run them."""

from __future__ import annotations

from roost.process.engine import Engine


def engines() -> dict[str, Engine]:
    """The engines by their languages."""
    from roost.process.javascript import JavaScript
    from roost.process.python_code import Python

    found: list[Engine] = [JavaScript(), Python()]
    return {each.language: each for each in found}
