"""The help of every verb and action: what it does, every option, examples that parse, exit codes, where to read on."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from pathlib import Path

import pytest

from roost.cli import _parser, main
from roost.cli._exit import MEANINGS
from roost.cli._page import children
from roost.cli._parsers import parser_for
from roost.cli._reference import Entry, Verb, reference
from roost.cli._verbs import HEADINGS, PURPOSES, modules

ROOT = Path(__file__).parents[2]
ALL = [each for verb in reference() for each in verb.all()]
WHOLE = _parser()
LEAVES = [verb for verb in ALL if not verb.actions]
SAYS_ITS_DEFAULT = re.compile(r"default|else|unless|repeatable|needs|as --every|: all|: now")


def named(verb: Verb) -> str:
    return " ".join(verb.words)


def commands(example: str) -> list[str]:
    """The words of the command in an example, without what the shell does with it."""
    words = shlex.split(example)
    return words[1 : next((at for at, word in enumerate(words) if word in {"<", ">", "|", "&"}), len(words))]


def default_of(verb: Verb, option: Entry) -> object:
    """The default of an option, as its parser has it."""
    parser: argparse.ArgumentParser = WHOLE
    for word in verb.words[1:]:
        parser = {name: child for name, _, child in children(parser)}[word]
    return parser._option_string_actions[option.names[0]].default


def test_every_verb_has_its_place_in_the_help() -> None:
    listed = [verb for verbs in PURPOSES.values() for verb in verbs]
    assert len(listed) == len(set(listed))
    assert set(modules()) <= set(listed)


@pytest.mark.parametrize("verb", ALL, ids=named)
def test_a_verb_says_what_it_does_and_where_to_read_on(verb: Verb) -> None:
    assert verb.summary
    assert len(verb.words) > 2 or len(verb.summary) <= 100, "one line of `roost --help`"
    assert verb.description[0].isupper()
    assert verb.see, "verbs and pages that belong to it"
    for each in verb.page.see:
        assert each in modules() if "." not in each else (ROOT / each).is_file(), each
    assert set(verb.page.statuses()) <= set(MEANINGS)


@pytest.mark.parametrize("verb", ALL, ids=named)
def test_every_option_says_what_it_is_for(verb: Verb) -> None:
    untold = [entry.names for entry in (*verb.arguments, *verb.options) if not entry.text]
    assert untold == []


@pytest.mark.parametrize("verb", LEAVES, ids=named)
def test_an_option_with_a_value_of_its_own_says_it(verb: Verb) -> None:
    untold = [
        option.names
        for option in verb.options
        if option.metavar
        and default_of(verb, option) not in (None, [], "", ())
        and not SAYS_ITS_DEFAULT.search(option.text)
    ]
    assert untold == []


@pytest.mark.parametrize("verb", LEAVES, ids=named)
def test_what_prints_a_result_prints_json_too(verb: Verb) -> None:
    assert any("--json" in option.names for option in verb.options)


@pytest.mark.parametrize("verb", LEAVES, ids=named)
def test_there_are_examples_and_all_of_them_parse(verb: Verb) -> None:
    assert verb.page.examples
    for command, what in verb.page.examples:
        assert command.startswith("roost ")
        assert what
        words = commands(command)
        parsed = parser_for(words).parse_args(words)
        assert parsed.verb == words[0]


@pytest.mark.parametrize("verb", LEAVES, ids=named)
def test_the_help_that_is_printed_has_it_all(verb: Verb, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*verb.words[1:], "--help"])
    assert left.value.code == 0
    printed = capsys.readouterr().out
    for heading in ("usage: ", "\noptions:", "\nexamples:\n", "\nexit status:\n", "\nsee also:\n"):
        assert heading in f"\n{printed}"
    for option in verb.options:
        assert option.names[-1] in printed
    assert verb.page.examples[0][0] in printed


@pytest.mark.parametrize("words", [[], ["macro"], ["macro", "test"], ["key"]], ids=" ".join)
def test_help_is_a_verb_too(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["help", *words])
    assert left.value.code == 0
    asked = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    assert asked == capsys.readouterr().out


def test_what_a_verb_takes_is_there_as_json_and_as_a_page_of_the_manual(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "key", "make", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["command"] == "roost key make"
    (kind,) = [each for each in told["options"] if each["names"] == ["--kind"]]
    assert kind["choices"] == ["ecdsa", "ed25519", "rsa"]
    assert told["examples"][0]["command"].startswith("roost key make ")
    assert main(["help", "key", "--man"]) == 0
    manual = capsys.readouterr().out
    assert manual.startswith('.TH "ROOST-KEY" "1"')
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", '"ROOST KEY MAKE"', "EXAMPLES", "EXIT STATUS", "SEE ALSO"):
        assert f"\n.SH {section}\n" in manual
    assert "\\-\\-kind" in manual
    assert main(["help", "--json"]) == 0
    assert {each["command"].split()[1] for each in json.loads(capsys.readouterr().out)} == set(modules())


def test_an_action_that_is_not_there_is_told_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "key", "mkae", "--json"]) == 1
    assert "did you mean make?" in json.loads(capsys.readouterr().err)["error"]


def test_the_help_has_the_verbs_by_what_they_are_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = capsys.readouterr().out
    places = [printed.index(f"\n{HEADINGS[purpose]}:\n") for purpose in PURPOSES]
    assert places == sorted(places)
    for verb in modules():
        assert f"\n  {verb} " in printed
    assert "\n  keys " not in printed
