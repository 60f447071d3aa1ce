"""The same macro with its inputs as parameters: `Noctua.topic('a')` becomes a name, and costs what a variable costs.

    (Noctua.topic('home/tempF') - 32) * 5/9      becomes      ($$0                        - 32) * 5/9

What is put in its place is as long, line by line, so that errors keep their places. This is done where the text proves
that it means the same: every mention of `Noctua` is one of a member, every call of `topic` has literals only, there is
no way to the global object by which a macro could put another `Noctua` in its place, and a reference always gives the
same number of values. What this does not understand (regular expressions, templates, escapes in names …) it leaves as
it is: then `inlined` gives nothing, and the macro calls `topic` as it says.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from roost.process.literals import TOKEN, called
from roost.process.reference import Reference

MAX_COUNT: Final = 16  # values of a reference that is handed in as a parameter
MAX_PARAMETERS: Final = 256  # longer names would not fit everywhere
_PREFIX: Final = "$$"
_GLOBAL: Final = frozenset({"this", "globalThis", "with", "eval", "arguments"})  # ways around names, or to others
_CONDITIONS: Final = frozenset({"if", "while", "for"})  # after their parentheses a slash begins a regular expression
_WORDS: Final = frozenset(
    "await case delete do else extends in instanceof new of return throw typeof void yield".split()  # noqa: SIM905
)
_OUTSIDE: Final = re.compile(r"[\u2028\u2029]|<!--|-->")  # ends of lines and comments that tokens do not tell
_NUMBER: Final = re.compile(r"(?:0|[1-9]\d*)(?:\.\d+)?")
_ASSIGNED: Final = re.compile(r"=(?![=>])|\+\+|--|(?:[-+*/%&|^]|\*\*|<<|>>>?|&&|\|\||\?\?)=|(?:in|of)(?![\w$])|//|/\*")


class Inlined(NamedTuple):
    """Code whose inputs are parameters, of these references in this order."""

    code: str
    references: tuple[Reference, ...]

    @property
    def parameters(self) -> str:
        """What they are called."""
        return ",".join([f"{_PREFIX}{number}" for number in range(len(self.references))])


class _Token(NamedTuple):
    kind: str
    text: str
    low: int
    high: int


def inlined(code: str) -> Inlined | None:
    """The code with parameters for its inputs; None if it has none, or if that might mean something else."""
    tokens = tokens_of(code)
    if tokens is None or _PREFIX in code or any(each.text in _GLOBAL for each in tokens if each.kind == "word"):
        return None
    found: dict[Reference, int] = {}
    parts: list[str] = []
    done = 0
    for at, token in enumerate(tokens):
        if token.kind != "word" or token.text != "Noctua":
            continue
        if at and tokens[at - 1].text == ".":
            return None
        following = [each.text for each in tokens[at + 1 : at + 3]]
        if following[:1] != ["."]:
            return None
        if following[1:] != ["topic"]:
            continue
        call = called([(each.kind, each.text) for each in tokens[at + 1 : at + 32]])
        if call is None or call.is_detailed:
            return None
        last = at + call.tokens
        numbers = [each.text for each in tokens[at:last] if each.kind == "number"]
        if not all(_NUMBER.fullmatch(each) for each in numbers):
            return None
        if not _is_fixed(call.reference):
            continue
        low, high = token.low, tokens[last].high
        if (at and tokens[at - 1].text in {"new", "delete"}) or _is_target(code, tokens, at, high):
            return None
        number = found.setdefault(call.reference, len(found))
        parts += [code[done:low], _blanked(f"{_PREFIX}{number}", code[low:high])]
        done = high
    return Inlined("".join([*parts, code[done:]]), tuple(found)) if 0 < len(found) <= MAX_PARAMETERS else None


def may_draw(code: str) -> bool:
    """Whether the code may draw random numbers, as far as its text can tell: if not, nobody need seed a run."""
    tokens = tokens_of(code)
    if tokens is None or any(each.text in _GLOBAL for each in tokens if each.kind == "word"):
        return True
    for at, token in enumerate(tokens):
        if token.kind == "word" and token.text == "Math":
            following = [(each.kind, each.text) for each in tokens[at + 1 : at + 3]]
            if following[:1] != [("mark", ".")] or following[1:] == [("word", "random")]:
                return True
    return False


def _is_fixed(reference: Reference) -> bool:
    """Whether it always gives the same number of values, and few of one topic."""
    return not reference.is_wild and reference.limit <= reference.required <= MAX_COUNT


def _is_target(code: str, tokens: list[_Token], at: int, high: int) -> bool:
    """Whether a call stands where something is assigned to, which a name could be and a call cannot."""
    before = "".join([each.text for each in tokens[max(0, at - 2) : at]])
    rest = code[high:].lstrip()
    return before.endswith(("++", "--")) or _ASSIGNED.match(rest) is not None


def _blanked(name: str, text: str) -> str:
    """A name in the place of a text: the rest is blank, and lines stay lines."""
    lines = text.split("\n")
    blank = [" " * len(each) for each in lines]
    return "\n".join([name.ljust(len(lines[0])) if len(name) < len(lines[0]) else "", *blank[1:]])


def tokens_of(code: str) -> list[_Token] | None:
    """The tokens of code that has only those of which there is no doubt, None for other code."""
    if "`" in code or _OUTSIDE.search(code):
        return None
    tokens: list[_Token] = []
    parentheses: list[bool] = []  # of those that are open, whether a condition is in them; bound: the code
    was_condition = False  # whether the last parenthesis that was closed held one
    at = 0
    while at < len(code):
        found = TOKEN.match(code, at)
        assert found is not None  # noqa: S101  its last branch takes any character
        kind, text, low, at = found.lastgroup or "", found[0], at, found.end()
        if kind == "space":
            continue
        last = tokens[-1] if tokens else _Token("mark", "(", 0, 0)
        if kind == "text":
            kind, text = ("escaped" if "\\" in text else kind), text[1:-1]
        elif not text.isascii() or text in {"\\", "'", '"', "#", "@"}:
            return None
        elif text == "/":
            ends = last.kind in {"number", "text", "escaped"} or (last.kind == "word" and last.text not in _WORDS)
            if not (ends or last.text == "]" or (last.text == ")" and not was_condition)):
                return None
        elif text == "(":
            parentheses.append(last.kind == "word" and last.text in _CONDITIONS)
        elif text == ")":
            if not parentheses:
                return None
            was_condition = parentheses.pop()
        tokens.append(_Token(kind, text, low, at))
    return tokens
