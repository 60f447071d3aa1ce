"""Instructions of LLVM as text: one function, `run`, and what it calls to make lists."""

from __future__ import annotations

from typing import Final

from roost.process.native.functions import ATTRIBUTES, PRELUDE, SYMBOLS
from roost.process.native.layout import DONE, FREE, GIVEN_UP, HEADER, RESULT, UNDEFINED, UNSET
from roost.process.native.memory import Memory
from roost.process.native.nodes import Refused

MAX_LINES: Final = 4_000  # of the code of one macro
_WEIGHTS: Final = {f"roost.{name}": 20 for name in SYMBOLS} | {"roost.fmod": 500}  # an instruction has 1

_LISTS: Final = f"""\
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; A list of so many holes; 0 if there is no room for it.
define internal i64 @list(i64 %length) {{
  %free = load i64, ptr getelementptr (i64, ptr @words, i64 {FREE})
  %data = add i64 %free, {HEADER}
  %end = add i64 %data, %length
  %full = icmp sgt i64 %end, @WORDS@
  br i1 %full, label %none, label %head
head:
  %length.at = getelementptr i64, ptr @words, i64 %free
  store i64 %length, ptr %length.at
  %room.at = getelementptr i64, ptr %length.at, i64 1
  store i64 %length, ptr %room.at
  %data.at = getelementptr i64, ptr %length.at, i64 2
  store i64 %data, ptr %data.at
  store i64 %end, ptr getelementptr (i64, ptr @words, i64 {FREE})
  br label %more
more:
  %at = phi i64 [ %data, %head ], [ %next, %fill ]
  %done = icmp eq i64 %at, %end
  br i1 %done, label %all, label %fill
fill:
  %word.at = getelementptr i64, ptr @words, i64 %at
  store i64 {UNSET}, ptr %word.at
  %next = add i64 %at, 1
  br label %more
all:
  ret i64 %free
none:
  ret i64 0
}}

; One more element; a list that is full moves to where it has twice the room.
define internal i1 @append(i64 %list, i64 %element) {{
  %length.at = getelementptr i64, ptr @words, i64 %list
  %length = load i64, ptr %length.at
  %room.at = getelementptr i64, ptr %length.at, i64 1
  %room = load i64, ptr %room.at
  %data.at = getelementptr i64, ptr %length.at, i64 2
  %full = icmp eq i64 %length, %room
  br i1 %full, label %move, label %put
move:
  %twice = shl i64 %room, 1
  %wider = or i64 %twice, 4
  %free = load i64, ptr getelementptr (i64, ptr @words, i64 {FREE})
  %end = add i64 %free, %wider
  %none = icmp sgt i64 %end, @WORDS@
  br i1 %none, label %no, label %copy
copy:
  %from = load i64, ptr %data.at
  %from.at = getelementptr i64, ptr @words, i64 %from
  %to.at = getelementptr i64, ptr @words, i64 %free
  %bytes = shl i64 %length, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %to.at, ptr %from.at, i64 %bytes, i1 false)
  store i64 %wider, ptr %room.at
  store i64 %free, ptr %data.at
  store i64 %end, ptr getelementptr (i64, ptr @words, i64 {FREE})
  br label %put
put:
  %data = load i64, ptr %data.at
  %element.place = add i64 %data, %length
  %element.at = getelementptr i64, ptr @words, i64 %element.place
  store i64 %element, ptr %element.at
  %longer = add i64 %length, 1
  store i64 %longer, ptr %length.at
  ret i1 true
no:
  ret i1 false
}}
"""


class Program:
    """The text, as it grows."""

    def __init__(self) -> None:
        self._places: Final[list[str]] = []  # of variables
        self._lines: Final[list[str]] = []  # bound: MAX_LINES
        self._count = 0
        self.weight = 0  # of all that was said so far

    def line(self, text: str) -> None:
        """An instruction that gives nothing."""
        if len(self._lines) >= MAX_LINES:
            raise Refused("its length")
        if self._is_ended():
            self._lines.append(f"{self.label()}:")
        self._lines.append(f"  {text}")
        self.weight += _WEIGHTS.get(text.partition("(")[0].partition("@")[2], 1)

    def gives(self, text: str) -> str:
        """An instruction that gives a value."""
        name = self._name("%v")
        self.line(f"{name} = {text}")
        return name

    def place(self) -> str:
        """A place for a word, which is not set."""
        name = self._name("%p")
        self._places.append(f"  {name} = alloca i64\n  store i64 {UNSET}, ptr {name}\n")
        return name

    def label(self) -> str:
        """A place to go to, later."""
        return self._name("l")

    def here(self, label: str) -> None:
        """What comes next is there; what came before goes on with it, unless it went elsewhere."""
        if not self._is_ended():
            self.go(label)
        self._lines.append(f"{label}:")

    def go(self, label: str) -> None:
        """Go on elsewhere; what follows is not reached."""
        self.line(f"br label %{label}")

    def branch(self, test: str, yes: str, no: str) -> None:
        """Go on here or there; what follows is there if the test holds."""
        self.line(f"br i1 {test}, label %{yes}, label %{no}")

    def insist(self, test: str) -> None:
        """Give up unless the test holds."""
        holds = self.label()
        self.branch(test, holds, "given.up")
        self.here(holds)

    def text(self, memory: Memory, steps: int) -> str:
        """All of it, for this memory; what may be counted as done is so many."""
        places = "".join(self._places)
        lines = "\n".join(self._lines)
        lists = _LISTS.replace("@WORDS@", str(memory.count)).replace(
            "@words", f"inttoptr (i64 {memory.words_at} to ptr)"
        )
        return f"""\
{PRELUDE}
{lists}
define i32 @run() {{
  %memory = inttoptr i64 {memory.words_at} to ptr
  %image = inttoptr i64 {memory.image_at} to ptr
  %steps = alloca i64
  store i64 {steps}, ptr %steps
{places}\
  %used.at = getelementptr i64, ptr %image, i64 {FREE}
  %used = load i64, ptr %used.at
  %used.bytes = shl i64 %used, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %memory, ptr %image, i64 %used.bytes, i1 false)
{lines}
given.up:
  ret i32 {GIVEN_UP}
}}
{ATTRIBUTES}"""

    def end(self, result: str) -> None:
        """End with what a place holds."""
        word = self.gives(f"load i64, ptr {result}")
        unset = self.gives(f"icmp eq i64 {word}, {UNSET}")
        nothing, something = self.label(), self.label()
        self.branch(unset, nothing, something)
        self.here(nothing)
        self.line(f"ret i32 {UNDEFINED}")
        self.here(something)
        self.line(f"store i64 {word}, ptr %memory, align 8")
        self.line(f"ret i32 {DONE}")

    def step(self, since: int) -> None:
        """Count what was said since as done once more; give up when it is too much."""
        left = self.gives("load i64, ptr %steps")
        fewer = self.gives(f"sub i64 {left}, {self.weight - since}")
        self.line(f"store i64 {fewer}, ptr %steps")
        self.insist(self.gives(f"icmp sge i64 {fewer}, 0"))

    def _is_ended(self) -> bool:
        return bool(self._lines) and self._lines[-1].startswith(("  br ", "  ret "))

    def _name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"


assert RESULT == 0  # noqa: S101  `end` writes it
