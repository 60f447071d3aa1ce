"""Every view: it is there, nobody is kept out of it, it fits a phone, and it is the same by day and by night."""

from __future__ import annotations

from typing import Any, Final, Literal

import pytest
from playwright.sync_api import Page
from tests.web._fake_desk import NASTY
from tests.web._served import Served
from tests.web._visit import Visits

ROOM: Final = "/Campus/Hall/Raw/Panel1/room3/temp"
VIEWS: Final = {
    "": ("Campus", "AnnexGate"),
    "#/streams": ("Streams", "90 streams"),
    f"#/streams{ROOM}?range=5m": ("Panel1 / room3 / temp", "mean"),
    f"#/passport?stream={ROOM}&number=100": ("Passport of reading 100", "Trusted"),
    "#/macros": ("Macros", "hall/broken"),
    "#/macros/hall/broken": ("hall/broken", "TypeError"),
    "#/roles": ("Roles", "gets this"),
    "#/pipelines": ("Pipelines", "99.8"),
    "#/network": ("Network", "best-route"),
    "#/alerts": ("Alerts", "The gate of the annex"),
    "#/demo": ("Break something", "Nothing that was acknowledged is lost."),
}
_ALL: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def _faults(page: Page, axe: str, rules: list[str] = _ALL) -> list[str]:
    """What keeps people out, by axe: serious and critical."""
    page.evaluate(axe)
    found: dict[str, Any] = page.evaluate("rules => axe.run({runOnly: rules})", rules)
    return [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_there_for_everybody_and_in_dark_and_light(
    visits: Visits, fake: Served, axe: str, scheme: Literal["light", "dark"]
) -> None:
    rules = _ALL if scheme == "light" else ["color-contrast"]  # in the dark other colours are all that differs
    visitor, faults = visits.come(fake.url, scheme=scheme), list[str]()
    for address, (head, text) in VIEWS.items():
        visitor.go(address)
        visitor.head(head)
        visitor.sees(text)
        faults += [f"{address}: {each}" for each in _faults(visitor.page, axe, rules)]
    assert not faults, "\n".join(faults)
    assert visitor.refused == []


def test_every_view_fits_a_phone(visits: Visits, fake: Served, axe: str) -> None:
    visitor = visits.come(fake.url, width=360, height=740, touch=True)
    for address, (head, text) in VIEWS.items():
        visitor.go(address)
        visitor.head(head)
        visitor.sees(text)
        assert visitor.overflow == 0, address
    visitor.by("button", "Menu").click()
    visitor.by("link", "Alerts").click()
    visitor.head("Alerts")
    assert _faults(visitor.page, axe) == []


def test_the_theme_that_was_chosen_is_there_at_the_next_visit(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.go().head("Campus")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = visitor.page.evaluate(ground)
    for _ in range(2):
        visitor.by("button", "Theme").click()
    assert visitor.page.evaluate(ground) != light
    visitor.page.reload()
    visitor.head("Campus")
    assert visitor.page.evaluate(ground) != light


def test_what_strangers_wrote_stays_text(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    nasty = NASTY.replace(" ", "%20").replace("<", "%3C").replace(">", "%3E")
    for address in (
        "",
        "#/streams?sort=time",
        f"#/streams/Campus/Hall/Raw/Panel1/{nasty}",
        f"#/passport?stream=/Campus/Hall/Raw/Panel1/{nasty}&number=5",
        "#/macros/hall/broken",
        "#/roles?topic=Hall/%2B/temp",
    ):
        visitor.go(address)
        visitor.sees("<img" if "macros" not in address and "roles" not in address else "Hall")
    visitor.go("#/macros/hall/broken")
    visitor.page.locator("summary").first.click()
    visitor.sees(NASTY)
    assert visitor.page.locator("#main img").count() == 0
    assert visitor.page.evaluate("window.hurt") is None


def test_the_policy_stops_what_is_not_the_page_s_own(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.go().head("Campus")
    visitor.is_attacked = True
    stopped = visitor.page.evaluate(
        """async () => {
            const told = [];
            document.addEventListener('securitypolicyviolation', each => told.push(each.effectiveDirective));
            const script = document.createElement('script');
            script.append('window.hurt = 1');
            document.body.append(script);
            try { document.body.innerHTML = '<b>'; } catch (error) { told.push(error.name); }
            await fetch('http://127.0.0.1:9/').catch(() => {});
            return new Promise(resolve => setTimeout(() => resolve([told, window.hurt ?? null]), 50));
        }"""
    )
    told, hurt = stopped
    assert hurt is None
    assert {"TypeError", "connect-src", "require-trusted-types-for"} <= set(told)
