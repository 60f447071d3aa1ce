"""A repo is told to insert and delete: repo-ng's commands, ndn-python-repo's, the streaming insert; with real keys."""

from __future__ import annotations

import pytest
from tests.insertion_world import GROUP, PANEL1, PANEL2, REPO1, SERVICE, FakeShelf, RepoSide
from tests.trust_world import NOW, World, data

from roost.forwarding.endpoint_effects import Asked
from roost.machine import MS, SECOND, Effect
from roost.naming import Component, Name
from roost.naming.conventions import segment
from roost.pubsub.repos.handshake import MAX_NONCES
from roost.pubsub.repos.intake import Target
from roost.pubsub.repos.permission import Permission, signer_of
from roost.pubsub.repos.processes import Processes
from roost.pubsub.repos.removal import AT_ONCE, Removal
from roost.pubsub.repos.streaming import Copied
from roost.pubsub.vetting import Then
from roost.repo import cause, pyrepo
from roost.repo.batch import Receipt, encode_batch
from roost.repo.commands import CommandParameter, CommandResponse
from roost.repo.pyrepo import CommandStatus, Notification, ObjectParameter
from roost.repo.shelving import CONFLICT
from roost.trust import Identity
from roost.wire import Data, DigestSigner, Interest, encode_interest, make_data, sign_interest
from roost.wire.data import NACK

FILE = Name.parse(f"{PANEL1}/firmware/v=1")
NUMBERED = Name.parse(f"{PANEL1}/Heater/Voltage")


@pytest.fixture(scope="module")
def world() -> World:
    return World()


class Clock:
    """Times of commands, each later than the last."""

    ms = NOW // MS


def signed(name: Name, by: Identity, parameters: bytes = b"") -> Interest:
    Clock.ms += 1
    nonce = Clock.ms.to_bytes(8, "big")
    return Interest.decode(
        sign_interest(name, by.signer, time_ms=Clock.ms, signature_nonce=nonce, parameters=parameters)
    )


def command(verb: str, by: Identity, parameter: CommandParameter, prefix: Name = SERVICE) -> Interest:
    return signed(prefix / verb / Component(parameter.encode()), by)


def batch(by: Identity, *packets: Data, copies: int = 1) -> Interest:
    return signed(SERVICE / "insert batch", by, encode_batch([data.wire for data in packets], copies))


def segments(world: World, count: int, *, final: bool = True, name: Name = FILE) -> dict[Name, Data]:
    last = segment(count - 1) if final else None
    signer = world[PANEL1].signer
    made = [make_data(name / segment(n), b"%d" % n, signer, final_block=last) for n in range(count)]
    return {data.name: data for data in made}


def readings(world: World, *numbers: int, by: str = PANEL1) -> list[Data]:
    return [data(f"{NUMBERED}/seq={n}", world[by]) for n in numbers]


def response(side: RepoSide) -> CommandResponse:
    return CommandResponse.decode(side.replies[-1].content)


def receipt(side: RepoSide) -> Receipt:
    return Receipt.decode(side.replies[-1].content)


def checked(side: RepoSide, by: Identity, process: int | None, now: int = NOW) -> CommandResponse:
    assert side.tell(command("insert check", by, CommandParameter(FILE, process=process)), now)
    return response(side)


# -- repo-ng's commands


@pytest.mark.parametrize("prefix", [SERVICE, REPO1], ids=str)
def test_a_single_data_is_fetched_verified_and_kept(world: World, prefix: Name) -> None:
    side = RepoSide(world)
    reading = readings(world, 1)[0]
    side.network[reading.name] = reading
    told = command("insert", world[PANEL1], CommandParameter(reading.name), prefix)
    assert side.tell(told)
    accepted = response(side)
    assert (accepted.code, accepted.inserted) == (100, 0)
    assert side.replies[-1].name == told.name
    assert signer_of(side.replies[-1].signature) == REPO1
    assert side.shelf.puts == [([reading], cause.INSERT)]
    done = checked(side, world[PANEL1], accepted.process)
    assert (done.code, done.inserted, done.process) == (200, 1, accepted.process)


