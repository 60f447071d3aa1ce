"""Verifying what is archived: signatures, columns and numbers, with no repo alive."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.archive_world import VOLTAGE, Repos, archive_in
from tests.trust_world import BUILDING1, NOW, PANEL1, ROOT, World

from roost.errors import BadConfig
from roost.machine import SECOND
from roost.naming import Name
from roost.pipeline.archive.certificates import Certificates
from roost.pipeline.archive.filling import Report, archive_once
from roost.pipeline.archive.layout import MANIFEST
from roost.pipeline.archive.manifest import GroupArchive
from roost.pipeline.archive.verifying import Verified, verify
from roost.pipeline.archive.writing import open_writer
from roost.trust import Identity, certify
from roost.wire import Data
from roost.wire.certificate import key_name_of

YEAR = 365 * 86_400 * SECOND
WORLD = World()


def served(world: World, name: Name) -> Data | None:
    held = [*world.certificates(), world.anchor.certificate]
    return next((each.data for each in held if each.name.starts_with(name)), None)


def fill(archive: GroupArchive, repos: Repos, world: World = WORLD, now: int = NOW) -> Report:
    with open_writer(archive) as writer:
        certificates = Certificates(archive.folder, lambda name: served(world, name))
        return archive_once(repos, writer, certificates, lambda: now)


def verified(archive: GroupArchive, world: World = WORLD) -> Verified:
    """Verify with the anchor, the schema and what lies in the archive: no repo, and no other certificate."""
    verifier = world.verifier()
    for certificate in Certificates(archive.folder).all():
        verifier.learn(certificate.data, NOW + 10 * YEAR)
    return verify(archive, verifier)


@pytest.fixture
def repos() -> Repos:
    repos = Repos(WORLD[PANEL1].signer)
    repos.publish(VOLTAGE, 1.5, 2.5, 3.5)
    return repos


def change(folder: Path, column: str, values: list[object]) -> None:
    """Change a column behind the archive's back."""
    (path,) = folder.rglob("*.parquet")
    rows = pq.ParquetFile(path).read()
    at = rows.schema.get_field_index(column)
    pq.write_table(rows.set_column(at, rows.schema.field(at), pa.array(values, rows.schema.field(at).type)), path)


def test_years_later_an_archive_verifies_by_itself(tmp_path: Path, repos: Repos) -> None:
    assert fill(archive_in(tmp_path), repos).uncertified == 0
    report = verified(archive_in(tmp_path))
    assert report.good, report.first
    assert str(report) == "3 readings verified, all good"
    assert len(Certificates(archive_in(tmp_path).folder)) == 3  # panel, building, anchor


def test_without_its_certificates_nothing_can_be_said_of_a_reading(tmp_path: Path, repos: Repos) -> None:
    assert fill(archive_in(tmp_path), repos).uncertified == 0
    for path in tmp_path.rglob("*.cert"):
        path.unlink()
    report = verified(archive_in(tmp_path))
    assert (report.readings, report.forged, report.good) == (3, 3, False)
    assert "the archive has no certificate" in report.first[0]


def test_signers_whose_certificates_cannot_be_had_are_reported_and_tried_again(tmp_path: Path, repos: Repos) -> None:
    with open_writer(archive_in(tmp_path)) as writer:
        report = archive_once(repos, writer, Certificates(writer.archive.folder), lambda: NOW)
    assert (report.archived, report.uncertified) == (3, 1)
    assert "cannot be had" in report.first[0]
    repos.publish(VOLTAGE, 4.5)
    assert fill(archive_in(tmp_path), repos).uncertified == 0
    assert verified(archive_in(tmp_path)).good


def test_a_renewed_certificate_is_archived_too(tmp_path: Path, repos: Repos) -> None:
    fill(archive_in(tmp_path), repos)
    later = NOW + 2 * YEAR
    building, panel = WORLD[BUILDING1].key, WORLD[PANEL1].key
    above = certify(WORLD[ROOT], building.name, building.public.spki, later, YEAR)
    renewed = [above, certify(Identity(building, above), panel.name, panel.public.spki, later, YEAR)]

    def fetch(name: Name) -> Data | None:
        key = key_name_of(name)
        held = [*renewed, WORLD.anchor.certificate]
        return next((each.data for each in held if each.key_name == key), None)

    repos.publish(VOLTAGE, 4.5)
    with open_writer(archive_in(tmp_path)) as writer:
        report = archive_once(repos, writer, Certificates(writer.archive.folder, fetch), lambda: later)
    assert report.uncertified == 0
    assert len(Certificates(archive_in(tmp_path).folder)) == 5
    found = verified(archive_in(tmp_path))
    assert (found.readings, found.good) == (4, True), found.first


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        ("value", [1.5, 9.5, 3.5], "value is 9.5 in the archive and 2.5 in the packet"),
        ("unit", ["V", "V", "A"], "unit is 'A' in the archive and 'V' in the packet"),
        ("quality", ["good", "good", "bad"], "quality is 'bad' in the archive and 'good' in the packet"),
    ],
)
def test_a_column_that_says_something_else_than_the_packet_is_found(
    tmp_path: Path, repos: Repos, column: str, values: list[object], told: str
) -> None:
    fill(archive_in(tmp_path), repos)
    change(tmp_path, column, values)
    report = verified(archive_in(tmp_path))
    assert (report.altered, report.forged, report.good) == (1, 0, False)
    assert told in report.first[0]


def test_packets_that_are_forged_damaged_or_others_are_found(tmp_path: Path, repos: Repos) -> None:
    fill(archive_in(tmp_path), repos)
    wires = [repos.held[VOLTAGE][number][1] for number in (1, 2, 3)]
    flipped = wires[0][:-1] + bytes([wires[0][-1] ^ 1])
    change(tmp_path, "wire", [flipped, wires[1][:-2], wires[0]])
    report = verified(archive_in(tmp_path))
    assert (report.forged, report.altered) == (3, 0)
    assert "damaged" in report.first[1]
    assert "the packet is another one" in report.first[2]


def test_numbers_that_the_manifest_says_and_no_file_has_are_found(tmp_path: Path, repos: Repos) -> None:
    archive = archive_in(tmp_path)
    fill(archive, repos)
    path = tmp_path / archive.path / MANIFEST
    path.write_bytes(path.read_bytes().replace(b"[1,3]", b"[1,2,4,5]"))
    report = verified(archive)
    assert (report.absent, report.surplus) == (2, 1)
    assert str(report) == "3 readings verified, 2 absent, 1 surplus"


def test_a_file_that_is_gone_or_listed_twice_is_found(tmp_path: Path, repos: Repos) -> None:
    archive = archive_in(tmp_path)
    fill(archive, repos)
    (path,) = tmp_path.rglob("*.parquet")
    listed = tmp_path / archive.path / MANIFEST
    (entry,) = archive.manifest().files
    listed.write_bytes(listed.read_bytes().replace(f'"{entry}"'.encode(), f'"{entry}":3,"{entry}.copy"'.encode()))
    path.with_name(f"{path.name}.copy").write_bytes(path.read_bytes())
    assert verified(archive).surplus == 3
    path.unlink()
    path.with_name(f"{path.name}.copy").unlink()
    report = verified(archive)
    assert report.absent == 3
    assert "cannot be read" in report.first[0]


def test_what_is_no_certificate_is_said(tmp_path: Path) -> None:
    (tmp_path / "certificates").mkdir()
    (tmp_path / "certificates" / "x.cert").write_text("no")
    with pytest.raises(BadConfig, match="is no certificate"):
        Certificates(archive_in(tmp_path).folder)
