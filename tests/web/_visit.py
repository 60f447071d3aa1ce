"""Somebody who looks at the page in a browser, and whose console is read: what goes wrong there fails the test.

visitor = visits.come(url, width=360)     a visitor of a phone
visitor.go("#/streams")                   the view is there when this returns
"""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, Response, expect

AXE: Final = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
PATIENCE_MS: Final = 60_000
_REFUSED: Final = "Failed to load resource"  # how the console tells a status of 400 and more
Place = TypeVar("Place")
_CUT: Final = "WebSocket connection to"
expect.set_options(timeout=PATIENCE_MS)


def find_chromium() -> str | None:
    """Where a browser is, as `scripts/prepare` looks for it."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Visitor:
    """One of them."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url: Final = url
        self.context: Final = context
        self.page: Final[Page] = context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.wrong: list[str] = []
        self.foreign: list[str] = []  # what was asked of elsewhere
        self.refused: list[str] = []
        self.may_be_refused = False
        self.is_attacked = False  # then the console is full of what was stopped
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("request", self._asked)
        self.page.on("response", self._answered)

    def go(self, address: str = "") -> Visitor:
        """Look at a view; it has its head when this returns."""
        if self.page.url.startswith(self.url):
            self.page.evaluate("address => { location.hash = address }", address or "#/")
        else:
            self.page.goto(f"{self.url}/{address}")
        return self

    def head(self, text: str) -> None:
        """Wait for the head of a view."""
        expect(self.page.locator("h1")).to_have_text(text)

    def by(self, role: Any, name: str, *, exact: bool = False) -> Locator:  # noqa: ANN401  playwright's long list
        """What has a role and a name, as those who see nothing find it."""
        return self.page.get_by_role(role, name=name, exact=exact).first

    def sees(self, text: str) -> None:
        """Wait for a text in the view."""
        expect(self.page.locator("#main")).to_contain_text(text)

    @property
    def overflow(self) -> int:
        """How much wider the page is than the screen."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type not in {"error", "warning"}:
            return
        if self.may_be_refused and message.text.startswith((_REFUSED, _CUT)):
            return
        self.wrong.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.url, "blob:")):
            self.foreign.append(request.url)

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.refused.append(f"{response.status} {response.url}")


class Visits:
    """All of a test."""

    def __init__(self, browser: Browser, stack: ExitStack) -> None:
        self._browser: Final = browser
        self._stack: Final = stack

    def come(
        self,
        url: str,
        *,
        width: int = 1280,
        height: int = 800,
        scheme: Literal["light", "dark"] = "light",
        touch: bool = False,
    ) -> Visitor:
        """Have somebody come, with a browser that knows nothing yet."""
        context = self._browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce", has_touch=touch
        )
        visitor = Visitor(context, url)
        self._stack.callback(self._leave, visitor)
        return visitor

    def at(self, place: AbstractContextManager[Place]) -> Place:
        """Have somewhere to come to, which is there until all have left."""
        return self._stack.enter_context(place)

    def _leave(self, visitor: Visitor) -> None:
        visitor.context.close()
        assert visitor.is_attacked or not visitor.wrong, visitor.wrong
        assert visitor.is_attacked or not visitor.foreign, visitor.foreign
