"""Pages are run beside each other, so no two of them use the same port."""

from __future__ import annotations

import re
from collections import defaultdict

from tests.docs.test_examples import COMMANDS, blocks

PORT = re.compile(r"(?<![\w.])1[68]\d{3}(?!\w)")


def test_no_port_is_used_by_two_pages() -> None:
    pages: dict[str, set[str]] = defaultdict(set)
    for page in COMMANDS:
        for block in blocks(page, "sh"):
            for port in PORT.findall(block):
                pages[port].add(page.name)
    assert pages
    assert {port: names for port, names in pages.items() if len(names) > 1} == {}
