"""`roost bench [AREA]`: run the benchmarks of the checkout that we are in, beside peers in the same run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from roost.cli._output import add_json, say
from roost.cli._page import Page

SUMMARY = "Measure Roost beside its peers, in a checkout of it."
PAGE: Final = Page(
    examples=(
        ("roost bench --list", "which areas there are"),
        ("roost bench ground", "everything of one area"),
        ("roost bench ground.codec --json", "one topic of it, a line of JSON per figure"),
    ),
    text="Benchmarks are not installed with Roost: they are in the folder `bench` of a checkout, and this verb has to "
    "be called somewhere in it. `make bench ONLY=AREA` does the same, and sets up what is needed. Figures are ratios "
    "against peers that are measured in the same minutes; leave the machine alone meanwhile.",
    see=("sim", "doctor"),
)
_PARTS: Final = 7  # of a line with a figure


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what to measure."""
    parser.add_argument("area", metavar="AREA", nargs="?", help="an area (ground), or a topic of one (ground.codec)")
    parser.add_argument("--list", action="store_true", help="say which areas and topics there are, and measure nothing")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Measure, and hand on what is printed; the exit status is that of the benchmarks."""
    import subprocess
    import sys

    folder = checkout(Path.cwd())
    if options.list:
        return _list(options, folder)
    command = [sys.executable, "-m", "bench", *([options.area] if options.area else [])]
    if not options.json:
        return subprocess.run(command, cwd=folder, check=False).returncode  # noqa: S603  our own
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  our own
        for line in process.stdout or ():
            told = figure_of(line)
            say(options, "", **told)
    return process.returncode


def checkout(here: Path) -> Path:
    """The folder with the benchmarks that we are in; raises `BadConfig` if there is none."""
    from roost.errors import BadConfig

    for folder in (here, *here.parents):
        if (folder / "bench" / "__main__.py").is_file() and (folder / "src" / "roost").is_dir():
            return folder
    raise BadConfig("this is no checkout of Roost, and only there are benchmarks: change into one, then roost bench")


def figure_of(line: str) -> dict[str, object]:
    """Read a line with a figure; another one is told as `text`."""
    words = line.split()
    if len(words) != _PARTS or words[0] != "figure":
        return {"text": line.rstrip("\n")}
    name, value, unit = words[1:4]
    peer, peer_value, ratio = (word.partition("=")[2] for word in words[4:])
    numbers = [None if each == "-" else float(each) for each in (value, peer_value, ratio)]
    return {
        "figure": name,
        "value": numbers[0],
        "unit": unit,
        "peer": None if peer == "-" else peer,
        "peer_value": numbers[1],
        "ratio": numbers[2],
    }


def _list(options: argparse.Namespace, folder: Path) -> int:
    for area in sorted((folder / "bench").iterdir()):
        if not (area / "__init__.py").is_file() or area.name.startswith("_"):
            continue
        topics = sorted(each.stem for each in area.glob("[!_]*.py"))
        say(options, f"{area.name}: {', '.join(topics)}", area=area.name, topics=topics)
    return 0
