"""The campus map is laid out alike each time, and nothing lies upon another, from one node to forty."""

from __future__ import annotations

from typing import Any

import pytest
from tests.web._fake_sides import campus
from tests.web._served import Served
from tests.web._visit import Visits

_PLACED = """async ([campus, width]) => {
    const { layout } = await import('/static/parts/layout.js');
    const placed = layout(campus, width);
    const chips = [...placed.chips].map(([key, { x, y, width, height }]) => ({ key, x, y, width, height }));
    return { ...placed, chips };
}"""

_DRAWN = """async ([keys, edges]) => {
    const { graph } = await import('/static/parts/graph.js');
    const drawing = graph(keys.map(key => ({ key, title: key, lines: [], kind: 'group' })), edges, 'a graph');
    const places = [...drawing.querySelectorAll('.chip')].map(each => [
        each.querySelector('title').textContent,
        Number(/translate\\(([-.\\d]+)/.exec(each.getAttribute('transform'))[1]),
    ]);
    return { ...Object.fromEntries(places), arrows: drawing.querySelectorAll('.arrow').length };
}"""


def _grown(nodes: int, buildings: int) -> dict[str, Any]:
    """A campus of so many nodes, each kind of them, in so many buildings and outside."""
    kinds = ("panel", "repo", "gate", "node")
    names = [f"Building{at}" for at in range(buildings)]
    groups = [{"name": f"/Campus/{name}/Env", "label": name, "building": name, "streams": 3} for name in names]
    found = [
        {
            "id": f"/Campus/{at}",
            "name": f"a{at}",
            "kind": kinds[at % 4],
            "building": names[at % buildings] if at % 5 else "",
            "groups": [f"/Campus/{names[at % buildings]}/Env"],
            "health": "ok",
            "lag": None,
        }
        for at in range(nodes)
    ]
    return {"nodes": found, "groups": groups, "links": []}


def _overlap(a: dict[str, float], b: dict[str, float]) -> bool:
    return (
        a["x"] < b["x"] + b["width"]
        and b["x"] < a["x"] + a["width"]
        and a["y"] < b["y"] + b["height"]
        and b["y"] < a["y"] + a["height"]
    )


@pytest.mark.parametrize("width", [268, 700, 1010, 1800])
def test_everything_has_a_place_of_its_own_and_the_same_each_time(visits: Visits, fake: Served, width: int) -> None:
    visitor = visits.come(fake.url)
    visitor.go().head("Campus")
    for nodes, buildings in ((1, 1), (2, 1), (7, 3), (12, 2), (30, 4), (40, 1)):
        told = _grown(nodes, buildings)
        placed = visitor.page.evaluate(_PLACED, [told, width])
        told["nodes"].reverse()
        told["groups"].reverse()
        again = visitor.page.evaluate(_PLACED, [told, width])
        assert {each["key"]: each for each in placed["chips"]} == {each["key"]: each for each in again["chips"]}
        chips = placed["chips"]
        assert len(chips) == nodes + buildings
        for at, chip in enumerate(chips):
            assert not any(_overlap(chip, other) for other in chips[at + 1 :])
            assert chip["x"] >= 0
            assert chip["x"] + chip["width"] <= width + 0.01
            assert chip["y"] + chip["height"] <= placed["height"]
            assert chip["width"] >= 100
        boxes = placed["boxes"]
        assert not any(_overlap(box, other) for at, box in enumerate(boxes) for other in boxes[at + 1 :])


def test_a_repo_that_keeps_several_groups_is_one(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.go().head("Campus")
    told = campus(90, 0)
    [repo] = [each for each in told["nodes"] if each["name"] == "Repo1"]
    twice = {**repo, "id": "/Campus/Macros/Repo1", "building": "", "groups": ["/Campus/Annex/Raw"], "health": "silent"}
    before = visitor.page.evaluate(_PLACED, [told, 1000])
    told["nodes"].append(twice)
    after = visitor.page.evaluate(_PLACED, [told, 1000])
    assert len(after["chips"]) == len(before["chips"])
    assert len(after["links"]) == len(before["links"]) + 1


def test_a_stage_that_publishes_into_what_it_reads_stands_behind_it(visits: Visits, fake: Served) -> None:
    visitor = visits.come(fake.url)
    visitor.go().head("Campus")
    keys = ["raw", "rooms", "out", "by room", "comfort", "floor"]
    edges = [["raw", "by room"], ["by room", "rooms"], ["rooms", "comfort"], ["comfort", "rooms"], ["rooms", "floor"]]
    edges.append(["floor", "out"])
    drawn = visitor.page.evaluate(_DRAWN, [keys, edges])
    assert drawn["raw"] < drawn["by room"] < drawn["rooms"] < drawn["comfort"] == drawn["floor"] < drawn["out"]
    assert drawn["arrows"] == len(edges)
