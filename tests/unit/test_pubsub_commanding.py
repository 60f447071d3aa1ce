"""A producer commands the repos of a group: each try is signed anew, and only a repo's confirmation is believed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.insertion_world import GROUP, PANEL1, PANEL2, REPO1, SERVICE, ProducerSide, RepoSide
from tests.trust_world import NOW, World, data

from roost.machine import SECOND, Effect
from roost.naming import Name
from roost.naming.conventions import segment, version
from roost.pubsub import commanding
from roost.repo.batch import Receipt
from roost.repo.commands import CommandResponse
from roost.wire import Data, make_data

STREAM = f"{PANEL1}/Heater/Voltage"
FILE = Name.parse(f"{PANEL1}/firmware/v=1")

Told = list[tuple[Receipt | CommandResponse | None, str]]


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def listening() -> tuple[Told, Callable[[Receipt | CommandResponse | None, str, int], list[Effect]]]:
    told: Told = []

    def then(answer: Receipt | CommandResponse | None, reason: str, now: int) -> list[Effect]:
        assert now >= NOW
        told.append((answer, reason))
        return []

    return told, then


def readings(world: World, *numbers: int) -> list[Data]:
    return [data(f"{STREAM}/seq={n}", world[PANEL1]) for n in numbers]


def exchange(producer: ProducerSide, repo: RepoSide, now: int = NOW) -> None:
    """Carry the producer's commands to the repo, and the answers back."""
    for interest in producer.sent():
        count = len(repo.replies)
        repo.tell(interest, now)
        for answer in repo.replies[count:]:
            producer.deliver(answer, now)


def test_a_batch_is_forgotten_when_its_receipt_is_believed(world: World) -> None:
    producer, repo = ProducerSide(world, world[PANEL1].signer), RepoSide(world)
    told, then = listening()
    producer.settle(producer.commander.insert_batch(readings(world, 1, 2), then, NOW))
    (sent,) = producer.sent()
    assert sent.can_be_prefix
    assert not sent.nonce
    exchange(producer, repo)
    assert told == [(Receipt(200, 2), "")]
    assert len(repo.shelf.kept) == 2


def test_a_batch_may_be_for_one_repo_in_particular(world: World) -> None:
    producer, repo = ProducerSide(world, world[PANEL1].signer), RepoSide(world)
    told, then = listening()
    producer.settle(producer.commander.insert_batch(readings(world, 1), then, NOW, prefix=REPO1))
    assert producer.sent()[0].name.starts_with(REPO1)
    exchange(producer, repo)
    assert told == [(Receipt(200, 1), "")]


def test_what_a_repo_refuses_is_told_with_its_rule(world: World) -> None:
    producer, repo = ProducerSide(world, world[PANEL2].signer), RepoSide(world)
    told, then = listening()
    forged = data(f"{STREAM}/seq=2", world[PANEL2])
    producer.settle(producer.commander.insert_batch([*readings(world, 1), forged], then, NOW))
    exchange(producer, repo)
    ((answer, reason),) = told
    assert isinstance(answer, Receipt)
    assert (answer.code, answer.kept, answer.refused[0][0]) == (206, 1, 1)
    assert reason.startswith(f"{REPO1} says 206: ")


@pytest.mark.parametrize("below", [True, False])
@pytest.mark.parametrize("who", [PANEL1, PANEL2, str(GROUP), "/BigCompany/Water/Repo/Repo1"])
def test_a_confirmation_that_no_repo_has_signed_is_not_believed(world: World, who: str, below: bool) -> None:
    producer = ProducerSide(world, world[PANEL1].signer)
    told, then = listening()
    producer.settle(producer.commander.insert_batch(readings(world, 1), then, NOW))
    (sent,) = producer.sent()
    name = sent.name / version(1) if below else sent.name
    producer.deliver(make_data(name, Receipt(200, 1).encode(), world[who].signer))
    ((answer, reason),) = told
    assert answer is None
    assert producer.commander.forged == 1
    assert producer.rejected[-1].reason == reason
    if who != "/BigCompany/Water/Repo/Repo1" and not below:
        assert "[rule confirmation]" in reason  # the schema lets them sign that name


@pytest.mark.parametrize("who", [PANEL2, str(GROUP)])
def test_a_panel_cannot_confirm_an_insert_though_the_schema_lets_it_sign_the_name(world: World, who: str) -> None:
    producer = ProducerSide(world, world[PANEL1].signer)
    told, then = listening()
    producer.settle(producer.commander.insert(FILE, 0, 3, then, NOW))
    (sent,) = producer.sent()
    producer.deliver(make_data(sent.name, CommandResponse(200, 1).encode(), world[who].signer))
    assert told[0][0] is None
    assert "[rule confirmation]" in told[0][1]


def test_a_command_without_an_answer_is_signed_anew(world: World) -> None:
    producer, repo = ProducerSide(world, world[PANEL1].signer, tries=3), RepoSide(world)
    told, then = listening()
    producer.settle(producer.commander.insert_batch(readings(world, 1), then, NOW))
    names = set()
    for _ in range(2):
        (sent,) = producer.sent()
        names.add(sent.name)
        repo.tell(sent)
        producer.time_out()
    exchange(producer, repo)
    assert len(names) == 2
    assert told == [(Receipt(200, 1), "")]
    assert not repo.rejected
    assert len(repo.shelf.puts) == 3


def test_a_command_that_nobody_answers_is_given_up(world: World) -> None:
    producer = ProducerSide(world, world[PANEL1].signer, tries=2)
    told, then = listening()
    producer.settle(producer.commander.insert_batch(readings(world, 1), then, NOW))
    producer.time_out()
    assert not told
    producer.time_out()
    assert told == [(None, "nobody answered")]


