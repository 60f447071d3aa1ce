"""The four things that can be broken: a repo, the line to a building, a disk, and trust itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.demo import damage
from roost.cli.demo.annex import Annex
from roost.cli.demo.breaks import Break, until
from roost.cli.demo.hall import ANSWER_S, Copies, Hall
from roost.cli.demo.journal import Journal
from roost.cli.demo.keys import Keys
from roost.cli.demo.lies import ALARM, Lie, lies
from roost.cli.demo.line import Line
from roost.cli.demo.processes import RepoProcess
from roost.errors import Refused, RoostError
from roost.host.client import connect
from roost.host.joining import group_file
from roost.sim import deployment

if TYPE_CHECKING:
    from roost.naming import Name

LASTS_S: Final = 30.0  # long enough for it to be seen on the map and among the alerts
_LIE_S: Final = 60.0  # for repos to refuse a reading, or to take it


class KillRepo(Break):
    """`kill -9` of the repo that the consumer and two panels use."""

    id = "kill-repo"
    title = "Kill a repo"
    text = "kill -9 of repo1, which a consumer and two panels use right now. They go on at the others; it comes back."

    def __init__(self, journal: Journal, lasts_s: float, repos: Sequence[RepoProcess], copies: Copies) -> None:
        super().__init__(journal, lasts_s)
        self._repos: Final = repos
        self._copies: Final = copies

    async def harm(self) -> str:
        """Kill it."""
        pid = self._repos[0].pid
        await self._repos[0].kill()
        return f"kill -9 {pid}: {self._repos[0].name} is gone, in the middle of its work"

    async def heal(self) -> str:
        """Start it again on the same disk."""
        await self._repos[0].start(self._repos[1:])
        return f"{self._repos[0].name} is back as process {self._repos[0].pid}, and asks the others what it missed"

    async def whole(self) -> str:
        """Until it has every reading that was acknowledged."""
        await until(lambda: _caught_up(self._copies))
        return f"{self._repos[0].name} has caught up: {self._copies.measured().detail}"


class CutBuilding(Break):
    """The line between the annex and the rest."""

    id = "cut-building"
    title = "Cut a building off"
    text = (
        "The annex loses its line to the campus. Its modules publish on, and are told that their messages are safe "
        "when both gates have them; the rest of the campus gets them when the line is back."
    )

    def __init__(self, journal: Journal, lasts_s: float, line: Line, annex: Annex) -> None:
        super().__init__(journal, lasts_s)
        self._line: Final = line
        self._annex: Final = annex

    async def harm(self) -> str:
        """Cut it."""
        self._line.cut()
        return "the line to the annex is cut: its gates reach each other and nobody else"

    async def heal(self) -> str:
        """Lay it anew."""
        behind = self._annex.measured().missing
        self._line.mend()
        return f"the line is back; the dashboard lacks {behind} messages that the annex kept meanwhile"

    async def whole(self) -> str:
        """Until the dashboard has all that was acknowledged before."""
        goal = {topic: upto for device in self._annex.devices for topic, upto in device.safe_upto().items()}
        arrived = self._annex.dashboard.arrived

        async def done() -> bool:
            return all(arrived.upto(topic) >= upto for topic, upto in goal.items())

        await until(done)
        return f"the dashboard has all of it: {self._annex.measured().detail}"


class CorruptBlock(Break):
    """A bit that flips on the disk of a repo."""

    id = "corrupt-block"
    title = "Corrupt a block"
    text = (
        "One bit flips in a file of repo3's store, which costs the readings of a whole block. Checksums tell the repo, "
        "and it fetches them from another one."
    )

    def __init__(
        self, journal: Journal, lasts_s: float, repos: Sequence[RepoProcess], hall: Hall, counted: Callable[[int], None]
    ) -> None:
        super().__init__(journal, lasts_s)
        self._repo: Final = repos[-1]
        self._others: Final = repos[:-1]
        self._hall: Final = hall
        self._counted: Final = counted
        self._lost: list[tuple[Name, int]] = []

    async def harm(self) -> str:
        """Stop the repo, flip a bit, start it."""
        held = await self._hall.group.streams(repo=self._repo.name)
        wanted = {stream: held.get(stream, 0) for stream in deployment.all_streams()}
        await self._repo.stop()
        try:
            self._lost = await asyncio.to_thread(damage.flip, store_of(self._repo), wanted)
        finally:
            await self._repo.start(self._others)
        self._counted(len(self._lost))
        if not self._lost:
            raise RoostError(
                f"no flipped bit cost {self._repo.name} a reading: there are too few of them yet; try later"
            )
        first, number = self._lost[0]
        count = len(self._lost)
        return f"a bit flipped on the disk of {self._repo.name}: it lost {count} readings, {first}/seq={number} first"

    async def heal(self) -> str:
        """Ask for what is damaged, as any reader might: then it need not wait for its turn in the repo's rounds."""
        await self._are_back()
        return f"{len(self._lost)} readings are asked for at {self._repo.name}, which would find them by itself, too"

    async def whole(self) -> str:
        """Until that repo gives every one of them, verified."""
        await until(self._are_back)
        count, self._lost = len(self._lost), []
        self._counted(0)
        return f"{self._repo.name} has {count} of {count} damaged readings again, fetched from other repos and verified"

    async def _are_back(self) -> bool:
        missing = 0
        for stream, low, high in damage.ranges(self._lost):
            try:
                async with asyncio.timeout(ANSWER_S):
                    found = await self._hall.group.read(stream, low, high, repo=self._repo.name)
            except (RoostError, TimeoutError):
                missing += high - low + 1
            else:
                missing += high - low + 1 - len(found)
        self._counted(missing)
        return not missing


