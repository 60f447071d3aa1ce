"""Past readings for macros: archive and repos of a group, as samples, in order, each once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.archive_world import DAY, GROUP, NOON, POWER, VOLTAGE, Repos, archive_in, fill

from roost.cli import _http, main
from roost.cli._past import Past
from roost.cli._spool import Spool
from roost.errors import Unreachable
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import numbered
from roost.naming.topic import topic_of_name
from roost.pipeline.archive.manifest import GroupArchive
from roost.pipeline.archive.ports import Source
from roost.pipeline.macros_history import Wanted
from roost.process.sample import Sample
from roost.wire import DigestSigner, make_data
from roost.wire.posting import Posting
from roost.wire.reading import TEXT, Reading

VOLTS = topic_of_name(VOLTAGE)
POSTED = GROUP + Name.parse("/Gate1/hall/temp")


def posted(repos: Repos, *payloads: bytes, time: int = NOON) -> None:
    """Messages of MQTT clients on hall/temp."""
    for number, payload in enumerate(payloads, 1):
        at = time + (number - 1) * SECOND
        reading = Reading(at, TEXT, payload, posting=Posting(1))
        wire = make_data(numbered(POSTED, number), reading.encode(), DigestSigner()).wire
        repos.held.setdefault(POSTED, {})[number] = (at, wire)


def read(
    filters: Sequence[str], archive: GroupArchive, source: Source | None, since: int = 0
) -> tuple[list[Sample], Past]:
    with Spool() as spool:
        past = Past(spool, Wanted(tuple(filters), since), lambda _: None)
        past.group(archive, source)
        return list(spool), past


def test_archive_and_repos_are_one_history_in_order_each_reading_once(tmp_path: Path) -> None:
    repos, archive = Repos(), archive_in(tmp_path)
    repos.publish(VOLTAGE, 1.0, 2.0)
    repos.publish(POWER, 10.0, time=NOON + SECOND // 2)
    fill(repos, archive)
    repos.publish(VOLTAGE, 3.0, time=NOON + DAY)
    samples, past = read([VOLTS, topic_of_name(POWER)], archive, repos)
    assert [(each.value, each.unit, each.number) for each in samples] == [
        (1.0, "V", 1),
        (10.0, "V", 1),
        (2.0, "V", 2),
        (3.0, "V", 3),
    ]
    assert samples[0].stream == VOLTAGE.value
    assert (past.lost, past.unreadable) == (0, 0)


def test_only_streams_that_are_referred_to_are_read(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0)
    repos.publish(POWER, 10.0)
    samples, _ = read([f"{topic_of_name(GROUP)}/+/+/Power"], archive_in(tmp_path), repos)
    assert [each.value for each in samples] == [10.0]
    assert {stream for stream, _, _ in repos.asked} == {POWER}


def test_what_came_over_mqtt_has_its_topic_and_its_value(tmp_path: Path) -> None:
    repos, archive = Repos(), archive_in(tmp_path)
    posted(repos, b"21.5", b"off")
    for source in (repos, None):
        samples, _ = read(["hall/+"], archive, source)
        assert [(each.topic, each.value) for each in samples] == (
            [("hall/temp", 21.5), ("hall/temp", "off")] if source else []
        )
    fill(repos, archive)
    assert [each.value for each in read(["hall/+"], archive, None)[0]] == [21.5, "off"]
    assert read([topic_of_name(POSTED)], archive, None)[0] == []


def test_what_is_older_is_left_out(tmp_path: Path) -> None:
    repos, archive = Repos(), archive_in(tmp_path)
    repos.publish(VOLTAGE, 1.0, 2.0)
    fill(repos, archive)
    repos.publish(VOLTAGE, 3.0, time=NOON + 2 * SECOND)
    assert [each.value for each in read([VOLTS], archive, repos, NOON + SECOND)[0]] == [2.0, 3.0]


def test_what_no_repo_has_is_counted_and_what_is_no_reading_too(tmp_path: Path) -> None:
    repos = Repos()
    repos.publish(VOLTAGE, 1.0, 2.0, 3.0)
    repos.refused.add((VOLTAGE, 2))
    repos.held[VOLTAGE][3] = (NOON, make_data(numbered(VOLTAGE, 3), b"?", DigestSigner()).wire)
    samples, past = read([VOLTS], archive_in(tmp_path), repos)
    assert [each.value for each in samples] == [1.0]
    assert (past.lost, past.unreadable) == (1, 1)


class Compacting(GroupArchive):
    """An archive whose manifest is behind its files once."""

    looks = 0

    def manifest(self) -> object:  # type: ignore[override]
        found = super().manifest()
        self.looks += 1
        if self.looks == 1:
            found.files = {"day=2027-01-15/part-gone.parquet": 1}
        return found


def test_an_archive_that_is_compacted_meanwhile_is_read_again(tmp_path: Path) -> None:
    repos, archive = Repos(), archive_in(tmp_path)
    repos.publish(VOLTAGE, 1.0, 2.0)
    fill(repos, archive)
    changing = Compacting(archive.folder, GROUP)
    samples, _ = read([VOLTS], changing, None)
    assert [each.value for each in samples] == [1.0, 2.0]
    assert changing.looks == 2


def test_macros_are_tried_on_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "home"))
    repos = Repos()
    posted(repos, b"20", b"22", b"24")
    fill(repos, archive_in(tmp_path / "archive"))
    file = tmp_path / "mean.js"
    file.write_text(
        "Noctua.topic('hall/temp', {limit: 2}).reduce((a, b) => a + b) / Noctua.topic('hall/temp', {limit: 2}).length"
    )
    arguments = ["--archive", str(tmp_path / "archive"), "--archive-only", "--since", "2020-01-01", "--json"]
    assert main(["macro", "test", str(file), *arguments]) == 0
    assert [json.loads(line)["output"] for line in capsys.readouterr().out.splitlines()] == ["20", "21", "23"]


def of_a_node(monkeypatch: pytest.MonkeyPatch, count: int) -> list[Sample]:
    """What is read of a node that has so many readings of one time, and a later one."""
    rows = [{"topic": f"hall/{each}", "time": NOON, "value": each} for each in range(count)]
    rows.append({"topic": "hall/last", "time": NOON + SECOND, "value": "last"})

    def ask(_url: str, _method: str, path: str, **_more: object) -> object:
        return rows[: int(path.partition("limit=")[2])]

    monkeypatch.setattr(_http, "ask", ask)
    with Spool() as spool:
        Past(spool, Wanted(("hall/+",)), lambda _: None).node("http://node", None)
        return list(spool)


@pytest.mark.parametrize("count", [10, 1000, 3000])
def test_a_node_is_read_to_the_end_though_a_page_is_of_one_time(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    values = [each.value for each in of_a_node(monkeypatch, count)]
    assert (len(values), values[-1]) == (count + 1, "last")


def test_more_of_one_time_than_a_node_tells_is_no_whole_history(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unreachable, match="readings of one time"):
        of_a_node(monkeypatch, 10_000)
