"""What the repos of a group say, live, for who plans reads: the real `View`.

Numbers come by partial sync, without polling; holes, boundaries and times are asked for. Streams are named relative to
the group here, as places do, and strings stand for names because places are written with every batch.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from roost.errors import Unreachable
from roost.host.background import Closing
from roost.host.stretch_access import Access
from roost.naming import Name
from roost.pipeline.faces import face_of
from roost.pipeline.input import Input
from roost.pipeline.place import CORRECTIONS, Run, joined

PATIENCE: Final = 3  # times the access's timeout, until a repo has to have said what there is
HOLES_EVERY_S: Final = 1.0  # without other news: to see that holes are filled
_WILDCARDS: Final = ("#", "+")


class GroupView(Closing):
    """The streams of a group that an input wishes for."""

    def __init__(self, access: Access, wanted: Input) -> None:
        self.input: Final = wanted
        face = face_of(replace(access, group=""))
        self._prefix: Final = len(str(Name.parse(wanted.group))) + 1
        self._watch: Final = face.group(wanted.group).watch(*wishes_of(wanted))
        self._names: Final[dict[Name, str]] = {}  # bound: the streams of the group
        self._numbers: Final[dict[str, int]] = {}  # bound: as above
        self._rises = 0  # how often there were others
        self._holes: dict[str, Sequence[Run]] = {}
        self._asked_at = 0.0
        self._asked_for = 0  # after so many rises
        within_s = PATIENCE * access.timeout_s
        with ExitStack() as otherwise:
            otherwise.callback(self.close)  # or it would ask on, and warn, as long as this process lives
            if not self._watch.ready(within_s):
                raise Unreachable(
                    f"no repo of {wanted.group} answered within {within_s:g} s, or none that {access.keys.home} "
                    "trusts: is one running, does `repos` name it, and does `home` have the group's trust anchor?"
                )
            otherwise.pop_all()

    def numbers(self) -> Mapping[str, int]:
        """The highest number of every stream."""
        if news := self._watch.news():  # of a few streams, where there may be tens of thousands
            self._numbers.update((self._relative(stream), number) for stream, number in news.items())
            self._rises += 1
        return dict(self._numbers)

    def holes(self) -> Mapping[str, Sequence[Run]]:
        """Numbers that nobody at hand has; asked for anew when numbers have risen, or a second has passed."""
        self.numbers()
        now = time.monotonic()
        if self._rises != self._asked_for or now >= self._asked_at + HOLES_EVERY_S:
            found = self._watch.holes()
            self._holes = {self._relative(stream): joined(sorted(runs)) for stream, runs in found.items()}
            self._asked_for, self._asked_at = self._rises, now
        return self._holes

    def boundaries(self, time_ns: int) -> Mapping[str, int]:
        """Each stream's lowest number at or after a time."""
        return {self._relative(stream): low for stream, low in self._watch.boundaries(time_ns).items()}

    def times(self, stream: str, low: int, high: int) -> Mapping[int, int]:
        """The event times of readings that are there."""
        return self._watch.times(Name.parse(f"{self.input.group}/{stream}"), low, high)

    def close(self) -> None:
        """Watch no longer."""
        self._watch.close()

    def _relative(self, stream: Name) -> str:
        known = self._names.get(stream)
        if known is None:
            known = self._names[stream] = str(stream)[self._prefix :]
        return known


def wishes_of(wanted: Input) -> list[str]:
    """What an input watches: what it wishes for, and in windows what corrects that."""
    wishes = list(wanted.wishes)
    if wanted.window_ns:
        wishes += [f"{wish}{CORRECTIONS}" for wish in wanted.wishes if not wish.endswith(_WILDCARDS)]
    return wishes
