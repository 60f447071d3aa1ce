"""Topic references that stand in the text of a JavaScript macro: `Noctua.topic('…', {required: 3})` with literals only.

A run without values does not reach every branch; what is written out is found here. Comments, texts and regular
expressions are passed over, what is inside `${…}` of a template is not. A reference whose name or settings are
computed is left to the run that asks for it. This reads tokens, not the grammar: where it takes a division for a
regular expression it finds less, and the run finds the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from roost.errors import InvalidInput
from roost.process.reference import Reference

TOKEN: Final = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
  | (?P<number>0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)
  | (?P<word>[\w$]+)
  | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_REGEX: Final = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
_TEMPLATE: Final = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)
_BEFORE_VALUE: Final = frozenset(
    {"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do"}
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_ESCAPE: Final = re.compile(r"\\(u\{([\da-fA-F]{1,6})\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|(.))", re.DOTALL)
_SETTINGS: Final = frozenset({"cutoff", "required", "limit", "detail"})

Token = tuple[str, str]


class Call(NamedTuple):
    """A call of `topic` with literals only: what it asks for, and how many tokens it is after `Noctua`."""

    reference: Reference
    tokens: int
    is_detailed: bool  # whether `detail` is among its settings


def references_in(code: str) -> tuple[Reference, ...]:
    """The literal references, in the order of the text, each once."""
    tokens = list(_tokens(code))
    found: dict[Reference, None] = {}
    for at, (_, word) in enumerate(tokens):
        if word == "Noctua" and (at == 0 or tokens[at - 1][1] != "."):
            call = called(tokens[at + 1 : at + 32])
            if call is not None:
                found[call.reference] = None
    return tuple(found)


def called(tokens: list[Token]) -> Call | None:
    """What follows `Noctua`, if that is a call of `topic` with literals only."""
    texts = [text for _, text in tokens]
    if texts[:3] != [".", "topic", "("] or len(tokens) < 5 or tokens[3][0] != "text":
        return None
    settings: dict[str, float] = {}
    is_detailed = False
    at = 4
    if texts[at] == "," and texts[at + 1 : at + 2] == ["{"]:
        at += 2
        while at + 2 < len(tokens) and texts[at] != "}":
            name, colon, (kind, value) = texts[at], texts[at + 1], tokens[at + 2]
            if name not in _SETTINGS or colon != ":" or (kind != "number" and name != "detail"):
                return None
            if kind == "number" and name != "detail":
                settings[name] = _number(value)
            is_detailed = is_detailed or name == "detail"
            at += 3
            if texts[at : at + 1] == [","]:
                at += 1
        at += 1
    if texts[at : at + 1] == [","]:
        at += 1
    if texts[at : at + 1] != [")"]:
        return None
    try:
        required, limit = settings.get("required", 1), settings.get("limit", 1)
        if required != int(required) or limit != int(limit):
            return None
        reference = Reference(texts[3], settings.get("cutoff", 0.0), int(required), int(limit))
    except (InvalidInput, OverflowError):
        return None  # the run says what is wrong with it, and where
    return Call(reference, at + 1, is_detailed)


def _tokens(code: str) -> Iterator[Token]:
    at, depth = 0, 0
    templates: list[int] = []  # the depth of braces outside each template that is open; bound: the length of the code
    last = ("mark", "(")
    while at < len(code):
        character = code[at]
        if character == "`" or (character == "}" and templates and templates[-1] == depth):
            if character == "}":
                templates.pop()
            found = _TEMPLATE.match(code, at + 1)
            assert found is not None  # noqa: S101  it matches the empty text
            at = found.end()
            whole = character == "`" and code[at : at + 1] == "`"
            if code[at : at + 2] == "${":
                templates.append(depth)
                at += 1
            at += 1
            last = ("text", _unescaped(found[0])) if whole else ("mark", "`")
            yield last
            continue
        found = _REGEX.match(code, at) if character == "/" and _may_begin(last) else None
        if found is not None and code[at + 1] not in "/*":
            at = found.end()
            last = ("regex", "")
            yield last
            continue
        found = TOKEN.match(code, at)
        assert found is not None  # noqa: S101  its last branch takes any character
        at = found.end()
        kind = found.lastgroup or ""
        if kind == "space":
            continue
        text = found[0]
        depth += (text == "{") - (text == "}")
        last = (kind, _unescaped(text[1:-1]) if kind == "text" else text)
        yield last


def _may_begin(last: Token) -> bool:
    """Whether a value may come next, so that a slash begins a regular expression."""
    kind, text = last
    return text in _BEFORE_VALUE if kind == "word" else kind == "mark" and text not in {")", "]", "}", "`"}


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    halves = _ESCAPE.sub(_character, text)
    plain: str = json.loads(json.dumps(halves))  # two halves of a pair become one character
    return plain


def _character(found: re.Match[str]) -> str:
    code = found[2] or found[3] or found[4]
    if code:
        value = int(code, 16)
        return chr(value) if value <= 0x10FFFF else "\ufffd"
    return _ESCAPES.get(found[5], found[5])


def _number(text: str) -> float:
    plain = text.replace("_", "")
    if plain[:1] == "0" and len(plain) > 1 and plain[1] in "xXbBoO":
        return float(int(plain, 0))
    return float(plain)
