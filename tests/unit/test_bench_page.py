"""The benchmark of the page without a browser: it fails and says why, for no figure is no good figure."""

from __future__ import annotations

import shutil

import pytest
from bench.product import page


def test_without_a_browser_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(RuntimeError, match="there is no chromium"):
        list(page.run())
