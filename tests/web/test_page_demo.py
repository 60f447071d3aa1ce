"""The page before `roost demo` as anybody starts it: what the guide says one can do is done, in a browser."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from playwright.sync_api import expect
from tests.verbs import RUN, environment_of
from tests.web._visit import Visitor, Visits

from roost.sim import deployment

TEMP: Final = "/Campus/Hall/Env/pi1/room1/temp"
ROOM: Final = "annex/floor1/room1/occupancy"
KEPT: Final = "all 5 are kept"
SLOW_MS: Final = 180_000  # for a repo to start on a machine that has much else to do, and to catch up
LOOK_MS: Final = 500
MOST_LOOKS: Final = 120
ADDRESSES: Final = {
    "": "Campus",
    "#/streams": "Streams",
    f"#/streams{TEMP}": "pi1 / room1 / temp",
    f"#/passport?stream={TEMP}&number=1": "Passport of reading 1",
    "#/macros": "Macros",
    "#/macros/hall/rooms/average": "hall/rooms/average",
    "#/roles": "Roles",
    "#/pipelines": "Pipelines",
    "#/network": "Network",
    "#/alerts": "Alerts",
    "#/demo": "Break something",
}


class Demo(NamedTuple):
    """Where it is, and who may log in."""

    url: str
    passwords: dict[str, str]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    environment = environment_of(tmp_path_factory.mktemp("home"))
    words = ("demo", "--no-pipeline", "--every", "4s", "--http-port", "0", "--mqtt-port", "0")
    with subprocess.Popen(
        [*RUN, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        told = ""
        for line in process.stdout:
            told += line
            if line.startswith("try") and "roost demo break" in line:
                break
        try:
            file = Path(re.findall(r"passwords in (\S+)", told)[0])
            passwords = dict(line.split() for line in file.read_text(encoding="utf-8").splitlines())
            yield Demo(re.findall(r"^page +(http://\S+)", told, re.MULTILINE)[0], passwords)
        finally:
            process.send_signal(signal.SIGINT)
            rest = process.communicate(timeout=120)[0]
    assert process.returncode == 0, told + rest
    assert "Traceback" not in rest


def test_a_newcomer_sees_what_there_is(visits: Visits, demo: Demo) -> None:
    visitor = visits.come(demo.url)
    visitor.go().head("Campus")
    visitor.sees("The living campus")
    visitor.sees("Two buildings are live")
    chips = visitor.page.locator(".map .chip .name")
    there = {*deployment.PANELS, *deployment.REPOS, *deployment.GATES, "centre", "Env", "Mqtt", "Macros"}
    for name in there:
        expect(chips.filter(has_text=re.compile(f"^{name}$")).first).to_be_visible()
    assert {"Annex", "Hall"} <= set(visitor.page.locator(".map .title").all_text_contents())
    expect(visitor.page.locator(".feed .value")).to_have_count(8)
    expect(visitor.page.locator("#pulse-text")).to_have_text("Live")
    visitor.by("link", "Env").click()
    visitor.head("Streams")
    visitor.sees("90 streams")
    assert visitor.refused == []


def test_a_stream_has_a_chart_that_is_zoomed_and_comes_back_to_now(visits: Visits, demo: Demo) -> None:
    visitor = visits.come(demo.url)
    visitor.go(f"#/streams{TEMP}").head("pi1 / room1 / temp")
    expect(visitor.by("button", "5m")).to_have_attribute("aria-pressed", "true")  # it has no longer past
    foot = visitor.page.locator(".chart-foot")
    expect(foot).to_contain_text(re.compile(r"now · ([4-9]|\d{2,}) readings · lowest [12]\d[\d.]*\s°C"))
    canvas = visitor.page.locator(".chart canvas")
    box = canvas.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    visitor.page.mouse.move(box["x"] + 0.3 * box["width"], middle)
    visitor.page.mouse.down()
    visitor.page.mouse.move(box["x"] + 0.9 * box["width"], middle, steps=4)
    visitor.page.mouse.up()
    expect(foot).not_to_contain_text("now")
    visitor.by("button", "Now").click()
    expect(foot).to_contain_text("now")
    rows = visitor.page.get_by_role("region", name="Readings")
    expect(rows).to_contain_text("°C")
    count = visitor.page.locator(".figure").nth(2).locator(".big")
    before = count.inner_text()
    expect(count).not_to_have_text(before)  # as readings come


def test_a_passport_says_who_signed_by_which_chain_and_that_all_repos_have_it(visits: Visits, demo: Demo) -> None:
    visitor = visits.come(demo.url)
    visitor.go(f"#/passport?stream={TEMP}&number=1").head("Passport of reading 1")
    expect(visitor.page.locator(".verdict")).to_contain_text("Trusted")
    expect(visitor.page.locator(".verdict")).to_contain_text("#reading")
    chain = visitor.page.locator(".chain li")
    expect(chain).to_have_count(3)
    for step, (name, what) in zip(
        chain.all(),
        (("pi1/KEY", "Signed the reading"), ("/Campus/Hall/KEY", "Vouches"), ("/Campus/BMS/KEY", "Anchor")),
        strict=True,
    ):
        for text in (name, what, "trusted", "valid until"):
            expect(step).to_contain_text(text)
    for repo in (*deployment.REPOS, "centre"):
        row = visitor.page.get_by_role("row").filter(has=visitor.page.get_by_text(repo, exact=True))
        expect(row).to_contain_text("has it")
    visitor.sees("A sensor's own reading")
    visitor.go("#/passport?stream=/Campus/Macros/centre/Noctua/hall/room1/fahrenheit&number=1")
    expect(visitor.page.locator(".tree")).to_contain_text("room1 / temp")


def test_macros_run_without_failures_and_show_what_they_were_given(visits: Visits, demo: Demo) -> None:
    visitor = visits.come(demo.url)
    visitor.go("#/macros").head("Macros")
    rows, count = visitor.page.locator("tbody tr"), 3 + len(deployment.annex_topics())
    for _ in range(MOST_LOOKS):
        expect(rows).to_have_count(count)
        if rows.filter(has_text="runs").count() == count:
            break
        visitor.page.wait_for_timeout(LOOK_MS)  # the list is of the moment in which it was opened
        visitor.page.reload()
    expect(rows.filter(has_text="runs")).to_have_count(count)
    visitor.by("link", "hall/rooms/average").click()
    visitor.head("hall/rooms/average")
    runs = visitor.page.get_by_role("region", name="Runs").locator("tbody tr")
    expect(runs.first).to_contain_text(re.compile(r"Campus/Hall/Env/pi1/room[123]/temp"))
    expect(runs.first).to_contain_text(re.compile(r"[\d.]+ µs"))
    runs.first.locator("summary").click()
    expect(runs.first.get_by_text("°C").first).to_be_visible()
    assert visitor.page.locator(".figure").filter(has_text="Failures").locator(".big").inner_text() == "0"


def test_what_somebody_sees_depends_on_who_they_are(visits: Visits, demo: Demo) -> None:
    visitor = visits.come(demo.url)
    visitor.go("#/streams?match=room1/occupancy").sees("1 stream")
    visitor.go("#/roles").head("Roles")
    views = visitor.page.get_by_role("region", name=f"Who sees what of {ROOM}")  # the example is a topic that there is
    expect(views).to_contain_text("gets this")
    for user, gets in (("ada", f"gets: {ROOM}"), ("bob", f"gets: Noctua/{ROOM}/anonymize")):
        visitor.page.locator("#explain-user").fill(user)
        visitor.page.locator("#explain-topic").fill(ROOM)
        visitor.by("button", "Explain").click()
        visitor.sees(gets)
    for user, sees_all in (("bob", False), ("ada", True)):
        visitor = visits.come(demo.url)
        visitor.may_be_refused = True
        visitor.go("#/streams").head("Streams")
        log_in(visitor, user, demo.passwords[user])
        visitor.go("#/streams?match=room1/occupancy").sees("2 streams" if sees_all else "1 stream")
        expect(visitor.page.get_by_role("link", name=ROOM, exact=True)).to_have_count(int(sees_all))
        expect(visitor.page.get_by_role("link", name=f"Noctua/{ROOM}/anonymize")).to_have_count(1)


def test_who_visits_may_look_and_not_break_anything(visits: Visits, demo: Demo) -> None:
    visitor = visits.come(demo.url)
    visitor.may_be_refused = True
    visitor.go().head("Campus")
    log_in(visitor, "bob", demo.passwords["bob"])
    visitor.go("#/demo").head("Break something")
    visitor.by("button", "Break it: Cut a building off").click()
    visitor.sees("you may look, and not break anything")
    visitor.sees(KEPT)


def test_a_repo_is_killed_an_alert_comes_and_goes_and_nothing_is_lost(visits: Visits, demo: Demo) -> None:
    visitor = visits.come(demo.url)
    visitor.go("#/demo").head("Break something")
    visitor.sees(KEPT)
    kill, mend = visitor.by("button", "Break it: Kill a repo"), visitor.by("button", "Mend it: Kill a repo")
    main = visitor.page.locator("#main")
    kill.click()
    expect(main).to_contain_text(re.compile(r"kill -9 \d+: repo1 is gone"))
    mend.click()
    expect(main).to_contain_text("repo1 has caught up", timeout=SLOW_MS)
    expect(kill).to_be_visible()
    kill.click()
    expect(mend).to_be_visible()
    visitor.go("#/alerts").head("Alerts")
    alert = visitor.page.get_by_role("article").filter(has_text="repo1 of /Campus/Hall/Env does not answer")
    expect(alert).to_contain_text("What to do: see that it runs")
    expect(visitor.page.locator("#alert-count")).to_be_visible()
    expect(alert).to_have_count(0, timeout=SLOW_MS)  # it mends itself after a while
    visitor.go("#/demo").head("Break something")
    expect(kill).to_be_visible(timeout=SLOW_MS)
    visitor.sees(KEPT)
    assert visitor.refused == []


def test_forged_readings_are_refused_and_the_page_says_why(visits: Visits, demo: Demo) -> None:
    visitor = visits.come(demo.url, scheme="dark")
    visitor.go("#/demo").head("Break something")
    visitor.by("button", "Break it: Send forged readings").click()
    main = visitor.page.locator("#main")
    for reason in (
        "key of /Campus/Hall/Env/pi2 may not",
        "does not match",
        "key of /Elsewhere/BMS may not",
        "no repo stored any",
    ):
        expect(main).to_contain_text(reason, timeout=SLOW_MS)
    visitor.sees("3 forged, 3 refused, 0 stored")
    visitor.sees(KEPT)
    visitor.go("#/streams?match=smoke").sees("0 streams")


def test_all_of_it_fits_a_phone(visits: Visits, demo: Demo) -> None:
    visitor = visits.come(demo.url, width=360, height=740, touch=True)
    for address, title in ADDRESSES.items():
        visitor.go(address)
        visitor.head(title)
        expect(visitor.page.locator("#main")).not_to_contain_text("Loading…")
        assert visitor.overflow == 0, address
    assert visitor.refused == []


def log_in(visitor: Visitor, user: str, password: str) -> None:
    """By the button in the bar."""
    visitor.by("button", "Log in").click()
    dialog = visitor.page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(user)
    dialog.get_by_label("Password").fill(password)
    dialog.get_by_role("button", name="Log in").click()
    expect(visitor.by("button", f"Account of {user}")).to_be_visible()
