"""Asking a node over HTTP (`docs/http.md`), for verbs about what runs in it: one request, and its answer as JSON.

The node is asked directly, never through a proxy, and is not followed to another address: a password goes nowhere else.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from roost.errors import BadConfig, Disconnected, Refused, RoostError, TimedOut

if TYPE_CHECKING:  # the rest is imported where it is used: every verb is loaded for `roost --help`
    import urllib.error
    import urllib.request

URL: Final = "http://127.0.0.1:8080"
PASSWORD_VARIABLE: Final = "ROOST_MQTT_PASSWORD"  # noqa: S105  the name of a variable: the users are those of MQTT
TIMEOUT_S: Final = 60
MAX_ANSWER_BYTES: Final = 64 << 20
_NOT_A_NODE: Final = "give the address of a node's `http` with --url"


class Login(NamedTuple):
    """Who we are to a node."""

    name: str
    password: bytes


def add_node(parser: argparse.ArgumentParser) -> None:
    """Take where the node is, and who asks."""
    parser.add_argument("--url", default=URL, metavar="URL", help=f"the node's HTTP address (default: {URL})")
    parser.add_argument("--user", metavar="NAME", help="the user; the password is in ROOST_MQTT_PASSWORD, or asked for")
    parser.add_argument(
        "--password-file", type=Path, metavar="FILE", help="the file whose first line is the user's password"
    )


def mapping_of(options: argparse.Namespace, answer: object) -> dict[str, Any]:
    """See that an answer is an object; raises `BadConfig`."""
    if not isinstance(answer, dict):
        raise BadConfig(f"{options.url} does not answer as a node does; give the address of a node's `http`")
    return answer


def list_of(options: argparse.Namespace, answer: object, what: str) -> list[Any]:
    """See that an answer is a list; raises `BadConfig`."""
    if not isinstance(answer, list):
        raise BadConfig(f"{options.url} does not answer with {what}; give the address of a node's `http`")
    return answer


def login_of(options: argparse.Namespace) -> Login | None:
    """Read who asks, None for nobody in particular; raises `BadConfig`."""
    if options.user is None:
        if options.password_file is not None:
            raise BadConfig("a password goes with a user: give --user")
        return None
    if ":" in options.user:
        raise BadConfig(f"--user {options.user}: no user's name holds ':'")
    if options.password_file is not None:
        lines = options.password_file.read_bytes().splitlines()
        if not lines:
            raise BadConfig(f"--password-file {options.password_file}: there is no line in it")
        return Login(options.user, bytes(lines[0]))
    if PASSWORD_VARIABLE in os.environ:
        return Login(options.user, os.fsencode(os.environ[PASSWORD_VARIABLE]))
    if not sys.stdin.isatty():
        raise BadConfig(f"the password of {options.user} is missing: give --password-file, or {PASSWORD_VARIABLE}")
    import getpass

    if not hasattr(options, "typed"):  # a verb may ask a node several times, but nobody twice
        options.typed = getpass.getpass(f"password of {options.user}: ")
    return Login(options.user, options.typed.encode(errors="surrogateescape"))


def path_of(kind: str, name: str = "", **query: str) -> str:
    """Write a path, as in /macros/room1/celsius; kind is macros, traces, rbps, topics or explain."""
    from urllib.parse import quote, urlencode

    path = f"/{kind}/{quote(name, safe='/')}" if name else f"/{kind}"
    return f"{path}?{urlencode(query)}" if query else path


def ask(url: str, method: str, path: str, body: object = None, user: Login | None = None) -> object:
    """Ask a node; its answer, None if it has no content. Raises `Refused`, `Disconnected`, `TimedOut`, `BadConfig`."""
    return _asked(url, method, path, body, user)[0]


def ask_all(options: argparse.Namespace, kind: str, what: str, user: Login | None, **query: str) -> list[Any]:
    """Ask for a bare list, page after page; raises as `ask` does."""
    found: list[Any] = []
    more: dict[str, str] = {}
    while True:
        answer, following = _asked(options.url, "GET", path_of(kind, **query, **more), None, user)
        found += list_of(options, answer, what)
        if following in {"", more.get("after")}:
            return found
        more = {"after": following}


def _asked(url: str, method: str, path: str, body: object, user: Login | None) -> tuple[object, str]:
    """Ask; the answer, and where the next page begins."""
    import urllib.error
    import urllib.request
    from base64 import b64encode
    from http.client import HTTPException, InvalidURL

    if not url.startswith(("http://", "https://")):
        raise BadConfig(f"--url {url}: write http://host:port, as in {URL}")
    headers = {"Accept": "application/json"}
    content = None if body is None else json.dumps(body).encode()
    if content is not None:
        headers["Content-Type"] = "application/json"
    if user is not None:
        headers["Authorization"] = "Basic " + b64encode(user.name.encode() + b":" + user.password).decode()
    try:
        request = urllib.request.Request(url.rstrip("/") + path, content, headers, method=method)  # noqa: S310  checked
        with _opener().open(request, timeout=TIMEOUT_S) as answer:
            return _read(url, answer.read(MAX_ANSWER_BYTES + 1)), answer.headers.get("Roost-Next", "")
    except urllib.error.HTTPError as error:
        with error:
            raise Refused(_said(url, error), error.code) from None
    except TimeoutError:
        raise TimedOut(f"{url} did not answer within {TIMEOUT_S} s; see whether the node is well") from None
    except urllib.error.URLError as error:
        raise _unreached(url, error.reason) from None
    except (InvalidURL, ValueError) as error:
        raise BadConfig(f"--url {url} cannot be used: {error}") from None
    except (HTTPException, ConnectionError) as error:
        raise Disconnected(f"{url} does not speak HTTP ({type(error).__name__}); {_NOT_A_NODE}") from None


def _opener() -> urllib.request.OpenerDirector:
    """What opens URLs, without what urllib does beside: proxies, redirections, other schemes."""
    from urllib import request

    opener = request.OpenerDirector()
    for handler in (request.HTTPHandler, request.HTTPSHandler, request.HTTPErrorProcessor):
        opener.add_handler(handler())
    opener.add_handler(request.HTTPDefaultErrorHandler())
    return opener


def _unreached(url: str, reason: object) -> RoostError:
    if isinstance(reason, TimeoutError):
        return TimedOut(f"cannot reach {url} within {TIMEOUT_S} s; {_NOT_A_NODE}")
    why = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    advice = "start a node (`roost up`, unless its configuration says `http: false`), or say where it is"
    if isinstance(reason, ConnectionRefusedError):
        return Disconnected(f"cannot reach {url}: {why}; {advice} with --url")
    return Disconnected(f"cannot reach {url}: {why}; {_NOT_A_NODE}")


def _read(url: str, content: bytes) -> object:
    if not content:
        return None
    if len(content) > MAX_ANSWER_BYTES:
        raise BadConfig(f"{url} answers with more than {MAX_ANSWER_BYTES >> 20} MiB; ask for less")
    try:
        parsed: object = json.loads(content)
    except (ValueError, RecursionError):
        raise BadConfig(f"{url} does not answer in JSON; {_NOT_A_NODE}") from None
    return parsed


def _said(url: str, error: urllib.error.HTTPError) -> str:
    """The sentence in a node's refusal."""
    try:
        answer = json.loads(error.read(MAX_ANSWER_BYTES))
    except (ValueError, RecursionError, OSError):
        answer = None
    said = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(said, str):
        return f"{url} says {error.code} {error.reason}; {_NOT_A_NODE}"
    return f"{said}; give --user" if error.code == 401 and "--user" not in said else said
