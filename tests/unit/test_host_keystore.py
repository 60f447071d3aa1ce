"""The key chain on disk: permissions, whole files, what is refused and how."""

import os
import random
from pathlib import Path

import pytest
from tests.trust_world import NOW, ROOT, SCHEMA, STREAM, World, data

from roost.errors import BadConfig, BadPacket, NoKey
from roost.host.keystore import KeyStore, read_packet_file
from roost.naming import Name
from roost.trust import Accepted, generate, self_sign
from roost.trust.generate import KINDS, Kind
from roost.wire.safebag import to_text

PANEL1 = "/BigCompany/Building1/Electricity/Panel1"
BUILDING1 = "/BigCompany/Building1"


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture
def store(tmp_path: Path, world: World) -> KeyStore:
    made = KeyStore(tmp_path / "home")
    made.create()
    made.save_key(world[ROOT].key)
    made.save_anchor(world[ROOT].certificate)
    made.save_identity(world[BUILDING1])
    made.save_identity(world[PANEL1])
    made.save_schema(SCHEMA.text)
    return made


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_directories_are_0700_and_keys_0600(store: KeyStore) -> None:
    old = os.umask(0)
    try:
        store.save_key(generate(Name.parse("/x"), random.Random(1).randbytes))
    finally:
        os.umask(old)
    assert mode(store.home) == 0o700
    assert mode(store.home / "keys") == 0o700
    assert {mode(path) for path in (store.home / "keys").iterdir()} == {0o600}


def test_what_was_saved_is_loaded_signs_and_verifies(store: KeyStore, world: World) -> None:
    keychain = store.keychain()
    assert {identity.name for identity in keychain.identities} == {
        Name.parse(name) for name in (ROOT, BUILDING1, PANEL1)
    }
    signer = keychain.signer_for(Name.parse(f"{STREAM}/seq=1"), NOW)
    packet = data(f"{STREAM}/seq=1", signer)
    assert isinstance(store.verifier(NOW).check(packet, NOW), Accepted)
    assert [anchor.wire for anchor in store.anchors()] == [world[ROOT].certificate.wire]
    assert store.schema().text == SCHEMA.text


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_key_survives(store: KeyStore, kind: Kind) -> None:
    key = generate(Name.parse("/x"), random.Random(5).randbytes, kind)
    store.save_key(key)
    loaded = next(held for held in store.private_keys() if held.name == key.name)
    assert loaded.pkcs8() == key.pkcs8()


@pytest.mark.parametrize("bits", [0o644, 0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(store: KeyStore, bits: int) -> None:
    path = next((store.home / "keys").iterdir())
    path.chmod(bits)
    with pytest.raises(BadConfig, match="open to other users") as caught:
        store.private_keys()
    assert "chmod 600" in str(caught.value)
    assert mode(path) == bits, "it is refused, not repaired"


@pytest.mark.parametrize("where", [".", "keys"])
def test_a_directory_that_others_can_enter_is_refused(store: KeyStore, where: str) -> None:
    (store.home / where).chmod(0o755)
    with pytest.raises(BadConfig, match="chmod 700"):
        store.private_keys()


def test_no_store_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NoKey, match="roost init"):
        KeyStore(tmp_path).check()
    with pytest.raises(BadConfig, match=r"schema\.lvs"):
        KeyStore(tmp_path).schema()


def test_a_store_is_never_overwritten(store: KeyStore) -> None:
    before = {path: path.read_bytes() for path in store.home.rglob("*") if path.is_file()}
    with pytest.raises(BadConfig, match="already holds keys"):
        KeyStore(store.home).create()
    assert before == {path: path.read_bytes() for path in store.home.rglob("*") if path.is_file()}


def test_files_appear_whole_or_not_at_all(store: KeyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = store.home / "schema.lvs"
    before = schema.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadConfig, match="No space left"):
        store.save_schema(SCHEMA.text + "// more\n")
    assert schema.read_bytes() == before
    assert [path for path in store.home.rglob("*") if path.name.endswith(".new")] == []


def test_the_file_and_the_directory_are_synced(store: KeyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def noted(descriptor: int) -> None:
        synced.append("directory" if Path(f"/proc/self/fd/{descriptor}").resolve().is_dir() else "file")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    store.save_schema(SCHEMA.text)
    assert synced == ["file", "directory"]


def test_damaged_files_are_named(store: KeyStore) -> None:
    key = next((store.home / "keys").iterdir())
    good = key.read_bytes()
    for damaged in (b"", b"no name\n" + good, good[:60], good.replace(b"BEGIN", b"\xff\xff"), b"/a/b\n!!!"):
        key.write_bytes(damaged)
        with pytest.raises(BadConfig, match=key.name):
            store.private_keys()
    certificate = next((store.home / "certificates").iterdir())
    certificate.write_text("bm90aGluZw==")
    with pytest.raises(BadConfig, match=certificate.name):
        store.certificates()
    (store.home / "schema.lvs").write_text("#a: nonsense!")
    with pytest.raises(BadConfig, match=r"schema\.lvs.*line 1"):
        store.schema()


def test_a_schema_that_is_wrong_is_not_saved(store: KeyStore) -> None:
    with pytest.raises(BadConfig):
        store.save_schema("#a:")
    assert store.schema().text == SCHEMA.text


def test_packet_files_are_raw_or_base64(tmp_path: Path) -> None:
    wire = self_sign(generate(Name.parse("/a"), random.Random(1).randbytes), NOW).certificate.wire
    path = tmp_path / "packet"
    for content in (wire, to_text(wire).encode(), to_text(wire).replace("\n", "").encode()):
        path.write_bytes(content)
        assert read_packet_file(path) == wire
    for content in (b"\xff\xfe", b"not base64!"):
        path.write_bytes(content)
        with pytest.raises(BadPacket, match="neither"):
            read_packet_file(path)
    path.write_bytes(bytes(100_000))
    with pytest.raises(BadPacket, match="more than"):
        read_packet_file(path)
    with pytest.raises(BadConfig, match="cannot be read"):
        read_packet_file(tmp_path / "absent")


def test_strangers_in_the_directory_are_left_alone(store: KeyStore) -> None:
    (store.home / "keys" / "README").write_text("hello")
    (store.home / "keys" / ".half.key.1.new").write_text("half")
    assert len(store.private_keys()) == 3
    assert "keys" not in repr(store)
