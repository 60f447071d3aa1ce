"""The page in a real browser, with 90 and with 10,000 streams.

Measured are the time from a publication to its value on the screen, and the processor time of the browser while ten
readings a second come. Chromium and Playwright have to be installed, as for the tests of the page; without them the
topic fails, and says so.
"""

from __future__ import annotations

import importlib.util
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from bench.figure import Figure, progress
from bench.product._verb import Verb, cpu_s, done, running

STREAMS: Final = (90, 10_000)
ROUNDS: Final = 15
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
LOOKED_S: Final = 15.0
PER_S: Final = 10
_TREE: Final = (
    '{listeners: [{tcp: "127.0.0.1:0"}], http: "127.0.0.1:0", store: store, trees: [{filter: "#", group: %s}],'
)
_GROUPS: Final = "groups: [{name: %s, panel: Panel1, repo: Repo1}]}\n"
_GROUP: Final = "/BigCompany/Building1/Electricity"
_SHOWN: Final = "text => document.body.innerText.includes(text)"


def run() -> Iterator[Figure]:
    chromium = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if chromium is None:
        raise RuntimeError(
            f"no figure of the page: there is no {', '.join(_BROWSERS)}; `scripts/prepare peers` installs one"
        )
    if importlib.util.find_spec("playwright") is None:
        raise RuntimeError(
            "no figure of the page: Playwright is missing; `make check` installs it with the other tools"
        )
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for count in STREAMS:
            with tempfile.TemporaryDirectory(prefix="roost-product-") as folder, _node(Path(folder)) as node:
                device = _device(node)
                progress(f"product.page: {count} streams")
                _fill(device, count)
                page = browser.new_page()
                yield from _measured(node, device, page, count)
                page.close()
        browser.close()


def _measured(node: Verb, device: Client, page: Any, count: int) -> Iterator[Figure]:  # noqa: ANN401  Playwright's
    began = time.perf_counter()
    page.goto(f"{node.url()}/#/streams")
    page.wait_for_function(_SHOWN, arg="room00000", timeout=120_000)
    yield Figure(f"page.open_{count}", time.perf_counter() - began, "s")
    took: list[float] = []
    for number in range(ROUNDS):
        began = time.perf_counter()
        value = f"{7000 + number}.25"
        device.publish("bench/room00000/temp", value, qos=1).wait_for_publish()
        page.wait_for_function(_SHOWN, arg=value, timeout=60_000)
        took.append(1000 * (time.perf_counter() - began))
    yield Figure(f"page.update_{count}", statistics.median(took), "ms")
    browser = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/comm") if "chrom" in _read(path)]
    before, began = cpu_s(browser), time.perf_counter()
    for number in range(int(LOOKED_S * PER_S)):
        device.publish(f"bench/room{number % 20:05}/temp", str(20 + number / 100), qos=1)
        time.sleep(1 / PER_S)
    used = (cpu_s(browser) - before) / (time.perf_counter() - began)
    yield Figure(f"page.browser_cpu_{count}", 100 * used, "percent_of_a_core")


def _node(home: Path) -> Any:  # noqa: ANN401  a context manager of a verb
    done(home, "init", "--company", "BigCompany", "--building", "Building1", "--repo", "Repo1")
    config = home / "roost.yaml"
    config.write_text(_TREE % _GROUP + _GROUPS % _GROUP, encoding="utf-8")
    return running(home, "up", "-c", str(config))


def _device(node: Verb) -> Client:
    node.until("the page is at")
    (line,) = [line for line in node.lines if "mqtt://" in line]
    device = Client(CallbackAPIVersion.VERSION2, "bench")
    device.max_inflight_messages_set(1_000)
    device.connect("127.0.0.1", int(line.rpartition(":")[2].split()[0].strip("/")))
    device.loop_start()
    return device


def _fill(device: Client, count: int) -> None:
    said = [device.publish(f"bench/room{number:05}/temp", f"{20 + number % 50 / 10}", qos=1) for number in range(count)]
    for each in said:
        each.wait_for_publish()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
