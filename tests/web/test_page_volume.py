"""10,000 streams: the page stays as small as with ten, and answers as quickly as anybody looks."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import expect
from tests.web._fake import Fake
from tests.web._served import Served
from tests.web._visit import Visits

STREAMS: Final = 10_000
_ELEMENTS: Final = "document.querySelectorAll('*').length"


@pytest.fixture
def many(visits: Visits) -> Served:
    return visits.at(Served(Fake(STREAMS)).running())


def test_only_what_is_in_sight_exists_and_is_followed(visits: Visits, many: Served) -> None:
    visitor = visits.come(many.url)
    visitor.go("#/streams").sees("10,000 streams")
    expect(visitor.page.locator(".spark path[d^=M]").first).to_be_attached()
    scroll = """share => {
        const all = document.querySelector('.window');
        all.scrollTop = share * all.scrollHeight;
        all.scrollIntoView(false);
    }"""
    sizes = [visitor.page.evaluate(_ELEMENTS)]
    last = visitor.page.locator(".window-row").first
    for share in (0.3, 0.7, 1):
        visitor.page.evaluate(scroll, share)
        last = visitor.page.locator(f".window-row[aria-rowindex='{int(share * STREAMS) + (1 if share == 1 else 4)}']")
        expect(last).to_be_in_viewport()
        sizes.append(visitor.page.evaluate(_ELEMENTS))
    assert max(sizes) < 1000
    assert visitor.page.locator(".window-row").count() < 40
    table = visitor.page.get_by_role("table", name="Streams")
    expect(table).to_have_attribute("aria-rowcount", str(STREAMS + 1))
    expect(last.locator(".spark path[d^=M]")).to_be_attached()
    assert len(many.fake.wishes[-1]["streams"]) < 40
    before = last.inner_text()
    expect(last).not_to_have_text(before, use_inner_text=True)


def test_one_of_many_is_found(visits: Visits, many: Served) -> None:
    visitor = visits.come(many.url)
    visitor.go("#/streams").sees("10,000 streams")
    visitor.page.get_by_label("Search").fill("room3210/co2")
    visitor.sees("1 stream")
    visitor.page.get_by_role("link", name="room3210 / co2").click()
    visitor.head("Panel215 / room3210 / co2")


def test_the_campus_follows_a_few_of_many(visits: Visits, many: Served) -> None:
    visitor = visits.come(many.url)
    visitor.go().head("Campus")
    expect(visitor.page.locator(".feed a")).to_have_count(8)
    assert len(many.fake.wishes[-1]["streams"]) == 8
    assert visitor.page.evaluate(_ELEMENTS) < 1000
