"""Topic references that stand in the text of a macro."""

from __future__ import annotations

import pytest

from roost.process.engine import Limits
from roost.process.javascript import JavaScript
from roost.process.literals import references_in
from roost.process.python_code import Python
from roost.process.reference import Reference


@pytest.mark.parametrize(
    ("code", "references"),
    [
        ("Noctua.topic('a/b')", [Reference("a/b")]),
        ('Noctua . topic ( "a" , ) + Noctua.topic(`b`)', [Reference("a"), Reference("b")]),
        ("Noctua.topic('a', {cutoff: 1.5, required: 0x10, 'limit': 1_000,})", [Reference("a", 1.5, 16, 1000)]),
        ("Noctua.topic('a', {cutoff: 1e3, detail: true})", [Reference("a", 1000.0)]),
        ("Noctua.topic('a') + Noctua.topic('a')", [Reference("a")]),
        ("// Noctua.topic('a')\n/* Noctua.topic('b') */ 'Noctua.topic(\\'c\\')'", []),
        ("x = /'/; Noctua.topic('a'); y = 4 / 2; Noctua.topic('b') / 2", [Reference("a"), Reference("b")]),
        ("/[/']Noctua.topic('x')/.test(Noctua.topic('a'))", [Reference("a")]),
        ("`x ${Noctua.topic('a') + `${Noctua.topic('b')}`} Noctua.topic('c')`", [Reference("a"), Reference("b")]),
        ("`${{a: {}}} ` + Noctua.topic('a')", [Reference("a")]),
        ("if (false) Noctua.topic('never')", [Reference("never")]),
        ("Noctua.topic('a' + b); Noctua.topic(name); Noctua.topic(`a${b}`)", []),
        ("Noctua.topic('a', {required: n}); Noctua.topic('b', options); Noctua.topic('c', {...d})", []),
        ("Noctua.topic('a', {required: 2 * 3}); Noctua.topic('b', {required: 1.5})", []),
        ("other.Noctua.topic('a'); xNoctua.topic('b')", []),
        ("Noctua.topic('\\u{1F600}\\x41\\'\\ud83d\\ude00')", [Reference("😀A'😀")]),
        ("Noctua.topic('a/#/b')", []),
        ("Noctua.topic('a'", []),
        ("Noctua", []),
        ("Noctua.topic('sensors/+/temp', {limit: 50})", [Reference("sensors/+/temp", limit=50)]),
    ],
)
def test_literal_references_are_found_and_nothing_else(code: str, references: list[Reference]) -> None:
    assert list(references_in(code)) == references


def test_names_that_are_computed_are_found_by_a_run() -> None:
    code = "for (var i = 0; i < 3; i++) Noctua.topic('s/' + i, {required: 1 + i}); if (0) Noctua.topic('z')"
    assert JavaScript().load(code, Limits()).explore() == (
        Reference("z"),
        Reference("s/0"),
        Reference("s/1", required=2),
        Reference("s/2", required=3),
    )


def test_python_has_literals_too() -> None:
    code = "if False:\n    Noctua.topic('a', {'cutoff': 5}, limit=3)\nfor i in range(2):\n    Noctua.topic(f'b/{i}')\n"
    assert Python().load(code, Limits()).explore() == (
        Reference("a", 5.0, limit=3),
        Reference("b/0"),
        Reference("b/1"),
    )
