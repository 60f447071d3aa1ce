"""What a node shows of itself: the page, metrics, its log, traces, and where tokens of the API are kept.

page: true                              false: the API over HTTP, but no page
metrics: true                           /metrics, for Prometheus
log: {format: json, level: info}        text or json; error, warning, info or debug
tracing: {otlp: http://localhost:4318, sample: 0.01}  where spans go, from a publication to its delivery
tokens: tokens                          a file; or memory: they end with the node
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from roost.errors import BadConfig
from roost.host.mqtt.config_values import choice, known, path, section, text, yes_or_no

KEYS: Final = ("page", "metrics", "log", "tracing", "tokens")

_MEMORY: Final = "memory"
_FORMATS: Final = ("text", "json")
_LEVELS: Final = ("error", "warning", "info", "debug")


@dataclass(frozen=True, slots=True)
class WebSettings:
    """What is shown and told, and to whom; defaults are those of a node."""

    tokens: Path | None = None  # None keeps them in memory
    metrics: bool = True
    log_format: str = "text"
    log_level: str = "warning"
    otlp: str | None = None  # None tells nobody of traces
    otlp_sample: float = 0.01  # the share of messages that are followed, of those without a trace of their own
    page: bool = True


def read_web(said: Mapping[str, object], folder: Path, home: Path) -> WebSettings:
    """Read the keys of this part out of all that was said; raises `BadConfig`."""
    tokens = said.get("tokens", str(home / "tokens"))
    log = section("log", said.get("log", {}))
    known("log", log, dict.fromkeys(("format", "level")))
    return WebSettings(
        tokens=None if tokens == _MEMORY else path("tokens", tokens, folder),
        metrics=bool(yes_or_no("metrics", said.get("metrics", True))),
        log_format=_one_of(_FORMATS, "log.format", log.get("format", "text")),
        log_level=_one_of(_LEVELS, "log.level", log.get("level", "warning")),
        otlp=_otlp(said.get("tracing", {})),
        otlp_sample=_sample(said.get("tracing", {})),
        page=bool(yes_or_no("page", said.get("page", True))),
    )


def _one_of(words: tuple[str, ...], key: str, value: object) -> str:
    return str(choice({word: word for word in words})(key, value))


def _otlp(value: object) -> str | None:
    said = section("tracing", value)
    known("tracing", said, dict.fromkeys(("otlp", "sample")))
    if "otlp" not in said:
        return None
    url = text("tracing.otlp", said["otlp"])
    try:
        parts = urlsplit(url)
        bad = parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None
        bad = bad or parts.port == 0
    except ValueError:  # of a port that is none
        bad = True
    if bad:
        raise BadConfig(f"tracing.otlp: {url!r} is no address of a collector; write http://HOST:4318")
    return url


def _sample(value: object) -> float:
    said = section("tracing", value).get("sample", 0.01)
    if isinstance(said, bool) or not isinstance(said, (int, float)) or not 0 <= said <= 1:
        raise BadConfig(f"tracing.sample: {said!r} is no share; write 0 to 1, such as 0.01")
    return float(said)
