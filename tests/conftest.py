"""Says at once when a run does not test what it claims to: interpreted source or the compiled package."""

from __future__ import annotations

import os

import pytest
from tests.namespaces import has_namespaces

from roost.wire import tlv


def pytest_configure(config: pytest.Config) -> None:
    run = os.environ.get("ROOST_RUN")
    compiled = not (tlv.__file__ or "").endswith(".py")
    if run == "compiled" and not compiled:
        raise pytest.UsageError(f"the compiled package was to be tested, but {tlv.__file__} was imported")
    if run == "interpreted" and compiled:
        raise pytest.UsageError(f"the source was to be tested interpreted, but {tlv.__file__} was imported")
    config.addinivalue_line("markers", "slow: takes more than a few seconds")


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Machines of one's own (tests/namespaces.py); where `make test` runs as root, they have to be possible."""
    if has_namespaces():
        return
    if os.environ.get("ROOST_RUN") and os.geteuid() == 0:
        pytest.fail("there are no network namespaces: install iproute2 and util-linux, and allow unshare")
    pytest.skip("this machine lets nobody have network namespaces")
