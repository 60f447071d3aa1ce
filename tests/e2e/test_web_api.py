"""What a node shows over HTTP: streams, groups, history, passports, lineage, the network, alerts, macros on trial."""

from __future__ import annotations

import asyncio
import csv
import json
import secrets
import time
from collections.abc import Coroutine
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from tests.e2e.test_http import write_users
from tests.loops import run
from tests.web_api_world import GROUP, START, World, keys, node

from roost.host.keystore import KeyStore
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import numbered
from roost.repo.catalogue import Description, catalogue_of
from roost.trust import Identity, certify, generate
from roost.web.api import alerts, history, judging, lookout, passport
from roost.wire import Data, DigestSigner, make_data
from roost.wire.reading import SENML_CBOR, Lineage, Reading
from roost.wire.senml import Value, encode_values

GATE = f"{GROUP}/Gate1"
TEMP = f"{GATE}/hall/temp"
SENSOR = f"{GROUP}/Panel1/Heater/Voltage"
USERS = "user ada\nreadwrite #\nread $SYS/#\nread $roles/#\nuser bob\nread hall/#\nuser eve\nread other/topic\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The keys, which take long to make."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        keys(folder, patch)
    return folder / "home"


@pytest.fixture(autouse=True)
def use_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_HOME", str(home))
    monkeypatch.delenv("ROOST_PASSPHRASE", raising=False)


def sensor(number: int, value: float = 230.0, time: int = START, stream: str = SENSOR) -> Data:
    content = Reading(time, SENML_CBOR, encode_values([Value(value, "V")])).encode()
    return make_data(numbered(Name.parse(stream), number), content, DigestSigner())  # by nobody: forged


async def everything(world: World, path: str, user: str = "") -> list[Any]:
    """All items of a list, page after page."""
    items: list[Any] = []
    after, mark = "", "&" if "?" in path else "?"
    while True:
        answer = await world.ask(f"{path}{mark}after={quote(after)}" if after else path, user)
        assert answer.status == 200, answer.body
        items += answer.json["items"]
        after = answer.json["next"]
        if after is None:
            return items


