"""Tokens of the API: long random texts that programs show instead of a password, each for one user and some scopes.

    roost_<256 random bits>     shown once, when it is made; the file keeps its SHA-256, which is enough for such a text

The file is JSON that only its owner may read. The node and the command line both write it, one after the other, whole
or not at all, and the node looks at it again whenever it has changed: what was taken back counts no more at once.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from roost.errors import BadConfig, InvalidInput, Unreachable
from roost.host.keystore import write_file
from roost.host.mqtt.users import read_text
from roost.machine import SECOND
from roost.web.scopes import SCOPES

PREFIX: Final = "roost_"  # by which they are known from tokens of others, and found where they should not be
MAX_TOKENS: Final = 1_000
MAX_PER_USER: Final = 100
MAX_NAME: Final = 100
MAX_TTL_S: Final = 10 * 366 * 86_400
TTL_S: Final = 90 * 86_400
_TOKEN_BYTES: Final = 32
_ID_BYTES: Final = 8
_MAX_FILE_BYTES: Final = 4 << 20
_OPEN_TO_OTHERS: Final = 0o077
_log: Final = logging.getLogger("roost.node")
_Seen = tuple[int, int, int] | None
_REMEDY: Final = "move it away, and make tokens anew"


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of one."""

    id: str
    name: str  # for people
    user: str
    scopes: tuple[str, ...]
    created: int
    expires: int
    digest: str  # of the text, SHA-256 in hex


class TokenFull(InvalidInput):
    """There are as many tokens as there may be."""


class Tokenless(Unreachable):
    """The file of tokens cannot be used now; who asks hears no more than that."""

    def __init__(self, error: BadConfig) -> None:
        super().__init__("this node cannot read its tokens now: its log says why")
        _log.warning("%s", error)


class Tokens:
    """All tokens; `path` None keeps them in memory, and they end with the node."""

    def __init__(self, path: Path | None) -> None:
        self._path: Final = path
        self._read: tuple[dict[str, Token], _Seen] = {}, None  # by digest; bound: MAX_TOKENS; and of which file
        self._lock: Final = threading.Lock()  # they are changed beside the event loop, for a disk takes its time
        self._used: Final[dict[str, int]] = {}  # id → when, since the start; bound: MAX_TOKENS
        if path is not None and path.exists():
            self._look()

    def __len__(self) -> int:
        return len(self._read[0])

    def find(self, text: str, now: int) -> Token | None:
        """The token of a text, if it holds; it counts as used. Raises `BadConfig` if the file cannot be read."""
        token = self._look().get(sha256(text.encode(errors="replace")).hexdigest())
        if token is None or now >= token.expires:
            return None
        self._used[token.id] = now
        return token

    def of(self, user: str) -> list[Token]:
        """All of a user, the oldest first."""
        return sorted([each for each in self._look().values() if each.user == user], key=_created)

    def all(self) -> list[Token]:
        """All of everybody, the oldest first."""
        return sorted(self._look().values(), key=_created)

    def used(self, token: Token) -> int | None:
        """When one was last shown to this node, since it runs."""
        return self._used.get(token.id)

    def make(self, user: str, name: str, scopes: tuple[str, ...], ttl_s: int, now: int) -> tuple[Token, str]:
        """Make one: what is kept, and its text, which nobody sees again. Raises `InvalidInput` and `BadConfig`."""
        _check(name, scopes, ttl_s)
        text = PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)
        digest = sha256(text.encode()).hexdigest()
        token = Token(secrets.token_hex(_ID_BYTES), name, user, scopes, now, now + ttl_s * SECOND, digest)
        with self._changing() as tokens:
            for each in [each for each in tokens.values() if each.expires <= now]:
                del tokens[each.digest]
                self._used.pop(each.id, None)
            if (
                len(tokens) >= MAX_TOKENS
                or len([each for each in tokens.values() if each.user == user]) >= MAX_PER_USER
            ):
                raise TokenFull(f"{MAX_PER_USER} tokens for a user and {MAX_TOKENS:,} in all are the limit: end some")
            tokens[digest] = token
        return token, text

    def end(self, id_: str, user: str | None = None) -> Token | None:
        """Take one back, of this user only if one is given; None if there is none. Raises `BadConfig`."""
        with self._changing() as tokens:
            found = [each for each in tokens.values() if each.id == id_ and user in {None, each.user}]
            for each in found:
                del tokens[each.digest]
                self._used.pop(each.id, None)
        return found[0] if found else None

    # -- inside

    def _look(self) -> dict[str, Token]:
        """What there is now: of a file that is another one than it was, what it says."""
        tokens, seen = self._read
        if self._path is None:
            return tokens
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._read = {}, None
            return {}
        except OSError as error:
            raise BadConfig(f"{self._path} cannot be read: {error.strerror}; {_REMEDY}") from None
        now = status.st_ino, status.st_size, status.st_mtime_ns
        if now != seen:
            tokens = read_tokens(self._path)
            self._read = tokens, now
        return tokens

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Token]]:
        """Tokens to be changed, with nobody else doing so meanwhile; what fails leaves all as it was."""
        with self._lock, _locked(self._path):
            tokens = dict(self._look())
            yield tokens
            if self._path is not None:
                said = {"tokens": [asdict(each) for each in tokens.values()]}
                write_file(self._path, json.dumps(said, indent=1).encode() + b"\n", 0o600)
            self._read = tokens, None


def read_tokens(path: Path) -> dict[str, Token]:
    """Read a file of tokens, by digest; `BadConfig` says what is wrong with it."""
    text = read_text(path, _MAX_FILE_BYTES, _OPEN_TO_OTHERS, _REMEDY)
    try:
        said = json.loads(text)["tokens"]
        tokens = [_read(each) for each in said]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadConfig(f"{path} is no file of tokens ({type(error).__name__}: {error!s:.100}); {_REMEDY}") from None
    if len(tokens) > MAX_TOKENS:
        raise BadConfig(f"{path} has {len(tokens)} tokens, at most {MAX_TOKENS} are read; {_REMEDY}")
    return {each.digest: each for each in tokens}


def _read(said: Mapping[str, object]) -> Token:
    texts = {key: said[key] for key in ("id", "name", "user", "digest")}
    numbers = {key: said[key] for key in ("created", "expires")}
    scopes = said["scopes"]
    if not all(isinstance(each, str) for each in texts.values()) or not isinstance(scopes, list):
        raise TypeError("id, name, user and digest are texts, scopes a list")
    if not all(isinstance(each, int) for each in numbers.values()):
        raise TypeError("created and expires are numbers")
    return Token(**texts, **numbers, scopes=tuple(str(each) for each in scopes))  # type: ignore[arg-type]  # as checked


def _check(name: str, scopes: tuple[str, ...], ttl_s: int) -> None:
    if not name or len(name) > MAX_NAME or not name.isprintable() or name != name.strip():
        raise InvalidInput(f"name: 1 to {MAX_NAME} printable characters say what the token is for")
    unknown = [each for each in scopes if each not in SCOPES]
    if unknown or not scopes or len(set(scopes)) != len(scopes):
        raise InvalidInput(f"scopes: one or more of {', '.join(SCOPES)}, each once")
    if not 1 <= ttl_s <= MAX_TTL_S:
        raise InvalidInput(f"ttl_s: 1 to {MAX_TTL_S:,} seconds")


@contextmanager
def _locked(path: Path | None) -> Iterator[None]:
    """Have others who change a file wait; by its folder, for the file itself is replaced."""
    if path is None:
        yield
        return
    try:
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise BadConfig(f"{path.parent} cannot be opened for tokens: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _created(token: Token) -> int:
    return token.created
