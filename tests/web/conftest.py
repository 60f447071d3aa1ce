"""A real browser: one for each module, for its event loop would be in the way of other tests of this worker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final, NoReturn

import pytest
from playwright.sync_api import Browser, sync_playwright
from tests.web._fake import Fake
from tests.web._served import Served
from tests.web._visit import AXE, Visits, find_chromium

_ARGUMENTS: Final = (  # without the last five, it asks for hosts of its maker, which no test may need
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; in CI it has to be there."""
    path = find_chromium()
    if path is None:
        _missing("Chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def visits(browser: Browser) -> Iterator[Visits]:
    """Whoever looks at the page; at the end nothing may have gone wrong in their consoles."""
    with ExitStack() as stack:
        yield Visits(browser, stack)


@pytest.fixture
def fake(visits: Visits) -> Served:
    """A node that is none, with 90 streams, one of them malicious."""
    return visits.at(Served(Fake(nasty=True)).running())


@pytest.fixture(scope="session")
def axe() -> str:
    """The text of axe-core."""
    if not AXE.is_file():
        _missing("axe-core of tests/web")
    return AXE.read_text(encoding="utf-8")


def _missing(what: str) -> NoReturn:
    missing = f"{what} is not installed: run `make test`, which installs it"
    if os.environ.get("ROOST_RUN"):
        pytest.fail(missing)
    pytest.skip(missing)
