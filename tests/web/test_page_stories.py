"""What people do with the page: they look, search, zoom, try, deploy, break, and come back after the node was away."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from playwright.sync_api import Locator, expect
from tests.web._fake import Fake
from tests.web._served import Served
from tests.web._visit import Visitor, Visits

STREAM: Final = "/Campus/Hall/Raw/Panel1/room3/temp"
_COUNTED: Final = """async () => {
  const { Scope } = await import("/static/core/scope.js");
  const { onEnd } = Scope.prototype;
  window.held = [];
  Scope.prototype.onEnd = function (ending) { window.held.push(1); return onEnd.call(this, ending); };
  const { addEventListener: add } = EventTarget.prototype;
  window.lasting = [];
  EventTarget.prototype.addEventListener = function (type, listener, options) {
    if (this === window && !options?.signal) window.lasting.push(type);
    return add.call(this, type, listener, options);
  };
}"""  # what is held until a view is left, and what would be held for longer


def test_a_newcomer_reads_the_guide_and_closes_it_for_good(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.go().head("Campus")
    visitor.sees("You see a campus of two buildings.")
    visitor.by("button", "Close the guide").click()
    expect(visitor.page.get_by_text("You see a campus of two buildings.")).to_have_count(0)
    visitor.page.reload()
    visitor.head("Campus")
    expect(visitor.by("button", "What am I looking at?")).to_be_visible()
    expect(visitor.page.get_by_text("You see a campus of two buildings.")).to_have_count(0)


def test_the_map_shows_who_is_behind_and_leads_to_streams(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.go().head("Campus")
    lagging = visitor.by("button", "Repo2 412 behind")
    expect(lagging).to_have_accessible_description("repo, lagging")
    expect(visitor.page.get_by_role("button", name="35 behind")).to_have_count(0)  # on their way: in step
    lagging.click()
    expect(visitor.page.get_by_role("dialog")).to_contain_text("412 readings")
    visitor.page.keyboard.press("Escape")
    expect(visitor.page.get_by_role("dialog")).to_have_count(0)
    visitor.by("button", "As a table").click()
    expect(visitor.page.get_by_role("table", name="Nodes")).to_contain_text("AnnexGate")
    expect(visitor.page.get_by_role("table", name="Nodes")).not_to_contain_text("35")
    visitor.by("link", "Annex, raw").click()
    visitor.head("Streams")
    assert "group=%2FCampus%2FAnnex%2FRaw" in visitor.page.url
    expect(visitor.page.get_by_label("Group")).to_have_value("/Campus/Annex/Raw")


def test_streams_are_searched_and_their_values_come_live(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.go("#/streams").head("Streams")
    visitor.page.get_by_label("Search").fill("room3/")
    visitor.sees("3 streams")
    row = visitor.page.get_by_role("row").filter(has=visitor.page.get_by_role("link", name="room3 / temp"))
    before = row.inner_text()
    expect(row).not_to_have_text(before, use_inner_text=True)
    assert STREAM in fake.fake.wishes[-1]["streams"]
    row.get_by_role("link").click()
    visitor.head("Panel1 / room3 / temp")
    visitor.page.go_back()
    expect(visitor.page.get_by_label("Search")).to_have_value("room3/")


def test_a_chart_is_zoomed_with_the_mouse_and_by_keys(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.go(f"#/streams{STREAM}").head("Panel1 / room3 / temp")
    expect(foot(visitor)).to_contain_text("3,601 readings")
    canvas = visitor.page.locator(".chart canvas")
    box = canvas.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    visitor.page.mouse.move(box["x"] + 300, middle)
    visitor.page.mouse.down()
    visitor.page.mouse.move(box["x"] + 500, middle, steps=4)
    visitor.page.mouse.up()
    expect(foot(visitor)).to_contain_text(re.compile(r"\b[3-9]\d\d readings"))
    expect(foot(visitor)).not_to_contain_text("now")
    visitor.page.mouse.wheel(0, -200)
    expect(foot(visitor)).to_contain_text(re.compile(r"\b[1-9]\d\d readings"))
    visitor.page.locator(".chart-field").focus()
    visitor.page.keyboard.press("Escape")
    expect(foot(visitor)).to_contain_text("now")
    visitor.page.keyboard.press("+")
    expect(foot(visitor)).to_contain_text(re.compile(r"1,80\d readings"))
    visitor.page.keyboard.press("ArrowLeft")
    expect(foot(visitor)).not_to_contain_text("now")
    visitor.by("button", "7d").click()
    expect(foot(visitor)).to_contain_text("604.")
    assert "range=7d" in visitor.page.url


def test_a_result_of_a_pipeline_is_a_number_with_details(visits: Visits, fake: Served) -> None:
    fake.fake.packed.add(STREAM)
    visitor = visits.come(fake.url)
    visitor.go(f"#/streams{STREAM}?range=5m").head("Panel1 / room3 / temp")
    figure = visitor.page.locator(".figure").first
    expect(figure.locator(".big")).to_have_text(re.compile(r"^[\d.]+\s°C$"))
    expect(figure).to_contain_text("expected 55 · received 54")
    visitor.sees("mean")  # of the chart
    expect(visitor.page.locator("#main")).not_to_contain_text("Nothing to draw")
    expect(visitor.page.get_by_role("region", name="Readings")).to_contain_text("expected 55 · received 54")
    visitor.go("#/streams?match=room3/temp").head("Streams")
    visitor.sees("made by a pipeline")
    expect(visitor.page.locator("#main .value").first).to_have_text(re.compile(r"^[\d.]+\s°C$"))


def test_the_table_has_what_the_chart_has_and_leads_to_a_passport(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.go(f"#/streams{STREAM}?range=5m").head("Panel1 / room3 / temp")
    table = visitor.page.get_by_role("table")
    expect(table.get_by_role("row")).to_have_count(21)
    number = table.get_by_role("link").first
    at = number.inner_text()
    number.click()
    visitor.head(f"Passport of reading {at}")
    visitor.sees("the rules of this node let this key sign this name")
    for text in ("/Campus/KEY/a1/self/v=1", "not yet", "room2 / temp № "):
        visitor.sees(text)
    visitor.by("button", "Inputs of room0 / humidity").click()
    expect(visitor.page.get_by_text("room2 / temp № ").first).to_be_hidden()
    visitor.by("link", "Before").click()
    visitor.head(f"Passport of reading {int(at) - 1}")


def test_a_macro_is_written_tried_corrected_deployed_and_deleted(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.may_be_refused = True
    visitor.go("#/macros").head("Macros")
    visitor.by("link", "New macro").click()
    visitor.head("New macro")
    visitor.page.get_by_label("Name", exact=True).fill("hall/new")
    code = visitor.page.get_by_label("Code")
    code.fill("1 ;; 2")
    visitor.by("button", "Try on history").click()
    expect(visitor.page.get_by_role("alert").filter(has_text="Line 1, column 3: unexpected token")).to_be_visible()
    expect(visitor.page.locator(".editor-numbers .wrong")).to_have_text("1")
    expect(code).to_be_focused()
    code.fill("Noctua.topic('Hall/1/temp') * 2")
    visitor.by("button", "Try on history").click()
    visitor.sees("6 runs, 6 results, 0 failures")
    assert fake.fake.sent[-1][1:] == (
        "/trial",
        {
            "definition": {"name": "hall/new", "code": "Noctua.topic('Hall/1/temp') * 2", "trigger": "arrival"},
            "since": "1h",
            "limit": 200,
        },
    )
    visitor.by("button", "Deploy").click()
    visitor.head("hall/new")
    assert "hall/new" in fake.fake.desk.macros
    visitor.by("button", "Delete").click()
    visitor.by("button", "Keep it").click()
    assert "hall/new" in fake.fake.desk.macros
    visitor.by("button", "Delete").click()
    visitor.by("button", "Delete it").click()
    visitor.head("Macros")
    expect(visitor.page.get_by_role("link", name="hall/new")).to_have_count(0)
    assert "hall/new" not in fake.fake.desk.macros


def test_roles_are_read_changed_and_explained(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.go("#/roles").head("Roles")
    views = visitor.page.get_by_role("table", name="Who sees what")
    expect(visitor.page.get_by_role("region", name="Who sees what of Hall/room1/temp")).to_contain_text("gets this")
    assert views.count() == 0
    visitor.page.get_by_label("User").fill("bob")
    visitor.page.get_by_label("Topic", exact=True).last.fill("Hall/1/temp")
    visitor.page.locator("#explain-topic").fill("Hall/1/temp")
    visitor.by("button", "Explain").click()
    visitor.sees("gets: Noctua/Hall/1/temp/anonymize")
    text = visitor.page.get_by_label("Roles, as JSON")
    text.fill('{"customer": ')
    visitor.by("button", "Put it in force").click()
    visitor.sees("This is not JSON")
    text.fill('{"customer": {"streams": ["raw"]}}')
    with visitor.page.expect_response(lambda answer: answer.request.method == "PUT"):
        visitor.by("button", "Put it in force").click()
    visitor.sees("raw (Hall/+/temp)")
    assert fake.fake.desk.roles["Hall/+/temp"]["roles"] == {"customer": {"streams": ["raw"]}}


def test_something_is_broken_and_mended(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.go("#/demo").head("Break something")
    visitor.sees("1 of 2 not kept")
    visitor.by("button", "Break it: Kill a repo").click()
    mend = visitor.by("button", "Mend it: Kill a repo")
    expect(mend).to_be_visible()
    assert fake.fake.sent[-1] == ("POST", "/demo/breaks/kill-repo", {"do": "break"})
    fake.fake.desk.demo["promises"][1]["kept"] = True
    visitor.sees("all 2 are kept")
    mend.click()
    expect(visitor.by("button", "Break it: Kill a repo")).to_be_visible()


def test_without_a_demo_there_is_no_way_to_it(visits: Visits) -> None:
    visitor = visits.come(visits.at(Served(Fake(with_demo=False)).running()).url)
    visitor.go().head("Campus")
    visitor.sees("This is hall.")
    expect(visitor.page.get_by_role("link", name="Break something")).to_have_count(0)


def test_a_lost_connection_is_told_and_comes_back_with_what_was_missed(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.may_be_refused = True
    visitor.go(f"#/streams{STREAM}?range=5m").head("Panel1 / room3 / temp")
    expect(visitor.page.locator("#pulse-text")).to_have_text("Live")
    fake.fake.is_down = True
    fake.close_lines()
    expect(visitor.page.locator("#banner")).to_contain_text("The connection to the node is lost")
    expect(visitor.by("button", "Try now")).to_be_visible()
    asked = len([each for each in fake.fake.requests if each.startswith("/history")])
    fake.fake.is_down = False
    expect(visitor.page.locator("#banner")).to_be_hidden()
    expect(visitor.page.locator("#pulse-text")).to_have_text("Live")
    expect(visitor.page.locator("#announcer")).to_have_text("The connection is back.")
    assert len([each for each in fake.fake.requests if each.startswith("/history")]) > asked
    assert fake.fake.wishes[-1]["streams"] == [STREAM]


def test_what_does_not_come_live_is_told_and_the_rest_comes(visits: Visits, fake: Served) -> None:
    fake.fake.gone = {STREAM}
    visitor = visits.come(fake.url)
    visitor.go("#/streams").head("Streams")
    visitor.page.get_by_label("Search").fill("room3/")
    visitor.sees("3 streams")
    expect(visitor.page.locator("#part")).to_have_text(f"Not everything here is live: {STREAM}: there is none")
    other = visitor.page.get_by_role("row").filter(has=visitor.page.get_by_role("link", name="room3 / co2"))
    before = other.inner_text()
    expect(other).not_to_have_text(before, use_inner_text=True)
    fake.fake.gone = set()
    visitor.go(f"#/streams{STREAM}").head("Panel1 / room3 / temp")
    expect(visitor.page.locator("#part")).to_be_hidden()


def test_a_table_of_several_pages_becomes_one_file_and_one_of_too_many_says_that_it_is_cut(
    visits: Visits, fake: Served
) -> None:
    visitor = visits.come(fake.url)
    visitor.go(f"#/streams{STREAM}?range=5m").head("Panel1 / room3 / temp")
    numbers: list[list[str]] = []
    for rows in (100, 20):
        fake.fake.table_rows = rows
        with visitor.page.expect_download() as download:
            visitor.by("button", "CSV").click()
        head, *lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
        assert head == "stream,number,time,value,unit,quality"
        numbers.append([line.split(",")[1] for line in lines])
    whole, cut = ([int(each) for each in some] for some in numbers)
    assert whole == list(range(whole[0], whole[0] + len(whole)))
    assert len(whole) > len(cut) == 200
    visitor.sees("the file ends early")


def test_a_range_with_too_many_readings_says_so_until_a_shorter_one_is_chosen(visits: Visits, fake: Served) -> None:
    fake.fake.picture_s = 2 * 86_400
    visitor = visits.come(fake.url)
    visitor.may_be_refused = True
    visitor.go(f"#/streams{STREAM}?range=1h").head("Panel1 / room3 / temp")
    visitor.by("button", "7d", exact=True).click()
    visitor.sees("ask for a shorter time")
    visitor.by("button", "24h", exact=True).click()
    expect(visitor.page.locator("#main")).not_to_contain_text("ask for a shorter time")


def test_a_view_that_is_looked_at_for_long_holds_no_more_than_at_first(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.go("#/streams").head("Streams")
    visitor.page.evaluate(_COUNTED)
    for _ in range(2):
        visitor.go().head("Campus")
        visitor.go(f"#/streams{STREAM}?range=5m").head("Panel1 / room3 / temp")
    visitor.page.locator(".chart-field").focus()
    held = visitor.page.evaluate("window.held.length")
    for _ in range(5):
        with visitor.page.expect_response(lambda answer: "order=newest" in answer.url):
            visitor.page.keyboard.press("ArrowLeft")
    assert visitor.page.evaluate("window.held.length") == held
    assert visitor.page.evaluate("window.lasting") == []


def test_who_may_not_see_something_is_told_what_to_do(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.may_be_refused = True
    fake.fake.forbidden.add("network")
    visitor.go("#/network").sees("You may not see or do this")
    visitor.sees("to see this takes the permission to read network")
    visitor.page.locator("#main").get_by_role("button", name="Log in").click()
    visitor.page.get_by_label("Name").fill("alice")
    visitor.page.get_by_label("Password").fill("wrong")
    visitor.page.get_by_role("dialog").get_by_role("button", name="Log in").click()
    expect(visitor.page.get_by_role("alert").filter(has_text="wrong name or password")).to_be_visible()
    fake.fake.forbidden.clear()
    visitor.page.get_by_label("Password").fill("right")
    visitor.page.keyboard.press("Enter")
    visitor.head("Network")
    expect(visitor.by("button", "Account of alice")).to_be_visible()
    visitor.by("button", "Account of alice").click()
    visitor.by("button", "Log out").click()
    expect(visitor.page.locator("#account")).to_have_text("Log in")


def test_a_node_without_users_offers_no_log_in(visits: Visits, fake: Served) -> None:
    fake.fake.has_users = False
    fake.fake.forbidden.add("network")
    visitor = visits.come(fake.url)
    visitor.may_be_refused = True
    visitor.go("#/network").sees("You may not see or do this")
    expect(visitor.page.get_by_role("button", name="Log in")).to_have_count(0)
    expect(visitor.page.locator("#account")).to_be_hidden()


def test_everything_is_reached_with_the_keyboard_alone(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.go().head("Campus")
    press = visitor.page.keyboard.press
    press("Tab")
    expect(visitor.by("link", "Skip to the content")).to_be_focused()
    press("Enter")
    expect(visitor.page.locator("#main")).to_be_focused()
    visitor.by("link", "Streams").focus()
    press("Enter")
    visitor.head("Streams")
    expect(visitor.page.locator("h1")).to_be_focused()
    while not visitor.page.evaluate("document.activeElement.closest('.window-row') !== null"):
        press("Tab")
    first = visitor.page.evaluate("document.activeElement.textContent")
    for _ in range(30):
        press("ArrowDown")
    assert visitor.page.evaluate("document.activeElement.textContent") != first
    expect(visitor.page.locator(".window-row a:focus")).to_be_in_viewport()
    press("Home")
    assert visitor.page.evaluate("document.activeElement.textContent") == first
    press("Enter")
    visitor.head(first)
    visitor.go("#/macros/hall/mean").head("hall/mean")
    code = visitor.page.get_by_label("Code")
    code.focus()
    press("Control+Home")
    press("Tab")
    expect(code).to_have_value(re.compile("^  Noctua"))
    press("Escape")
    press("Tab")
    expect(code).not_to_be_focused()


def foot(visitor: Visitor) -> Locator:
    """What a chart says below."""
    return visitor.page.locator(".chart-foot")
