"""Charts of a few series as one SVG file: linear to the right, logarithmic upwards, drawn with nothing but text."""

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from pathlib import Path
from typing import NamedTuple

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 45
TITLE = 30
COLOURS = ("#1b6ca8", "#d1495b", "#3d9970", "#7d5ba6")


class Series(NamedTuple):
    """A line: its name and its points."""

    name: str
    points: Sequence[tuple[float, float]]


class Chart(NamedTuple):
    """Lines in one frame."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]


def write_charts(path: Path, title: str, charts: Sequence[Chart], columns: int = 2) -> None:
    """Write charts in rows of `columns`."""
    rows = ceil(len(charts) / columns)
    width, height = columns * WIDTH, TITLE + rows * HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        _text(width / 2, 20, title, size=15),
    ]
    for number, chart in enumerate(charts):
        x, y = number % columns * WIDTH, TITLE + number // columns * HEIGHT
        parts += [f'<g transform="translate({x},{y})">', *_chart(chart), "</g>"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")


def _chart(chart: Chart) -> list[str]:
    points = [point for series in chart.series for point in series.points]
    x_high = max(x for x, _ in points) or 1
    low = floor(log10(min(y for _, y in points if y > 0)))
    high = max(low + 1, ceil(log10(max(y for _, y in points))))

    def right(x: float) -> float:
        return LEFT + x / x_high * (WIDTH - LEFT - RIGHT)

    def up(y: float) -> float:
        share = (log10(max(y, 10**low)) - low) / (high - low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    parts = [_text(WIDTH / 2, 20, chart.title, size=12), _text(WIDTH / 2, HEIGHT - 8, chart.x_label)]
    for power in range(low, high + 1):
        y = up(10**power)
        parts += [_line(LEFT, y, WIDTH - RIGHT, y, "#dddddd"), _text(LEFT - 6, y + 4, f"{10**power:,}", anchor="end")]
    parts.append(_text(LEFT - 6, TOP - 10, chart.y_label, anchor="end"))
    for x in sorted({x for x, _ in points}):
        parts += [_line(right(x), HEIGHT - BOTTOM, right(x), HEIGHT - BOTTOM + 4, "#888888")]
        parts += [_text(right(x), HEIGHT - BOTTOM + 16, f"{x:g}")]
    for number, series in enumerate(chart.series):
        colour = COLOURS[number % len(COLOURS)]
        places = [(right(x), up(y)) for x, y in series.points]
        dashes = "" if number % 2 == 0 else "6 4"  # a line that lies on another is seen through
        parts += [_line(*one, *other, colour, 2, dashes) for one, other in pairwise(places)]
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(_text(LEFT + 10 + 60 * number, TOP - 8, series.name, anchor="start", colour=colour))
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1, dashes: str = "") -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width:g}" stroke-dasharray="{dashes}"/>'


def _text(x: float, y: float, text: str, *, size: int = 11, anchor: str = "middle", colour: str = "#222222") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
    )
