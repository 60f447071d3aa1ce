"""Readers and nodes in the configuration: their certificates, and what is said of those that cannot be used."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from roost.errors import BadConfig
from roost.host.mqtt.config_readers import MAX_CERTIFICATES
from roost.host.mqtt.config_roles import RoleSettings, read_role_settings
from roost.naming import Name
from roost.trust import Recipient, generate, self_sign
from roost.trust.generate import Kind
from roost.wire.safebag import to_text


def certificate(folder: Path, who: str, kind: Kind = "ecdsa", *, lifetime: int = 3600 * 10**9) -> bytes:
    """Write the certificate of somebody's new key; the digest of that key."""
    key = generate(Name.of("Co", who), os.urandom, kind)
    made = self_sign(key, time.time_ns() - 10**9, lifetime).certificate
    (folder / f"{who}.cert").write_text(to_text(made.wire))
    return Recipient(made.public_key).digest if kind != "ed25519" else b""


def settings(folder: Path, **said: object) -> RoleSettings:
    (folder / "roles.yaml").write_text("ada: [developer]\n")
    return read_role_settings({"users": "roles.yaml", **said}, folder)


def test_users_have_one_certificate_or_several_and_nodes_are_a_list(tmp_path: Path) -> None:
    digests = {who: certificate(tmp_path, who) for who in ("ada", "phone", "tablet", "gate2")}
    readers = {"ada": "ada.cert", "bob": ["phone.cert", "tablet.cert"]}
    found = settings(tmp_path, readers=readers, nodes=["gate2.cert"]).load().readers
    assert {user: [each.digest for each in keys] for user, keys in found.users.items()} == {
        b"ada": [digests["ada"]],
        b"bob": [digests["phone"], digests["tablet"]],
    }
    assert [each.digest for each in found.nodes] == [digests["gate2"]]


def test_without_any_there_are_none(tmp_path: Path) -> None:
    found = settings(tmp_path).load().readers
    assert (found.users, found.nodes, found.warnings) == ({}, (), ())


def test_all_that_is_wrong_is_said_with_its_key_and_its_file(tmp_path: Path) -> None:
    certificate(tmp_path, "old", "ed25519")
    (tmp_path / "torn.cert").write_text("no certificate")
    said = settings(tmp_path, readers={"ada": ["old.cert", "absent.cert"]}, nodes=["torn.cert"])
    with pytest.raises(BadConfig) as trouble:
        said.load()
    lines = str(trouble.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == ["roles.readers.ada", "roles.readers.ada", "roles.nodes"]
    assert [
        name for name, line in zip(("old", "absent", "torn"), lines, strict=True) if f"{name}.cert" not in line
    ] == []
    assert "Ed25519PublicKey cannot receive content keys; give the consumer an ECDSA" in lines[0]


def test_a_certificate_whose_time_is_over_gets_nothing_and_is_told_of(tmp_path: Path) -> None:
    certificate(tmp_path, "ada", lifetime=0)
    found = settings(tmp_path, readers={"ada": "ada.cert"}).load().readers
    assert found.users == {b"ada": ()}
    [warning] = found.warnings
    assert warning.startswith(f"roles.readers.ada: {tmp_path / 'ada.cert'}: /Co/ada/KEY/")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"readers": ["ada.cert"]}, "roles.readers"),
        ({"readers": {"": "ada.cert"}}, "name is empty"),
        ({"readers": {"ada": 3}}, "roles.readers.ada"),
        ({"nodes": [{"gate2": "gate2.cert"}]}, "roles.nodes"),
        ({"nodes": ["gate2.cert"] * (MAX_CERTIFICATES + 1)}, "more than 1,000"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, said: dict[str, object], why: str) -> None:
    with pytest.raises(BadConfig, match=why):
        settings(tmp_path, **said)
