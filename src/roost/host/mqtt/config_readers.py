"""Readers and nodes, as the configuration says them: who gets content keys of what roles govern, by their certificates.

    roles:
      readers: {ada: ada.cert, bob: [phone.cert, tablet.cert]}      users, each with one certificate or several
      nodes: [gate2.cert]                                           the panels of the other nodes of the groups

A file is what `roost key certificate` or `roost key certify` writes; of several certificates in it the first counts.
It is believed as it is, for who writes the configuration names it. One whose time is over gets nothing, and is told of.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from roost.errors import BadConfig, InvalidInput
from roost.host.keystore import read_packets_file
from roost.host.mqtt.config_values import path, section
from roost.trust.wrapping import Recipient
from roost.wire.certificate import Certificate, told_of

MAX_CERTIFICATES: Final = 1000  # of readers and nodes together: a stream has so many recipients, and this node


@dataclass(frozen=True, slots=True)
class Readers:
    """What the files said."""

    users: Mapping[bytes, tuple[Recipient, ...]] = field(default_factory=dict)
    nodes: tuple[Recipient, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """Where the certificates are."""

    users: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    nodes: tuple[Path, ...] = ()

    def load(self) -> Readers:
        """Read all files; raises `BadConfig` with a line for each that is wrong."""
        now = time.time_ns()
        mistakes: list[str] = []
        warnings: list[str] = []

        def read(key: str, files: tuple[Path, ...]) -> tuple[Recipient, ...]:
            found: list[Recipient] = []
            for file in files:
                try:
                    certificate = Certificate.decode(read_packets_file(file)[0])
                    recipient = Recipient(certificate.public_key)
                except InvalidInput as error:
                    mistakes.append(f"{key}: {file}: {error}")
                    continue
                if certificate.not_after < now:
                    ended = f"{certificate.name} ended at {told_of(certificate.not_after)}"
                    warnings.append(f"{key}: {file}: {ended}, so it gets no content keys; have it issued anew")
                    continue
                found.append(recipient)
            return tuple(found)

        users = {user.encode(): read(f"roles.readers.{user}", files) for user, files in self.users.items()}
        nodes = read("roles.nodes", self.nodes)
        if mistakes:
            raise BadConfig("\n".join(mistakes))
        return Readers(users, nodes, tuple(warnings))


def read_reader_settings(said: Mapping[str, object], folder: Path) -> ReaderSettings:
    """Read `readers` and `nodes` out of the section; raises `BadConfig`."""
    users: dict[str, tuple[Path, ...]] = {}
    for user, files in section("roles.readers", said.get("readers", {})).items():
        if not user:
            raise BadConfig("roles.readers: a name is empty; write that of the user whose certificate it is")
        users[user] = _files(f"roles.readers.{user}", files, folder)
    nodes = _files("roles.nodes", said.get("nodes", []), folder)
    if sum([len(files) for files in users.values()]) + len(nodes) > MAX_CERTIFICATES:
        raise BadConfig(
            f"roles.readers and roles.nodes name more than {MAX_CERTIFICATES:,} certificates; give those who read "
            "together one key"
        )
    return ReaderSettings(users, nodes)


def _files(key: str, value: object, folder: Path) -> tuple[Path, ...]:
    listed = value if isinstance(value, list) else [value]
    return tuple([path(key, each, folder) for each in listed])