def test_several_batches_are_under_way_at_a_time(world: World) -> None:
    producer, repo = ProducerSide(world, world[PANEL1].signer), RepoSide(world)
    told, then = listening()
    for number in range(1, 6):
        producer.settle(producer.commander.insert_batch(readings(world, number), then, NOW))
    times = [sent.signature.time_ms for sent in producer.sent() if sent.signature is not None]
    assert times == [times[0] + n for n in range(5) if times[0] is not None]
    exchange(producer, repo)
    assert told == [(Receipt(200, 1), "")] * 5


def test_a_batch_that_does_not_fit_is_told_so_at_once(world: World) -> None:
    producer = ProducerSide(world, world[PANEL1].signer)
    told, then = listening()
    producer.settle(producer.commander.insert_batch([], then, NOW))
    producer.settle(producer.commander.insert_batch(readings(world, 1), then, NOW, copies=0))
    producer.settle(producer.commander.delete(Name.of("x" * 8700), None, None, then, NOW))
    assert [answer for answer, _ in told] == [None] * 3
    assert not producer.asked


def test_an_answer_without_sense_is_told_so(world: World) -> None:
    producer = ProducerSide(world, world[PANEL1].signer)
    told, then = listening()
    producer.settle(producer.commander.insert_batch(readings(world, 1), then, NOW))
    (sent,) = producer.sent()
    producer.deliver(make_data(sent.name / version(1), b"rubbish", world[str(REPO1)].signer))
    assert told[0][0] is None
    assert told[0][1]
    assert producer.rejected


def test_an_insert_is_checked_once_a_second_at_the_repo_that_took_it(world: World) -> None:
    producer, repo = ProducerSide(world, world[PANEL1].signer), RepoSide(world)
    told, then = listening()
    producer.settle(producer.commander.insert(FILE, 0, 1, then, NOW))
    exchange(producer, repo)
    assert producer.commander.sizes() == {"checked": (1, commanding.MAX_CHECKED)}
    assert producer.commander.deadline() == NOW + SECOND
    producer.tick(NOW + SECOND)
    assert all(sent.name.starts_with(REPO1) for sent in producer.sent())
    exchange(producer, repo, NOW + SECOND)
    assert not told
    for number in (0, 1):
        repo.deliver(make_data(FILE / segment(number), b"", world[PANEL1].signer))
    producer.tick(NOW + 2 * SECOND)
    exchange(producer, repo, NOW + 2 * SECOND)
    ((answer, reason),) = told
    assert isinstance(answer, CommandResponse)
    assert (answer.code, answer.inserted, reason) == (200, 2, "")
    assert producer.commander.deadline() is None


def test_an_insert_that_fails_is_told_with_what_the_repo_says(world: World) -> None:
    producer, repo = ProducerSide(world, world[PANEL2].signer), RepoSide(world)
    told, then = listening()
    producer.settle(producer.commander.insert(Name.parse(f"{STREAM}/seq=1"), None, None, then, NOW))
    exchange(producer, repo)
    repo.deliver(data(f"{STREAM}/seq=1", world[PANEL2]))
    producer.tick(NOW + SECOND)
    exchange(producer, repo, NOW + SECOND)
    ((answer, reason),) = told
    assert answer is not None
    assert answer.code == 403
    assert "reading" in reason


def test_an_insert_that_is_refused_at_once_is_not_checked(world: World) -> None:
    producer, repo = ProducerSide(world, world[PANEL1].signer), RepoSide(world)
    told, then = listening()
    producer.settle(producer.commander.insert(SERVICE / "x", None, None, then, NOW))
    exchange(producer, repo)
    assert told[0][0] is not None
    assert "[rule own prefix]" in told[0][1]
    assert producer.commander.deadline() is None


def test_a_check_that_nobody_answers_ends_the_insert(world: World) -> None:
    producer, repo = ProducerSide(world, world[PANEL1].signer, tries=1), RepoSide(world)
    told, then = listening()
    producer.settle(producer.commander.insert(FILE, 0, 1, then, NOW))
    exchange(producer, repo)
    producer.tick(NOW + SECOND)
    producer.time_out()
    assert told == [(None, "nobody answered")]
    assert producer.commander.sizes()["checked"][0] == 0


def test_inserts_under_way_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commanding, "MAX_CHECKED", 1)
    producer, repo = ProducerSide(world, world[PANEL1].signer), RepoSide(world)
    told, then = listening()
    for _ in range(2):
        producer.settle(producer.commander.insert(FILE, 0, 1, then, NOW))
    exchange(producer, repo)
    assert "limit" in told[0][1]
    producer.settle(producer.commander.insert(FILE, 0, 1, then, NOW))
    assert producer.commander.overflowed == 2


def test_a_delete_is_told_with_its_count(world: World) -> None:
    producer, repo = ProducerSide(world, world[PANEL1].signer), RepoSide(world)
    told, then = listening()
    for number in range(3):
        kept = make_data(FILE / segment(number), b"", world[PANEL1].signer)
        repo.shelf.kept[kept.name] = kept
    producer.settle(producer.commander.delete(FILE, 0, 2, then, NOW))
    exchange(producer, repo)
    ((answer, reason),) = told
    assert isinstance(answer, CommandResponse)
    assert (answer.code, answer.deleted, reason) == (200, 3, "")
    assert not repo.shelf.kept
    producer.settle(producer.commander.delete(FILE, 0, 2, then, NOW))
    exchange(producer, repo)
    assert told[1][1].startswith(f"{REPO1} says 405")
