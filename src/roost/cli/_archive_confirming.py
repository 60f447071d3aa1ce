"""Telling repos what is archived, as a panel of the group: `roost archive run --confirm-as PANEL`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from threading import Event

    from roost.host.blocking_streams import SyncPanel
    from roost.pipeline.archive.confirming import Confirming
    from roost.pipeline.archive.manifest import GroupArchive

_AT_ONCE: Final = 128
_DELIVERY_S: Final = 30.0
_LOOK_S: Final = 0.05


def confirming_of(panel: SyncPanel, archive: GroupArchive) -> Confirming:
    """Confirm as a panel of the group, which sends what repos have not got yet."""
    import time

    from roost.pipeline.archive.confirming import STREAM, Confirming
    from roost.wire.reading import Reading

    def publish(readings: list[Reading]) -> None:
        for at in range(0, len(readings), _AT_ONCE):  # so that they fit the panel's outbox
            panel.publish_many([(STREAM, reading) for reading in readings[at : at + _AT_ONCE]])

    return Confirming(archive, publish, time.time_ns)


def deliver(panel: SyncPanel, stopped: Event) -> None:
    """Wait until a repo has what was confirmed: the next round, which would send it, may be a day away."""
    import time

    from roost.cli import note

    ends = time.monotonic() + _DELIVERY_S
    while panel.waiting and time.monotonic() < ends and not stopped.wait(_LOOK_S):
        continue
    if panel.waiting:
        note(f"{panel.waiting} readings that confirm wait for a repo on the disk, the next run sends them")