def test_segments_are_fetched_a_window_at_a_time_to_the_end_that_was_named(world: World) -> None:
    side = RepoSide(world)
    every = segments(world, 30, final=False)
    side.tell(command("insert", world[PANEL1], CommandParameter(FILE, 2, 27)))
    process = response(side).process
    assert len(side.pending) == 12
    assert checked(side, world[PANEL1], process).code == 300
    for number in range(2, 28):
        side.deliver(every[FILE / segment(number)])
        assert len(side.pending) == min(12, 27 - number)
    done = checked(side, world[PANEL1], process)
    assert (done.code, done.inserted, done.start, done.end) == (200, 26, 2, 27)
    assert len(side.shelf.kept) == 26


def test_segments_are_fetched_to_the_final_block_and_no_further(world: World) -> None:
    side = RepoSide(world)
    every = segments(world, 3)
    side.tell(command("insert", world[PANEL1], CommandParameter(FILE, 0)))
    process = response(side).process
    side.deliver(every[FILE / segment(1)])
    assert len(side.cancelled) == 9
    for name in (FILE / segment(0), FILE / segment(2)):
        side.deliver(every[name])
    done = checked(side, world[PANEL1], process)
    assert (done.code, done.inserted) == (200, 3)
    assert not side.pending


def test_an_insert_without_an_end_is_stopped_after_ten_seconds_and_every_check_gives_it_ten_more(world: World) -> None:
    side = RepoSide(world)
    side.tell(command("insert", world[PANEL1], CommandParameter(FILE, 0)))
    process = response(side).process
    assert side.insertion.deadline() == NOW + 10 * SECOND
    assert checked(side, world[PANEL1], process, NOW + 9 * SECOND).code == 300
    side.tick(NOW + 10 * SECOND)
    assert side.pending
    side.tick(NOW + 19 * SECOND)
    assert not side.pending
    stopped = checked(side, world[PANEL1], process, NOW + 19 * SECOND)
    assert stopped.code == 405
    assert "neither EndBlockId nor FinalBlockId came within 10 s" in stopped.text


def test_a_missing_segment_without_a_known_end_is_no_success(world: World) -> None:
    side = RepoSide(world)
    side.network |= segments(world, 2, final=False)
    side.tell(command("insert", world[PANEL1], CommandParameter(FILE, 0)))
    process = response(side).process
    side.time_out()
    done = checked(side, world[PANEL1], process)
    assert (done.code, done.inserted) == (405, 2)
    assert "none said which is the last" in done.text


@pytest.mark.parametrize("nacked", [True, False])
def test_a_missing_segment_fails_the_insert_and_those_before_stay(world: World, nacked: bool) -> None:
    side = RepoSide(world)
    side.network |= segments(world, 3)
    del side.network[FILE / segment(1)]
    side.tell(command("insert", world[PANEL1], CommandParameter(FILE, 0, 2)))
    process = response(side).process
    if nacked:
        side.deliver(make_data(FILE / segment(1), b"", world[PANEL1].signer, content_type=NACK))
    else:
        side.time_out()
    done = checked(side, world[PANEL1], process)
    assert (done.code, done.inserted) == (405, 2)
    assert done.text


def test_a_finished_process_is_forgotten_after_ten_seconds(world: World) -> None:
    side = RepoSide(world)
    side.network |= segments(world, 1)
    side.tell(command("insert", world[PANEL1], CommandParameter(FILE, 0)))
    process = response(side).process
    side.tick(NOW + 10 * SECOND - 1)
    assert checked(side, world[PANEL1], process).code == 200
    side.tick(NOW + 10 * SECOND)
    assert checked(side, world[PANEL1], process).code == 404
    assert side.insertion.deadline() is None


def test_a_process_counts_what_is_on_the_disk_only(world: World) -> None:
    side = RepoSide(world, quick=False)
    side.network |= segments(world, 1)
    side.tell(command("insert", world[PANEL1], CommandParameter(FILE, 0)))
    process = response(side).process
    assert (checked(side, world[PANEL1], process).code, response(side).inserted) == (300, 0)
    side.settle(side.shelf.write())
    assert (checked(side, world[PANEL1], process).code, response(side).inserted) == (200, 1)


