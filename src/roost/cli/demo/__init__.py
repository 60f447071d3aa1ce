"""`roost demo`: the building of the paper, live: three repos, six panels, a consumer, a pipeline, and one repo killed.

Next door is a building of MQTT devices with two gates, one of which is killed too. Everything is real but the sensors:
processes, sockets, keys up to an anchor, RocksDB on the disk. Nothing is kept: keys and stores are in a temporary
folder, so it runs anywhere and any number of times. The story is in `story`, the processes in `processes` and their
keys in `keys`, the MQTT building in `annex` and its clients in `clients`, the pipeline and what it makes in `levels`.
"""

from __future__ import annotations

import argparse

SUMMARY = (
    "Run three repos, six panels, a consumer, a building of MQTT devices and a pipeline on Spark; kill a repo and an "
    "MQTT gate that are in use, and lose nothing."
)

_ROUNDS = 12


def arguments(parser: argparse.ArgumentParser) -> None:
    """Take how many rounds to publish."""
    said = f"readings of each of the 90 streams and 36 topics (default {_ROUNDS})"
    parser.add_argument("--rounds", type=int, default=_ROUNDS, metavar="N", help=said)
    parser.add_argument("--no-pipeline", action="store_true", help="without Spark: no results, only readings")


def run(options: argparse.Namespace) -> int:
    """Tell the story; 0 if everything that was acknowledged arrived, once and in order, and the forgery did not."""
    import asyncio
    import logging

    from roost.cli.demo.story import tell
    from roost.errors import BadConfig

    if options.rounds < 3:
        raise BadConfig("--rounds is at least 3: one before the kill, one while a repo is down, one after")
    logging.basicConfig(level=logging.ERROR)
    return asyncio.run(tell(options.rounds, with_pipeline=not options.no_pipeline))
