"""The users file: who may connect with which password, one line each. `roost users` writes it.

    # comment
    alice:$scrypt$ln=15,r=8,p=3$salt$hash

A name is UTF-8 without ':' and control characters. `Users` is what a file said when it was read and never changes; a
reload makes another. Who is not in it costs a check as much time as who is: the password is hashed with the parameters
and the salt of some line, always the same one for the same name, and then refused.

The file is the broker's alone to read, as far as others can be kept out: one that others can read, or a group can
write, is refused, not repaired.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from roost.errors import BadConfig
from roost.host.keystore import write_file
from roost.host.mqtt.passwords import HASH_BYTES, SALT_BYTES, STRONG, PasswordHash

MAX_USERS: Final = 100_000
MAX_NAME_BYTES: Final = 256
MAX_FILE_BYTES: Final = 32 << 20

_OPEN_TO_OTHERS: Final = 0o027
_NOBODY: Final = PasswordHash(STRONG, bytes(SALT_BYTES), bytes(HASH_BYTES))


class Users:
    """Names and hashes; safe to use from several threads."""

    def __init__(self, hashes: Mapping[bytes, PasswordHash]) -> None:
        self._hashes: Final = dict(hashes)  # bound: MAX_USERS
        self._stand_ins: Final = list(self._hashes.values()) or [_NOBODY]
        self._seal: Final = sha256(b"".join([each.salt for each in self._stand_ins])).digest()

    @staticmethod
    def parse(text: str) -> Users:
        """Read the whole text, or raise `BadConfig` with the line, what is wrong and what to do."""
        hashes: dict[bytes, PasswordHash] = {}
        for number, line in enumerate(text.split("\n"), 1):
            if not _says_something(line):
                continue
            try:
                _read_line(line.strip(), hashes)
            except BadConfig as error:
                raise BadConfig(f"line {number}: {error}; `roost users add` writes such lines") from None
        return Users(hashes)

    @property
    def names(self) -> Iterable[bytes]:
        """In the order of the file."""
        return self._hashes.keys()

    def __contains__(self, user: bytes) -> bool:
        return user in self._hashes

    def __len__(self) -> int:
        return len(self._hashes)

    def hash_of(self, user: bytes) -> PasswordHash | None:
        """What is kept of the user's password."""
        return self._hashes.get(user)

    def check(self, user: bytes, password: bytes) -> bool:
        """Whether the password is the user's. Slow on purpose: never call it where others wait."""
        kept = self._hashes.get(user)
        matched = (kept or self._stand_in(user)).matches(password)
        return matched and kept is not None

    def gone(self, since: Users) -> list[bytes]:
        """Those of an earlier state who are no longer here, or whose password is another one."""
        return [user for user, kept in since._hashes.items() if self._hashes.get(user) != kept]

    def _stand_in(self, user: bytes) -> PasswordHash:
        number = int.from_bytes(sha256(self._seal + user).digest()[:8])
        return self._stand_ins[number % len(self._stand_ins)]


def encoded_name(name: str) -> bytes:
    """Check a user's name; raises `BadConfig`."""
    try:
        user = name.encode()
    except UnicodeEncodeError:
        raise BadConfig("the name is not UTF-8") from None
    if not user or name != name.strip() or name.startswith("#"):
        raise BadConfig(f"{name!r} is no name for a user: it is empty, begins with '#' or has space around it")
    if any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in name):
        raise BadConfig(f"{name!r} is no name for a user: it holds a control character")
    if len(user) > MAX_NAME_BYTES:
        raise BadConfig(f"a user's name has at most {MAX_NAME_BYTES} bytes, this one has {len(user)}")
    return user


def read_users(path: Path) -> tuple[Users, str]:
    """Read a users file: what it says, and its text. `BadConfig` names the file and the line."""
    text = read_text(path, MAX_FILE_BYTES, _OPEN_TO_OTHERS, "`roost users add NAME` makes one")
    try:
        return Users.parse(text), text
    except BadConfig as error:
        raise BadConfig(f"{path}, {error}") from None


def change_users(path: Path, change: Callable[[Users, str], str]) -> None:
    """Read, change and write a users file, whole or not at all, with nobody else doing so meanwhile."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # of the directory, for the file itself is replaced
        users, text = read_users(path) if path.exists() else (Users({}), "")
        changed = change(users, text)
        Users.parse(changed)
        write_file(path, changed.encode(), 0o600)
    finally:
        os.close(descriptor)


def with_user(text: str, user: str, kept: PasswordHash) -> str:
    """The text with this user's line put in, in place of the old one or at the end; all else stays as it is."""
    if ":" in user:
        raise BadConfig(f"{user!r} is no name for the users file: it holds ':', which ends a name there")
    line = f"{user}:{kept}"
    lines = text.removesuffix("\n").split("\n") if text else []
    found = [at for at, each in enumerate(lines) if _is_of(each, user)]
    if found:
        lines[found[0]] = line
    else:
        lines.append(line)
    return "\n".join(lines) + "\n"


def without_user(text: str, user: str) -> str:
    """The text without this user's line."""
    return "\n".join([line for line in text.split("\n") if not _is_of(line, user)])


def read_text(path: Path, max_bytes: int, shut: int, remedy: str) -> str:
    """Read a file of text that nobody else has a say in: `shut` are the bits of its mode that must not be set.

    One that others must not read is best its owner's alone, which is what the advice then is.
    """
    try:
        with path.open("rb") as file:  # looked at and read through one descriptor, so it is the same file
            mode = os.fstat(file.fileno()).st_mode & 0o777
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}; {remedy}") from None
    if mode & shut:
        closed = 0o600 if shut & 0o004 else mode & ~shut
        raise BadConfig(f"{path} is open to other users of the machine (mode {mode:04o}): chmod {closed:o} {path}")
    if len(content) > max_bytes:
        raise BadConfig(f"{path} has more than {max_bytes} bytes, which is the limit; is it the right file?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadConfig(f"{path}, line {line}: this is not UTF-8; write the file in UTF-8") from None


def _read_line(line: str, hashes: dict[bytes, PasswordHash]) -> None:
    name, colon, rest = line.partition(":")
    if not colon:
        raise BadConfig("there is no ':' between a name and a hash")
    user = encoded_name(name)
    if user in hashes:
        raise BadConfig(f"user {name!r} is there already, keep one of the lines")
    if len(hashes) == MAX_USERS:
        raise BadConfig(f"more than {MAX_USERS} users, let devices share one or give them certificates")
    hashes[user] = PasswordHash.parse(rest)


def _is_of(line: str, user: str) -> bool:
    return _says_something(line) and line.strip().partition(":")[0] == user


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")