def test_an_object_of_many_segments_is_deleted_a_few_hundred_at_a_time(world: World) -> None:
    side = RepoSide(world, quick=False)
    one = readings(world, 1)[0]
    side.shelf.kept |= {FILE / segment(number): one for number in range(AT_ONCE + 1)}
    side.tell(command("delete", world[PANEL1], CommandParameter(FILE, 0)))
    assert len(side.shelf.kept) == 1
    side.settle(side.shelf.write())
    side.settle(side.shelf.write())
    assert (response(side).code, response(side).deleted) == (200, AT_ONCE + 1)


def test_a_full_disk_is_told_to_whoever_checks(world: World) -> None:
    side = RepoSide(world)
    side.shelf.full = "the disk is full"
    side.network |= segments(world, 1)
    side.tell(command("insert", world[PANEL1], CommandParameter(FILE, 0)))
    told = checked(side, world[PANEL1], response(side).process)
    assert (told.code, told.text) == (503, "the disk is full")


def test_fetched_data_signed_by_another_panel_is_refused_with_the_rule(world: World) -> None:
    side = RepoSide(world)
    forged = data(f"{NUMBERED}/seq=1", world[PANEL2])
    side.network[forged.name] = forged
    side.tell(command("insert", world[PANEL2], CommandParameter(forged.name)))
    told = checked(side, world[PANEL2], response(side).process)
    assert told.code == 403
    assert "reading" in told.text
    assert "reading" in side.rejected[-1].reason
    assert not side.shelf.puts


def test_more_processes_than_there_is_room_for_are_turned_away_and_counted(world: World) -> None:
    side = RepoSide(world)
    for _ in range(8):
        side.tell(command("insert", world[PANEL1], CommandParameter(FILE, 0)))
        assert response(side).code == 100
    side.tell(command("insert", world[PANEL1], CommandParameter(FILE, 0)))
    assert response(side).code == 503
    assert side.insertion.processes.overflowed == 1
    assert side.insertion.sizes()["processes"] == (8, 8)


@pytest.mark.parametrize("verb", ["insert", "insert check", "delete"])
@pytest.mark.parametrize("who", ["nobody", "a user", "another group's repo", "a digest"])
def test_a_command_by_a_wrong_key_is_refused_with_the_rule(world: World, verb: str, who: str) -> None:
    side = RepoSide(world)
    reading = readings(world, 1)[0]
    side.shelf.kept[reading.name] = reading
    parameter = CommandParameter(reading.name, process=1)
    name = SERVICE / verb / Component(parameter.encode())
    if who == "nobody":
        told = Interest.decode(encode_interest(name, parameters=b""))
    elif who == "a digest":
        told = Interest.decode(sign_interest(name, DigestSigner(), time_ms=Clock.ms))
    else:
        told = signed(
            name, world["/BigCompany/DepartmentA/Alice" if who == "a user" else "/BigCompany/Water/Repo/Repo1"]
        )
    assert side.tell(told)
    assert response(side).code == 403
    assert response(side).text == side.rejected[-1].reason
    assert side.shelf.kept
    assert not side.asked or all("KEY" in str(question.name) for question in side.asked)


def test_a_replayed_command_is_refused_with_the_rule(world: World) -> None:
    side = RepoSide(world)
    reading = readings(world, 1)[0]
    side.shelf.kept[reading.name] = reading
    told = command("delete", world[PANEL1], CommandParameter(reading.name, process=5))
    side.tell(told)
    assert (response(side).code, response(side).deleted, response(side).process) == (200, 1, 5)
    side.shelf.kept[reading.name] = reading
    side.tell(told)
    assert response(side).code == 403
    assert "[rule replay.time]" in response(side).text
    assert "[rule replay.time]" in side.rejected[-1].reason
    assert side.shelf.kept


