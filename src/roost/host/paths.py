"""Where Roost keeps its things on this machine: `$ROOST_HOME`, or `~/.roost`."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """The folder for keys, policy and the node's socket."""
    return Path(os.environ.get("ROOST_HOME") or Path.home() / ".roost")


def node_socket() -> Path:
    """The Unix socket on which this user's node listens unless told otherwise."""
    return home() / "node.sock"
