"""Who may say what to a repo, a panel and a consumer: whole machines, real keys, the real schema [NDN-PS §III-E].

evaluations.md §4.3 at the level where it counts: nothing is stored, delivered or forgotten because of somebody who has
no say, and the refusal names the rule.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.trust_street import GROUP, Street, reading, stream
from tests.trust_world import NOW, World, settle

from roost.machine import MS, SECOND, Note
from roost.naming import Component, Name
from roost.naming.building import numbered
from roost.naming.conventions import keyword, segment, sequence, timestamp, version
from roost.pubsub.consumers.policy import sequential
from roost.pubsub.panels.panel import Acknowledged, Panel, Refused
from roost.pubsub.repos.repo import Repo, RepoSettings
from roost.repo.batch import INSERT_BATCH, Receipt, encode_batch
from roost.repo.cause import DELETE, INSERT
from roost.repo.commands import CommandParameter, CommandResponse
from roost.repo.pyrepo import Notification, ObjectParameter
from roost.repo.question import (
    ASK,
    Bundle,
    Latest,
    Since,
    Streams,
    decode_question,
    encode_bundle,
    encode_question,
    encode_streams,
)
from roost.repo.record import Held, encode_named, encode_records
from roost.repo.store import Entry
from roost.trust import Identity, Rejection
from roost.wire import Data, Interest, Signer, encode_data, encode_interest, make_data, sign_interest
from roost.wire.reading import TEXT, Reading

BUILDING1 = "/BigCompany/Building1"
BUILDING2 = "/BigCompany/Building2"
PANEL1, PANEL2 = f"{GROUP.name}/Panel1", f"{GROUP.name}/Panel2"
REPO1, REPO2 = f"{GROUP.name}/Repo/Repo1", f"{GROUP.name}/Repo/Repo2"
PHONE = "/BigCompany/DepartmentA/Alice/Phone"
WATER_REPO = "/BigCompany/Water/Repo/Repo1"
VOLTAGE1, VOLTAGE2 = stream("Panel1"), stream("Panel2")
GAS = Name.parse(f"{BUILDING1}/Gas/Panel1/Meter/Flow")


@pytest.fixture
def keys() -> World:
    return World()


def publish(street: Street, panel: Panel, of: Name, text: str = "230") -> None:
    street.run(30, lambda: panel.outbox.settled)
    name = panel.name.at(-1).value.decode()
    street.act(name, panel.publish(of, Reading(street.now, TEXT, text.encode()), street.now))


def batch(by: Signer, *packets: Data, to: Name = GROUP.service, ms: int = NOW // MS) -> bytes:
    parameters = encode_batch([packet.wire for packet in packets])
    nonce = ms.to_bytes(8, "big")
    return sign_interest(
        to / INSERT_BATCH, by, time_ms=ms, signature_nonce=nonce, can_be_prefix=True, parameters=parameters
    )


def receipt(answers: list[Data]) -> Receipt:
    (answer,) = [data for data in answers if "insert%20batch" in str(data.name)]
    return Receipt.decode(answer.content)


# -- impostors: identities that look like somebody, and are not ------------------------------------------------------

Impostor = Callable[[Street, str, str], Identity]  # the street, whose name it takes, who would have to issue it


def expired(street: Street, name: str, issuer: str) -> Identity:
    old = street.keys.made(name, street.keys[issuer], lifetime=SECOND)
    street.also.append(old.certificate.data)
    street.now += 2 * SECOND
    return old


def without_intermediate(street: Street, name: str, issuer: str) -> Identity:
    unknown = street.keys.made(issuer, street.keys.anchor)  # nobody serves its certificate
    made = street.keys.made(name, unknown)
    street.also.append(made.certificate.data)
    return made


def of_another_building(street: Street, name: str, issuer: str) -> Identity:
    del issuer
    made = street.keys.made(name, street.keys[BUILDING2])
    street.also.append(made.certificate.data)
    return made


def of_a_department(street: Street, name: str, issuer: str) -> Identity:
    del issuer
    made = street.keys.made(name, street.keys["/BigCompany/DepartmentA"])
    street.also.append(made.certificate.data)
    return made


def of_a_foreign_anchor(street: Street, name: str, issuer: str) -> Identity:
    """The same names throughout, below another root."""
    del issuer
    foreign = World(seed=2)
    street.also += [held.data for held in foreign.certificates()]
    return foreign[name]


IMPOSTORS = (expired, without_intermediate, of_another_building, of_a_department, of_a_foreign_anchor)


# -- panels ----------------------------------------------------------------------------------------------------------


def test_what_is_signed_by_whom_it_should_be_is_kept_replicated_and_delivered(keys: World) -> None:
    street = Street(keys)
    street.repo("Repo1")
    two = street.repo("Repo2")
    panel = street.panel("Panel1")
    street.consumer(GROUP.name)
    publish(street, panel, VOLTAGE1)
    assert street.run(30, lambda: two.shelf.holdings.is_held(VOLTAGE1, 1) and bool(street.delivered()))
    assert street.told("Panel1", Acknowledged) == [Acknowledged(VOLTAGE1, 1, 1)]
    assert [arrival.stream for arrival in street.delivered()] == [VOLTAGE1]
    assert not [reason for name in ("Repo1", "Repo2", "Panel1", "consumer") for reason in street.refusals(name)]


def _refused_panel(street: Street, signer: Signer, *words: str) -> None:
    """A panel whose readings are signed so is told why they are not kept, and keeps them."""
    repo = street.repo("Repo1")
    panel = street.panel("Panel2", signer)
    publish(street, panel, VOLTAGE2)
    assert street.run(120, lambda: bool(street.told("Panel2", Refused)))
    refused = street.told("Panel2", Refused)[0]
    assert (refused.stream, refused.number) == (VOLTAGE2, 1)
    assert [word for word in ("[rule ", *words) if word not in refused.reason] == [], refused.reason
    assert street.refused("Repo1", *words)
    assert not street.told("Panel2", Acknowledged)
    assert len(panel.outbox.refused()) == 1
    assert not repo.shelf.holdings.is_held(VOLTAGE2, 1)
    assert street.stored("Repo1", VOLTAGE2) == []


@pytest.mark.parametrize("who", [PANEL1, REPO1, str(GROUP.name), BUILDING1, PHONE, WATER_REPO])
def test_readings_signed_with_the_key_of_somebody_else_are_refused(keys: World, who: str) -> None:
    _refused_panel(Street(keys), keys[who].signer, f"the key of {who} may not sign", "#reading")


@pytest.mark.parametrize("impostor", IMPOSTORS, ids=lambda each: each.__name__)
def test_readings_of_who_only_looks_like_the_panel_are_refused(keys: World, impostor: Impostor) -> None:
    street = Street(keys)
    _refused_panel(street, impostor(street, PANEL2, BUILDING1).signer)


def test_readings_that_were_altered_are_refused(keys: World) -> None:
    street = Street(keys)
    street.repo("Repo1")
    good = reading(VOLTAGE1, 1, keys[PANEL1])
    altered = Data.decode(good.wire.replace(b"230", b"999"))
    answer = receipt(street.inject("Repo1", batch(keys[PANEL1].signer, altered)))
    assert (answer.code, answer.kept) == (206, 0)
    assert "does not match" in answer.refused[0][1]
    assert "[rule #reading]" in answer.refused[0][1]
    assert street.stored("Repo1", VOLTAGE1) == []


def test_a_disk_that_refuses_writes_is_told_once_and_so_is_its_recovery(keys: World) -> None:
    street = Street(keys)
    street.repo("Repo1")
    panel = street.panel("Panel1")
    for full in ({"Repo1"}, set[str]()):
        street.full = full
        publish(street, panel, VOLTAGE1)
        publish(street, panel, VOLTAGE1)
        street.run(20)
    notes = [note for note in street.told("Repo1", Note) if note.event.startswith("the disk")]
    assert [note.event for note in notes] == ["the disk refuses writes", "the disk takes writes again"]
    assert dict(notes[0].facts)["reason"] == "no space left"


# -- commands --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [PHONE, WATER_REPO, BUILDING1])
def test_commands_of_who_may_not_command_are_refused(keys: World, who: str) -> None:
    street = Street(keys)
    street.repo("Repo1")
    panel = street.panel("Panel1", commands=keys[who].signer)
    publish(street, panel, VOLTAGE1)
    street.run(20)
    notes = [dict(note.facts)["reason"] for note in street.told("Panel1", Note) if note.event == "readings unconfirmed"]
    assert notes
    assert all("says 403" in str(note) and "[rule #batch" in str(note) for note in notes)
    assert street.refused("Repo1", f"the key of {who} may not sign", "#batch")
    assert street.stored("Repo1", VOLTAGE1) == []
    assert len(panel.outbox) == 1


@pytest.mark.parametrize("impostor", IMPOSTORS, ids=lambda each: each.__name__)
def test_commands_of_who_only_looks_like_a_panel_are_refused(keys: World, impostor: Impostor) -> None:
    street = Street(keys)
    made = impostor(street, PANEL1, BUILDING1)
    street.repo("Repo1")
    panel = street.panel("Panel1", commands=made.signer)
    publish(street, panel, VOLTAGE1)
    street.run(20)
    assert street.refused("Repo1", "[rule ")
    assert street.stored("Repo1", VOLTAGE1) == []
    assert len(panel.outbox) == 1


def test_a_batch_that_is_replayed_changes_nothing(keys: World) -> None:
    street = Street(keys)
    street.repo("Repo1")
    panel = street.panel("Panel1")
    publish(street, panel, VOLTAGE1)
    (command,) = [each for each in street.seen if "insert%20batch" in str(each.name)]
    before = street.stored("Repo1", GROUP.name)
    again = receipt(street.inject("Repo1", command.wire))
    assert (again.code, again.kept) == (200, 1)
    assert street.stored("Repo1", GROUP.name) == before


def test_a_delete_counts_once_and_does_not_bring_back_what_was_there(keys: World) -> None:
    street = Street(keys)
    repo = street.repo("Repo1")
    name = numbered(VOLTAGE1, 1)
    street.inject("Repo1", batch(keys[PANEL1].signer, reading(VOLTAGE1, 1, keys[PANEL1])))
    delete = GROUP.service / "delete" / Component(CommandParameter(name, process=1).encode())
    told = sign_interest(delete, keys[PANEL1].signer, time_ms=NOW // MS + 1, signature_nonce=b"12345678")
    assert [CommandResponse.decode(data.content).code for data in street.inject("Repo1", told)] == [200]
    (again,) = street.inject("Repo1", told)
    assert CommandResponse.decode(again.content).code == 403
    assert "[rule replay.time]" in CommandResponse.decode(again.content).text
    back = batch(keys[PANEL1].signer, reading(VOLTAGE1, 1, keys[PANEL1]), ms=NOW // MS + 5)
    assert receipt(street.inject("Repo1", back)).code == 206
    assert not repo.shelf.holdings.is_held(VOLTAGE1, 1)


def test_a_command_for_one_repo_is_none_for_another(keys: World) -> None:
    street = Street(keys)
    street.repo("Repo1")
    street.repo("Repo2")
    command = batch(keys[PANEL1].signer, reading(VOLTAGE1, 1, keys[PANEL1]), to=Name.parse(REPO1))
    assert street.inject("Repo2", command) == []
    assert street.stored("Repo2", VOLTAGE1) == []
    assert receipt(street.inject("Repo1", command)).code == 200


def test_a_command_for_any_repo_that_reaches_two_is_harmless_because_readings_are_kept_once(keys: World) -> None:
    street = Street(keys)
    one, two = street.repo("Repo1"), street.repo("Repo2")
    street.consumer(GROUP.name)
    command = batch(keys[PANEL1].signer, reading(VOLTAGE1, 1, keys[PANEL1]))
    for repo in ("Repo1", "Repo2"):
        assert receipt(street.inject(repo, command)).code == 200
    street.run(30)
    for kept in (one, two):
        assert kept.shelf.holdings.of(VOLTAGE1).held == [(1, 1)]
    assert [arrival.number for arrival in street.delivered()] == [1]


@pytest.mark.parametrize("who", [PANEL2, REPO1, PHONE])
def test_a_forged_notification_fetches_a_message_that_is_not_believed(keys: World, who: str) -> None:
    street = Street(keys)
    repo = street.repo("Repo1")
    topic = GROUP.service / "insert"
    message = Name.parse(PANEL1) / "msg" + topic / "nonce"
    forged = make_data(message, ObjectParameter(numbered(VOLTAGE1, 1)).encode(), keys[who].signer)
    good = reading(VOLTAGE1, 1, keys[PANEL1])
    held = {forged.name: forged.wire, good.name: good.wire}
    street.answer = lambda interest: held.get(interest.name)
    notify = encode_interest(topic / "notify", parameters=Notification(Name.parse(PANEL1), b"nonce").encode())
    assert street.inject("Repo1", notify) == [], "it is not acknowledged"
    assert street.refused("Repo1", f"the key of {who} may not sign", "[rule #message]")
    assert len(repo.insertion.processes) == 0
    assert street.stored("Repo1", VOLTAGE1) == []


# -- repos -----------------------------------------------------------------------------------------------------------


def _nobody_believes(street: Street, signer: Signer, *, panel_rule: str = "[rule ") -> None:
    """A repo that signs so gets no reading forgotten, replicated or delivered, whatever it keeps."""
    one = street.repo("Repo1", signer)
    two = street.repo("Repo2")
    panel = street.panel("Panel1")
    street.consumer(GROUP.name)
    street.run(30, lambda: panel.outbox.settled)
    publish(street, panel, VOLTAGE1)
    street.run(30, lambda: one.shelf.holdings.is_held(VOLTAGE1, 1))
    assert one.shelf.holdings.is_held(VOLTAGE1, 1), "it does keep them"
    street.run(15)
    assert not street.told("Panel1", Acknowledged)
    assert len(panel.outbox) == 1, "the panel does not forget"
    assert street.refused("Panel1", panel_rule)
    assert street.stored("Repo2", VOLTAGE1) == []
    assert len(two.peers) == 0
    assert street.refused("Repo2", "[rule ")
    assert street.delivered() == []
    assert street.refused("consumer", "[rule ")


@pytest.mark.parametrize("who", [PANEL1, WATER_REPO, str(GROUP.name), BUILDING1, PHONE])
def test_a_repo_with_the_key_of_somebody_else_convinces_nobody(keys: World, who: str) -> None:
    street = Street(keys)
    _nobody_believes(street, keys[who].signer, panel_rule="[rule #receipt]")
    assert street.refused("Repo2", f"the key of {who} may not sign", "[rule #replication_reply]")
    assert street.refused("consumer", f"the key of {who} may not sign", "[rule #subscription_")
    assert street.refused("Panel1", f"the key of {who} may not sign", "[rule #answer")


@pytest.mark.parametrize("impostor", IMPOSTORS, ids=lambda each: each.__name__)
def test_who_only_looks_like_a_repo_convinces_nobody(keys: World, impostor: Impostor) -> None:
    street = Street(keys)
    _nobody_believes(street, impostor(street, REPO1, str(GROUP.name)).signer)


def test_a_repo_does_not_speak_for_another_one(keys: World) -> None:
    street = Street(keys)
    street.keys.add(f"{GROUP.name}/Repo/Repo3", str(GROUP.name))
    one = street.repo("Repo1", keys[REPO2].signer)
    three = street.repo("Repo3")
    panel = street.panel("Panel1")
    publish(street, panel, VOLTAGE1)
    assert street.run(30, lambda: one.shelf.holdings.is_held(VOLTAGE1, 1))
    street.run(20)
    assert street.refused("Repo3", f"the key of {REPO2} may not sign {REPO1}/seq=", "[rule #record]")
    assert street.refused("Repo3", f"the key of {REPO2} may not sign {REPO1}/holdings", "#repo_metadata")
    assert not three.shelf.holdings.is_held(VOLTAGE1, 1)
    assert three.shelf.holdings.highest(one.name) == 0


SAID: dict[str, tuple[str, Callable[[Name], bool]]] = {
    "receipts": ("#receipt", lambda name: "insert%20batch" in str(name)),
    "records": ("#record", lambda name: name.prefix(-1) == Name.parse(REPO1)),
    "replies of full sync": ("#replication_reply", lambda name: name.starts_with(GROUP.replication)),
    "replies of partial sync": ("#subscription_", lambda name: name.starts_with(GROUP.subscriptions)),
    "answers of any repo": ("#answer", lambda name: name.starts_with(GROUP.service / ASK)),
    "answers of one repo": ("#one_answer", lambda name: name.starts_with(Name.parse(REPO1) / ASK)),
    "holdings": ("#repo_", lambda name: name.starts_with(Name.parse(REPO1) / "holdings")),
}


@pytest.mark.parametrize("altered", [False, True], ids=["signed by a panel", "altered"])
@pytest.mark.parametrize("said", list(SAID))
def test_whatever_a_repo_says_is_refused_if_it_is_not_as_the_repo_said_it(
    keys: World, said: str, *, altered: bool
) -> None:
    rule, concerns = SAID[said]
    street = Street(keys)

    def change(data: Data) -> bytes:
        if not concerns(data.name):
            return data.wire
        signer = keys[REPO1 if altered else PANEL1].signer
        wire = encode_data(data.name, data.content, signer, freshness_ms=1000, final_block=data.final_block)
        return wire[:-1] + bytes((wire[-1] ^ 1,)) if altered else wire

    street.change = change
    street.repo("Repo1", settings=RepoSettings(carry_bytes=0))
    panel = street.panel("Panel1")
    for number in range(1, 5):
        packet = reading(VOLTAGE2, number, keys[PANEL2])
        street.inject("Repo1", batch(keys[PANEL2].signer, packet, ms=NOW // MS + number))
    two = street.repo("Repo2")
    street.consumer(GROUP.name, policy=sequential().since(time_ns=NOW - SECOND))
    if said == "answers of any repo":
        assert street.run(30, lambda: street.refused("Panel1", "[rule #answer"))
        assert street.run(30, lambda: street.refused("consumer", "[rule #answer"))
    else:
        publish(street, panel, VOLTAGE1)
        street.run(10)
        who = {"receipts": "Panel1", "replies of partial sync": "consumer"}.get(said, "Repo2")
        words = ["may not sign"] if not altered else ["does not match"]
        assert street.refused(who, "[rule ", rule, *words), street.refusals(who)
    if said == "receipts":
        assert not street.told("Panel1", Acknowledged)
        assert len(panel.outbox) == 1
    if said in {"replies of partial sync", "answers of any repo"}:
        assert street.delivered() == []
    if said in {"records", "replies of full sync"}:
        assert two.shelf.holdings.highest(Name.parse(REPO1)) == 0


def test_a_receipt_is_good_for_its_own_command_only(keys: World) -> None:
    street = Street(keys)
    street.repo("Repo1")
    panel = street.panel("Panel1")
    publish(street, panel, VOLTAGE1)
    (old,) = [data for data in street.carried if "insert%20batch" in str(data.name)]
    assert street.told("Panel1", Acknowledged) == [Acknowledged(VOLTAGE1, 1, 1)]
    street.nearest = "nobody"
    publish(street, panel, VOLTAGE1)
    before = panel.acknowledged
    street.inject("Panel1", old.wire)
    lengthened = make_data(old.name, old.content, keys[REPO1].signer)
    street.inject("Panel1", lengthened.wire)
    street.run(10)
    assert panel.acknowledged == before == 1
    assert len(panel.outbox) == 1
    commands = {each.name for each in street.seen if "insert%20batch" in str(each.name)}
    assert len(commands) > 2, "each try is another command"


def test_a_notification_of_a_repo_is_its_own(keys: World) -> None:
    name = Name.parse(REPO1) / keyword("events") / timestamp(NOW // SECOND) / sequence(1)
    for who in (PANEL1, REPO2, str(GROUP.name)):
        verdict = settle(keys.verifier(), make_data(name, b"", keys[who].signer), keys.certificates())
        assert isinstance(verdict, Rejection)
        assert verdict.rule == "#event"


# -- repos with a good key that say what is not so -------------------------------------------------------------------


def _pair(keys: World) -> tuple[Street, Repo, Repo]:
    street = Street(keys)
    one, two = street.repo("Repo1"), street.repo("Repo2")
    street.run(10, lambda: len(one.peers) == len(two.peers) == 1)
    return street, one, two


def test_forged_readings_carried_in_what_a_repo_says_are_refused(keys: World) -> None:
    street, one, two = _pair(keys)
    street.consumer(GROUP.name)
    street.run(5)
    forged = reading(VOLTAGE2, 1, keys[PANEL1])
    street.act("Repo1", one._settle(one.shelf.put([forged], INSERT, lambda _, __: [], street.now), street.now))
    street.run(60)
    for who in ("Repo2", "consumer"):
        assert street.refused(who, f"the key of {PANEL1} may not sign {forged.name}", "[rule #reading]")
    assert street.stored("Repo2", VOLTAGE2) == []
    assert street.delivered() == []
    assert any(forged.wire in data.content for data in street.carried if data.name.starts_with(GROUP.subscriptions))
    publish(street, street.panel("Panel1"), VOLTAGE1)
    assert street.run(60, lambda: two.shelf.holdings.is_held(VOLTAGE1, 1) and bool(street.delivered()))


def test_a_record_that_names_readings_which_do_not_exist_brings_none_and_harms_nobody(keys: World) -> None:
    street, one, two = _pair(keys)
    street.record("Repo1", encode_named([Held(VOLTAGE1, 1, 60_000)], [GROUP.name / "Panel1" / "file"], INSERT)[0])
    street.run(30)
    assert street.stored("Repo2", VOLTAGE1) == []
    publish(street, street.panel("Panel2"), VOLTAGE2)
    assert street.run(60, lambda: two.shelf.holdings.is_held(VOLTAGE2, 1))
    assert all(size <= limit for size, limit in two.sizes().values())
    assert two.shelf.holdings.highest(one.name) != 2, "what cannot be had is not done with"


@pytest.mark.parametrize("carry", [True, False], ids=["carried", "named"])
def test_a_record_cannot_bring_another_group_s_readings(keys: World, carry: bool) -> None:
    keys.add(f"{BUILDING1}/Gas/Panel1", BUILDING1)
    street, one, two = _pair(keys)
    foreign = reading(GAS, 1, keys[f"{BUILDING1}/Gas/Panel1"])
    good = reading(VOLTAGE1, 1, keys[PANEL1])
    street.plant("Repo1", foreign, good)
    entries = [Entry(foreign.name, foreign.wire), Entry(good.name, good.wire)]
    street.record("Repo1", encode_records(entries, INSERT, 7000 if carry else 0)[0])
    assert street.run(30, lambda: street.refused("Repo2", str(foreign.name), "[rule group]"))
    street.run(30)
    assert street.stored("Repo2", GAS) == []
    assert street.stored("Repo2", VOLTAGE1) == [good.name], "what it may say counts"
    assert street.stored("Repo1", GAS) == [foreign.name]
    assert one.shelf.holdings.is_held(GAS, 1)
    compared = two.comparison.compared
    street.act("Repo2", two.comparison.compare(one.name, street.now))
    assert street.run(90, lambda: two.comparison.compared > compared)
    assert street.stored("Repo2", GAS) == []


def test_a_record_cannot_have_records_taken_for_done_or_deleted(keys: World) -> None:
    """A record that is held is done with: whoever could slip one in would have its readings skipped."""
    keys.add(f"{GROUP.name}/Repo/Repo3", str(GROUP.name))
    street, one, two = _pair(keys)
    others = Name.parse(f"{GROUP.name}/Repo/Repo3")
    slipped = make_data(numbered(others, 1), b"", keys[str(others)].signer)
    street.plant("Repo1", slipped)
    street.record("Repo1", encode_named([Held(others, 1, 1)], [], INSERT)[0])
    street.record("Repo1", encode_records([Entry(slipped.name, slipped.wire)], INSERT)[0])
    street.record("Repo1", encode_named([Held(others, 1, 5), Held(two.name, 1, 1)], [], DELETE)[0])
    assert street.run(30, lambda: two.shelf.holdings.highest(one.name) >= 4)
    assert street.refused("Repo2", str(others), "[rule own prefix]")
    assert street.stored("Repo2", others) == []
    assert not two.shelf.holdings.is_gone(others, 1)
    assert two.shelf.holdings.is_held(two.name, 1)


def test_whoever_says_that_a_repo_came_to_the_last_number_does_not_leave_it_without_numbers(keys: World) -> None:
    street, one, two = _pair(keys)
    one.full.member.dataset.set(two.name, (1 << 64) - 1)
    street.nearest = "Repo1"
    publish(street, street.panel("Panel1"), VOLTAGE1)
    street.run(10)
    assert two.shelf.holdings.is_held(VOLTAGE1, 1), "they have spoken with each other"
    street.nearest = "Repo2"
    publish(street, street.panel("Panel2"), VOLTAGE2)
    street.run(5)
    assert two.shelf.holdings.of(two.name).held == [(1, 2)]


def test_a_reading_with_the_last_number_there_is_is_refused(keys: World) -> None:
    street = Street(keys)
    repo = street.repo("Repo1")
    last = reading(VOLTAGE1, (1 << 64) - 1, keys[PANEL1])
    answer = receipt(street.inject("Repo1", batch(keys[PANEL1].signer, last)))
    assert (answer.code, answer.kept, answer.retry_after_ms) == (206, 0, 0)
    assert "the last number" in answer.refused[0][1]
    name = GROUP.service / ASK / encode_question(Since(GROUP.name, NOW + SECOND))
    (told,) = street.inject("Repo1", encode_interest(name, can_be_prefix=True, must_be_fresh=True))
    assert told.name.starts_with(name)
    assert repo.shelf.holdings.highest(VOLTAGE1) == 0


def test_a_panel_does_not_believe_that_it_came_to_the_last_number(keys: World) -> None:
    street = Street(keys)
    street.repo("Repo1")
    name = GROUP.service / ASK / encode_question(Latest(Name.parse(PANEL1))) / version(1) / segment(0)
    lie = encode_data(name, encode_streams(Streams(((VOLTAGE1, (1 << 64) - 1),))), keys[REPO1].signer)
    street.answer = lambda interest: lie if name.starts_with(interest.name) else None
    publish(street, street.panel("Panel1"), VOLTAGE1)
    assert street.told("Panel1", Acknowledged) == [Acknowledged(VOLTAGE1, 1, 1)]


def test_a_panel_cannot_slip_a_repo_s_record_in(keys: World) -> None:
    street = Street(keys)
    two = street.repo("Repo2")
    record = make_data(numbered(Name.parse(REPO1), 1), b"", keys[REPO1].signer)
    answer = receipt(street.inject("Repo2", batch(keys[PANEL1].signer, record)))
    assert (answer.code, answer.kept) == (206, 0)
    assert "[rule own prefix]" in answer.refused[0][1]
    assert not two.shelf.holdings.is_held(Name.parse(REPO1), 1)


def test_a_bundle_cannot_pass_one_stream_off_as_another(keys: World) -> None:
    street = Street(keys)
    repo = street.repo("Repo1")
    for of, who in ((VOLTAGE1, PANEL1), (VOLTAGE2, PANEL2)):
        packets = [reading(of, number, keys[who], f"{who} {number}") for number in range(1, 9)]
        command = batch(keys[who].signer, *packets)
        assert receipt(street.inject("Repo1", command)).code == 200
    others = [wire for _, wire in repo.store.range(VOLTAGE2, 1, 8, 8)]
    lies: list[Bundle] = []

    def lie(interest: Interest) -> bytes | None:
        if not interest.name.starts_with(GROUP.service / ASK) or len(lies) > 3:
            return None
        question = decode_question(interest.name.at(-1))
        if not isinstance(question, Bundle) or question.stream != VOLTAGE1:
            return None
        lies.append(question)
        name = interest.name / version(1) / segment(0)
        return encode_data(name, encode_bundle(others), keys[REPO1].signer, freshness_ms=1000)

    street.answer = lie
    street.consumer(VOLTAGE1, policy=sequential().since(number=1))
    street.run(60, lambda: len(street.delivered()) == 8)
    assert lies
    assert street.refused("consumer", f"is none of the readings 1 to 8 of {VOLTAGE1}")
    assert [(arrival.stream, arrival.number) for arrival in street.delivered()] == [
        (VOLTAGE1, number) for number in range(1, 9)
    ]
    assert {str(arrival.signer) for arrival in street.delivered()} == {PANEL1}
