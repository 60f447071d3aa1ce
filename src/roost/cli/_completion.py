"""Scripts that complete `roost` in bash, zsh and fish, written from what the verbs take.

All three find out the same way where they are: the words before the cursor lead down the tree of verbs and actions, as
in /macro/test. What stands behind an option that has a value is its choices, a file, or nothing that we know.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from roost.cli._reference import Entry, Verb

_VERB: Final = "VERB"  # the argument that is a verb itself
_TEXT: Final = 70  # letters of a description


class _Place(NamedTuple):
    """A node of the tree: what may stand here."""

    path: str
    others: tuple[tuple[str, str], ...]  # verbs, actions or choices, each with what it is
    has_files: bool
    options: tuple[Entry, ...]


def _places(verbs: Sequence[Verb]) -> Iterator[_Place]:
    names = tuple((verb.words[-1], verb.summary) for verb in verbs)
    root = (Entry(("-h", "--help"), "", "show the verbs"), Entry(("--version",), "", "say which version this is"))
    yield _Place("/", names, has_files=False, options=root)
    for verb in [each for top in verbs for each in top.all()]:
        others = [(action.words[-1], action.summary) for action in verb.actions]
        for argument in verb.arguments:
            others += [(choice, "") for choice in argument.choices]
            others += names if argument.names == (_VERB,) else ()
        has_files = any(argument.is_path for argument in verb.arguments)
        yield _Place("/" + "/".join(verb.words[1:]), tuple(others), has_files, verb.options)


def bash(verbs: Sequence[Verb]) -> str:
    """The script for bash."""
    places = list(_places(verbs))
    lines = [
        "# completion of roost for bash, made by `roost completion bash`",
        "_roost() {",
        "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} place= at",
        "    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}",
        "    [[ $current == = ]] && { before=${COMP_WORDS[COMP_CWORD-1]}; current=; }",
        "    for ((at = 1; at < COMP_CWORD; at++)); do",
        '        case "$place/${COMP_WORDS[at]}" in',
        f"            {_alternatives(places)}) place=$place/${{COMP_WORDS[at]}} ;;",
        "        esac",
        "    done",
        "    COMPREPLY=()",
        '    case "${place:-/} $before" in',
        *_values(places, "COMPREPLY=($(compgen -W '{}' -- \"$current\"))", 'COMPREPLY=($(compgen -f -- "$current"))'),
        "    esac",
        "    local options= others= files=",
        '    case "${place:-/}" in',
    ]
    for place in places:
        options = " ".join(name for option in place.options for name in option.names)
        others = " ".join(name for name, _ in place.others)
        files = " files=1;" if place.has_files else ""
        lines.append(f"        {place.path}) options={shlex.quote(options)}; others={shlex.quote(others)};{files} ;;")
    lines += [
        "    esac",
        "    if [[ $current == -* ]]; then",
        '        COMPREPLY=($(compgen -W "$options" -- "$current"))',
        "    else",
        '        COMPREPLY=($(compgen -W "$others" -- "$current"))',
        '        [[ -n $files ]] && COMPREPLY+=($(compgen -f -- "$current"))',
        "    fi",
        "}",
        "complete -o bashdefault -o filenames -F _roost roost",
    ]
    return "\n".join(lines) + "\n"


def zsh(verbs: Sequence[Verb]) -> str:
    """The script for zsh, which shows what each word does."""
    places = list(_places(verbs))
    lines = [
        "#compdef roost",
        "# completion of roost for zsh, made by `roost completion zsh`",
        "_roost() {",
        "    local place='' at files=''",
        "    local -a others options",
        "    for ((at = 2; at < CURRENT; at++)); do",
        '        case "$place/${words[at]}" in',
        f"            ({_alternatives(places)}) place=$place/${{words[at]}} ;;",
        "        esac",
        "    done",
        '    case "${place:-/} ${words[CURRENT-1]}" in',
        *_values(places, "compadd -- {}", "_files", "("),
        "    esac",
        '    case "${place:-/}" in',
    ]
    for place in places:
        others = " ".join(_described(name, text) for name, text in place.others)
        options = " ".join(_described(name, option.text) for option in place.options for name in option.names)
        files = " files=1;" if place.has_files else ""
        lines.append(f"        ({place.path}) others=({others}); options=({options});{files} ;;")
    lines += [
        "    esac",
        "    if [[ $PREFIX == -* ]]; then",
        "        _describe -o option options",
        "        return",
        "    fi",
        "    (( $#others )) && _describe word others",
        "    [[ -n $files ]] && _files",
        "}",
        'if [[ $funcstack[1] == _roost ]]; then _roost "$@"; else compdef _roost roost; fi',
    ]
    return "\n".join(lines) + "\n"


def fish(verbs: Sequence[Verb]) -> str:
    """The script for fish."""
    places = list(_places(verbs))
    lines = [
        "# completion of roost for fish, made by `roost completion fish`",
        "function __roost_at",
        "    set -l place ''",
        "    for word in (commandline -opc)[2..-1]",
        '        switch "$place/$word"',
        f"            case {_alternatives(places).replace('|', ' ')}",
        '                set place "$place/$word"',
        "        end",
        "    end",
        '    test -z "$place"; and set place /',
        '    test "$place" = $argv[1]',
        "end",
        "complete -c roost -f",
    ]
    for place in places:
        begin = f"complete -c roost -n '__roost_at {place.path}'"
        for name, text in place.others:
            lines.append(f"{begin} -a {name}{_told(text)}")
        if place.has_files:
            lines.append(f"{begin} -F")
        for option in place.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            lines.append(f"{begin} {names}{_fish_value(option)}{_told(option.text)}")
    return "\n".join(lines) + "\n"


def _fish_value(option: Entry) -> str:
    if not option.metavar:
        return ""
    if option.choices:
        return f" -x -a {_quoted(' '.join(option.choices))}"
    return " -r -F" if option.is_path else " -x"


SCRIPTS: Final[Mapping[str, Callable[[Sequence[Verb]], str]]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _alternatives(places: Sequence[_Place]) -> str:
    """The paths of all verbs and actions."""
    return "|".join(place.path for place in places[1:])


def _values(places: Sequence[_Place], choose: str, files: str, begin: str = "") -> Iterator[str]:
    """What to do behind options that have a value, by what that is."""
    by_action: dict[str, list[str]] = {}
    for place in places:
        for option in [each for each in place.options if each.metavar]:
            action = "return"
            if option.choices:
                action = f"{choose.format(' '.join(option.choices))}; return"
            elif option.is_path:
                action = f"{files}; return"
            by_action.setdefault(action, []).extend(f'"{place.path} {name}"' for name in option.names)
    for action, where in by_action.items():
        yield f"        {begin}{'|'.join(where)}) {action} ;;"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT else f"{line[: _TEXT - 1].rstrip()}…"


def _described(name: str, text: str) -> str:
    """`name:what it is`, for _describe of zsh."""
    escaped = name.replace(":", "\\:")
    return shlex.quote(f"{escaped}:{_short(text)}" if text else escaped)


def _told(text: str) -> str:
    return f" -d {_quoted(_short(text))}" if text else ""


def _quoted(text: str) -> str:
    """In single quotes, as fish reads them."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
