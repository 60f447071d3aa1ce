"""`roost doctor`: what is installed, what runs compiled, which Java Spark gets, what answers, and what is missing."""

from __future__ import annotations

import argparse
import importlib.util
import platform
import shutil
from importlib import metadata
from pathlib import Path
from typing import Final

SUMMARY = (
    "Say what runs compiled, which versions and Java are here, which forwarders can be reached and what is missing."
)

PACKAGES: Final = ("cryptography", "cbor2", "websockets", "python-ndn", "pyspark", "pyarrow", "pandas", "duckdb")
TOOLS: Final = {
    "nfd": ("the NDN forwarder that benchmarks compare with", "build it from the named-data project"),
    "ndnsec": ("ndn-cxx's key tool, for SafeBag interoperability", "it comes with ndn-cxx"),
    "npm": ("NDNts, for interoperability tests", "sudo apt install nodejs npm"),
    "cc": ("compiles the hot modules", "sudo apt install gcc python3-dev"),
}
NFD_SOCKETS: Final = ("/run/nfd/nfd.sock", "/run/nfd.sock")


def arguments(parser: argparse.ArgumentParser) -> None:
    """There is nothing to choose."""
    parser.add_argument("--uri", metavar="URI", help="also try this forwarder")


def run(options: argparse.Namespace) -> int:
    """Print the report; 1 if something that Roost needs is missing."""
    import asyncio

    from roost import __version__

    print(f"roost {__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}")
    missing = _packages()
    _compiled()
    _spark()
    asyncio.run(_forwarders(options.uri, [path for path in NFD_SOCKETS if Path(path).exists()]))
    _tools()
    return 1 if missing else 0


def _packages() -> list[str]:
    missing: list[str] = []
    print("\npackages")
    for package in PACKAGES:
        try:
            print(f"  {package:14} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            missing.append(package)
            print(f"  {package:14} missing: pip install {package}")
    return missing


def compiled_modules() -> tuple[list[str], list[str]]:
    """Sort the modules of roost into compiled and interpreted ones."""
    import pkgutil

    import roost

    compiled: list[str] = []
    interpreted: list[str] = []
    for module in pkgutil.walk_packages(roost.__path__, "roost."):
        spec = importlib.util.find_spec(module.name)
        if spec is not None and spec.origin is not None:
            (interpreted if spec.origin.endswith(".py") else compiled).append(module.name)
    return compiled, interpreted


def _compiled() -> None:
    compiled, interpreted = compiled_modules()
    print(f"\ncompiled: {len(compiled)} modules, interpreted: {len(interpreted)}")
    for name in compiled:
        print(f"  {name}")
    if not compiled:
        print("  everything runs interpreted, which works and is slower: `pip install .` with a C compiler compiles it")


def _spark() -> None:
    from roost.errors import RoostError
    from roost.pipeline import class_archive
    from roost.pipeline.java import find_java

    print("\npipelines")
    try:
        java = find_java()
    except RoostError as error:
        print(f"  java          {error}")
        return
    print(f"  java          {java.version} in {java.home} ({java.source})")
    archive = class_archive.existing(java)
    print(f"  class archive {archive or 'none yet, so Spark starts slowly; it is built when the first pipeline ends'}")


async def _forwarders(uri: str | None, nfd_sockets: list[str]) -> None:
    from roost.errors import RoostError
    from roost.host import ACCEPT_ANY, connect
    from roost.host.locate import locate

    print("\nforwarders")
    try:
        address, source = locate()
        print(f"  by default    {address or 'a node inside each program'} ({source})")
    except RoostError as error:
        print(f"  by default    {error}")
        address = None
    candidates = [str(address)] if address is not None else []
    candidates += [f"unix://{path}" for path in nfd_sockets]
    candidates += [uri] if uri else []
    for candidate in dict.fromkeys(candidates):
        try:
            async with connect(candidate, verifier=ACCEPT_ANY) as face:
                status = await face.fetch(
                    "/localhost/nfd/status/general", can_be_prefix=True, must_be_fresh=True, lifetime_ms=1000, tries=1
                )
            print(f"  {candidate}    answers ({status.name.at(-2)})")
        except RoostError as error:
            print(f"  {candidate}    {error}")


def _tools() -> None:
    print("\noptional tools")
    for tool, (purpose, command) in TOOLS.items():
        path = shutil.which(tool)
        print(f"  {tool:8} {path}" if path else f"  {tool:8} missing ({purpose}): {command}")
