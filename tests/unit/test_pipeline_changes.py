"""Changes are numbered behind the newest that any repo has, also where repos lag, drop readings or do not answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.trust_world import NOW, PANEL1, SCHEMA, World

from roost.errors import BadPacket, Disconnected, Unreachable
from roost.host.stretch_access import Access
from roost.naming import Name
from roost.naming.building import Group, numbered
from roost.pipeline import changes as module
from roost.pipeline.changes import Changes, others_of
from roost.pipeline.virtual import VirtualPanel
from roost.pipeline.virtual_rows import VirtualRow
from roost.pubsub.consumers.arrival import Arrival, arrival_of
from roost.trust import KeyChain
from roost.wire.lineage import InputRange

KEYS = KeyChain(SCHEMA, [World()[PANEL1]])
PLACE = Group.at(Name.parse(PANEL1).prefix(-1)).panel("Panel1")
PANEL = VirtualPanel(PLACE, lambda name: KEYS.signer_for(name, NOW), job="energy/total@1", program=bytes(32))
INPUTS = (InputRange(Name.parse("/BigCompany/Building1/Electricity/Panel2/Heater/Power"), 1, 9),)
TOTAL = PLACE.name / "Heater" / "Total"


def row(value: Any, number: int = 1, output: str = "Heater/Total") -> VirtualRow:  # noqa: ANN401  poison as well
    return VirtualRow(output, number, NOW, value, INPUTS)


class Repo:
    """Has states of the stream, from number 1 on, of which some are dropped."""

    def __init__(self, *values: object, dropped: int = 0, trouble: Exception | None = None) -> None:
        self.packets = [PANEL.packet(row(value, number)) for number, value in enumerate(values, 1)]
        self.dropped = dropped
        self.trouble = trouble
        self.questions = 0

    def streams(self, prefix: Name) -> dict[Name, int]:
        self.questions += 1
        if self.trouble:
            raise self.trouble
        return {TOTAL: len(self.packets)} if prefix == TOTAL and self.packets else {}

    def read(self, stream: Name, low: int, high: int) -> list[Arrival]:
        return [
            arrival_of(stream, number, self.packets[number - 1], NOW)
            for number in range(low, high + 1)
            if number > self.dropped
        ]


def told(rows: Iterable[VirtualRow]) -> list[tuple[int, object]]:
    return [(each.number, each.value) for each in rows]


def test_what_is_new_follows_the_newest_and_what_is_not_is_left_out() -> None:
    assert told(Changes(Repo(), PANEL).numbered([row(5.0)])) == [(1, 5.0)]
    assert told(Changes(Repo(5.0, 6.0), PANEL).numbered([row(7.0)])) == [(3, 7.0)]
    assert told(Changes(Repo(5.0, 6.0), PANEL).numbered([row(5.0), row(6.0)])) == [], "the last row counts"


def test_a_repo_that_lags_does_not_say_which_number_is_next() -> None:
    lagging, other = Repo(5.0), Repo(5.0, 6.0, 7.0)
    assert told(Changes(lagging, PANEL, [other]).numbered([row(8.0)])) == [(4, 8.0)]
    assert told(Changes(lagging, PANEL, [other]).numbered([row(7.0)])) == [], "it is published, if not there"


def test_a_stream_whose_newest_reading_is_dropped_is_not_numbered_from_1_again() -> None:
    assert told(Changes(Repo(5.0, 6.0, dropped=2), PANEL).numbered([row(6.0)])) == [(3, 6.0)]


def test_behind_a_number_that_is_taken_the_next_one_is_tried() -> None:
    repo = Repo(5.0)
    changes = Changes(repo, PANEL)
    assert told(changes.numbered([row(7.0)])) == [(2, 7.0)]
    taken = numbered(TOTAL, 2)
    assert told(changes.again([taken])) == [(3, 7.0)], "though the repo has not heard of 2 yet"
    repo.packets = Repo(5.0, 6.0, 6.5, 6.6).packets
    assert told(changes.again([taken])) == [(5, 7.0)]
    repo.packets = Repo(5.0, 6.0, 6.5, 6.6, 7.0).packets
    assert told(changes.again([taken])) == [], "another attempt has published it"


@pytest.mark.parametrize("trouble", [Unreachable("gone"), BadPacket("garbled")])
def test_a_repo_in_trouble_is_done_without_and_asked_once(trouble: Exception) -> None:
    gone = Repo(trouble=trouble)
    changes = Changes(Repo(5.0), PANEL, [gone])
    assert told(changes.numbered([row(6.0), row(1.0, output="Heater/Other")])) == [(2, 6.0), (1, 1.0)]
    assert gone.questions == 1
    with pytest.raises(Unreachable, match=f"no repo says how many readings .*{trouble}"):
        told(Changes(gone, PANEL, [gone]).numbered([row(6.0)]))


def test_a_row_that_cannot_be_a_reading_is_numbered_as_the_marker_in_its_place() -> None:
    poison = row(float("nan"))
    assert [each.number for each in Changes(Repo(5.0), PANEL).numbered([poison])] == [2]
    assert told(Changes(Repo(5.0, None), PANEL).numbered([poison])) == [], "it is there"
    nowhere = row(1.0, output="no/stream/at all")
    assert [*Changes(Repo(), PANEL).numbered([nowhere])] == [nowhere], "for who tells of it"


class Face:
    """A face to one repo; a group of it is its name, and where it is."""

    def __init__(self, uri: str, *, is_up: bool) -> None:
        self.uri = uri
        self.is_up = is_up

    def group(self, name: Name) -> object:
        return self.uri, name


def test_each_repo_that_is_named_is_asked_and_one_that_is_away_is_not_dialled_for_every_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dialled: list[str] = []

    def face_of(access: Access) -> Face:
        (uri,) = access.repos
        dialled.append(uri)
        if uri == "unix:///gone":
            raise Disconnected(uri)
        return Face(uri, is_up=uri != "unix:///down")

    monkeypatch.setattr(module, "face_of", face_of)
    monkeypatch.setattr(module, "_away", {})
    named = tuple(f"unix:///{each}" for each in ("one", "gone", "down", "two"))
    for _ in range(2):
        found: list[object] = [*others_of(Access(named), PLACE.group.name)]
        assert found == [(f"unix:///{each}", PLACE.group.name) for each in ("one", "two")]
    assert dialled.count("unix:///gone") == 1
    assert others_of(Access(named[:1]), PLACE.group.name) == [], "who is alone is asked anyway"
