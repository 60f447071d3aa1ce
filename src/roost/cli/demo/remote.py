"""`roost demo break`, `mend` and `status`: asking the campus that runs, over HTTP as its page does."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.cli._http import URL, ask, login_of, mapping_of
from roost.cli._output import show
from roost.errors import BadConfig, RoostError

if TYPE_CHECKING:
    from collections.abc import Iterable


def find(options: argparse.Namespace, told: Path) -> None:
    """Find where the campus is, unless it was said."""
    if options.url is not None:
        return
    try:
        options.url = str(json.loads(told.read_text(encoding="utf-8"))["url"])
    except (OSError, ValueError, KeyError, TypeError):
        options.url = URL


def status(options: argparse.Namespace) -> int:
    """Show what is broken, and the promises; 1 if one is not kept."""
    said = _asked(options, "GET", "/demo")
    show(options, said, _lines(said))
    return 0 if all(each["kept"] for each in said["promises"]) else 1


def play(options: argparse.Namespace) -> int:
    """Break something, or mend it."""
    if options.what is None:
        names = ", ".join(each["id"] for each in _asked(options, "GET", "/demo")["breaks"])
        raise BadConfig(f"say what to {options.action}: roost demo {options.action} {names.replace(', ', ' | ')}")
    said = _asked(options, "POST", f"/demo/breaks/{options.what}", {"do": options.action})
    return show(
        options, said, [f"{said['title']}: {said['state']}; {said['text']}", "roost demo status shows how it goes"]
    )


def _asked(options: argparse.Namespace, method: str, path: str, body: object = None) -> dict[str, Any]:
    try:
        return mapping_of(options, ask(options.url, method, path, body, login_of(options)))
    except RoostError as error:
        if "there is no such path" in str(error):
            raise BadConfig(f"{options.url} is a node, and no demo: start one with `roost demo`") from None
        raise


def _lines(said: dict[str, Any]) -> Iterable[str]:
    yield f"{said['title']}, for {said['running_s']:.0f} s"
    for each in said["breaks"]:
        yield f"  {each['id']:<14}{each['state']:<9}{each['does'] or each['text']}"
    for each in said["promises"]:
        yield f"  {'kept  ' if each['kept'] else 'BROKEN'}  {each['text']}"
        yield f"          {each['detail']}"
