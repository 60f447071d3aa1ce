"""A station: one machine, its disk and its faces, and how it is built again after a crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from roost.forwarding.face import FIRST_FACE, FaceSpec
from roost.machine import Effect, Machine, Randomness
from roost.machine.disk import Saved
from roost.sim.disk import Disk

if TYPE_CHECKING:
    from roost.sim.medium import Face, Medium

NEVER: Final = 1 << 63

Event = TypeVar("Event", contravariant=True)


class Networked(Machine[Event], Protocol[Event]):
    """A machine that can be put on a medium: the contract, and how it is told of a face.

    It is handed `Arrived` and, if it saves, `Saved`. It may also have `close_face(face, now)`, `free_face_id()`,
    `latest()` and `sizes()`; who has them is asked.
    """

    def open_face(self, face: int, spec: FaceSpec, now: int, /) -> Sequence[Effect]: ...


@dataclass(frozen=True, slots=True)
class Boot:
    """What a machine is built from, the first time and after each crash."""

    name: str
    now: int  # as the clock of this station has it
    disk: Mapping[str, bytes]  # the files as they are found
    randomness: Randomness
    incarnation: int  # 1, and one more after each crash


Build: TypeAlias = Callable[[Boot], Networked[Any]]
Command: TypeAlias = Callable[[Any, int], Sequence[Effect]]


class Station:
    """What the world keeps of a station."""

    def __init__(self, number: int, name: str, build: Build, disk: Disk) -> None:
        self.number: Final = number
        self.name: Final = name
        self.build: Final = build
        self.disk: Final = disk
        self.machine: Any = None  # while it is up; what it offers beyond the contract is its users' business
        self.incarnation = 0
        self.skew_ns = 0
        self.media: Final[list[Medium]] = []  # in the order they were attached
        self.faces: Final[dict[int, Face]] = {}  # the open ones by number
        self.astray = 0  # packets sent to a face that is not open
        self.group = 0  # of a partition; 0 hears everybody
        self.alarm = NEVER  # the earliest event in the heap that will ask about its deadline
        self.touched = False  # in this instant, by what follows
        self.waiting: list[Face] = []  # faces with something in the inbox
        self.saved: list[Saved] = []
        self._next_face = FIRST_FACE

    @property
    def up(self) -> bool:
        """Whether it runs."""
        return self.machine is not None

    def touch(self, touched: list[Station]) -> None:
        """Have it get a turn at this instant."""
        if not self.touched:
            self.touched = True
            touched.append(self)

    def apart(self, other: Station) -> bool:
        """Whether a partition is between the two."""
        return 0 != self.group != other.group != 0

    def free_face(self) -> int:
        """Return a number for a face about to be opened; a forwarder counts by itself."""
        if hasattr(self.machine, "free_face_id"):
            return int(self.machine.free_face_id())
        self._next_face += 1
        return self._next_face - 1

    def down(self) -> None:
        """Forget the machine and all that waits for it."""
        self.machine = None
        self._next_face = FIRST_FACE
        self.alarm = NEVER
        self.waiting = []
        self.saved = []
        for face in self.faces.values():
            face.medium.close(face)
        self.faces.clear()
