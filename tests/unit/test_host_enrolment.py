"""Who invites and who enrols over a node inside this process: what is kept in the two homes, and what is not."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.loops import run

from roost.cli import main
from roost.cli._enrol_reach import reach
from roost.errors import BadConfig, NoKey, Refused, Unreachable
from roost.host import Listen, connect
from roost.host.clock import Clock
from roost.host.enrol_inviting import End, Reception, Settle
from roost.host.enrol_issuing import adding, certifying, full_name, key_offer
from roost.host.enrol_joining import Joining
from roost.host.enrol_noticing import noticing
from roost.host.keystore import KeyStore
from roost.host.mqtt.users import read_users
from roost.host.paths import home, node_socket
from roost.host.repo import duty_of, running_repo
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import Group
from roost.pubsub.repos.repo import RepoSettings
from roost.trust import Accepted
from roost.trust.acceptance import ACCEPT_ANY
from roost.trust.enrolment import Invitation
from roost.trust.enrolment_messages import Claim, Grant, KeyOffer, Offer, Outcome, UserOffer
from roost.trust.enrolment_seal import Seal
from roost.wire import Data, DigestSigner

GROUP = Name.parse("/BigCompany/Building1/Electricity")
SECRET = b"0123456789"
CLOCK = Clock()


@pytest.fixture(autouse=True)
def building(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    assert main(["init", "--company", "BigCompany", "--building", "Building1", "--department", "Lab"]) == 0


def offered(kind: str = "panel", name: str = "Panel2") -> KeyOffer:
    store, now = KeyStore(home()), CLOCK()
    return key_offer(store, kind, full_name(store, kind, name, None), now + 60 * SECOND, now)


@contextlib.asynccontextmanager
async def invited(offer: Offer, settle: Settle) -> AsyncIterator[tuple[Callable[[Path], Joining], asyncio.Task[End]]]:
    """An invitation that waits, and what joins it from a home."""
    trust = {"verifier": ACCEPT_ANY, "signer": DigestSigner()}
    async with connect(**trust) as inviter, connect(**trust) as joiner:  # type: ignore[arg-type]
        ready = asyncio.Event()
        reception = Reception(Invitation(Seal(SECRET), offer, os.urandom), settle, CLOCK)
        task = asyncio.create_task(reception.wait(inviter, lambda _: ready.set()))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait({waiting, task}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        try:
            yield (lambda where: Joining(joiner, SECRET, where, CLOCK)), task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def test_a_key_is_made_in_a_new_home_and_its_certificate_kept_in_both(tmp_path: Path) -> None:
    offer = offered()

    async def story() -> None:
        async with invited(offer, certifying(KeyStore(home()), offer, CLOCK)) as (joining, task):
            one = joining(tmp_path / "new")
            found = await one.offer()
            assert isinstance(found, KeyOffer)
            done = await one.enrol_key(found, "ecdsa")
            assert await task == "finished"
            there = KeyStore(tmp_path / "new")
            assert done.is_new_home
            assert [key.name.prefix(-2) for key in there.private_keys()] == [GROUP / "Panel2"]
            verdict = there.verifier(CLOCK()).check(done.certificate.data, CLOCK())
            assert isinstance(verdict, Accepted)
            assert done.certificate.wire in {each.wire for each in KeyStore(home()).certificates()}

    run(story)


def test_a_home_with_another_anchor_stays_as_it_was_and_the_invitation_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer = offered()
    settle = certifying(KeyStore(home()), offer, CLOCK)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("ROOST_HOME", str(tmp_path / "elsewhere"))
        assert main(["init", "--company", "Elsewhere"]) == 0
    before = {path: path.read_bytes() for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()}

    async def story() -> None:
        async with invited(offer, settle) as (joining, task):
            one = joining(tmp_path / "elsewhere")
            with pytest.raises(BadConfig, match="trusts another anchor"):
                await one.enrol_key(offer, "ecdsa")
            assert not task.done()

    run(story)
    assert {path: path.read_bytes() for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()} == before


def test_what_the_inviter_refuses_leaves_no_key_and_no_home(tmp_path: Path) -> None:
    offer = offered()

    def settle(claim: Claim) -> Outcome:
        assert claim.request is not None
        raise NoKey("the building's key was taken away")

    async def story() -> None:
        async with invited(offer, settle) as (joining, _):
            with pytest.raises(Refused, match="taken away"):
                await joining(tmp_path / "new").enrol_key(offer, "ecdsa")

    run(story)
    assert not (tmp_path / "new").exists()


def test_a_password_is_made_where_it_is_used_and_only_its_hash_travels(tmp_path: Path) -> None:
    file = tmp_path / "users"
    offer = UserOffer("pump/7", CLOCK() + 60 * SECOND, "mqtts://hall:8883", b"-----BEGIN CERTIFICATE-----")

    async def story() -> None:
        async with invited(offer, adding(file, offer, again=False)) as (joining, task):
            one = joining(tmp_path / "device")
            assert await one.offer() == offer
            done = await one.enrol_user(offer)
            assert await task == "finished"
            password = done.password_file.read_bytes().strip()
            assert done.password_file.parent == tmp_path / "device"
            assert done.password_file.stat().st_mode & 0o777 == 0o600
            assert done.authority_file is not None
            assert done.authority_file.read_bytes() == offer.authority
            users, text = read_users(file)
            assert users.check(b"pump/7", password)
            assert password.decode() not in text
            with pytest.raises(BadConfig, match="is there already"):
                await one.enrol_user(offer)

    run(story)


def test_a_user_who_was_added_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "users"
    assert main(["users", "add", "pump-7", "--generate", "--file", str(file)]) == 0
    kept = file.read_bytes()
    offer = UserOffer("pump-7", CLOCK() + 60 * SECOND)

    async def story() -> None:
        async with invited(offer, adding(file, offer, again=False)) as (joining, _):
            with pytest.raises(Refused, match="already"):
                await joining(tmp_path / "device").enrol_user(offer)

    run(story)
    assert file.read_bytes() == kept
    assert not list((tmp_path / "device").iterdir())


def test_an_invitation_that_nobody_takes_ends() -> None:
    offer = UserOffer("pump-7", CLOCK() + SECOND // 4)

    async def story() -> None:
        async with invited(offer, lambda _: Grant()) as (_, task):
            assert await task == "expired"

    run(story)


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        ("panel", "Panel1", "has a certificate already"),
        ("panel", "/BigCompany/Building1", "is not the name of a panel"),
        ("panel", "/BigCompany/Building1/Electricity", "is not the name of a panel"),
        ("panel", "/BigCompany/BMS", "is not the name of a panel"),
        ("repo", "/BigCompany/Building1/Electricity/Panel2", "is not the name of a repo"),
        ("user", "/BigCompany/Lab", "is not the name of a user"),
        ("user", "Alice", "whole name"),
        ("panel", "floor1/Panel2", "neither a word nor a whole name"),
    ],
)
def test_who_cannot_be_invited_is_told_why(kind: str, name: str, why: str) -> None:
    with pytest.raises(BadConfig, match=why):
        offered(kind, name)


def test_without_the_issuers_key_nobody_is_invited() -> None:
    for file in (home() / "keys").iterdir():
        if b"/BigCompany/Building1/KEY" in file.read_bytes():
            file.unlink()
    with pytest.raises(NoKey, match="Invite from the machine that has such a key"):
        offered()


@pytest.mark.parametrize(
    ("said", "listening", "found"),
    [
        (None, [], ("", 0)),
        (None, ["udp4://10.0.0.7:6363", "ws://127.0.0.1:9696"], ("", 0)),
        (None, ["tcp4://127.0.0.1:6363"], ("127.0.0.1", 6363)),
        (None, ["tcp4://127.0.0.1:6363", "tcp4://10.0.0.7:7000"], ("10.0.0.7", 7000)),
        (None, ["tcp6://[fe80::1]:6363"], ("fe80::1", 6363)),
        ("10.0.0.8", ["tcp4://10.0.0.7:7000"], ("10.0.0.8", 6363)),
        ("tcp4://10.0.0.8:7001", [], ("10.0.0.8", 7001)),
    ],
)
def test_the_code_leads_to_where_others_reach_the_node(
    said: str | None, listening: list[str], found: tuple[str, int]
) -> None:
    assert reach(said, listening) == found


def test_a_certificate_that_comes_into_the_home_is_kept_and_shown_by_the_repo_that_runs() -> None:
    panel = GROUP / "Panel2"

    async def asked(name: Name) -> Data | None:
        async with connect(verifier=ACCEPT_ANY) as face:
            try:
                return await face.fetch(name / "KEY", can_be_prefix=True, lifetime_ms=500, tries=1)
            except Unreachable:
                return None

    async def story() -> None:
        keys, now = KeyStore(home()), time.time_ns()
        duty = duty_of(keys, Group.at(GROUP).repo("Repo1"), None, RepoSettings(), now)
        repo = running_repo([duty], Listen(unix=node_socket()), keys.verifier(now))
        async with repo as running, noticing(keys, running):
            await until(GROUP / "Panel1")
            await asyncio.to_thread(main, ["key", "make", str(panel)])
            found = await until(panel)
            assert isinstance(running.verifier.check(found, time.time_ns()), Accepted)

    async def until(name: Name) -> Data:
        while True:
            found = await asked(name)
            if found is not None:
                return found

    run(story)
