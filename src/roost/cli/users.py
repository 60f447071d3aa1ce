"""`roost users`: who may connect to the MQTT broker with a password.

Passwords come from a prompt, or from the first line of standard input where that is no terminal; never from the command
line, where every user of the machine could read them. What users may do is in the permissions file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._exit import FAILED
from roost.cli._output import add_json, show
from roost.cli._page import Page
from roost.errors import BadConfig

if TYPE_CHECKING:  # the rest is imported where it is used: every verb is loaded for `roost --help`
    from roost.host.mqtt.users import Users

SUMMARY = "Add, remove, list and check users of MQTT, HTTP and the page."
PAGE: Final = Page(
    examples=(
        ("roost users add sensor7 --generate", "a device, with a random password, which is printed once"),
        ("roost users add alice < password.txt", "a person; without `<` the password is asked for"),
        ("roost users list --json", "who there is, and what a try of a password costs"),
        ("roost users check alice < password.txt", "whether a password is right"),
        ("roost users remove sensor7", "from the next reload on, the device cannot come in"),
    ),
    text="Passwords come from a prompt, or from the first line of standard input; never from the command line, where "
    "every user of the machine could read them. What users may do is in the permissions file.",
    exits={FAILED: "the password is another one (check); or failed"},
    see=("role", "mqtt", "docs/mqtt-security.md"),
)
_NAME: Final = "the user's name, as clients give it"
MAX_PASSWORD_BYTES = 65_535  # of an MQTT CONNECT
MIN_PASSWORD_LETTERS = 8  # of one that is new, as NIST SP 800-63B has it


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    # No abbreviations: what was meant for a password must not be taken for something else and repeated.
    add = actions.add_parser("add", help="add a user, or with --replace change a password", allow_abbrev=False)
    add.add_argument("name", metavar="NAME", help=_NAME)
    add.add_argument("--replace", action="store_true", help="the user is there already and gets another password")
    add.add_argument(
        "--generate", action="store_true", help="make a random password and print it: best for devices, quick to check"
    )
    add.set_defaults(act=_add)
    remove = actions.add_parser("remove", help="remove a user", allow_abbrev=False)
    remove.add_argument("name", metavar="NAME", help=_NAME)
    remove.set_defaults(act=_remove)
    listing = actions.add_parser("list", help="show the users and what their hashes cost", allow_abbrev=False)
    listing.set_defaults(act=_list)
    check = actions.add_parser("check", help="say whether a password is right", allow_abbrev=False)
    check.add_argument("name", metavar="NAME", help=_NAME)
    check.set_defaults(act=_check)
    for action in (add, remove, listing, check):
        action.add_argument(
            "--file", type=Path, metavar="FILE", help="the users file (default: mqtt-users in ROOST_HOME or ~/.roost)"
        )
        add_json(action)


def run(options: argparse.Namespace) -> int:
    """Run one action on the users file."""
    from roost.host.paths import home

    options.is_default = options.file is None
    if options.is_default:
        options.file = home() / "mqtt-users"
    return int(options.act(options))


def _add(options: argparse.Namespace) -> int:
    import secrets

    from roost.cli import note
    from roost.cli._users_named import what_to_name
    from roost.host.mqtt.passwords import LIGHT, STRONG, PasswordHash
    from roost.host.mqtt.users import change_users, encoded_name, with_user

    user = encoded_name(options.name)
    password = secrets.token_urlsafe(24) if options.generate else _new_password(options.name)
    kept = PasswordHash.make(password.encode(), LIGHT if options.generate else STRONG)

    def change(users: Users, text: str) -> str:
        if user in users and not options.replace:
            raise BadConfig(f"{options.name} is in {options.file} already; another password: roost users add --replace")
        if user not in users and options.replace:
            raise BadConfig(f"{options.name} is not in {options.file}; leave out --replace, or correct the name")
        return with_user(text, options.name, kept)

    options.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    change_users(options.file, change)
    told = {"user": options.name, "file": str(options.file), "replaced": options.replace}
    show(options, told | {"password": password if options.generate else None}, [password] if options.generate else ())
    _tell(f"{'changed the password of' if options.replace else 'added'} {options.name} in {options.file}")
    unnamed = what_to_name(options.file, is_default=options.is_default)
    if unnamed:
        note(unnamed)
    return 0


def _remove(options: argparse.Namespace) -> int:
    from roost.host.mqtt.users import change_users, encoded_name, without_user

    user = encoded_name(options.name)

    def change(users: Users, text: str) -> str:
        if user not in users:
            raise BadConfig(f"{options.name} is not in {options.file}; see: roost users list")
        return without_user(text, options.name)

    change_users(options.file, change)
    _tell(f"removed {options.name} from {options.file}")
    return show(options, {"user": options.name, "file": str(options.file)}, ())


def _list(options: argparse.Namespace) -> int:
    from roost.host.mqtt.users import read_users

    users, _ = read_users(options.file)
    lines: list[str] = []
    found: list[dict[str, object]] = []
    for name in users.names:
        kept = users.hash_of(name)
        if kept is not None:
            times = "once" if kept.cost.p == 1 else f"{kept.cost.p} times"
            lines.append(f"{name.decode()}  scrypt, {kept.cost.memory_bytes >> 20} MiB, {times}")
            cost = {"memory_bytes": kept.cost.memory_bytes, "times": kept.cost.p}
            found.append({"user": name.decode(), "hash": "scrypt", **cost})
    return show(options, found, lines)


def _check(options: argparse.Namespace) -> int:
    from roost.host.mqtt.users import encoded_name, read_users

    users, _ = read_users(options.file)
    right = users.check(encoded_name(options.name), _password(f"password of {options.name}: ").encode())
    line = "right" if right else "wrong: there is no such user, or the password is another one"
    show(options, {"user": options.name, "right": right}, [line])
    return 0 if right else 1


def _new_password(name: str) -> str:
    text = _password(f"password of {name}: ", twice=True)
    if len(text) < MIN_PASSWORD_LETTERS:
        raise BadConfig(
            f"a password has at least {MIN_PASSWORD_LETTERS} characters, this one has {len(text)}: choose a longer "
            "one, or have one made: --generate"
        )
    return text


def _password(prompt: str, *, twice: bool = False) -> str:
    if sys.stdin.isatty():
        import getpass

        text = getpass.getpass(prompt)
        if twice and getpass.getpass("again: ") != text:
            raise BadConfig("the two passwords differ; nothing was written")
    else:
        line = sys.stdin.buffer.readline(MAX_PASSWORD_BYTES + 3)
        try:
            text = line.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            raise BadConfig("the password is not UTF-8; give it as UTF-8 text") from None
    if not text:
        raise BadConfig("the password is empty; type one, give it on standard input, or have one made: --generate")
    if len(text.encode()) > MAX_PASSWORD_BYTES:
        raise BadConfig(f"MQTT passwords have at most {MAX_PASSWORD_BYTES} bytes; choose a shorter one")
    return text


def _tell(line: str) -> None:
    from roost.cli import note

    note(f"{line}; a broker that runs takes it up when it reloads (SIGHUP)")