def test_segments_are_deleted_and_counted(world: World) -> None:
    side = RepoSide(world)
    side.shelf.kept |= segments(world, 5)
    side.tell(command("delete", world[PANEL1], CommandParameter(FILE, 1, 3, 9)))
    assert (response(side).code, response(side).deleted) == (200, 3)
    assert len(side.shelf.kept) == 2
    side.tell(command("delete", world[PANEL1], CommandParameter(FILE, 1, 3, 9)))
    assert (response(side).code, response(side).deleted) == (405, 0)
    side.tell(command("delete", world[PANEL1], CommandParameter(FILE, 4, 1 << 60, 9)))
    assert (response(side).code, response(side).deleted) == (405, 1)
    assert "seg=5 is not here" in response(side).text
    side.tell(command("delete", world[PANEL1], CommandParameter(FILE, 3, 1, 9)))
    assert response(side).code == 403


@pytest.mark.parametrize(
    ("who", "code"),
    [(PANEL1, 200), (PANEL2, 403), (str(GROUP), 200), (f"{GROUP}/Repo/Repo2", 200)],
)
def test_a_panel_deletes_its_own_only_and_a_repo_or_the_group_anything(world: World, who: str, code: int) -> None:
    side = RepoSide(world)
    reading = readings(world, 1)[0]
    side.shelf.kept[reading.name] = reading
    side.tell(command("delete", world[who], CommandParameter(reading.name, process=1)))
    assert response(side).code == code
    assert bool(side.shelf.kept) == (code == 403)
    assert bool(side.rejected) == (code == 403)
    if code == 403:
        assert "[rule owner]" in response(side).text


@pytest.mark.parametrize(
    "name", [SERVICE / "insert", GROUP, REPO1 / "x", Name.parse("/BigCompany/Building2/x/y")], ids=str
)
@pytest.mark.parametrize("verb", ["insert", "delete"])
def test_names_that_are_not_the_groups_or_the_repos_own_are_refused(world: World, verb: str, name: Name) -> None:
    side = RepoSide(world)
    side.tell(command(verb, world[str(GROUP)], CommandParameter(name, process=1)))
    assert response(side).code == 403
    assert "[rule " in response(side).text
    assert not side.pending


def test_a_command_that_lacks_a_field_is_told_which(world: World) -> None:
    side = RepoSide(world)
    side.tell(command("insert", world[PANEL1], CommandParameter(start=1)))
    assert (response(side).code, response(side).text) == (400, "insert needs a Name")
    side.tell(command("insert check", world[PANEL1], CommandParameter(FILE)))
    assert (response(side).code, response(side).text) == (400, "a check needs a ProcessId")
    side.tell(signed(SERVICE / "insert" / "rubbish", world[PANEL1]))
    assert response(side).code == 403


def test_what_is_no_command_is_for_others(world: World) -> None:
    side = RepoSide(world)
    for name in (SERVICE, SERVICE / "32=ask", REPO1 / "holdings", GROUP / "Panel1", Name.parse("/x/insert")):
        assert not side.tell(Interest.decode(encode_interest(name)))
    assert side.tell(Interest.decode(encode_interest(SERVICE / "insert")))
    assert side.tell(Interest.decode(encode_interest(SERVICE / "delete check" / "x", parameters=b"")))
    assert len(side.rejected) == 2
    assert not side.replies


def test_an_answer_that_fits_no_packet_is_not_given(world: World) -> None:
    side = RepoSide(world)
    side.tell(signed(SERVICE / "insert" / ("x" * 8440), world[PANEL1]))
    assert not side.replies
    assert "the limit is 8800" in side.rejected[-1].reason


# -- the streaming insert


def test_a_batch_is_one_put_and_its_receipt_comes_when_it_is_on_the_disk(world: World) -> None:
    side = RepoSide(world, quick=False)
    packets = readings(world, 1, 2, 3)
    told = batch(world[PANEL1], *packets)
    side.tell(told)
    assert not side.replies
    assert side.insertion.sizes()["batches"][0] == 1
    assert side.shelf.puts == [(packets, cause.INSERT)]
    side.settle(side.shelf.write())
    assert receipt(side) == Receipt(200, 3)
    assert side.replies[-1].name.prefix(-1) == told.name
    assert signer_of(side.replies[-1].signature) == REPO1
    assert side.insertion.sizes()["batches"][0] == 0
    assert side.insertion.streaming.kept == 3


