"""The log as JSON lines: one object for each record, whatever is in it."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest

from roost.host.journal import Journal
from roost.host.log import JsonLines, start
from roost.machine import Note, Rejected


def told(message: str, *arguments: object, level: int = logging.WARNING, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    line = JsonLines().format(
        logging.LogRecord("roost.node", level, "", 0, message, arguments, **{"exc_info": None} | more)
    )
    assert "\n" not in line
    said: dict[str, Any] = json.loads(line)
    return said


def test_a_line_has_time_level_logger_and_message() -> None:
    said = told("link %d is down: %s", 3, "gone\nand \ud800 more")
    assert said.pop("time").endswith("Z")
    assert said == {"level": "warning", "logger": "roost.node", "message": "link 3 is down: gone\nand ? more"}


def test_a_failure_has_its_error_and_where_it_was() -> None:
    said: dict[str, Any] = {}
    try:
        int("of ours")
    except ValueError:
        said = told("it failed", exc_info=sys.exc_info())
    assert said["error"] == "ValueError: invalid literal for int() with base 10: 'of ours'"
    assert "test_host_log" in said["trace"]


def test_refusals_name_the_peer_and_notes_their_facts(caplog: pytest.LogCaptureFixture) -> None:
    journal = Journal()
    with caplog.at_level(logging.INFO, "roost.node"):
        journal.write(Rejected("tcp4://192.0.2.7:1", "it is no packet", b"\x01"), 1)
        journal.write(Note("face up", (("face", 7), ("uri", "tcp4://a"))), 2)
    refused, note = [json.loads(JsonLines().format(each)) for each in caplog.records]
    assert (refused["peer"], refused["reason"]) == ("tcp4://192.0.2.7:1", "it is no packet")
    assert refused["message"] == "refused a packet of tcp4://192.0.2.7:1: it is no packet [01]"
    assert (note["event"], note["facts"]) == ("face up", {"face": 7, "uri": "tcp4://a"})
    assert note["message"] == "face up face=7 uri=tcp4://a"


@pytest.mark.parametrize(("form", "expected"), [("json", '{"time":'), ("text", "20")])
def test_it_goes_to_standard_error_in_the_form_that_was_asked_for(
    form: str, expected: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, ours = logging.getLogger(), logging.getLogger("roost")
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", logging.WARNING)
    before = ours.level
    try:
        start(form, "info")
        logging.getLogger("roost.node").info("here")
        logging.getLogger("roost.node").debug("too much")
        logging.getLogger("others").info("not theirs")
    finally:
        ours.setLevel(before)
    said = capsys.readouterr().err
    assert said.startswith(expected)
    assert (said.count("\n"), "here" in said) == (1, True)
