"""Our node is killed and started again: clients stay up, come back by themselves, and serve again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.host import ACCEPT_ANY, Face, connect
from roost.naming import Name
from roost.wire import DigestSigner
from tests.interop.processes import Node, Peer, opened, running

CONNECTED = ("unix", "tcp", "ws")  # over UDP nobody notices that the other end is gone


@pytest.fixture
def mortal(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Node]:
    """A node of this test only; how it is killed and replaced is the test's business."""
    assert tmp_path_factory
    with running(Node(folder)) as node:
        yield node
