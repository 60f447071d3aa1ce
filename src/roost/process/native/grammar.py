"""JavaScript to nodes: the part of it that can be compiled; all else is `Refused`, and nothing is guessed.

The code is known to be an expression that quickjs takes, so what is looked for here is only what it means. Semicolons
may be missing at the end of a block, and where the next token stands on another line and continues nothing.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from roost.process.inlining import tokens_of
from roost.process.native.nodes import (
    Assign,
    Binary,
    Block,
    Call,
    Choice,
    Declare,
    Do,
    Expression,
    ForOf,
    Function,
    If,
    Index,
    Jump,
    List,
    Loop,
    Member,
    Name,
    Number,
    Refused,
    Return,
    Statement,
    Step,
    Truth,
    Unary,
)

MAX_TOKENS: Final = 10_000
_MAX_DIGITS: Final = 17  # of a literal, which every reader takes for the same double
_NUMBER: Final = re.compile(r"(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_MARKS: Final = sorted(
    "=> == != === !== <= >= && || ++ -- ** << >> >>> ?? ?. ... "  # noqa: SIM905
    "+= -= *= /= %= **= <<= >>= >>>= &= |= ^= &&= ||= ??=".split(),
    key=len,
    reverse=True,
)
_ASSIGNING: Final = {f"{each}=": each for each in ("", "+", "-", "*", "/", "%", "**", "<<", ">>", ">>>", "&", "|", "^")}
_STRENGTHS: Final = {
    operator: strength
    for strength, operators in enumerate(
        ["||", "&&", "|", "^", "&", "== != === !==", "< > <= >=", "<< >> >>>", "+ -", "* / %", "**"], start=1
    )
    for operator in operators.split()
}
_RIGHT: Final = _STRENGTHS["**"]
_RESERVED: Final = frozenset(
    "arguments async await break case catch class const continue debugger default delete do else enum eval export "  # noqa: SIM905
    "extends finally for function if implements import in instanceof interface let new null of package private "
    "protected public return static super switch this throw try typeof var void while with yield".split()
)


class _Lexeme(NamedTuple):
    kind: str  # word, number or mark; at the end it is empty
    text: str
    is_first: bool  # of its line


_END: Final = _Lexeme("", "", is_first=True)


def parsed(code: str) -> Expression:
    """The expression that the code is."""
    parser = _Parser(_lexemes(code))
    expression = parser.expression()
    if parser.next is not _END:
        raise Refused("there is more")
    return expression


def _lexemes(code: str) -> list[_Lexeme]:
    """Tokens, with marks put together to operators, the longest first."""
    tokens = tokens_of(code)
    if tokens is None or len(tokens) > MAX_TOKENS:
        raise Refused("its tokens")
    found: list[_Lexeme] = []
    at = end = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind not in {"word", "number", "mark"}:
            raise Refused(token.kind)
        text = token.text
        if token.kind == "mark":
            text = next((each for each in _MARKS if code.startswith(each, token.low)), text)
        found.append(_Lexeme(token.kind, text, "\n" in code[end : token.low]))
        at += len(text) if token.kind == "mark" else 1
        end = token.low + len(text)
    return found


class _Parser:
    """By the strength of operators, after Pratt."""

    def __init__(self, lexemes: list[_Lexeme]) -> None:
        self._lexemes: Final = lexemes
        self._at = 0

    @property
    def next(self) -> _Lexeme:
        """What comes next."""
        return self._lexemes[self._at] if self._at < len(self._lexemes) else _END

    # -- expressions

    def expression(self) -> Expression:
        """An expression, with commas."""
        left = self._assignment()
        while self._takes(","):
            left = Binary(",", left, self._assignment())
        return left

    def _assignment(self) -> Expression:
        arrow = self._arrow()
        if arrow is not None:
            return arrow
        left = self._binary(1)
        if self._takes("?"):
            yes = self._assignment()
            self._take(":")
            return Choice(left, yes, self._assignment())
        if self.next.text in _ASSIGNING:
            operator = _ASSIGNING[self._any().text]
            return Assign(operator, _target(left), self._assignment())
        return left

    def _arrow(self) -> Function | None:
        """An arrow function, if here is one."""
        at = self._at
        if self.next.text != "(":
            if self.next.kind != "word" or self._text(at + 1) != "=>":
                return None
            parameters: tuple[str, ...] = (self._name(),)
        else:
            end = at + 1
            while self._text(end) not in {")", "(", ""}:
                end += 1
            if self._text(end) != ")" or self._text(end + 1) != "=>":
                return None
            parameters = self._parameters()
        self._take("=>")
        if self.next.text == "{":
            return Function("", parameters, self._block())
        return Function("", parameters, Block((Return(self._assignment()),)))

    def _binary(self, least: int) -> Expression:
        left = self._unary()
        while True:
            operator = self.next.text
            strength = _STRENGTHS.get(operator, 0)
            if strength < least:
                return left
            self._any()
            left = Binary(operator, left, self._binary(strength if strength == _RIGHT else strength + 1))

    def _unary(self) -> Expression:
        text = self.next.text
        if text in {"-", "+", "!", "~"}:
            self._any()
            return Unary(text, self._unary())
        if text in {"++", "--"}:
            self._any()
            return Step(text[0], _target(self._unary()), is_before=True)
        found = self._called(self._primary())
        if self.next.text in {"++", "--"} and not self.next.is_first:
            return Step(self._any().text[0], _target(found), is_before=False)
        return found

    def _called(self, found: Expression) -> Expression:
        while True:
            if self._takes("."):
                found = Member(found, self._word())
            elif self._takes("["):
                found = Index(found, self.expression())
                self._take("]")
            elif self.next.text == "(":
                found = Call(found, self._list("(", ")"))
            else:
                return found

    def _primary(self) -> Expression:
        kind, text, _ = self.next
        if kind == "number":
            return self._number()
        if text == "(":
            self._any()
            inner = self.expression()
            self._take(")")
            return inner
        if text == "[":
            return List(self._list("[", "]"))
        if text == "function":
            return self._function()
        if text == "new":
            self._any()
            return Call(Name(self._name()), self._list("(", ")"), is_new=True)
        if text in {"true", "false"}:
            return Truth(self._any().text == "true")
        return Name(self._name())

    def _number(self) -> Number:
        text = self._any().text
        if not _NUMBER.fullmatch(text) or len(re.findall(r"\d", text.lower().partition("e")[0])) > _MAX_DIGITS:
            raise Refused(text)
        return Number(float(text))

    def _list(self, begin: str, end: str) -> tuple[Expression, ...]:
        self._take(begin)
        items: list[Expression] = []
        while not self._takes(end):
            items.append(self._assignment())
            if self.next.text != end:
                self._take(",")
        return tuple(items)

    def _function(self) -> Function:
        self._take("function")
        name = "" if self.next.text == "(" else self._name()
        return Function(name, self._parameters(), self._block())

    def _parameters(self) -> tuple[str, ...]:
        self._take("(")
        names: list[str] = []
        while not self._takes(")"):
            names.append(self._name())
            if self.next.text != ")":
                self._take(",")
        if len(set(names)) < len(names):
            raise Refused("two parameters of one name")
        return tuple(names)

    # -- statements

    def _block(self) -> Block:
        self._take("{")
        statements: list[Statement] = []
        while not self._takes("}"):
            statements.append(self._statement())
        return Block(tuple(statements))

    def _statement(self) -> Statement:
        text = self.next.text
        if text == "{":
            return self._block()
        if text == ";":
            self._any()
            return Block(())
        if text == "function":
            return self._function()
        if text == "if":
            return self._if()
        if text == "for":
            return self._for()
        if text == "while":
            self._any()
            return Loop(None, self._condition(), None, self._statement())
        if text == "do":
            self._any()
            body = self._statement()
            self._take("while")
            loop = Loop(None, self._condition(), None, body, is_do=True)
            self._end()
            return loop
        statement = self._declaration() if text in {"var", "let", "const"} else self._simple()
        self._end()
        return statement

    def _simple(self) -> Statement:
        text = self.next.text
        if text in {"break", "continue"}:
            self._any()
            return Jump(text == "break")
        if text != "return":
            return Do(self.expression())
        self._any()
        if self.next.text in {";", "}"}:
            return Return(None)
        if self.next.is_first:
            raise Refused("return at the end of a line")
        return Return(self.expression())

    def _declaration(self) -> Declare:
        how = self._any().text
        names: list[tuple[str, Expression | None]] = []
        while not names or self._takes(","):
            name = self._name()
            names.append((name, self._assignment() if self._takes("=") else None))
        return Declare(how, tuple(names))

    def _if(self) -> If:
        self._any()
        test = self._condition()
        yes = self._statement()
        return If(test, yes, self._statement() if self._takes("else") else None)

    def _for(self) -> Statement:
        self._any()
        self._take("(")
        before: Statement | None = None
        how = self.next.text
        if how in {"var", "let", "const"}:
            if self._text(self._at + 2) == "of":
                self._any()
                name = self._name()
                self._any()
                array = self._assignment()
                self._take(")")
                return ForOf(how, name, array, self._statement())
            before = self._declaration()
        elif how != ";":
            before = Do(self.expression())
        self._take(";")
        test = None if self.next.text == ";" else self.expression()
        self._take(";")
        after = None if self.next.text == ")" else self.expression()
        self._take(")")
        return Loop(before, test, after, self._statement())

    def _condition(self) -> Expression:
        self._take("(")
        test = self.expression()
        self._take(")")
        return test

    def _end(self) -> None:
        """The end of a statement."""
        found = self.next
        begins = found.is_first and (found.kind == "word" or found.text in {"++", "--"})
        if not self._takes(";") and found.text != "}" and not begins:
            raise Refused("the end of a statement")

    # -- lexemes

    def _text(self, at: int) -> str:
        return self._lexemes[at].text if at < len(self._lexemes) else ""

    def _any(self) -> _Lexeme:
        found = self.next
        if found is _END:
            raise Refused("the end")
        self._at += 1
        return found

    def _takes(self, text: str) -> bool:
        if self.next.text != text:
            return False
        self._at += 1
        return True

    def _take(self, text: str) -> None:
        if not self._takes(text):
            raise Refused(f"{text} was to come, not {self.next.text}")

    def _word(self) -> str:
        if self.next.kind != "word":
            raise Refused(self.next.text)
        return self._any().text

    def _name(self) -> str:
        name = self._word()
        if name in _RESERVED or name in {"true", "false"}:
            raise Refused(name)
        return name


def _target(node: Expression) -> Name | Index:
    if isinstance(node, (Name, Index)):
        return node
    raise Refused("an assignment to something else")
