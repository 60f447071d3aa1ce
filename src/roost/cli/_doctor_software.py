"""What `roost doctor` sees of the software: packages, what runs compiled, the Java of Spark, optional tools."""

from __future__ import annotations

import importlib.util
import shutil
from importlib import metadata
from typing import Final

from roost.cli._doctor_finding import FINE, HINT, WRONG, Finding

PACKAGES: Final = ("cryptography", "cbor2", "websockets", "python-ndn", "pyspark", "pyarrow", "pandas", "duckdb")
TOOLS: Final = {
    "nfd": ("the NDN forwarder that benchmarks compare with", "build it from the named-data project"),
    "ndnsec": ("ndn-cxx's key tool, for SafeBag interoperability", "it comes with ndn-cxx"),
    "npm": ("NDNts, for interoperability tests", "sudo apt install nodejs npm"),
    "cc": ("compiles the hot modules", "sudo apt install gcc python3-dev"),
}


def packages() -> list[Finding]:
    """Whether what Roost needs is installed."""
    found: list[Finding] = []
    for package in PACKAGES:
        try:
            found.append(Finding("packages", FINE, f"{package} {metadata.version(package)}"))
        except metadata.PackageNotFoundError:
            found.append(Finding("packages", WRONG, f"{package} is missing", f"pip install {package}"))
    return found


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


def compilation() -> list[Finding]:
    """Whether the hot modules run compiled."""
    compiled, interpreted = compiled_modules()
    if compiled:
        return [Finding("compiled", FINE, f"{len(compiled)} modules, as those of {_packages_of(compiled)}")]
    remedy = "which works and is slower: `pip install .` with a C compiler compiles the hot ones"
    return [Finding("compiled", HINT, f"none: all {len(interpreted)} modules run interpreted", remedy)]


def pipelines() -> list[Finding]:
    """Whether Spark has a Java, and starts quickly."""
    from roost.errors import RoostError
    from roost.pipeline import class_archive
    from roost.pipeline.java import find_java

    try:
        java = find_java()
    except RoostError as error:
        return [Finding("pipelines", HINT, str(error), "everything but pipelines works without")]
    found = [Finding("pipelines", FINE, f"Java {java.version} in {java.home} ({java.source})")]
    archive = class_archive.existing(java)
    if archive is None:
        remedy = "it is built when the first pipeline ends"
        return [*found, Finding("pipelines", HINT, "no class archive yet, so Spark starts slowly", remedy)]
    return [*found, Finding("pipelines", FINE, f"class archive {archive}")]


def tools() -> list[Finding]:
    """Which tools are here that only tests, benchmarks and builds use."""
    area = "optional tools"
    return [
        Finding(area, FINE, path) if (path := shutil.which(tool)) else Finding(area, HINT, f"{tool} ({purpose})", how)
        for tool, (purpose, how) in TOOLS.items()
    ]


def _packages_of(modules: list[str]) -> str:
    return ", ".join(sorted({".".join(module.split(".")[:2]) for module in modules}))