def test_of_a_batch_the_refused_are_named_with_their_rule_and_the_rest_is_kept(world: World) -> None:
    side = RepoSide(world)
    good, other = readings(world, 1, 4)
    forged = data(f"{NUMBERED}/seq=2", world[PANEL2])
    answer = data(f"{SERVICE}/insert/x", world[PANEL1])
    side.tell(batch(world[PANEL2], good, forged, answer, other))
    read = receipt(side)
    assert (read.code, read.kept) == (206, 2)
    assert [index for index, _ in read.refused] == [1, 2]
    assert "reading" in read.refused[0][1]
    assert "[rule own prefix]" in read.refused[1][1]
    assert len(side.rejected) == 2
    assert side.shelf.puts == [([good, other], cause.INSERT)]


def test_a_batch_of_which_nothing_is_believed_is_not_written(world: World) -> None:
    side = RepoSide(world)
    side.tell(batch(world[PANEL2], *readings(world, 1, 2, by=PANEL2)))
    assert (receipt(side).code, receipt(side).kept, len(receipt(side).refused)) == (206, 0, 2)
    assert not side.shelf.puts


def test_a_batch_that_comes_again_or_out_of_order_says_nothing_new_and_is_confirmed(world: World) -> None:
    side = RepoSide(world)
    later, sooner = (batch(world[PANEL1], *readings(world, number)) for number in (1, 2))
    for told in (sooner, later, sooner):  # several tasks of one job have one key
        side.tell(told)
        assert receipt(side).code == 200


@pytest.mark.parametrize("parameters", [b"", b"\x9b\x00", b"rubbish", b"\x9b\x02\x06\x05"])
def test_a_malformed_batch_is_refused(world: World, parameters: bytes) -> None:
    side = RepoSide(world)
    side.tell(signed(SERVICE / "insert batch", world[PANEL1], parameters))
    assert receipt(side).code == 403
    assert receipt(side).text
    assert side.rejected
    assert side.insertion.streaming.open == 0


def test_a_full_disk_is_a_receipt_that_says_when_to_try_again(world: World) -> None:
    side = RepoSide(world)
    side.shelf.full = "the disk is full"
    side.tell(batch(world[PANEL1], *readings(world, 1, 2)))
    assert receipt(side) == Receipt(503, text="the disk is full", retry_after_ms=1000)


def test_what_the_store_holds_otherwise_is_refused_for_good_and_what_has_no_room_for_now(world: World) -> None:
    side = RepoSide(world)
    packets = readings(world, 1, 2, 3)
    side.shelf.refusals = {packets[1].name: CONFLICT}
    side.tell(batch(world[PANEL1], *packets))
    assert receipt(side) == Receipt(206, 2, ((1, CONFLICT),))
    side.tell(batch(world[PANEL1], packets[1]))
    assert receipt(side) == Receipt(206, 0, ((0, CONFLICT),))
    side.shelf.refusals = {packets[1].name: "its stream has too many gaps"}
    side.tell(batch(world[PANEL1], *packets))
    assert receipt(side) == Receipt(206, 2, ((1, "its stream has too many gaps"),), retry_after_ms=1000)


def test_more_batches_than_there_is_room_for_are_told_to_wait(world: World) -> None:
    side = RepoSide(world, quick=False)
    side.insertion.streaming.open = side.insertion.streaming.limit
    side.tell(batch(world[PANEL1], *readings(world, 1)))
    assert (receipt(side).code, receipt(side).retry_after_ms) == (503, 1000)
    assert side.insertion.streaming.overflowed == 1
    assert not side.shelf.puts


def test_copies_without_a_copier_are_turned_away(world: World) -> None:
    side = RepoSide(world)
    side.tell(batch(world[PANEL1], *readings(world, 1), copies=2))
    assert receipt(side).code == 503
    assert "2 copies" in receipt(side).text
    assert not side.shelf.puts


def test_copies_are_made_before_the_receipt_is_given(world: World) -> None:
    wanted: list[tuple[list[Data], int, Copied]] = []

    def copier(packets: list[Data], copies: int, then: Copied, now: int) -> list[Effect]:
        assert now == NOW
        wanted.append((packets, copies, then))
        return []

    side = RepoSide(world, copier=copier)
    packets = readings(world, 1, 2)
    for _ in range(2):
        side.tell(batch(world[PANEL1], *packets, copies=3))
    assert [each[:2] for each in wanted] == [(packets, 3)] * 2
    assert not side.replies
    side.settle(wanted[0][2]("", NOW))
    assert receipt(side) == Receipt(200, 2)
    side.settle(wanted[1][2]("only 2 repos are there", NOW))
    assert (receipt(side).code, receipt(side).kept, receipt(side).text) == (503, 0, "only 2 repos are there")


