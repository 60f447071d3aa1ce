"""Charts as SVG: well-formed, with every point, label and series in them."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from bench.sync._plot import Chart, Series, write_charts

SVG = "{http://www.w3.org/2000/svg}"


def test_a_chart_holds_every_point_within_its_frame(tmp_path: Path) -> None:
    path = tmp_path / "new" / "chart.svg"
    one = Series("svs <3>", [(0, 10), (5, 3322), (50, 33937)])
    other = Series("psync", [(0, 0.5), (50, 15812)])
    write_charts(path, "A title & more", [Chart("time", "loss", "ms", [one, other])] * 3)
    root = ET.parse(path).getroot()
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert {"A title & more", "time", "loss", "ms", "svs <3>", "psync", "50", "10,000", "10"} <= set(texts)
    circles = list(root.iter(f"{SVG}circle"))
    assert len(circles) == 15
    assert all(0 < float(each.get("cx", "-1")) < 460 and 0 < float(each.get("cy", "-1")) < 300 for each in circles)
    heights = [float(each.get("cy", "0")) for each in circles[:3]]
    assert heights == sorted(heights, reverse=True), "more is higher"
