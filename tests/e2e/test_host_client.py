"""The client API as people use it: embedded and outside, trust, time-outs, cancellation, drops, handlers, sync."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import time
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from roost.errors import BadPacket, Disconnected, Nacked, NoKey, Refused, RoostError, TimedOut, Untrusted
from roost.forwarding.registrar import Registration
from roost.host import ACCEPT_ANY, Connection, Face, FetchSettings, Listen, connect, connect_sync, running
from roost.host.background import background
from roost.host.keystore import KeyStore
from roost.host.transport import Owner, Transport
from roost.machine import MS
from roost.naming import Name
from roost.naming.building import Company
from roost.naming.conventions import segment, version
from roost.node import Node, NodeSettings
from roost.trust import Identity, Verifier, building_rules, certify, generate, self_sign
from roost.wire import Data, DigestSigner, Interest, make_data
from roost.wire.data import NACK
from roost.wire.rdr import encode_metadata


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    return tmp_path / "roost"


def anyone(uri: str | None = None) -> Connection:
    return connect(uri, verifier=ACCEPT_ANY)


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(30):
            await test()

    asyncio.run(main())


def node() -> Node:
    return Node(NodeSettings(), random.Random(1))


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a thing that another task of this loop brings about."""
    while not condition():  # noqa: ASYNC110  the thing has no event of its own; every turn of the loop may bring it
        await asyncio.sleep(0)


# -- embedded


def test_two_faces_of_one_program_meet_in_the_embedded_node() -> None:
    async def test() -> None:
        async with anyone() as there, anyone() as here, there.serve("/hello", lambda _: b"world"):
            data = await here.fetch("/hello/you")
            assert (data.name, data.content) == (Name.parse("/hello/you"), b"world")

    run(test)


def test_the_embedded_node_ends_with_its_last_user() -> None:
    async def test() -> None:
        from roost.host.embedded import _nodes

        async with anyone(), anyone():
            assert _nodes[asyncio.get_running_loop()].users == 2
        assert asyncio.get_running_loop() not in _nodes

    run(test)


# -- handlers


def test_handlers_may_be_async_and_may_return_data_bytes_or_nothing() -> None:
    async def test() -> None:
        signed = make_data(Name.parse("/data/x"), b"signed", DigestSigner())

        async def slow(interest: Interest) -> Data:
            assert interest.name == signed.name
            return signed

        async with (
            anyone() as there,
            anyone() as face,
            there.serve("/data", slow),
            there.serve("/none", lambda _: None),
        ):
            assert await face.fetch("/data/x") == signed
            with pytest.raises(TimedOut, match=r"/none/x: no answer in \d+ ms; sent 2 times over internal://app"):
                await face.fetch("/none/x", lifetime_ms=20, tries=2)

    run(test)


def test_a_handler_that_raises_or_answers_something_else_costs_only_its_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        def broken(interest: Interest) -> Data:
            if interest.name == Name.parse("/b/raise"):
                raise RuntimeError("boom")
            return make_data(Name.parse("/other"), b"", DigestSigner())

        async with anyone() as there, anyone() as face, there.serve("/b", broken), there.serve("/c", lambda _: b"fine"):
            for name in ("/b/raise", "/b/other"):
                with pytest.raises(TimedOut):
                    await face.fetch(name, lifetime_ms=20, tries=1)
            assert (await face.fetch("/c/x")).content == b"fine"

    run(test)
    assert "no answer to /b/raise: RuntimeError: boom" in caplog.text
    assert "which does not match" in caplog.text


def test_a_prefix_is_served_once_per_face_and_free_again_when_closed() -> None:
    async def test() -> None:
        async with anyone() as there, anyone() as face:
            serving = await there.serve("/p", lambda _: b"1")
            with pytest.raises(RoostError, match="/p is served already"):
                there.serve("/p", lambda _: b"2")
            assert (await face.fetch("/p/x")).content == b"1"
            serving.close()
            async with there.serve("/p", lambda _: b"3"):
                assert (await face.fetch("/p/y")).content == b"3"

    run(test)


# -- what goes wrong


def test_a_name_nobody_serves_is_nacked_by_name() -> None:
    async def test() -> None:
        async with anyone() as face:
            with pytest.raises(Nacked, match=r"/nobody was refused by a Nack from internal://app: no route") as caught:
                await face.fetch("/nobody")
            assert caught.value.reason == 150

    run(test)


