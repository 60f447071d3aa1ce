"""What doors to a node (HTTP, and the command line through it) ask of it: ports, implemented where the things are.

A desk answers for one kind of thing: macros, roles, topics. `Gate` says who asks, and what they may. A desk checks what
it is handed; that the user may ask at all is the door's to see, but for `TopicDesk`, which knows topic by topic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from roost.broker.since import Since


class MacroDesk(Protocol):
    """Macros, by name."""

    def names(self, engine: str = "") -> list[str]:
        """All of them, or those of an engine."""
        ...

    def shown(self, name: str) -> dict[str, object]:
        """Tell about one: definition, topic, version, digest (hex), position, runs_on, counters; raises `NoMacro`."""
        ...

    async def define(self, mapping: object, *, new: bool | None, user: bytes) -> dict[str, object]:
        """Make one, or another version of one; what `shown` gives, once it is on the disk. Raises `BadMacro`.

        With `new` True the name must be free (`MacroExists`), with False it must be there (`NoMacro`).
        """
        ...

    async def delete(self, name: str, *, user: bytes) -> dict[str, object]:
        """End one; what it was. Raises `NoMacro`."""
        ...

    async def trace(self, name: str, *, user: bytes) -> list[dict[str, object]]:
        """List its last runs, newest first: version, time, cause, inputs, log, output or failure, took_us.

        Those whose inputs the user may not read are left out.
        """
        ...

    async def last_failure(self, name: str, *, user: bytes) -> dict[str, object] | None:
        """The last run that failed, if there is one and the user may read its inputs."""
        ...


class RoleDesk(Protocol):
    """Role-based publishing specifications (RBPS), by their topic or filter."""

    def topics(self) -> list[str]:
        """All that have one."""
        ...

    def shown(self, topic: str) -> dict[str, object]:
        """Tell the document; raises `NoRules`."""
        ...

    async def put(self, mapping: object, *, new: bool | None, user: bytes) -> dict[str, object]:
        """Take a document in; `new` as with macros: `RulesExist`, `NoRules`. Raises `BadConfig` if it is none."""
        ...

    async def delete(self, topic: str, *, user: bytes) -> dict[str, object]:
        """Take a document back; what it was. Raises `NoRules`."""
        ...

    async def explain(self, user: bytes, topic: str) -> str:
        """Say what a user gets of a topic, and why."""
        ...


class TopicDesk(Protocol):
    """What topics say, for users who may read them.

    A reading has topic, time (ns), value, unit, quality, stream and number; the last two only if it is of a group.
    Permissions and roles are both heeded, reading by reading.
    """

    async def past(self, user: bytes, filter_: bytes, since: Since, limit: int) -> list[dict[str, object]]:
        """Read the first `limit` readings since then, oldest first; of `Since()` the last one of each topic.

        Raises `Denied`.
        """
        ...

    async def follow(
        self, user: bytes, filter_: bytes, send: Callable[[dict[str, object]], None]
    ) -> Callable[[], None]:
        """Have readings sent as they come; returns how to stop. Raises `Denied`."""
        ...


class Gate(Protocol):
    """Who comes in at a door, and what they may do."""

    async def who(self, authorization: str, host: str) -> bytes:
        """Find the user of a Basic or Bearer header; raises `Denied` with why, `Backpressure` if too many ask.

        It raises `Unreachable` if that cannot be found out now. `host` is the address of the peer, empty where somebody
        elsewhere may be behind it.
        """
        ...

    def may_administer(self, user: bytes, what: str) -> bool:
        """Whether a user may change a macro (by its result's topic) or an RBPS document (`$roles/<topic>`)."""
        ...

    def may_look(self, user: bytes, what: str) -> bool:
        """Whether a user may see it."""
        ...
