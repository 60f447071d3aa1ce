"""What a node shows of itself, as the configuration says it, and mistakes with their remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.errors import BadConfig
from roost.host.mqtt.config import read_config
from roost.host.mqtt.config_web import WebSettings

HERE, HOME = Path("/etc/roost"), Path("/home/alice/.roost")


def read(**said: object) -> WebSettings:
    return read_config(said, HERE, HOME).web


def test_a_node_shows_all_unless_it_is_told_not_to() -> None:
    assert read() == WebSettings(tokens=HOME / "tokens")
    assert read() == read(page=True, metrics=True, log={"format": "text", "level": "warning"}, tracing={})


def test_each_key_says_what_it_says() -> None:
    collector = "https://otel.example.org:4318/v1"
    log = {"format": "json", "level": "debug"}
    assert read(page=False, metrics=False, log=log, tracing={"otlp": collector}, tokens="keys/tokens") == WebSettings(
        HERE / "keys" / "tokens", metrics=False, log_format="json", log_level="debug", otlp=collector, page=False
    )
    assert read(tokens="memory").tokens is None
    assert read(tracing={"sample": 1}).otlp_sample == 1.0


def test_a_node_has_a_name() -> None:
    assert read_config({"name": "hall"}, HERE, HOME).name == "hall"
    assert read_config({}, HERE, HOME).name


@pytest.mark.parametrize(
    ("said", "mistake"),
    [
        ({"page": "yes"}, "page: 'yes' is neither true nor false"),
        ({"metrics": 1}, "metrics: 1 is neither true nor false"),
        ({"log": {"format": "xml"}}, "log.format: 'xml' is none of text, json"),
        ({"log": {"level": "loud"}}, "log.level: 'loud' is none of error, warning, info, debug"),
        ({"log": {"to": "file"}}, "log.to: there is no such key; there are format, level"),
        ({"tracing": {"otlp": "localhost:4318"}}, "tracing.otlp: 'localhost:4318' is no address of a collector"),
        ({"tracing": {"otlp": "http://me:secret@host"}}, "tracing.otlp: .* is no address of a collector; write http"),
        ({"tracing": {"otlp": "http://host:nine"}}, "tracing.otlp: 'http://host:nine' is no address"),
        ({"tracing": {"sample": 2}}, "tracing.sample: 2 is no share; write 0 to 1"),
        ({"tracing": {"sample": True}}, "tracing.sample: True is no share"),
        ({"tokens": 5}, "tokens: 5 is no text"),
        ({"name": ""}, "name: it is missing"),
    ],
)
def test_a_mistake_names_the_key_and_what_to_write(said: dict[str, object], mistake: str) -> None:
    with pytest.raises(BadConfig, match=mistake):
        read(**said)