def test_asking_ones_own_face_says_to_ask_over_another() -> None:
    async def test() -> None:
        async with anyone() as face, face.serve("/own", lambda _: b""):
            with pytest.raises(Nacked, match=r"this face serves /own itself.* ask over another face"):
                await face.fetch("/own/x")

    run(test)


def test_cancelling_the_task_takes_the_interest_back() -> None:
    async def test() -> None:
        async with anyone() as there, anyone() as face, there.serve("/slow", lambda _: None):
            task = asyncio.create_task(face.fetch("/slow/x"))
            pending = face._session.endpoint.pending
            await until(lambda: len(pending) == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert len(pending) == 0
            assert not face._session._answers

    run(test)


def test_leaving_a_segmented_fetch_takes_its_interests_back() -> None:
    async def test() -> None:
        async with anyone() as there, anyone() as face, there.publish_object("/o", bytes(100_000), segment_bytes=100):
            segments = face.fetch_segments("/o", FetchSettings(capacity=64))
            first = await anext(segments)
            assert first.name[-1].number() == 0
            await segments.aclose()
            assert len(face._session.endpoint.pending) == 0

    run(test)


def test_a_slow_consumer_is_not_flooded() -> None:
    async def test() -> None:
        async with anyone() as there, anyone() as face, there.publish_object("/o", bytes(100_000), segment_bytes=100):
            asked: list[Interest] = []
            segments = face.fetch_segments("/o", FetchSettings(discovery="prefix", capacity=8))
            answer = there._desk._handlers[Name.parse("/o")]

            def count(interest: Interest) -> Data | None:
                asked.append(interest)
                return answer(interest)  # type: ignore[return-value]

            there._desk._handlers[Name.parse("/o")] = count
            await anext(segments)
            await until(lambda: len(face._session.endpoint.pending) == 0)
            assert len({interest.name for interest in asked}) <= 1 + 8 + 1
            await segments.aclose()

    run(test)


def test_an_object_nobody_serves_says_what_was_asked() -> None:
    async def test() -> None:
        async with anyone() as face:
            with pytest.raises(Nacked, match=r"the version of /nobody was asked 3 times as /nobody; .*no route"):
                await face.fetch_object("/nobody")

    run(test)


def test_waiting_when_the_face_closes_is_disconnected() -> None:
    async def test() -> None:
        async with anyone() as there, there.serve("/slow", lambda _: None), anyone() as face:
            serving = await face.serve("/mine", lambda _: None)
            task = asyncio.create_task(face.fetch("/slow/x"))
            await until(lambda: len(face._session.endpoint.pending) == 1)
        with pytest.raises(Disconnected):
            await task
        with pytest.raises(Disconnected):
            await face.fetch("/slow/x")
        serving.close()  # harmless

    run(test)


def test_an_object_on_its_way_when_the_face_closes_is_disconnected() -> None:
    async def test() -> None:
        async with anyone() as there, there.serve("/o", lambda _: None), anyone() as face:
            task = asyncio.create_task(face.fetch_object("/o"))
            await until(lambda: len(face._session.endpoint.pending) == 1)
        with pytest.raises(Disconnected, match="closed"):
            await task

    run(test)


def test_no_forwarder_at_the_address_says_so_and_where_the_address_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        monkeypatch.setenv("NDN_CLIENT_TRANSPORT", f"unix://{tmp_path}/none.sock")
        with pytest.raises(Disconnected, match=r"none.sock: No such file.*roost node.*NDN_CLIENT_TRANSPORT"):
            async with connect():
                raise AssertionError("connected")

    run(test)


def test_a_refused_registration_says_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with anyone() as face:
            monkeypatch.setattr("roost.forwarding.registrar._FORBIDDEN_TRIES", 1)
            long = "/" + "/".join("x" * 40)
            with pytest.raises(Refused, match=r"refused to register .*: 414 "):
                async with face.serve(long, lambda _: b""):
                    raise AssertionError("registered")
            with pytest.raises(Refused, match=r"refused to register .*: 414 "):
                await face.serve(long, lambda _: b"")
            assert not face._desk.serves(Name.parse(long))  # nobody has it in hand, so it is closed
            assert _registrations(face) == []

    run(test)


def test_a_forwarder_that_does_not_answer_a_registration_is_named(tmp_path: Path) -> None:
    path = tmp_path / "n.sock"

    async def test() -> None:
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(str(path))
            silent.listen()
            async with anyone(f"unix://{path}") as face:
                await refused(face)

    async def refused(face: Face) -> None:
        serving = face.serve("/p", lambda _: b"")
        for _ in range(3):
            said = r"/p is not registered with unix://.*n.sock after 0.01 s; it is registering"
            with pytest.raises(TimedOut, match=said):
                await serving.ready(0.01)
        assert len(face._session._waiting[Name.parse("/p")]) == 1  # they do not pile up

    run(test)


# -- drops


def test_after_a_drop_the_face_comes_back_registers_again_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roost.host.session.FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr("roost.host.session.LAST_PAUSE_S", 0.01)
    path = tmp_path / "n.sock"

    async def test() -> None:
        async with running(node(), Listen(path)):
            there = await anyone(f"unix://{path}")
            here = await anyone(f"unix://{path}")
            await there.serve("/p", lambda _: b"x")
            assert (await here.fetch("/p/1")).content == b"x"
        await until(lambda: not there.is_up and not here.is_up)
        with pytest.raises(TimedOut, match=r"never left this machine, because unix://.*n.sock is down"):
            await here.fetch("/p/2", lifetime_ms=20, tries=1)
        waiting = asyncio.create_task(_patiently(here, "/p/3"))
        async with running(node(), Listen(path)):
            assert (await waiting).content == b"x"  # asked while down, answered after both have come back
            assert there._session.connections == 2
            await there.close()
            await here.close()

    run(test)


def test_over_udp_a_node_that_was_started_anew_is_found_out_and_registered_with_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("roost.forwarding.registrar.RENEW_NS", 20 * MS)
    monkeypatch.setattr("roost.forwarding.registrar.COMMAND_LIFETIME_MS", 50)

    async def test() -> None:
        async with running(node(), Listen(udp=(("127.0.0.1", 0),))) as first:
            (uri,) = first.uris
            there, here = await anyone(uri), await anyone(uri)
            await there.serve("/p", lambda _: b"x")
            assert (await here.fetch("/p/1")).content == b"x"
        async with running(node(), Listen(udp=(("127.0.0.1", int(uri.rpartition(":")[2])),))):
            assert (await _patiently(here, "/p/2")).content == b"x"
            assert there._session.connections == 1  # it never knew
            await there.close()
            await here.close()

    run(test)


def test_a_forwarder_that_drops_everyone_at_once_is_dialled_later_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roost.host.session.FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr("roost.host.session.LAST_PAUSE_S", 0.016)
    path = tmp_path / "n.sock"

    async def test() -> None:
        rude = await asyncio.start_unix_server(lambda _, writer: writer.close(), path)
        async with rude:
            face = await anyone(f"unix://{path}")
            await until(lambda: face._session.connections > 8)
            assert face._session._pause_s == 0.016
            await face.close()

    run(test)


def test_nothing_ends_the_dialling(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("roost.host.session.FIRST_PAUSE_S", 0.001)

    async def test() -> None:
        async with anyone() as face:
            session = face._session
            dial, failures = session._dial, [ZeroDivisionError("bug"), Disconnected("nobody there")]

            async def fails_first(owner: Owner) -> Transport:
                if failures:
                    raise failures.pop()
                return await dial(owner)

            monkeypatch.setattr(session, "_dial", fails_first)
            assert session._transport is not None
            session.closed(session._transport, "unplugged")
            assert not face.is_up
            await until(lambda: face.is_up)
            assert session.connections == 2

    run(test)
    assert "dialling again failed: ZeroDivisionError: bug" in caplog.text


@pytest.mark.parametrize("host", ["a..b", "x" * 70])
def test_what_cannot_be_a_host_is_said_without_a_traceback(host: str) -> None:
    async def test() -> None:
        with pytest.raises(Disconnected, match=f"tcp4://{host}:1"):
            await anyone(f"tcp4://{host}:1")

    run(test)


async def _patiently(face: Face, name: str) -> Data:
    while True:
        try:
            return await face.fetch(name, lifetime_ms=1000)
        except Nacked:  # back before the producer is
            await asyncio.sleep(0)


# -- trust


def test_without_trust_nothing_is_accepted_and_the_refusal_says_what_to_do() -> None:
    async def test() -> None:
        async with (
            connect() as there,
            connect() as face,
            there.serve("/p", lambda _: b"x"),
            there.publish_object("/o", b"x"),
        ):
            with pytest.raises(Untrusted, match=r"no trust is configured; run `roost init`.*ACCEPT_ANY"):
                await face.fetch("/p/x")
            with pytest.raises(Untrusted, match=r"no trust is configured"):
                await face.fetch_object("/o")

    run(test)


class Home:
    """A company with one panel; `verifier` knows only the anchor and has to fetch the rest."""

    def __init__(self, home: Path) -> None:
        now = time.time_ns()
        company = Company(Name.of("Co"), frozenset({"B1"}), frozenset(), 1)
        group = company.group("B1", "Power")
        self.anchor = self_sign(generate(company.root.name, os.urandom, "ed25519"), now)
        building = self._issued(self.anchor, company.building("B1").name, now)
        panel = self._issued(building, group.panel("P1").name, now)
        self.reading = group.stream("P1", "Heater", "Voltage").reading(1)
        store = KeyStore(home)
        store.create()
        store.save_anchor(self.anchor.certificate)
        for identity in (building, panel):
            store.save_identity(identity)
        rules = building_rules(company, [])
        store.save_schema(rules)
        self.verifier = Verifier(store.schema(), [self.anchor.certificate])

    @staticmethod
    def _issued(issuer: Identity, name: Name, now: int) -> Identity:
        key = generate(name, os.urandom, "ed25519")
        return Identity(key, certify(issuer, key.name, key.public.spki, now))


def test_what_init_made_signs_and_verifies_by_default(own_home: Path) -> None:
    home = Home(own_home)

    async def test() -> None:
        async with connect() as there, connect() as face, there.serve(home.reading.prefix(-1), lambda _: b"230 V"):
            assert (await face.fetch(home.reading)).content == b"230 V"

    run(test)


def test_missing_certificates_are_fetched_once_from_who_serves_them(own_home: Path) -> None:
    home = Home(own_home)

    async def test() -> None:
        async with (
            connect() as panel,
            connect(verifier=home.verifier) as stranger,
            panel.serve(home.reading.prefix(-1), lambda _: b"230 V"),
        ):
            # Whoever gets an answer asks for certificates next, so they are registered before the prefix.
            assert {held.state for held in _registrations(panel)} == {"registered"}
            await asyncio.gather(*[stranger.fetch(home.reading) for _ in range(5)])
            assert home.verifier.counters.learned == 2  # the panel's and the building's

    run(test)


def _registrations(face: Face) -> list[Registration]:
    return list(face._session.endpoint.registrar.registrations.values())


def test_a_certificate_nobody_serves_is_named(own_home: Path) -> None:
    home = Home(own_home)

    async def test() -> None:
        signers = KeyStore(own_home).keychain().signer_for  # a function: the certificates are not served along
        async with (
            connect(signer=signers) as panel,
            connect(verifier=home.verifier) as stranger,
            panel.serve(home.reading.prefix(-1), lambda _: b"230 V"),
        ):
            said = (
                r"certificate could not be fetched .*\[key /Co/B1/Power/P1/KEY/.*\(/Co/B1/Power/P1/KEY/.*: no route\)"
            )
            with pytest.raises(Untrusted, match=said):
                await stranger.fetch(home.reading)

    run(test)


def test_data_of_a_key_the_schema_does_not_allow_is_refused(own_home: Path) -> None:
    home = Home(own_home)

    async def test() -> None:
        forger = connect(verifier=ACCEPT_ANY, signer=DigestSigner())
        async with forger as there, connect() as here, there.serve(home.reading.prefix(-1), lambda _: b"0 V"):
            with pytest.raises(Untrusted, match="digest"):
                await here.fetch(home.reading)

    run(test)


@pytest.mark.parametrize("forgeries", [1, 2, 3])
def test_a_forged_segment_is_asked_again_and_named_when_it_stays_forged(own_home: Path, forgeries: int) -> None:
    home = Home(own_home)
    name = home.reading.prefix(4) / "manual"
    forged: list[Name] = []

    async def test() -> None:
        async with connect() as panel, connect() as here, panel.publish_object(name, bytes(500), segment_bytes=100):
            honest = panel._desk._handlers[name]

            def answer(interest: Interest) -> Data | None:
                data = honest(interest)
                assert isinstance(data, Data | None)
                if data is None or data.name[-1] != segment(2) or len(forged) == forgeries:
                    return data
                forged.append(data.name)  # the node caches it; it is stale when it is asked for again
                return make_data(data.name, bytes(100), DigestSigner(), freshness_ms=1, final_block=segment(4))

            panel._desk._handlers[name] = answer
            if forgeries < 3:
                assert await here.fetch_object(name) == bytes(500)
                return
            said = r"segment 2 of /Co/B1/Power/P1/manual/v=\d+ was asked 3 times .*failed verification: .*digest"
            with pytest.raises(Untrusted, match=said):
                await here.fetch_object(name)

    run(test)
    assert len(forged) == forgeries


def test_a_producer_that_denies_what_lies_behind_the_end_is_no_obstacle() -> None:
    base = Name.parse("/log/v=1")

    def answer(interest: Interest) -> Data:
        number = interest.name[-1].number()
        if number > 2 or interest.name[-2] != version(1):
            return make_data(interest.name, b"", DigestSigner(), content_type=NACK)
        final = segment(2) if number == 2 else None
        return make_data(interest.name, b"%d" % number, DigestSigner(), final_block=final)

    async def test() -> None:
        async with anyone() as there, anyone() as face, there.serve(base, answer):
            assert await face.fetch_object(base) == b"012"
            with pytest.raises(Refused, match=r"/log/v=1/v=9/seg=0: the producer .* application Nack") as caught:
                await face.fetch_object(base / version(9))
            assert caught.value.code == 404

    run(test)


def test_metadata_that_leads_elsewhere_is_refused() -> None:
    async def test() -> None:
        name = Name.parse("/o")
        wire = encode_metadata(name, Name.parse("/elsewhere/v=1"), DigestSigner(), version_number=1)
        async with anyone() as there, anyone() as face, there.serve(name, lambda _: Data.decode(wire)):
            with pytest.raises(BadPacket, match="points to /elsewhere/v=1, which is not under /o"):
                await face.fetch_object(name)

    run(test)


def test_a_name_no_key_of_ours_may_sign_is_refused_before_it_is_published(own_home: Path) -> None:
    Home(own_home)

    async def test() -> None:
        async with connect() as face:
            with pytest.raises(NoKey):
                face.publish_object("/elsewhere", b"x")

    run(test)


# -- sync


def test_the_synchronous_facade() -> None:
    content = random.Random(1).randbytes(100_000)
    with connect_sync(verifier=ACCEPT_ANY) as there, connect_sync(verifier=ACCEPT_ANY) as here:
        assert here.where == "internal://app"
        with there.serve("/s", lambda _: b"sync"):
            assert here.fetch("/s/x", lifetime_ms=1000).content == b"sync"
        with there.publish_object("/o", content):
            assert here.fetch_object("/o") == content
            assert b"".join(data.content for data in here.fetch_segments("/o")) == content
        with pytest.raises(Nacked):
            here.fetch("/nobody")
    with pytest.raises(Disconnected):
        here.fetch("/s/x")


def test_a_synchronous_face_can_live_across_the_cells_of_a_notebook() -> None:
    there, here = connect_sync(verifier=ACCEPT_ANY), connect_sync(verifier=ACCEPT_ANY)
    serving = there.serve("/s", lambda _: b"sync")
    there.publish_object("/o", bytes(100_000))
    assert here.fetch("/s/x").content == b"sync"
    segments = here.fetch_segments("/o")
    next(segments)
    here.close()
    here.close()  # harmless: `there` goes on
    segments.close()
    with connect_sync(verifier=ACCEPT_ANY) as again:
        assert again.fetch("/s/y").content == b"sync"
    there.close()
    serving.close()
    assert background._loop is None


def test_a_synchronous_handler_that_waits_for_its_own_thread_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with (
        connect_sync(verifier=ACCEPT_ANY) as there,
        connect_sync(verifier=ACCEPT_ANY) as here,
        there.serve("/s", lambda _: here.fetch("/t").content),
        pytest.raises(TimedOut),
    ):
        here.fetch("/s/x", lifetime_ms=50, tries=1)
    assert "a handler cannot wait for its own thread" in caplog.text


def test_objects_too_large_to_be_cut_are_refused() -> None:
    async def test() -> None:
        async with anyone() as face:
            with pytest.raises(BadPacket):
                face.publish_object("/o", bytes(20_000), segment_bytes=9_000)

    run(test)


def test_serving_on_a_closed_face_says_so_at_once() -> None:
    async def story() -> None:
        async with connect(verifier=ACCEPT_ANY) as face:
            pass
        with pytest.raises(Disconnected, match="the face is closed"):
            await face.serve("/late", lambda _: b"")

    asyncio.run(story())
