"""What mkdocs does beside its own: pages link to sources as they stand in the repository, which the site does not hold.

A link that leads out of docs/ becomes the path it leads to, as code; of README.md and the like, their name. Decisions
are listed in their order, so that none is forgotten.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any, Final

_LINK: Final = re.compile(r"\[(?P<text>[^\]\n]*)\]\((?P<target>(?:\.\./)+[^)#\s]*)(?:#[^)]*)?\)")
_DECISIONS: Final = "DECISIONS"


def on_files(files: Any, config: Any) -> Any:  # noqa: ANN401  mkdocs' own types, which it does not publish
    """Put the decisions into the navigation."""
    found = sorted(file.src_uri for file in files.documentation_pages() if file.src_uri.startswith("decisions/"))
    for entry in config["nav"]:
        for title, below in entry.items():
            if below == _DECISIONS:
                entry[title] = found
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:  # noqa: ANN401  as above
    """Turn links out of docs/ into what they lead to."""
    here = PurePosixPath(page.file.src_uri).parent

    def shown(link: re.Match[str]) -> str:
        depth = len(here.parts)
        target = link["target"]
        if target.count("../") <= depth:
            return link[0]  # it stays inside
        path = target.replace("../", "")
        bare = link["text"].strip("`")
        return f"`{path}`" if bare in {path, path.rpartition("/")[2]} else f"{link['text']} (`{path}`)"

    return _LINK.sub(shown, markdown)
