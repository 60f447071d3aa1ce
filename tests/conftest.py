"""Says at once when a run does not test what it claims to: interpreted source or the compiled package."""

from __future__ import annotations

import os

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from roost.wire import tlv


def pytest_configure(config: pytest.Config) -> None:
    run = os.environ.get("ROOST_RUN")
    compiled = not (tlv.__file__ or "").endswith(".py")
    if run == "compiled" and not compiled:
        raise pytest.UsageError(f"the compiled package was to be tested, but {tlv.__file__} was imported")
    if run == "interpreted" and compiled:
        raise pytest.UsageError(f"the source was to be tested interpreted, but {tlv.__file__} was imported")
    config.addinivalue_line("markers", "slow: takes more than a few seconds")


class OneJvm(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """All tests with Spark on one worker, so that they share a session; the others wherever there is room."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if nodeid.startswith("tests/spark/") else nodeid


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneJvm:
    return OneJvm(config, log)
