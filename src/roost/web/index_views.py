"""Who sees which streams: the permissions of the broker, and its roles, asked as for topics over HTTP.

A stream is seen as it is published, so what decides is the permission to read its topic, and that the user's roles may
have that topic raw (`$raw/…`); another stream in its place has a row of its own. One of a sensor has its whole name as
its topic. A result says itself what it was made of, so each is asked about again (`is_hidden`).

What a user sees is remembered as a list, until permissions, documents or the user's roles are others. It serves to find
and to count; whoever shows a row asks about that row (`sees`).
"""

from __future__ import annotations

import asyncio
from bisect import insort
from collections.abc import Sequence
from typing import Final

from roost.broker.access import NOTHING, WHOLE, Access
from roost.broker.core import Core
from roost.broker.message import Message
from roost.broker.roles.ancestry import is_hidden
from roost.errors import Denied
from roost.host.mqtt.role_finding import RoleJudge
from roost.process.roles.decision import Roles
from roost.process.roles.policy import Policy
from roost.process.roles.reach import sees
from roost.web.index_reading import IndexReader
from roost.web.index_rows import StreamRow

MAX_VIEWS: Final = 256  # users
PIECE: Final = 64  # streams that are looked at in one turn
_NOBODY: Final = b""  # the client id, which nobody has here


class View:
    """What one user sees."""

    def __init__(self, access: Access, policy: Policy | None, roles: Roles) -> None:
        self.access: Final = access
        self.policy: Final = policy
        self.roles: Final = roles
        self.rows: Final[list[StreamRow]] = []  # by name; bound: the index
        self.at = 0  # how many of those that came were looked at
        self.whole = False  # all of them, whatever comes


class Views:
    """Those of all users; `judge` finds roles, where there are some."""

    def __init__(self, reader: IndexReader, core: Core, judge: RoleJudge | None) -> None:
        self.forgotten = 0  # views that made room for others
        self._reader: Final = reader
        self._core: Final = core
        self._judge: Final = judge
        self._views: Final[dict[bytes, View]] = {}  # by user; bound: MAX_VIEWS

    @property
    def has_roles(self) -> bool:
        """Whether it depends on roles who sees what."""
        return self._core.roles is not None

    async def admit(self, user: bytes) -> None:
        """Find the user's roles; raises `Denied` to who may read nothing at all, or where nobody can say."""
        if self._core.roles is not None:
            if self._judge is None:
                raise Denied("there are roles here, and nobody to say what they may read in this way")
            await self._judge.sees(user, ())
        if self._core.access.reach(user, _NOBODY, b"#") == NOTHING:
            raise Denied("to see streams takes the permission to read some topic")

    async def rows(self, user: bytes) -> list[StreamRow]:
        """The streams that a user sees, by name; not to be changed."""
        await self.admit(user)
        index = self._reader.index
        view = self._view(user)
        if view.whole:
            return index.order
        while view.at < len(index.came):
            for row in index.came[view.at : view.at + PIECE]:
                view.at += 1
                if self.sees(user, row):
                    insort(view.rows, row)
            await asyncio.sleep(0)
        return view.rows

    def sees(self, user: bytes, row: StreamRow) -> bool:
        """Whether a user may have what is published in a stream; whoever asks has admitted the user."""
        self._reader.learn(row)
        access, keeper = self._core.access, self._core.roles
        if not all(access.may_receive(user, _NOBODY, subject.encode()) for subject in row.subjects):
            return False
        if keeper is not None:
            roles = self._roles(user)
            return bool(row.subjects) and all(
                sees(keeper.policy, subject, roles, keeper.inputs_of) for subject in row.subjects
            )
        return bool(row.subjects) or access.reach(user, _NOBODY, b"#") == WHOLE

    def why_not(self, user: bytes, row: StreamRow) -> str:
        """Why a user does not see a row: a permission that is missing, or the role, and what that may have."""
        text, keeper, roles = row.text[:200], self._core.roles, self._roles(user)
        may = all(self._core.access.may_receive(user, _NOBODY, subject.encode()) for subject in row.subjects)
        if keeper is None or not may or not row.subjects:
            return f"to see {text} takes the permission to read it"
        denied = [each for each in row.subjects if not sees(keeper.policy, each, roles, keeper.inputs_of)]
        decision = keeper.policy.decide(denied[0], roles) if denied else None
        if decision is None:
            return f"{text} was made of what the user's roles may not see"
        if decision.stream is None:
            return f"the user's roles give nothing of {text}: {decision.reason}"
        return f"role {decision.role!r} does not see {text} as it is; in its place it may have {decision.stream}"

    async def sees_topics(self, user: bytes, topics: Sequence[str]) -> bool:
        """Whether the user's roles may see all of these topics and filters, as they are published."""
        if self._core.roles is None:
            return True
        return self._judge is not None and await self._judge.sees(user, topics)

    def sees_all(self, user: bytes) -> bool:
        """Whether nothing is kept from a user; whoever asks has admitted the user."""
        return self._core.roles is None and self.reads_everything(user)

    def reads_everything(self, user: bytes) -> bool:
        """Whether a user has the permission to read everything, whatever roles make of what is said there."""
        return self._core.access.reach(user, _NOBODY, b"#") == WHOLE

    def hides(self, user: bytes, message: Message | None) -> bool:
        """Whether a reading was made of something that the user may not see."""
        keeper = self._core.roles
        if keeper is None or message is None or not message.lineage:
            return False
        return is_hidden(self._core, keeper, self._roles(user), message)

    def _roles(self, user: bytes) -> Roles:
        return None if self._judge is None else self._judge.roles_of(user)

    def _view(self, user: bytes) -> View:
        core = self._core
        policy = None if core.roles is None else core.roles.policy
        roles = self._roles(user)
        view = self._views.get(user)
        if view is None or view.access is not core.access or view.policy is not policy or view.roles != roles:
            self._views.pop(user, None)
            while len(self._views) >= MAX_VIEWS:
                del self._views[next(iter(self._views))]
                self.forgotten += 1
            view = self._views[user] = View(core.access, policy, roles)
            view.whole = self.sees_all(user)
        return view
