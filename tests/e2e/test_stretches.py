"""Stretches out of real repos, over faces and through bulk doors: whole, once, verified, whatever fails on the way."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.hall import GROUP, Hall
from tests.loops import run

from roost.errors import NoKey, Unreachable
from roost.host import ACCEPT_ANY, bulk_reading, connect, running, stretch_checking, stretches
from roost.host.keystore import KeyStore
from roost.host.listening import Listen
from roost.host.repo import RunningRepo, duty_of, running_repo
from roost.host.rocks import RocksStore
from roost.host.stretch_access import TIMEOUT_S
from roost.host.stretches import Access, Fetched, Stretch, StretchReader
from roost.machine import Effect
from roost.naming import Name
from roost.naming.building import SERVICE, numbered
from roost.node import Node, NodeSettings
from roost.pubsub.repos.repo import RepoSettings
from roost.repo.cause import REPLICATION
from roost.repo.question import ASK, encode_bundle
from roost.repo.shelf import Shelf
from roost.repo.store import Write, Written
from roost.sim import deployment
from roost.trust import Recipient, Sealer, generate
from roost.trust.access import key_data_name, parse_sealed
from roost.wire import Data, Interest, Signer, make_data
from roost.wire.reading import SENML_CBOR, Reading

TEMP, HUM = (GROUP.stream("pi1", "room1", metric).name for metric in ("temp", "hum"))
LAST = 300


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Hall:
    """The keys of all tests here: to make them takes longer than most tests."""
    return Hall(tmp_path_factory.mktemp("hall"))


@pytest.fixture
def hall(keys: Hall, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hall]:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(keys.folder / "nobody"))
    monkeypatch.setenv("ROOST_HOME", str(keys.folder / "nobody"))
    monkeypatch.setattr(stretches, "PIECE", 64)
    monkeypatch.setattr(stretches, "AHEAD", 128)
    yield keys
    stretches.close_all()
    for repo in deployment.REPOS:
        shutil.rmtree(keys.store(repo), ignore_errors=True)


def signer(hall: Hall, panel: str = "pi1") -> Signer:
    return hall.identities[deployment.panel(panel).name].signer


def reading(stream: Name, number: int, by: Signer, value: bytes = b"payload") -> Data:
    return make_data(numbered(stream, number), Reading(number * 10**9, SENML_CBOR, value).encode(), by)


def readings(hall: Hall, stream: Name = TEMP, low: int = 1, high: int = LAST) -> list[Data]:
    return [reading(stream, number, signer(hall)) for number in range(low, high + 1)]


def fill(hall: Hall, repo: str, packets: Sequence[Data], dropped: Sequence[Name] = ()) -> None:
    """Put packets into the store of a repo that does not run, whoever signed them, with their certificates."""
    store = RocksStore(folder(hall, repo))
    shelf = Shelf(repo, store)

    def write(effects: list[Effect]) -> None:
        while effects:
            writes = [effect for effect in effects if isinstance(effect, Write)]
            store.write([effect.batch for effect in writes])
            effects = [told for effect in writes for told in shelf.receive(Written(repo, effect.ticket), 0)]

    above = [deployment.COMPANY.building("Hall").name, deployment.panel("pi1").name, deployment.panel("pi2").name]
    certificates = [hall.identities[name].certificate.data for name in above]
    write(shelf.put([*certificates, *packets], REPLICATION, lambda _, __: [], 0))
    if dropped:
        write(shelf.drop(dropped, lambda _, __: [], 0))
    store.close()


def folder(hall: Hall, repo: str) -> Path:
    return hall.store(repo) / "rocks"


@contextlib.asynccontextmanager
async def at_work(hall: Hall, repo: str) -> AsyncIterator[RunningRepo]:
    """A repo that keeps to itself, with a door for bulk reading, on TCP and on a Unix socket."""
    keys, now = KeyStore(hall.home(repo)), time.time_ns()
    duty = duty_of(keys, deployment.repo(repo), folder(hall, repo), RepoSettings(), now)
    listen = Listen(unix=hall.folder / f"{repo}.sock", tcp=(("127.0.0.1", 0),))
    async with running_repo([duty], listen, keys.verifier(now), bulk_read=hall.folder / f"{repo}.door.sock") as running:
        yield running


def unix(running: RunningRepo) -> str:
    return running.listening.uris[0]


def tcp(running: RunningRepo) -> str:
    return running.listening.uris[1]


def door(running: RunningRepo) -> str:
    assert running.reading_door is not None
    return running.reading_door.address


async def read(
    access: Access, *asked: Stretch, then: Callable[[], Coroutine[None, None, None]] | None = None
) -> list[Fetched]:
    """Read stretches on a thread; `then` happens when the first piece has come.

    Repos share a loop with the test here, and one that closes its store may keep the other from answering for a while.
    """
    loop = asyncio.get_running_loop()
    patient = replace(access, timeout_s=60) if access.timeout_s == TIMEOUT_S else access

    def work() -> list[Fetched]:
        found: list[Fetched] = []
        with StretchReader(patient) as reader:
            for fetched in reader.read(asked):
                found.append(fetched)
                if then is not None and len(found) == 1:
                    asyncio.run_coroutine_threadsafe(then(), loop).result()
        return found

    return await asyncio.to_thread(work)


def home(hall: Hall) -> str:
    return str(hall.home("reader"))


def packets(found: Sequence[Fetched], stream: Name = TEMP) -> list[tuple[int, bytes]]:
    return [packet for fetched in found if fetched.stream == stream for packet in fetched.packets]


def expected(data: Sequence[Data]) -> list[tuple[int, bytes]]:
    return [(each.name.at(-1).number(), each.wire) for each in data]


def test_faces_and_doors_give_the_same_packets_in_order_and_say_which_were_verified(hall: Hall) -> None:
    temps, hums = readings(hall), readings(hall, HUM, 1, 100)
    fill(hall, "repo1", [*temps, *hums])

    async def test() -> None:
        async with at_work(hall, "repo1") as repo:
            asked = (Stretch(HUM, 3, 100), Stretch(TEMP, 1, LAST))
            ways = {
                Access((tcp(repo),), home(hall)): True,
                Access((unix(repo),), home(hall)): False,
                Access((tcp(repo),), verify="never"): False,
                Access((unix(repo),), home(hall), "always"): True,
                Access((unix(repo),), home(hall), bulk=(door(repo),)): False,
                Access((unix(repo),), home(hall), "always", (door(repo),)): True,
            }
            for access, verified in ways.items():
                found = await read(access, *asked)
                assert packets(found) == expected(temps)
                assert packets(found, HUM) == expected(hums[2:])
                assert found[0].stream == HUM
                assert {fetched.verified for fetched in found} == {verified}
                assert not any(fetched.missing or fetched.refused or fetched.dropped for fetched in found)

    run(test)


def test_numbers_that_were_dropped_are_said_to_be_and_those_nobody_has_are_missing(hall: Hall) -> None:
    held = [data for data in readings(hall, high=200) if data.name.at(-1).number() not in {70, 71, 150}]
    fill(hall, "repo1", held, [numbered(TEMP, number) for number in range(1, 11)])

    async def test() -> None:
        async with at_work(hall, "repo1") as repo:
            for access in (
                Access((tcp(repo),), home(hall), timeout_s=0.3),
                Access((unix(repo),), "", "never", timeout_s=0.3),
                Access((unix(repo),), "", "never", (door(repo),), 0.3),
                Access((unix(repo),), home(hall), "always", (door(repo),), 0.3),
            ):
                found = await read(access, Stretch(TEMP, 1, 202))
                assert packets(found) == expected(held[10:])
                assert [run for fetched in found for run in fetched.dropped] == [(1, 10)]
                assert [number for fetched in found for number in fetched.missing] == [70, 71, 150, 201, 202]

    run(test)


def test_what_one_repo_lacks_comes_from_another(hall: Hall) -> None:
    data = readings(hall, high=100)
    fill(hall, "repo1", data[:40] + data[60:])
    fill(hall, "repo2", data[30:90])

    async def test() -> None:
        async with at_work(hall, "repo1") as repo1, at_work(hall, "repo2") as repo2:
            for bulk in ((), (door(repo1),)):
                access = Access((tcp(repo1), tcp(repo2)), home(hall), bulk=bulk)
                found = await read(access, Stretch(TEMP, 1, 100))
                assert packets(found) == expected(data)

    run(test)


def test_when_a_repo_dies_in_the_middle_the_next_goes_on_and_nothing_is_given_twice(hall: Hall) -> None:
    data = readings(hall, high=1000)
    for name in ("repo1", "repo2"):
        fill(hall, name, data)

    async def test() -> None:
        async with contextlib.AsyncExitStack() as first, at_work(hall, "repo2") as repo2:
            repo1 = await first.enter_async_context(at_work(hall, "repo1"))
            access = Access((tcp(repo1), tcp(repo2)), home(hall))
            found = await read(access, Stretch(TEMP, 1, 1000), then=first.aclose)
            assert packets(found) == expected(data)
            assert repo2.repos[0].questions.answered > 0

    run(test)


def test_when_a_door_closes_in_the_middle_the_next_goes_on_and_then_the_face(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_reading, "SLICE", 20)
    monkeypatch.setattr(bulk_reading, "_BUFFER_BYTES", 4096)
    data = readings(hall, high=1000)
    for name in ("repo1", "repo2"):
        fill(hall, name, data)

    async def test() -> None:
        async with contextlib.AsyncExitStack() as first, at_work(hall, "repo2") as repo2:
            repo1 = await first.enter_async_context(at_work(hall, "repo1"))
            doors = [(door(repo1), door(repo2)), (door(repo2), str(hall.folder / "nobody.sock"))]
            found = await read(
                Access((unix(repo2),), home(hall), bulk=doors[0]), Stretch(TEMP, 1, 1000), then=first.aclose
            )
            assert packets(found) == expected(data)
            opened = repo2.reading_door
            assert opened is not None
            assert opened.answered == 1

            async def close_door() -> None:
                for task in list(opened._open):
                    task.cancel()

            found = await read(
                Access((unix(repo2),), home(hall), bulk=doors[1]), Stretch(TEMP, 1, 1000), then=close_door
            )
            assert packets(found) == expected(data)
            assert opened.answered == 1
            assert repo2.repos[0].questions.answered > 0

    run(test)


def test_a_forged_reading_is_refused_with_its_rule_unless_another_repo_has_the_right_one(hall: Hall) -> None:
    data = readings(hall, high=100)
    forged = [reading(TEMP, 5, signer(hall, "pi2")), reading(TEMP, 77, signer(hall, "pi2"))]
    altered = data[49].wire[:-1] + bytes((data[49].wire[-1] ^ 1,))
    fill(hall, "repo1", [*data[:4], forged[0], *data[5:49], Data.decode(altered), *data[50:76], forged[1], *data[77:]])
    fill(hall, "repo2", [*data[:76], *data[77:]])

    async def test() -> None:
        async with at_work(hall, "repo1") as repo1, at_work(hall, "repo2") as repo2:
            for bulk in ((), (door(repo1),)):
                alone = Access((tcp(repo1),), home(hall), "always", bulk)
                found = await read(alone, Stretch(TEMP, 1, 100))
                refused = dict(entry for fetched in found for entry in fetched.refused)
                assert sorted(refused) == [5, 50, 77]
                assert "the key of /Campus/Hall/Env/pi2 may not sign" in refused[5]
                assert "rule" in refused[5]
                assert "does not match: it was altered" in refused[50]
                assert packets(found) == expected([each for each in data if each.name.at(-1).number() not in refused])
                both = Access((tcp(repo1), tcp(repo2)), home(hall), "always", bulk)
                found = await read(both, Stretch(TEMP, 1, 100))
                assert packets(found) == expected(data[:76] + data[77:])
                assert [number for fetched in found for number, _ in fetched.refused] == [77]
                assert {fetched.verified for fetched in found} == {True}

    run(test)


def test_a_unix_socket_behind_which_no_repo_of_the_group_answers_is_believed_nothing(hall: Hall) -> None:
    forged = [reading(TEMP, number, signer(hall, "pi2")) for number in (1, 2)]
    shown = [hall.identities[name].certificate.data for name in (deployment.panel("pi2").name, GROUP.name.prefix(-1))]

    def bundle(interest: Interest) -> Data:
        content = encode_bundle([each.wire for each in forged], [(3, 4)])
        return make_data(interest.name, content, signer(hall, "pi2"), freshness_ms=1000)

    def certificate(interest: Interest) -> Data | None:
        return next((each for each in shown if each.name.starts_with(interest.name)), None)

    async def test() -> None:
        listen = Listen(unix=hall.folder / "node.sock")
        async with running(Node(NodeSettings(), random.Random(1)), listen) as listening:
            uri = listening.uris[0]
            async with (
                connect(uri, verifier=ACCEPT_ANY, signer=signer(hall, "pi2")) as rogue,
                rogue.serve(GROUP.name / SERVICE / ASK, bundle),
                rogue.serve(GROUP.name.prefix(-2), certificate),
            ):
                (found,) = await read(Access((uri,), home(hall), timeout_s=0.5), Stretch(TEMP, 1, 4))
        assert [number for number, _ in found.refused] == [1, 2]
        assert found.missing == [3, 4]
        assert not found.packets
        assert not found.dropped

    run(test)


def test_readings_whose_certificate_nobody_has_are_refused_and_say_so(hall: Hall) -> None:
    stranger = hall.identities[deployment.panel("pi3").name].signer
    stream = GROUP.stream("pi3", "room1", "temp").name
    fill(hall, "repo1", [reading(stream, number, stranger) for number in (1, 2)])

    async def test() -> None:
        async with at_work(hall, "repo1") as repo:
            found = await read(Access((tcp(repo),), home(hall), timeout_s=0.3), Stretch(stream, 1, 2))
            refused = [entry for fetched in found for entry in fetched.refused]
            assert [number for number, _ in refused] == [1, 2]
            assert "certificate" in refused[0][1]

    run(test)


def test_sealed_readings_are_opened_by_who_may_and_handed_on_sealed_to_the_others(hall: Hall) -> None:
    alice = generate(Name.parse("/Campus/Alice"), os.urandom)
    store = KeyStore(hall.home("alice"))
    hall._settle_in("alice", [])
    store.save_key(alice)
    sealer = Sealer(TEMP, os.urandom, readings=3)
    sealer.authorise(Recipient(alice.public.spki))
    kept: list[Data] = []
    for number in range(1, 6):
        sealed = sealer.seal(numbered(TEMP, number), b"plain %d" % number, 10**18)
        kept += [make_data(key.name, key.content, signer(hall)) for key in sealed.keys]
        kept.append(make_data(numbered(TEMP, number), sealed.content, signer(hall)))
    second = parse_sealed(kept[-1].content)[2]
    lost = key_data_name(second, Recipient(alice.public.spki).digest)
    fill(hall, "repo1", [data for data in kept if data.name != lost])
    sealed_ones = [data for data in kept if data.name.prefix(-1) == TEMP]

    async def test() -> None:
        async with at_work(hall, "repo1") as repo:
            for bulk in ((), (door(repo),)):
                for verify in ("always", "never"):
                    access = Access((unix(repo),), str(store.home), verify, bulk, timeout_s=0.3)
                    (fetched,) = await read(access, Stretch(TEMP, 1, 5))
                    assert fetched.packets == expected(sealed_ones)
                    assert fetched.opened == {number: b"plain %d" % number for number in (1, 2, 3)}
                access = Access((unix(repo),), home(hall), "boundary", bulk)
                (fetched,) = await read(access, Stretch(TEMP, 1, 5))
                assert fetched.packets == expected(sealed_ones)
                assert fetched.opened == {}

    run(test)


def test_that_no_repo_answers_is_an_error_and_no_missing_reading(hall: Hall) -> None:
    fill(hall, "repo1", readings(hall, high=200))

    async def test() -> None:
        nobody = Access((f"unix://{hall.folder}/nobody.sock",), home(hall), timeout_s=0.2)
        with pytest.raises(Unreachable, match=r"nobody\.sock: no answer for 0\.2 s"):
            await read(nobody, Stretch(TEMP, 1, 3))
        with pytest.raises(Unreachable, match="no node runs here: start one with `roost up`"):
            await read(Access(home=home(hall), timeout_s=0.2), Stretch(TEMP, 1, 3))
        async with contextlib.AsyncExitStack() as first:
            repo = await first.enter_async_context(at_work(hall, "repo1"))
            access = Access((tcp(repo),), home(hall), timeout_s=0.3)
            with pytest.raises(Unreachable):
                await read(access, Stretch(TEMP, 1, 199), Stretch(TEMP, 1, 1000), then=first.aclose)

    run(test)


def test_without_a_home_nothing_is_verified_and_the_error_says_what_to_do(hall: Hall) -> None:
    fill(hall, "repo1", readings(hall, high=3))

    async def test() -> None:
        async with at_work(hall, "repo1") as repo:
            with pytest.raises(NoKey, match="roost init"):
                await read(Access((tcp(repo),)), Stretch(TEMP, 1, 3))
            assert len(packets(await read(Access((tcp(repo),), verify="never"), Stretch(TEMP, 1, 3)))) == 3

    run(test)


def test_several_threads_read_at_once_over_the_same_faces(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretch_checking, "CHUNK", 8)
    temps, hums = readings(hall), readings(hall, HUM)
    fill(hall, "repo1", [*temps, *hums])

    async def test() -> None:
        async with at_work(hall, "repo1") as repo:
            access = Access((tcp(repo),), home(hall))
            faces = repo.server.faces
            found = await asyncio.gather(
                *[read(access, Stretch(stream, 1, LAST)) for stream in (TEMP, HUM) for _ in range(3)]
            )
            assert [packets(each) for each in found[:3]] == [expected(temps)] * 3
            assert [packets(each, HUM) for each in found[3:]] == [expected(hums)] * 3
            assert repo.server.faces == faces + 1

    run(test)


def test_the_node_answers_while_a_client_of_the_door_takes_its_time(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_reading, "SLICE", 20)
    monkeypatch.setattr(bulk_reading, "_BUFFER_BYTES", 4096)
    data = readings(hall, high=2000)
    fill(hall, "repo1", data)

    async def test() -> None:
        async with (
            at_work(hall, "repo1") as repo,
            connect(unix(repo), verifier=KeyStore(hall.home("reader")).verifier(time.time_ns())) as face,
        ):

            async def fetch() -> None:
                assert repo.reading_door is not None
                assert repo.reading_door.answered == 0  # it is in the middle of it
                assert (await face.fetch(numbered(TEMP, 1000))).wire == data[999].wire

            found = await read(Access((unix(repo),), bulk=(door(repo),)), Stretch(TEMP, 1, 2000), then=fetch)
            assert packets(found) == expected(data)

    run(test)
