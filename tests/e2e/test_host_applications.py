"""Applications inside a running node: what they save is on the disk before they tell, and their owner hears it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

from roost.errors import RoostError
from roost.forwarding.endpoint import Endpoint
from roost.host import Listen, running
from roost.host.disk import Disk
from roost.machine import Effect
from roost.naming import Name
from roost.node import Node, NodeSettings
from roost.pubsub.membership import Membership
from roost.pubsub.participant import Participant
from roost.sync import SVS3
from roost.sync.choice import make_member
from roost.sync.ledger import Ledger
from roost.sync.port import Announced, Member, Ready
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import DigestSigner

ME = Name.parse("/me")


def unexpected(error: RoostError) -> None:
    raise error


async def announced(path: Path) -> tuple[Announced, bytes]:
    """Announce the next number from inside a node; returns what was told, and what was on the disk then."""
    disk = Disk()
    random = Random(1)
    ledger = Ledger("ledger", disk.open("ledger", path, unexpected))
    member = make_member(Name.parse("/g"), SVS3, DigestSigner(), random, ledger)
    application: Participant[Member] = Participant(
        Membership(member, ACCEPT_ANY), Endpoint(DigestSigner(), random), register=True
    )
    told: asyncio.Future[tuple[Announced, bytes]] = asyncio.get_running_loop().create_future()

    async with asyncio.timeout(20), running(Node(NodeSettings(), random), Listen(), disk) as node:
        server = node.server

        def hear(effect: Effect, now: int) -> None:
            if isinstance(effect, Ready):  # a command out of the callback
                server.act(application, application.act(member.announce(ME, effect.number, now), now))
            elif isinstance(effect, Announced):
                told.set_result((effect, path.read_bytes()))

        server.attach_application(application, hear)
        now = server.clock()
        server.act(application, application.act(member.produce(ME, now), now))
        return await told


def test_a_number_is_on_the_disk_when_it_is_told_and_the_next_run_goes_on_from_there(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    first, found = asyncio.run(announced(path))
    assert first.high == 1
    assert found
    second, _ = asyncio.run(announced(path))
    assert second.high == 2
