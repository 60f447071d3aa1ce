"""The page before a node as it is: what a sensor says is on the screen, with all that stands behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import expect
from tests.web._real import GROUP, Real, real_node
from tests.web._visit import Visitor, Visits

NASTY: Final = "hall/<img src=x onerror=window.hurt=1>"
TEMP: Final = f"{GROUP}/Gate1/room/temp"


def senml(value: float) -> list[dict[str, Any]]:
    return [{"n": "temp", "u": "Cel", "v": value}]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    with real_node(tmp_path_factory.mktemp("node")) as real:
        real.publish("room/temp", *[senml(20 + at % 7) for at in range(300)], ago_s=300)
        real.publish(NASTY, "<script>window.hurt = 2</script>")
        yield real


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    with real_node(tmp_path_factory.mktemp("guarded"), users=True) as real:
        real.publish("room/temp", senml(20))
        real.publish("hall/temp", "21")
        yield real


def test_a_sensor_s_reading_is_on_the_page_as_it_comes(visits: Visits, node: Real) -> None:
    visitor = visits.come(node.url)
    visitor.go().head("Campus")
    for text in ("This is node1.", "Building1", "Gate1", "Repo1", "Electricity"):
        visitor.sees(text)
    node.publish("room/temp", senml(33.25))
    expect(visitor.page.locator(".feed")).to_contain_text("33.25")
    visitor.by("link", "Streams").click()
    visitor.page.get_by_label("Search").fill("room/+")
    visitor.sees("1 stream")
    row = visitor.page.get_by_role("row").filter(has=visitor.page.get_by_role("link", name="room/temp"))
    expect(row).to_contain_text("33.25")
    expect(row.locator(".spark path[d^=M]")).to_be_attached()
    expect(visitor.page.locator("#pulse-text")).to_have_text("Live")
    node.publish("room/temp", senml(34.5))
    expect(row).to_contain_text("34.5")


def test_a_stream_shows_its_past_and_each_reading_its_passport(visits: Visits, node: Real) -> None:
    visitor = visits.come(node.url)
    visitor.go(f"#/streams{TEMP}?range=1h").head("room/temp")
    expect(visitor.page.locator(".chart-foot")).to_contain_text("lowest 20")
    visitor.sees("Cel (°C)")
    link = visitor.page.get_by_role("table").get_by_role("link").first
    number = link.inner_text()
    with visitor.page.expect_download() as download:
        visitor.by("button", "CSV").click()
    rows = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(rows) > 300
    link.click()
    visitor.head(f"Passport of reading {number}")
    for text in ("Trusted", "/BigCompany/BMS/KEY/", "Repo1", "has it", "A sensor's own reading", "JSON (50)"):
        visitor.sees(text)


def test_a_macro_is_tried_on_history_and_deployed_and_its_result_has_a_lineage(visits: Visits, node: Real) -> None:
    visitor = visits.come(node.url)
    visitor.may_be_refused = True
    visitor.go("#/macros?new=1").head("New macro")
    visitor.page.get_by_label("Name", exact=True).fill("room/double")
    code = visitor.page.get_by_label("Code")
    code.fill("function() {\n  return Noctua.topic('room/temp').wrong()\n}()")
    visitor.by("button", "Try on history").click()
    expect(visitor.page.locator(".editor-numbers .wrong")).to_have_text("2")
    code.fill("function() {\n  return Noctua.topic('room/temp' * 2\n}()")
    visitor.by("button", "Deploy").click()
    expect(visitor.page.get_by_role("alert").filter(has_text="Line ")).to_be_visible()
    code.fill("Noctua.topic('room/temp') * 2")
    visitor.by("button", "Try on history").click()
    visitor.sees(", 0 failures")
    visitor.by("button", "Deploy").click()
    visitor.head("room/double")
    node.publish("room/temp", senml(41))
    stream = f"{GROUP}/Gate1/Noctua/room/double"
    visitor.go("#/streams?match=double").sees("1 stream")
    visitor.go(f"#/streams{stream}").head("Noctua/room/double")
    visitor.by("link", "Passport of the last reading").click()
    visitor.sees("room/double")
    expect(visitor.page.locator(".tree")).to_contain_text("raw")
    expect(visitor.page.locator(".tree").get_by_text("trusted").first).to_be_visible()
    visitor.go("#/macros/room/double").sees("µs")
    visitor.by("button", "Delete").click()
    visitor.by("button", "Delete it").click()
    visitor.head("Macros")
    expect(visitor.page.get_by_role("link", name="room/double")).to_have_count(0)


def test_the_other_views_have_what_the_node_has(visits: Visits, node: Real) -> None:
    visitor = visits.come(node.url)
    visitor.go("#/network").sees("internal://")
    visitor.sees(GROUP)
    visitor.go("#/roles").sees("{topic}/vague")
    expect(visitor.page.get_by_role("region", name="Who sees what of hall/temp")).to_contain_text("gets this")
    visitor.go("#/pipelines").sees("No pipeline runs here")
    visitor.go("#/alerts").head("Alerts")
    assert visitor.refused == []


def test_what_a_stranger_publishes_stays_text(visits: Visits, node: Real) -> None:
    visitor = visits.come(node.url)
    visitor.go("#/streams?match=img").sees(NASTY)
    visitor.sees("<script>window.hurt = 2</script>")
    visitor.page.get_by_role("link", name=NASTY).click()
    visitor.head(NASTY)
    visitor.by("link", "Passport of the last reading").click()
    visitor.sees("Trusted")
    visitor.sees("<script>window.hurt = 2</script>")
    assert visitor.page.locator("#main img, #main script").count() == 0
    assert visitor.page.evaluate("window.hurt") is None


def test_users_log_in_and_see_what_they_may(visits: Visits, guarded: Real) -> None:
    visitor = visits.come(guarded.url)
    visitor.may_be_refused = True
    visitor.go("#/streams")
    visitor.sees("Say who you are")
    expect(visitor.page.get_by_role("dialog")).to_contain_text("Users are those of this node's configuration.")
    expect(visitor.page.locator("body")).not_to_contain_text("Basic")
    log_in(visitor, "bob", "word")
    visitor.head("Streams")
    expect(visitor.by("button", "Account of bob")).to_be_visible()
    expect(visitor.page.get_by_role("link", name="room/temp")).to_have_count(0)
    visitor.go(f"#/streams{TEMP}").sees("You may not see or do this")
    visitor.sees("You are logged in as bob.")
    visitor.page.locator("#main").get_by_role("button", name="Log in as another user").click()
    log_in(visitor, "alice", "secret")
    visitor.head("room/temp")
    guarded.publish("room/temp", senml(28.5))
    visitor.sees("28.5")
    kept = visitor.page.evaluate("JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])")
    shown = visitor.page.content()
    for secret in ("secret", "word", "roost="):
        assert secret not in kept + shown.replace('type="password"', "").replace("current-password", "")
    visitor.by("button", "Account of alice").click()
    visitor.by("button", "Log out").click()
    dialog = visitor.page.get_by_role("dialog").filter(has_text="Log in")
    dialog.get_by_role("button", name="Not now").click()
    expect(visitor.page.locator("#account")).to_have_text("Log in")
    visitor.sees("Say who you are")
    expect(dialog).to_have_count(0)


def log_in(visitor: Visitor, user: str, password: str) -> None:
    """In the dialog that the page has opened by itself."""
    dialog = visitor.page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(user)
    dialog.get_by_label("Password").fill(password)
    dialog.get_by_role("button", name="Log in").click()
    expect(dialog).to_have_count(0)
