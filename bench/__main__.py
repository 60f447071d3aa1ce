"""`python -m bench [AREA]`: run every benchmark, or those of one area (`ground`) or topic (`ground.codec`).

An area is a package in this folder, a topic a module in it with `def run() -> Iterable[Figure]`. Modules whose names
start with an underscore are helpers. A topic that fails is reported, the others still run, and the exit status is 1.
"""

import importlib
import pkgutil
import sys
import traceback
from collections.abc import Iterator

import bench
from bench.figure import progress


def topics() -> Iterator[str]:
    """Names of all topics, as `area.topic`."""
    for area in pkgutil.iter_modules(bench.__path__):
        if not area.ispkg:
            continue
        package = importlib.import_module(f"bench.{area.name}")
        for module in pkgutil.iter_modules(package.__path__):
            if not module.name.startswith("_"):
                yield f"{area.name}.{module.name}"


def measure(topic: str, place: str) -> bool:
    """Print the figures of one topic as they come; say whether it went to its end."""
    progress(f"{topic} ({place})")
    area = topic.partition(".")[0]
    try:
        for figure in importlib.import_module(f"bench.{topic}").run():
            print(figure.line(area), flush=True)
    except Exception:  # noqa: BLE001 - one topic that fails must not cost the others
        traceback.print_exc()
        progress(f"{topic} failed")
        return False
    return True


def main(arguments: list[str]) -> int:
    if len(arguments) > 1:
        progress("usage: python -m bench [AREA]")
        return 2
    only = arguments[0] if arguments else ""
    known = sorted(topics())
    chosen = [topic for topic in known if not only or topic == only or topic.startswith(f"{only}.")]
    if not chosen:
        areas = sorted({topic.partition(".")[0] for topic in known})
        progress(f"there is no {only!r}" if only else "nothing to measure")
        progress(f"areas: {', '.join(areas) or 'none yet'}; topics: {', '.join(known) or 'none yet'}")
        return 2
    results = [measure(topic, f"{at} of {len(chosen)}") for at, topic in enumerate(chosen, 1)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