# -- ndn-python-repo's commands


def message(world: World, verb: str, nonce: bytes, *objects: ObjectParameter, by: str = PANEL1) -> Data:
    name = Name.parse(PANEL1) / "msg" + SERVICE / verb / Component(nonce)
    return make_data(name, b"".join([each.encode() for each in objects]), world[by].signer)


def notify(side: RepoSide, verb: str, nonce: bytes, publisher: str = PANEL1, now: int = NOW) -> Interest:
    parameters = Notification(Name.parse(publisher), nonce, (REPO1,)).encode()
    told = Interest.decode(encode_interest(SERVICE / verb / "notify", parameters=parameters))
    assert side.tell(told, now)
    return told


def status(side: RepoSide, told: Data, verb: str = "insert check", now: int = NOW) -> CommandStatus:
    parameters = pyrepo.encode_check(pyrepo.request_number(told.content))
    assert side.tell(Interest.decode(encode_interest(SERVICE / verb, parameters=parameters, must_be_fresh=True)), now)
    return CommandStatus.decode(side.replies[-1].content)


def test_a_notified_command_is_fetched_done_and_acknowledged(world: World) -> None:
    side = RepoSide(world)
    told = message(world, "insert", b"1234", ObjectParameter(FILE, end=2), ObjectParameter(NUMBERED / "x"))
    assert status(side, told).code == 404
    interest = notify(side, "insert", b"1234")
    ((question),) = side.pending.values()
    assert (question.name, question.tries, question.hints) == (told.name, 3, (REPO1,))
    side.deliver(told)
    assert side.replies[-1].name == interest.name
    assert side.replies[-1].content == b""
    assert [(q.lifetime_ms, q.tries) for q in side.pending.values()] == [(1000, 15)] * 3
    running = status(side, told)
    assert running.code == 300
    assert [each.code for each in running.objects] == [300, 100]
    for each in segments(world, 3, final=False).values():
        side.deliver(each)
    side.time_out()
    failed = status(side, told)
    assert failed.code == 400
    assert [(each.code, each.inserted) for each in failed.objects] == [(200, 3), (400, 0)]
    side.tick(NOW + 60 * SECOND)
    assert status(side, told).code == 404


def test_without_an_end_the_object_ends_with_the_first_missing_segment(world: World) -> None:
    side = RepoSide(world)
    told = message(world, "insert", b"1", ObjectParameter(FILE, 0))
    side.network |= segments(world, 2, final=False) | {told.name: told}
    notify(side, "insert", b"1")
    assert len(side.pending) == 8 + 2
    side.time_out()
    done = status(side, told)
    assert (done.code, done.objects[0].inserted) == (200, 2)


def nack(world: World, number: int) -> Data:
    return make_data(FILE / segment(number), b"", world[PANEL1].signer, content_type=NACK)


def test_of_several_missing_segments_the_first_is_where_the_object_ends(world: World) -> None:
    side = RepoSide(world)
    told = message(world, "insert", b"1", ObjectParameter(FILE, 0))
    side.network |= segments(world, 2, final=False) | {told.name: told}
    notify(side, "insert", b"1")
    for number in (5, 3, 2):
        side.deliver(nack(world, number))
    done = status(side, told)
    assert (done.code, done.objects[0].inserted) == (200, 2)
    assert not side.pending


def test_a_missing_segment_before_the_final_one_fails_the_object_however_late_that_is_known(world: World) -> None:
    side = RepoSide(world)
    told = message(world, "insert", b"1", ObjectParameter(FILE, 0))
    side.network[told.name] = told
    notify(side, "insert", b"1")
    side.deliver(nack(world, 1))
    side.deliver(segments(world, 4)[FILE / segment(0)])
    done = status(side, told)
    assert (done.code, done.objects[0].code, done.objects[0].inserted) == (400, 400, 1)


