"""The documentation as a site: it builds without a warning, fetches nothing, and tells of the verbs as they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from roost.cli._reference import reference
from roost.cli._reference_page import page

ROOT: Final = Path(__file__).parents[2]
LOADED: Final = re.compile(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]+)"|<link\b[^>]*\bhref="([^"]+)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, "\n".join(line for line in done.stderr.splitlines() if not line.startswith("INFO"))
    return folder


def test_every_page_is_in_the_site_and_no_link_is_broken(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= {path.relative_to(site) for path in site.rglob("*.html")}
    found = (site / "decisions" / "0001-light-versec.html").read_text(encoding="utf-8")
    assert "tutorial.html" in found, "a decision is in the navigation"


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for file in site.rglob("*.html"):
        loaded = [source or link for source, link in LOADED.findall(file.read_text(encoding="utf-8"))]
        assert [each for each in loaded if "://" in each] == [], file.name


def test_links_to_sources_are_shown_as_paths(site: Path) -> None:
    text = (site / "enrolment.html").read_text(encoding="utf-8")
    assert "src/roost/trust/enrolment.py" in text
    assert 'href="../src' not in text


def test_the_page_of_commands_is_that_of_the_commands() -> None:
    written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert written == page(reference()), "run: python -m roost.cli._reference_page > docs/cli.md"