def test_a_node_tells_what_it_is_and_what_one_may_do_there(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", 21.5)
            told = (await world.ask("/node")).json
            assert (told["name"], told["user"], told["anonymous"], told["groups"]) == ("node1", "", True, [GROUP])
            assert told["may"] == {"macros": True, "roles": False, "demo": False}
            assert told["features"]["groups"]
            assert not told["features"]["roles"]
            assert not told["features"]["users"]
            assert not told["features"]["pipelines"]
            assert told["started"] <= told["now"] <= world.now
            assert any(uri.startswith("tcp4://") for uri in told["listeners"])

    run(test)


def test_streams_are_listed_by_pages_by_name_and_by_time_and_found(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            for at in range(7):
                await world.publish(f"hall/room{at}/temp", 20 + at, time=START + (at * 3 % 7) * SECOND)
            await world.publish("hall/room1/hum", 45, time=START)
            by_name = await everything(world, "/streams?limit=3")
            names = [each["stream"] for each in by_name]
            assert names == sorted(names)
            assert len(names) == 8
            by_time = await everything(world, "/streams?limit=3&sort=time")
            times = [each["time"] for each in by_time]
            assert times == sorted(times, reverse=True)
            assert {each["stream"] for each in by_time} == set(names)
            first = (await world.ask("/streams?limit=3")).json
            assert (first["total"], len(first["items"])) == (8, 3)
            assert len((await world.ask("/streams?match=ROOM1")).items) == 2
            found = (await world.ask(f"/streams?match={quote('hall/+/temp')}")).items
            assert [each["topic"] for each in found] == [f"hall/room{at}/temp" for at in range(7)]
            for words in ("room1 hum", "HUM hall", "Gate1 / room1 / hum"):
                assert len((await world.ask(f"/streams?match={quote(words)}")).items) == 1
            assert (await world.ask("/streams?match=room1%20nothing")).items == []
            assert (await world.ask(f"/streams?group={GROUP}")).json["total"] == 8
            assert (await world.ask("/streams?group=/no/such")).json["total"] == 0

    run(test)


def test_streams_are_found_by_their_names_as_people_read_them(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("büro/Zimmer Süd/temp", 20)
            await world.publish("flur/temp", 20)
            for words in ("BÜRO", "büro/zimmer süd", "süd zimmer", "b%C3%BCro"):
                [found] = (await world.ask(f"/streams?match={quote(words)}")).items
                assert found["topic"] == "büro/Zimmer Süd/temp"

    run(test)


def exhaust(coroutine: Coroutine[object, None, object]) -> None:
    """Give a coroutine its turn until it raises `StopIteration`."""
    while True:
        coroutine.send(None)


def test_a_stream_that_comes_while_others_are_looked_for_has_none_found_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookout, "PIECE", 1)  # others have their turn behind each

    async def test() -> None:
        async with node(tmp_path) as world:
            for topic in ("hall/a", "hall/b"):
                await world.publish(topic, 20)
            search = world.lookout.found(b"", "", "hall")
            search.send(None)  # has found one
            await world.publish("hall/0", 20)
            with pytest.raises(StopIteration) as ended:
                exhaust(search)
            assert [row.topic for row in ended.value.value] == ["hall/a", "hall/b"]

    run(test)


def test_a_stream_tells_its_last_reading_its_numbers_and_what_its_panel_says_of_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", *range(20, 30), time=START, step=10 * SECOND)
            told = (await world.ask(f"/streams{TEMP}")).json
            assert told["topic"] == "hall/temp"
            assert (told["first"], told["last"], told["count"]) == (1, 10, 10)
            assert (told["value"], told["time"], told["text"]) == (29, START + 90 * SECOND, "29")
            assert (told["interval_ms"], told["virtual"], told["sealed"]) == (10_000, False, False)
            assert told["description"] is None
            said = Description(Name.parse(SENSOR), "V", "Voltage_Sensor", 1000, "the heater's")
            description = said.reading(START).encode()
            stream = catalogue_of(Name.parse(f"{GROUP}/Panel1"))
            await world.bring(make_data(numbered(stream, 1), description, DigestSigner()), sensor(1))
            told = (await world.ask(f"/streams{SENSOR}")).json
            assert (told["topic"], told["text"], told["unit"]) == (None, "230 V", "V")
            assert told["description"] == {
                "unit": "V",
                "class": "Voltage_Sensor",
                "interval_ms": 1000,
                "label": "the heater's",
            }
            assert (await world.ask("/streams")).json["total"] == 2

    run(test)


def test_groups_and_campus_tell_who_keeps_and_who_publishes(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", 20, 21)
            await world.bring(sensor(1))
            [group] = (await world.ask("/groups")).items
            assert (group["name"], group["label"], group["building"]) == (GROUP, "Electricity", "Building1")
            assert (group["streams"], group["readings"]) == (2, 3)
            assert group["size_bytes"] > 300
            assert [(each["name"], each["here"], each["health"]) for each in group["repos"]] == [("Repo1", True, "ok")]
            assert [(each["name"], each["streams"]) for each in group["panels"]] == [("Gate1", 1), ("Panel1", 1)]
            one = (await world.ask(f"/groups{GROUP}")).json
            assert one["name"] == GROUP
            campus = (await world.ask("/campus")).json
            kinds = {each["name"]: each["kind"] for each in campus["nodes"]}
            assert kinds == {"node1": "node", "Repo1": "repo", "Gate1": "gate", "Panel1": "panel"}
            assert {(each["kind"], each["health"]) for each in campus["links"]} == {("publish", "ok")}
            known = {each["id"] for each in campus["nodes"]}
            assert {each[end] for each in campus["links"] for end in ("from", "to")} <= known

    run(test)


def test_what_was_there_before_a_restart_is_shown_after_it(tmp_path: Path) -> None:
    said = Description(Name.parse(SENSOR), "V", "Voltage_Sensor", 1000, "the heater's")
    stream = catalogue_of(Name.parse(f"{GROUP}/Panel1"))

    async def test() -> None:
        async with node(tmp_path, store=str(tmp_path / "store")) as world:
            await world.publish("hall/temp", *range(20), time=START, step=10 * SECOND)
            await world.bring(
                make_data(numbered(stream, 1), said.reading(START).encode(), DigestSigner()), sensor(1), sensor(2)
            )
            before = (await world.ask("/streams")).items
        async with node(tmp_path, store=str(tmp_path / "store")) as world:
            now = [each | {"stale": False} for each in (await world.ask("/streams")).items]
            assert now == before
            assert (await world.ask(f"/streams{SENSOR}")).json["description"]["label"] == "the heater's"
            [told] = (await world.ask(f"/history?stream={TEMP}&points=100")).json["streams"]
            assert [point[1] for point in told["points"]] == list(range(20))
            await world.publish("hall/temp", 20)
            assert (await world.ask(f"/streams{TEMP}")).json["last"] == 21

    run(test)


def test_numbers_that_are_far_apart_are_not_counted_through(tmp_path: Path) -> None:
    far = 1 << 40
    stream = catalogue_of(Name.parse(f"{GROUP}/Panel1"))
    said = Description(Name.parse(SENSOR), "V", "Voltage_Sensor", 1000, "the heater's").reading(START).encode()

    async def test() -> None:
        async with node(tmp_path, store=str(tmp_path / "store")) as world:
            await world.bring(make_data(numbered(stream, far), said, DigestSigner()), sensor(1), sensor(2), sensor(far))
            rows = await everything(world, f"/history?stream={SENSOR}&order=newest&limit=2")
            assert [each["number"] for each in rows] == [far, 2, 1]
        async with node(tmp_path, store=str(tmp_path / "store")) as world:
            told = (await world.ask(f"/streams{SENSOR}")).json
            assert (told["last"], told["description"]["label"]) == (far, "the heater's")

    run(test)


def test_what_retention_has_dropped_is_in_no_history_and_its_passport_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passport, "PATIENCE_MS", 50)

    async def test() -> None:
        groups = [{"name": GROUP, "panel": "Gate1", "repo": "Repo1", "retention": ["# 5"]}]
        async with node(tmp_path, groups=groups) as world:
            for value in range(20):
                await world.publish("hall/temp", value)
            await world.until(lambda: world.repo.shelf.holdings.of(Name.parse(TEMP)).count == 5)
            told = (await world.ask(f"/streams{TEMP}")).json
            assert (told["first"], told["last"], told["count"], told["value"]) == (16, 20, 5, 19)
            rows = await everything(world, f"/history?stream={TEMP}&limit=2")
            assert [each["number"] for each in rows] == [16, 17, 18, 19, 20]
            [told] = (await world.ask(f"/history?stream={TEMP}&points=100")).json["streams"]
            assert [point[2] for point in told["points"]] == [16, 17, 18, 19, 20]
            answer = await world.ask(f"/passport?stream={TEMP}&number=3")
            assert (answer.status, "retention has dropped it" in answer.json["error"]) == (404, True)

    run(test)


# -- history


def test_history_comes_by_pages_without_a_reading_lost_or_told_twice(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", *range(150), time=START)
            await world.publish("hall/hum", *range(30), time=START)
            both = f"/history?stream={TEMP}&stream={GATE}/hall/hum"
            rows = await everything(world, f"{both}&limit=40")
            assert [(each["topic"], each["number"]) for each in rows] == [
                *[("hall/temp", at) for at in range(1, 151)],
                *[("hall/hum", at) for at in range(1, 31)],
            ]
            assert [each["value"] for each in rows[:150]] == list(range(150))
            window = f"{both}&since={START + 10 * SECOND}&until={START + 12 * SECOND}"
            assert [each["value"] for each in await everything(world, window)] == [10, 11, 12] * 2
            assert len(await everything(world, f"/history?stream={TEMP}&since=149")) == 2, "from a number on"
            assert await everything(world, f"/history?stream={TEMP}&since=1h") == []
            back = await everything(world, f"{both}&limit=40&order=newest")
            assert [each["number"] for each in back] == [*range(150, 0, -1), *range(30, 0, -1)]
            inside = await everything(world, f"{window}&order=newest&limit=2")
            assert [each["value"] for each in inside] == [12, 11, 10] * 2
            last = (await world.ask(f"/history?stream={TEMP}&limit=150")).json
            assert (last["next"], last["total"]) == (None, 150)

    run(test)


def test_history_as_points_and_as_buckets_is_the_same_readings(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", *[at % 10 for at in range(300)], time=START)
            await world.publish("hall/temp", "no number", '{"value": 3.5, "unit": "Cel"}', time=START + 300 * SECOND)
            path = f"/history?stream={TEMP}"
            [exact] = (await world.ask(f"{path}&points=1000")).json["streams"]
            assert [point[1] for point in exact["points"]] == [at % 10 for at in range(300)] + [3.5]
            assert [point[2] for point in exact["points"]][-2:] == [300, 302]
            assert exact["count"] == 302
            for _ in range(2):  # the second time from what is remembered
                [rough] = (await world.ask(f"{path}&points=10")).json["streams"]
                assert sum(bucket[4] for bucket in rough["buckets"]) == 301
                assert len(rough["buckets"]) <= 10
            part = f"{path}&points=1000&since={START + 5 * SECOND}&until={START + 7 * SECOND}"
            [inside] = (await world.ask(part)).json["streams"]
            assert inside["points"] == [[START + at * SECOND, at, at + 1] for at in (5, 6, 7)]
            [nothing] = (await world.ask(f"{path}&points=10&since=1h")).json["streams"]
            assert (nothing["points"], nothing["count"]) == ([], 0)

    run(test)


def test_history_of_whole_blocks_is_remembered_and_stays_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.web.api.curves.BLOCK", 64)
    monkeypatch.setattr("roost.web.api.curves.PIECE", 16)

    async def test() -> None:
        async with node(tmp_path) as world:
            for begin in range(0, 300, 100):
                await world.publish("hall/temp", *range(begin, begin + 100), time=START + begin * SECOND)
                for _ in range(2):
                    [told] = (await world.ask(f"/history?stream={TEMP}&points=1000")).json["streams"]
                    assert [point[1:] for point in told["points"]] == [[at, at + 1] for at in range(begin + 100)]

    run(test)


def test_history_as_csv_and_arrow(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", 1.5, "text", time=START)
            told = await world.ask(f"/history?stream={TEMP}", Accept="text/csv")
            rows = list(csv.DictReader(StringIO(told.body.decode())))
            assert [(row["stream"], row["value"]) for row in rows] == [(TEMP, "1.5"), (TEMP, "text")]
            saved = await world.ask(f"/history?stream={TEMP}&format=csv")
            assert saved.body == told.body
            assert saved.headers["Content-Disposition"] == 'attachment; filename="temp.csv"'
            table = await world.ask(f"/history?stream={TEMP}", Accept="application/vnd.apache.arrow.stream")
            assert table.headers["Content-Type"] == "application/vnd.apache.arrow.stream"
            found = pa.ipc.open_stream(table.body).read_all()
            assert found.column("value").to_pylist() == [1.5, None]
            assert found.column("text").to_pylist() == [None, "text"]

    run(test)


def test_a_table_heeds_order_and_place_and_its_headers_say_where_it_goes_on(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", *range(5), time=START)
            await world.publish("hall/hum", *range(10, 13), time=START)
            streams = f"stream={TEMP}&stream={GATE}/hall/hum"

            async def pages(order: str, form: str, limit: int) -> list[list[str]]:
                found, question = [], f"?{streams}&order={order}&format={form}&limit={limit}"
                while question:
                    told = await world.ask(f"/history{question}")
                    if form == "csv":
                        found.append([row["value"] for row in csv.DictReader(StringIO(told.body.decode()))])
                    else:
                        table = pa.ipc.open_stream(told.body).read_all()
                        found.append([f"{value:g}" for value in table.column("value").to_pylist()])
                    link = told.headers.get("Link", "")
                    assert bool(link) == ("Roost-Next" in told.headers)
                    question = link[1:].partition(">")[0]
                return found

            assert await pages("newest", "csv", 3) == [["4", "3", "2"], ["1", "0", "12"], ["11", "10"]]
            assert await pages("oldest", "arrow", 4) == [["0", "1", "2", "3"], ["4", "10", "11", "12"]]
            assert await pages("oldest", "csv", 100_000) == [["0", "1", "2", "3", "4", "10", "11", "12"]]

    run(test)


WRONG = [
    ("/history", 400, "stream="),
    ("/history?stream=noname", 400, "no name of a stream"),
    (f"/history?stream={TEMP}&until=5", 400, "until is a time"),
    (f"/history?stream={TEMP}&since={START}&until={START - 1}", 400, "before since"),
    (f"/history?stream={TEMP}&since=yesterday", 400, "since"),
    (f"/history?stream={TEMP}&points=0", 400, "points is 1 to"),
    (f"/history?stream={TEMP}&points=5001", 400, "points is 1 to"),
    (f"/history?stream={TEMP}&limit=1001", 400, "limit is 1 to"),
    (f"/history?stream={TEMP}&after=%21", 400, "after is"),
    (f"/history?stream={TEMP}&after=YQ==", 400, "after is"),
    (f"/history?stream={TEMP}&format=xls", 400, "format is"),
    (f"/history?stream={TEMP}&order=random", 400, "order is"),
    ("/history?" + "&".join(["stream=/a"] * 101), 400, "101 times"),
    ("/streams?limit=0", 400, "limit is 1 to"),
    ("/streams?limit=-1", 400, "limit is 1 to"),
    ("/streams?limit=1&limit=2", 400, "2 times"),
    ("/streams?sort=size", 400, "name or time"),
    ("/streams?sort=time&after=YQ==", 400, "after is"),
    ("/streams?match=a/%23/b", 400, "no topic filter"),
    ("/streams/no/such", 404, "no repo"),
    ("/groups/no/such", 404, "no such group"),
    ("/passport", 400, "no name of a stream"),
    ("/passport?stream=/no/such&number=1", 404, "no repo"),
    (f"/passport?stream={TEMP}&number=0", 400, "number is 1 to"),
    (f"/passport?stream={TEMP}&number=99", 404, "not here"),
    (f"/lineage?stream={TEMP}&depth=99", 400, "depth is 0 to"),
    ("/views?topic=a", 404, "no roles"),
    ("/events?stream=/no/such", 404, "no repo"),
    ("/events?every_ms=1", 400, "every_ms is"),
]


def test_what_is_wrong_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passport, "PATIENCE_MS", 50)

    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", 1)
            for path, status, said in WRONG:
                answer = await world.ask(path)
                assert (answer.status, said in answer.json.get("error", "")) == (status, True), (path, answer.body)

    run(test)


def test_too_much_for_one_picture_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_READINGS", 10)

    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", *range(11), time=START, step=SECOND)
            answer = await world.ask(f"/history?stream={TEMP}&points=5")
            assert (answer.status, "11 readings" in answer.json["error"]) == (400, True)
            assert (await world.ask(f"/history?stream={TEMP}&points=5&since=2")).status == 200
            early = f"/history?stream={TEMP}&points=5&since={START}&until={START + 5 * SECOND}"
            assert (await world.ask(early)).json["streams"][0]["count"] == 6, "what lies behind it is not looked at"

    run(test)


# -- where a reading comes from


def test_a_passport_has_the_chain_of_certificates_up_to_the_anchor(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", 20, 21)
            told = (await world.ask(f"/passport?stream={TEMP}&number=1")).json
            assert (told["verdict"], told["rule"], told["value"]) == ("trusted", "#reading", 20)
            assert told["signature"] == {"type": "ECDSA", "valid": True}
            assert told["signer"].startswith(GATE)
            assert [each["verdict"] for each in told["chain"]] == ["trusted"] * 3
            assert told["chain"][-1]["name"].startswith("/BigCompany/BMS/KEY/")
            for link, issuer in zip(told["chain"], told["chain"][1:], strict=False):
                assert issuer["name"].startswith(link["issuer"])
            assert told["repos"] == [{"name": "Repo1", "holds": True}]
            assert told["name"] == f"{TEMP}/seq=1"
            assert told["received"] is None
            assert (await world.ask(f"/passport?stream={TEMP}")).json["number"] == 2, "the newest"

    run(test)


def test_a_forged_reading_is_refused_by_its_passport_and_says_why(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", 20)
            repo = world.repo
            honest = Data.decode(repo.store.range(Name.parse(TEMP), 1, 1, 1)[0][1])
            altered = bytearray(honest.wire)
            at = honest.wire.index(b"20", honest.wire.index(honest.content))
            altered[at : at + 2] = b"99"
            await world.bring(sensor(1))
            await world.put(numbered(Name.parse(TEMP), 2), bytes(altered))
            told = (await world.ask(f"/passport?stream={SENSOR}&number=1")).json
            assert told["verdict"] == "refused"
            assert "says nothing about who made it" in told["reason"]
            assert told["signature"] == {"type": "SHA-256 digest", "valid": None}
            assert told["chain"] == []
            swapped = (await world.ask(f"/passport?stream={TEMP}&number=2")).json
            assert (swapped["verdict"], swapped["signature"]["valid"]) == ("refused", False)
            assert "altered" in swapped["reason"]

    run(test)


def test_a_reading_whose_certificate_nobody_has_is_not_believed_and_not_refused(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "CERTIFICATE_MS", 50)
    [building] = [each for each in KeyStore(home).identities() if str(each.name) == "/BigCompany/Building1"]
    key = generate(Name.parse(f"{GROUP}/Panel9"), secrets.token_bytes)
    now = time.time_ns()
    panel = Identity(key, certify(building, key.name, key.public.spki, now))
    name = numbered(Name.parse(f"{GROUP}/Panel9/Heater/Voltage"), 1)
    content = Reading(START, SENML_CBOR, encode_values([Value(1.0, "V")])).encode()
    reading = make_data(name, content, panel.signer)

    async def test() -> None:
        async with node(tmp_path) as world:
            await world.put(name, reading.wire)
            told = (await world.ask(f"/passport?stream={name.prefix(-1)}")).json
            assert (told["verdict"], told["signature"]["valid"]) == ("unverified", None)
            [link] = told["chain"]
            assert link["name"].startswith(str(key.name))
            assert link["reason"]
            tree = (await world.ask(f"/lineage?stream={name.prefix(-1)}")).json
            assert (tree["verdict"], tree["held"]) == ("unverified", 1)

    run(test)


def test_lineage_goes_back_to_the_raw_readings_verified(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            for name, code in (
                ("twice", "2 * Noctua.topic('hall/temp')"),
                ("more", "1 + Noctua.topic('Noctua/twice')"),
            ):
                assert (await world.ask(f"/macros/{name}", method="PUT", body={"code": code})).status == 201
            await world.publish("hall/temp", 20, 21)
            stream = f"{GATE}/Noctua/more"
            await world.until(lambda: (row := world.index.get(stream)) is not None and row.number == 2)
            tree = (await world.ask(f"/lineage?stream={stream}&number=2")).json
            seen = []
            while True:
                seen.append((tree["stream"], tree["number"], tree["verdict"], tree["truncated"]))
                if not tree["inputs"]:
                    break
                [tree] = tree["inputs"]
            assert [(name.removeprefix(GATE), *rest) for name, *rest in seen] == [
                ("/Noctua/more", 2, "trusted", False),
                ("/Noctua/twice", 2, "trusted", False),
                ("/hall/temp", 2, "trusted", False),
            ]
            cut = (await world.ask(f"/lineage?stream={stream}&number=2&depth=1")).json
            assert cut["inputs"][0]["truncated"]
            assert not cut["truncated"]
            told = (await world.ask(f"/passport?stream={stream}&number=2")).json
            assert told["lineage"]["cause"] == f"{TEMP}/seq=2", "what set all of it off"
            assert told["lineage"]["inputs"] == [{"stream": f"{GATE}/Noctua/twice", "low": 2, "high": 2}]
            assert told["value"] == 43
            assert (await world.ask(f"/streams{stream}")).json["virtual"]

    run(test)


# -- the rest


def test_the_network_shows_faces_routes_and_tables(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            told = (await world.ask("/network")).json
            assert any(each["uri"] == "internal://page" for each in told["faces"])
            assert GROUP in {each["name"] for each in told["fib"]}
            faces = {each["id"] for each in told["faces"]}
            assert {hop["face"] for each in told["fib"] for hop in each["hops"]} <= faces
            assert told["store"]["capacity"] > 0
            assert {each["name"] for each in told["strategies"]} >= {"/"}

    run(test)


def test_pipelines_are_those_whose_status_files_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "other"))
    folder = tmp_path / "other" / "pipelines"
    folder.mkdir(parents=True)
    stage: dict[str, Any] = {
        "rows_per_s": 9.0,
        "results_per_s": 3.0,
        "lag_s": 1.5,
        "completeness": 1.0,
        "last_batch_ns": START,
    }
    stage |= {"inputs": [GROUP], "output": "/BigCompany/Energy"}

    def write(name: str, state: str, updated: int) -> None:
        query = {"state": state, "restarts": 1, "last_error": "it broke\nlong ago", "stages": {"rooms": stage}}
        said = {"pid": 7, "since_ns": START, "updated_ns": updated, "queries": {name: query}}
        (folder / f"{name}.status.json").write_text(json.dumps(said))

    async def test() -> None:
        async with node(tmp_path, groups=[], trees=[], node={}) as world:
            write("live", "running", world.now)
            write("gone", "running", world.now - 3600 * SECOND)
            (folder / "bad.status.json").write_text("{")
            (folder / "odd.status.json").write_text("[]")
            (folder / "other.status.json").write_text("{}")
            assert (await world.ask("/node")).json["features"]["pipelines"]
            gone, live = (await world.ask("/pipelines")).items
            assert (live["name"], live["state"], live["last_error"]) == ("live", "running", "it broke")
            assert live["stages"] == [
                {
                    "name": "rooms",
                    "inputs": [GROUP],
                    "output": "/BigCompany/Energy",
                    "input_rate": 9.0,
                    "output_rate": 3.0,
                    "lag_s": 1.5,
                    "completeness": 1.0,
                    "last_batch": START,
                }
            ]
            assert (gone["name"], gone["state"]) == ("gone", "dead")
            assert (await world.ask("/streams")).json == {"items": [], "next": None, "total": 0}
            assert (await world.ask("/network")).status == 404

    run(test)


def test_a_macro_on_trial_shows_its_runs_and_is_not_deployed(tmp_path: Path) -> None:
    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", 20, 21, 0)
            code = "var t = Noctua.topic('hall/temp'); if (!t) throw new Error('cold'); t * 2"
            body: dict[str, Any] = {"definition": {"name": "x", "code": code}, "since": "1h"}
            told = (await world.ask("/trial", method="POST", body=body)).json
            assert [run.get("output") for run in told["runs"]] == ["40", "42", None]
            assert "cold" in told["runs"][2]["failure"]["message"]
            assert (told["readings"], told["results"], told["failures"], told["truncated"]) == (3, 2, 1, False)
            assert (await world.ask("/macros")).json == []
            short = (await world.ask("/trial", method="POST", body=body | {"limit": 2})).json
            assert (short["readings"], short["truncated"]) == (2, True)
            wrongs: tuple[Any, ...] = (
                [],
                {"definition": {}},
                {"since": "1h"},
                body | {"limit": 0},
                body | {"limit": True},
                body | {"since": "never"},
                body | {"since": None},
                body | {"more": 1},
                {"definition": {"code": "1", "language": "python"}},
                {"definition": {"code": "("}},
            )
            for wrong in wrongs:
                answer = await world.ask("/trial", method="POST", body=wrong)
                assert (answer.status, bool(answer.json["error"])) == (400, True), wrong

    run(test)


def test_a_macro_on_trial_that_takes_too_long_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.web.api.trial.MAX_TIME", 0)
    monkeypatch.setattr("roost.web.api.trial.TURN", 0)

    async def test() -> None:
        async with node(tmp_path) as world:
            await world.publish("hall/temp", *range(20))
            body = {"definition": {"code": "Noctua.topic('hall/temp')"}, "since": "1h"}
            told = (await world.ask("/trial", method="POST", body=body)).json
            assert told["truncated"]
            assert told["readings"] < 20

    run(test)


def test_a_look_that_fails_is_told_of_and_not_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looks: list[int] = []

    async def failing(_lookout: object) -> list[dict[str, object]]:
        looks.append(1)
        raise KeyError("state")

    monkeypatch.setattr(alerts, "EVERY_S", 0.02)
    monkeypatch.setattr(alerts, "pipelines", failing)

    async def test() -> None:
        async with node(tmp_path) as world:
            await world.until(lambda: len(looks) > 1)

    run(test)
    assert "what is wrong could not be seen: KeyError: 'state'" in caplog.text


def test_what_is_wrong_is_an_alert_and_over_when_it_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "EVERY_S", 0.02)
    monkeypatch.setattr(alerts, "LOW_DISK", 1.1)
    monkeypatch.setattr(lookout, "TICK_S", 0.02)
    monkeypatch.setattr("roost.web.index.MIN_STALE", SECOND // 2)

    async def test() -> None:
        async with node(tmp_path, store=str(tmp_path / "store")) as world:

            async def found() -> dict[str, Any]:
                return {each["kind"]: each for each in (await world.ask("/alerts")).items}

            code = "if (Noctua.topic('hall/temp') < 0) throw new Error('frozen'); 1"
            await world.ask("/macros/cold", method="PUT", body={"code": code})
            await world.publish("hall/temp", *range(10), -1, time=world.now - SECOND, step=SECOND // 10)
            async with asyncio.timeout(60):
                while not {"stale", "macro", "disk"} <= (told := await found()).keys():  # noqa: ASYNC110  nobody tells
                    await asyncio.sleep(0.01)
            assert told["stale"]["subject"].startswith(GATE)
            assert "frozen" in told["macro"]["text"]
            assert all(each["remedy"] and each["link"].startswith("#/") for each in told.values())
            monkeypatch.setattr(alerts, "LOW_DISK", 0)
            monkeypatch.setattr(alerts, "FAILED", 0)
            async with asyncio.timeout(60):
                while {"stale", "macro", "disk"} & (await found()).keys():
                    await world.publish("hall/temp", 4)

    run(test)


def test_results_that_are_late_are_no_alert_for_a_while_and_then_one_about_what_makes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts, "EVERY_S", 0.02)
    monkeypatch.setattr(lookout, "TICK_S", 0.02)
    monkeypatch.setattr("roost.web.index.MIN_STALE", SECOND // 2)

    async def test() -> None:
        async with node(tmp_path) as world:

            async def found(stream: str) -> list[Any]:
                return [each for each in (await world.ask("/alerts")).items if each["subject"] == stream]

            made = f"{GROUP}/Panel1/Heater/mean"
            catalogue = catalogue_of(Name.parse(f"{GROUP}/Panel1"))
            for number, each in enumerate((SENSOR, made), 1):
                description = Description(Name.parse(each), "V", "", 100, "").reading(START).encode()
                await world.bring(make_data(numbered(catalogue, number), description, DigestSigner()))
            lineage = Lineage((numbered(Name.parse(SENSOR), 1),), bytes(32))
            value = encode_values([Value(230.0, "V")])
            result = Reading(world.now, SENML_CBOR, value, lineage).encode()
            await world.bring(
                sensor(1, time=world.now), make_data(numbered(Name.parse(made), 1), result, DigestSigner())
            )
            await world.until(lambda: len(world.index.stale) == 2)
            async with asyncio.timeout(60):
                while not (told := await found(SENSOR)):  # noqa: ASYNC110  nobody tells
                    await asyncio.sleep(0.01)
            assert told[0]["remedy"] == "see that the device is on and reaches its panel"
            assert await found(made) == []
            monkeypatch.setattr(alerts, "PATIENCE", 0)
            monkeypatch.setattr(alerts, "PATIENT_INTERVALS", 0)
            async with asyncio.timeout(60):
                while not (told := await found(made)):  # noqa: ASYNC110  as above
                    await asyncio.sleep(0.01)
            assert "look at the pipeline or macro that makes it" in told[0]["remedy"]

    run(test)


# -- who may see what


def test_permissions_decide_stream_by_stream_and_hold_for_every_resource(tmp_path: Path) -> None:
    said: dict[str, Any] = write_users(tmp_path, USERS, ada="word", bob="word", eve="word")

    async def test() -> None:
        async with node(tmp_path, **said) as world:
            await world.publish("hall/temp", 20, 21)
            await world.publish("attic/temp", 5)
            await world.bring(sensor(1))
            attic = f"{GATE}/attic/temp"

            async def streams(user: str) -> list[str]:
                return [each["stream"] for each in await everything(world, "/streams?limit=1", f"{user}:word")]

            assert len(await streams("ada")) == 3
            assert await streams("bob") == [TEMP]
            assert await streams("eve") == []
            assert (await world.ask("/streams", "bob:word")).json["total"] == 1
            assert (await world.ask("/streams")).status == 401
            for path in (f"/streams{attic}", f"/history?stream={attic}", f"/passport?stream={attic}&number=1"):
                assert (await world.ask(path, "bob:word")).status == 403, path
                assert (await world.ask(path, "ada:word")).status == 200, path
            assert (await world.ask(f"/lineage?stream={attic}", "bob:word")).status == 403
            assert (await world.ask(f"/history?stream={TEMP}&stream={attic}", "bob:word")).status == 403
            assert (await world.ask(f"/events?stream={attic}", "bob:word")).status == 403
            for path in ("/network", "/pipelines"):
                assert (await world.ask(path, "bob:word")).status == 403
            [group] = (await world.ask("/groups", "bob:word")).items
            assert (group["streams"], group["readings"]) == (1, 2)
            assert [each["name"] for each in group["panels"]] == ["Gate1"]
            assert (await world.ask("/groups", "eve:word")).items == []
            assert (await world.ask(f"/groups{GROUP}", "eve:word")).status == 403
            campus = (await world.ask("/campus", "eve:word")).json
            assert [each["kind"] for each in campus["nodes"]] == ["node"]
            told = (await world.ask("/node", "bob:word")).json
            assert told["may"] == {"macros": False, "roles": False, "demo": False}
            assert told["counters"] == {}
            body = {"definition": {"name": "x", "code": "Noctua.topic('attic/temp')"}}
            assert (await world.ask("/trial", "bob:word", "POST", body)).status == 403
            await world.publish("hall/hum", 40)
            assert len(await streams("bob")) == 2, "what is new is seen at once"

    run(test)


def test_other_permissions_count_from_the_next_question_on(tmp_path: Path) -> None:
    said: dict[str, Any] = write_users(tmp_path, USERS, bob="word")

    async def test() -> None:
        async with node(tmp_path, **said) as world:
            await world.publish("hall/temp", 20)
            await world.publish("attic/temp", 5)
            assert (await world.ask("/streams", "bob:word")).json["total"] == 1
            (tmp_path / "permissions").write_text("user bob\nread attic/#\n")
            await world.running.reload()
            [seen] = (await world.ask("/streams", "bob:word")).items
            assert seen["topic"] == "attic/temp"
            assert (await world.ask(f"/streams{TEMP}", "bob:word")).status == 403

    run(test)