def test_a_final_block_behind_the_end_that_was_named_changes_nothing(world: World) -> None:
    side = RepoSide(world)
    side.network |= segments(world, 9)
    side.tell(command("insert", world[PANEL1], CommandParameter(FILE, 0, 1)))
    assert (checked(side, world[PANEL1], response(side).process).code, response(side).inserted) == (200, 2)
    assert len(side.shelf.kept) == 2


def test_what_is_verified_after_its_process_was_stopped_is_not_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = RepoSide(world, quick=False)
    told = message(world, "insert", b"1", ObjectParameter(FILE, 0, 1))
    side.network[told.name] = told
    notify(side, "insert", b"1")
    held: list[Then] = []

    def hold(_packet: Data, then: Then, _now: int, **_: bool) -> list[Effect]:
        held.append(then)
        return []

    monkeypatch.setattr(side.asking.vetting, "check", hold)
    side.deliver(segments(world, 2)[FILE / segment(0)])
    side.time_out()
    assert status(side, told).code == 400
    side.settle(held[0]("", NOW))
    assert not side.shelf.puts


def test_a_message_signed_by_another_panel_is_refused_and_not_acknowledged(world: World) -> None:
    side = RepoSide(world)
    told = message(world, "insert", b"1", ObjectParameter(FILE), by=PANEL2)
    side.network[told.name] = told
    notify(side, "insert", b"1")
    assert "message" in side.rejected[0].reason
    assert not side.replies
    assert status(side, told).code == 404


def test_objects_that_may_not_be_kept_are_refused_one_by_one(world: World) -> None:
    side = RepoSide(world)
    objects = ObjectParameter(SERVICE / "x"), ObjectParameter(FILE, 5, 2), ObjectParameter(FILE, 0, 0)
    told = message(world, "insert", b"1", *objects)
    side.network |= segments(world, 1) | {told.name: told}
    notify(side, "insert", b"1")
    done = status(side, told)
    assert done.code == 400
    assert [each.code for each in done.objects] == [403, 403, 200]


def test_a_nonce_counts_once_a_minute(world: World) -> None:
    side = RepoSide(world)
    told = message(world, "insert", b"1", ObjectParameter(FILE, 0, 0))
    notify(side, "insert", b"1")
    notify(side, "insert", b"1", now=NOW + 59 * SECOND)
    assert len(side.pending) == 1
    assert "[rule replay.nonce]" in side.rejected[-1].reason
    assert side.insertion.handshake.repeated == 1
    notify(side, "insert", b"1", PANEL2)
    assert len(side.pending) == 2
    notify(side, "insert", b"1", now=NOW + 60 * SECOND)
    assert len(side.pending) == 3
    side.deliver(told)
    assert len(side.insertion.processes) == 1


def test_a_notification_from_outside_the_group_or_without_sense_asks_for_nothing(world: World) -> None:
    side = RepoSide(world)
    notify(side, "insert", b"1", "/BigCompany/DepartmentA/Alice")
    assert "[rule group]" in side.rejected[-1].reason
    side.tell(Interest.decode(encode_interest(SERVICE / "insert" / "notify", parameters=b"rubbish")))
    assert len(side.rejected) == 2
    assert not side.asked


def test_nonces_are_bounded(world: World) -> None:
    side = RepoSide(world)
    for number in range(MAX_NONCES + 1):
        notify(side, "insert", number.to_bytes(4, "big"))
    assert side.insertion.sizes()["nonces"] == (MAX_NONCES, MAX_NONCES)
    assert side.insertion.handshake.overflowed == 1


def test_a_notified_delete_is_the_owners_only(world: World) -> None:
    side = RepoSide(world)
    side.shelf.kept |= segments(world, 3)
    theirs = readings(world, 7)[0].name.prefix(-1).prefix(-3) / "Panel2" / "a" / "b"
    told = message(world, "delete", b"1", ObjectParameter(FILE, 0), ObjectParameter(theirs))
    side.network[told.name] = told
    notify(side, "delete", b"1")
    done = status(side, told, "delete check")
    assert done.code == 400
    assert [(each.code, each.deleted) for each in done.objects] == [(200, 3), (403, 0)]
    assert not side.shelf.kept


