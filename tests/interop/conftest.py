"""Live peers: our node in a process of its own, NDNts and python-ndn in theirs, one of each per module and worker."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.interop.processes import HERE, Node, Peer, running, start_ndnts, start_python_ndn

TEST_S: Final = 60.0


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine, in an event loop of its own and with a time limit."""
    if not inspect.iscoroutinefunction(pyfuncitem.function):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    async def limited() -> None:
        async with asyncio.timeout(TEST_S):
            await pyfuncitem.function(**arguments)

    asyncio.run(limited())
    gc.collect()  # so that a socket left open is the fault of the test that left it
    return True


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder whose name is short enough for Unix sockets in it."""
    with tempfile.TemporaryDirectory(prefix="roost-", ignore_cleanup_errors=True) as path:
        yield Path(path)


@pytest.fixture(scope="module")
def node(folder: Path) -> Iterator[Node]:
    """Our node."""
    with running(Node(folder)) as started:
        yield started


@pytest.fixture(scope="module")
def ndnts(folder: Path) -> Iterator[Peer]:
    """NDNts; in CI it has to be there."""
    if not (HERE / "ndnts" / "node_modules" / "@ndn" / "packet").is_dir():
        missing = "the npm packages of tests/interop/ndnts are not installed: run `make test`, which installs them"
        if os.environ.get("ROOST_RUN"):
            pytest.fail(missing)
        pytest.skip(missing)
    with running(start_ndnts(folder)) as started:
        yield started


@pytest.fixture(scope="module")
def python_ndn(folder: Path) -> Iterator[Peer]:
    """python-ndn."""
    with running(start_python_ndn(folder)) as started:
        yield started