class Forge(Break):
    """Readings in somebody else's name."""

    id = "forge"
    title = "Send forged readings"
    text = (
        "Somebody publishes a false fire alarm in the name of pi1: with the good key of pi2, which is not for that; "
        "with a signature that does not fit; with the key of another campus's anchor. Repos say why not, and nobody "
        "gets to see it."
    )

    def __init__(
        self, journal: Journal, keys: Keys, repos: Sequence[RepoProcess], judged: Callable[[str], Awaitable[None]]
    ) -> None:
        super().__init__(journal, 0.0)
        self._keys: Final = keys
        self._repos: Final = repos
        self._judged: Final = judged
        self._refusals: list[str] = []  # of each lie, empty if it was not refused

    async def harm(self) -> str:
        """Publish some, and hear what repos say."""
        self._refusals = []
        told: list[str] = []
        for lie in lies(self._keys):
            refusal = await self._tell_lie(lie)
            await self._judged(refusal)
            self._refusals.append(refusal)
            told.append(lie.told)
        return f"somebody publishes a false fire alarm in the name of pi1: {', '.join(told)}"

    async def _tell_lie(self, lie: Lie) -> str:
        """Why it was refused, empty if it was not."""
        uris = [repo.uri for repo in self._repos]
        async with connect(uris, verifier=self._keys.verifier(), signer=lie.signers) as face:
            try:
                async with (
                    asyncio.timeout(_LIE_S),
                    face.group(deployment.GROUP.name).panel("pi1", durable=False) as panel,
                ):
                    await panel.publish(ALARM, "smoke in room1")
                    await panel.flush()
            except Refused as error:  # whatever else went wrong, nobody refused anything
                return str(error)
            except TimeoutError:
                return ""
        return ""

    async def heal(self) -> str:
        """There is nothing to mend: all of it was refused."""
        return f"refused: {'; '.join(each or 'no repo refused this one in time' for each in self._refusals)}"

    async def whole(self) -> str:
        """It never was in."""
        return "no repo stored any and no consumer saw any" if all(self._refusals) else "one may have been stored"


def store_of(repo: RepoProcess) -> Path:
    """Where a repo keeps the hall."""
    return group_file(repo.home / "store", deployment.GROUP.repo(repo.name).name, "rocks")


async def _caught_up(copies: Copies) -> bool:
    await copies.look()
    return not copies.measured().missing