def test_the_same_command_again_is_done_again_once_it_is_over(world: World) -> None:
    side = RepoSide(world)
    objects = ObjectParameter(FILE, 0, 0)
    messages = [message(world, verb, nonce, objects) for verb, nonce in [("insert", b"1"), ("delete", b"2")] * 2]
    again = message(world, "insert", b"3", objects)
    side.network |= {told.name: told for told in [*messages, again]}
    notify(side, "insert", b"1")
    notify(side, "insert", b"3")
    assert [question.name for question in side.pending.values()] == [FILE / segment(0)]
    side.network |= segments(world, 1)
    side.time_out()
    assert status(side, again).code == 400
    notify(side, "insert", b"1", now=NOW + 60 * SECOND)
    assert (status(side, again).code, len(side.shelf.kept)) == (200, 1)
    notify(side, "delete", b"2")
    assert status(side, again, "delete check").objects[0].deleted == 1
    assert status(side, again).objects[0].inserted == 1
    assert len(side.insertion.processes) == 2


def test_a_check_without_sense_is_answered_403(world: World) -> None:
    side = RepoSide(world)
    side.tell(Interest.decode(encode_interest(SERVICE / "insert check", parameters=b"rubbish")))
    assert CommandStatus.decode(side.replies[-1].content).code == 403


def test_a_status_of_many_objects_is_told_in_sum_where_it_would_not_fit(world: World) -> None:
    side = RepoSide(world)
    long = Name.parse(PANEL1) / ("x" * 95)
    told = message(world, "insert", b"1", *[ObjectParameter(long / str(n)) for n in range(50)])
    side.network[told.name] = told
    notify(side, "insert", b"1")
    assert side.replies
    assert status(side, told) == CommandStatus(300)


def test_processes_wait_for_their_turn(world: World) -> None:
    side = RepoSide(world)
    side.insertion.processes._running_limit = 1  # type: ignore[misc]
    for number in range(3):
        reading = readings(world, number + 1)[0]
        side.tell(command("insert", world[PANEL1], CommandParameter(reading.name)))
    for number in range(3):
        assert [question.name for question in side.pending.values()] == [readings(world, number + 1)[0].name]
        side.deliver(readings(world, number + 1)[0])
    assert len(side.shelf.kept) == 3


def test_a_process_that_is_over_at_once_frees_its_place_once(world: World) -> None:
    side = RepoSide(world)
    side.insertion.processes._running_limit = 1  # type: ignore[misc]
    refused = message(world, "insert", b"1", *[ObjectParameter(SERVICE / "x")] * 3)
    others = [message(world, "insert", nonce, ObjectParameter(FILE / nonce.hex())) for nonce in (b"2", b"3")]
    side.network |= {told.name: told for told in [refused, *others]}
    for nonce in (b"1", b"2", b"3"):
        notify(side, "insert", nonce)
    assert len(side.pending) == 1


def test_any_number_of_processes_may_be_over_at_once(world: World) -> None:
    processes = Processes(running=1)
    shelf = FakeShelf(quick=False)
    permission = Permission(GROUP, [SERVICE])
    shelf.kept |= segments(world, 1)
    by = world[str(GROUP)].certificate.data.signature
    own = make_data(FILE, b"", world[PANEL1].signer).signature
    assert not processes.add(b"0", [Removal(shelf, permission, Target(FILE, 0), own)], NOW, keep=1)
    for number in range(1, processes.limit):
        assert not processes.add(b"%d" % number, [Removal(shelf, permission, Target(GROUP), by)], NOW, keep=1)
    assert processes.full
    shelf.write()
    assert all(process.code for process in processes._by_number.values())
    processes.tick(NOW + 1)
    assert len(processes) == 0


def test_an_interest_of_another_face_is_answered_with_its_token(world: World) -> None:
    side = RepoSide(world)
    effects = side.insertion.asked(Asked(SERVICE, batch(world[PANEL1], *readings(world, 1)), b"abc"), NOW)
    assert effects is not None
    side.settle(effects)
    assert side.replies
