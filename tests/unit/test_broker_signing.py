"""Large pieces that are signed elsewhere: what is written is the same, in the same order, whoever signs or does not."""

from __future__ import annotations

import pytest
from tests.gateway_world import GROUP, START, posted, replicate
from tests.signing_world import Aside, key

from roost.broker.effects import Inserted
from roost.broker.insertion import LARGE, MAX_BATCH, MAX_WAITING, PIECE, RETRY
from roost.broker.message import Message
from roost.broker.minting import MAX_DRAFT_BYTES, MAX_STREAMS
from roost.broker.signing import MAX_PIECES
from roost.errors import NoKey
from roost.naming import Name
from roost.naming.building import numbered
from roost.trust.keys import EcdsaPrivate
from roost.wire.data import decode_data
from roost.wire.senml import Value

STREAM = GROUP.panel("Gate1").name + Name.parse("/hall/temp")


def many(count: int, first: int = 1, qos: int = 1) -> list[Message]:
    return [posted("hall/temp", str(number), qos=qos) for number in range(first, first + count)]


def kept(world: Aside) -> list[bytes]:
    return [wire for _, wire in world.store.range(STREAM, 1, 1 << 40, 1 << 20)]


def signed_here(*batches: int) -> list[bytes]:
    """What is kept of so many messages when nobody else signs."""
    world = Aside(aside=False)
    first = 1
    for ticket, count in enumerate(batches):
        world.insert(ticket, *many(count, first))
        world.go_on()
        world.save()
        first += count
    assert len(kept(world)) == sum(batches)
    return kept(world)


def test_few_messages_are_signed_here_at_once() -> None:
    world = Aside()
    world.insert(1, *many(LARGE - 1))
    assert world.signs == []
    world.save()
    assert world.inserted == [Inserted(1, "")]


def test_many_are_written_once_their_signatures_are_there_and_are_byte_for_byte_what_we_would_have_signed() -> None:
    world = Aside()
    world.insert(1, *many(LARGE))
    (asked,) = world.signs
    assert (asked.signer, len(asked.digests), world.writes) == (world.key, LARGE, [])
    world.sign()
    world.save()
    assert world.inserted == [Inserted(1, "")]
    assert kept(world) == signed_here(LARGE)
    assert world.insertion.signing.elsewhere == LARGE


@pytest.mark.parametrize("answer", [[], [b"one"], [b"x"] * (LARGE + 1)])
def test_what_comes_back_without_all_its_signatures_is_signed_here(answer: list[bytes]) -> None:
    world = Aside()
    world.insert(1, *many(LARGE))
    (asked,) = world.signs
    world.do(world.insertion.signed(asked.ticket, answer, world.now))
    world.save()
    assert kept(world) == signed_here(LARGE)
    assert (world.insertion.signing.elsewhere, world.insertion.signing.returned) == (0, LARGE)


def test_an_answer_that_nobody_waits_for_changes_nothing() -> None:
    world = Aside()
    world.insert(1, *many(LARGE))
    (asked,) = world.signs
    world.do(world.insertion.signed(asked.ticket + 1, [b"x"] * LARGE, world.now))
    assert world.writes == []
    world.sign()
    world.do(world.insertion.signed(asked.ticket, [b"x"] * LARGE, world.now))
    world.save()
    assert kept(world) == signed_here(LARGE)


def test_pieces_are_written_in_the_order_of_their_numbers_whatever_the_order_of_the_answers() -> None:
    world = Aside()
    world.insert(1, *many(LARGE))
    world.insert(2, *many(LARGE, 1 + LARGE))
    assert len(world.signs) == 2
    world.decline(1)
    assert world.writes == []
    world.sign()
    world.save()
    assert [effect.ticket for effect in world.inserted] == [1, 2]
    assert kept(world) == signed_here(LARGE, LARGE)


def test_few_messages_wait_behind_a_piece_and_are_signed_when_it_is() -> None:
    world = Aside()
    world.insert(1, *many(LARGE))
    world.insert(2, *many(1, 1 + LARGE))
    assert world.insertion.deadline() is None
    world.sign()
    world.go_on()
    world.save()
    assert [effect.ticket for effect in world.inserted] == [1, 2]
    assert [len(write.batch.puts) for write in world.written] == [LARGE, 1]
    assert world.signs == []
    assert world.numbers("hall/temp") == [(1, LARGE + 1)]


def test_few_messages_wait_behind_a_piece_also_when_the_one_before_it_is_written() -> None:
    world = Aside()
    world.insert(1, *many(LARGE))
    world.insert(2, *many(LARGE, 1 + LARGE))
    world.sign()
    world.save()
    world.insert(3, *many(1, 1 + 2 * LARGE))
    assert world.writes == []
    world.finish()
    assert [int(payload) for _, payload in world.seen()] == list(range(1, 2 * LARGE + 2))


def test_numbers_are_not_forgotten_while_a_piece_has_them_and_the_repo_has_not() -> None:
    world = Aside()
    world.insert(1, *many(LARGE))
    world.insert(2, *many(LARGE, 1 + LARGE))
    world.sign()
    given = world.insertion._minting._given
    given.update({str(number).encode(): 1 for number in range(MAX_STREAMS)})
    world.save()
    world.insert(3, *many(LARGE, 1 + 2 * LARGE))
    assert (len(world.signs), len(given)) == (1, MAX_STREAMS + 1)
    world.finish()
    assert len(given) <= 1
    assert world.numbers("hall/temp") == [(1, 3 * LARGE)]


def test_while_one_piece_is_written_the_next_are_signed() -> None:
    world = Aside()
    world.insert(1, *many(LARGE))
    world.sign()
    (write,) = world.writes
    world.insert(2, *many(LARGE, 1 + LARGE))
    world.go_on()
    world.sign()
    assert world.writes == [write]
    world.save()
    assert [effect.ticket for effect in world.inserted] == [1, 2]
    assert world.numbers("hall/temp") == [(1, 2 * LARGE)]


def test_no_more_is_under_way_than_the_bounds() -> None:
    world = Aside()
    for ticket in range(MAX_WAITING // LARGE):
        world.insert(ticket, *many(LARGE, 1 + ticket * LARGE))
        world.go_on()
        assert len(world.signs) <= MAX_PIECES
        assert sum(len(asked.digests) for asked in world.signs) < MAX_BATCH + PIECE
    world.finish()
    assert [effect.ticket for effect in world.inserted] == list(range(MAX_WAITING // LARGE))
    assert world.numbers("hall/temp") == [(1, MAX_WAITING // LARGE * LARGE)]
    assert [int(payload) for _, payload in world.seen()] == list(range(1, MAX_WAITING // LARGE * LARGE + 1))


def test_a_full_disk_before_and_behind_a_piece_leaves_no_hole() -> None:
    world = Aside()
    world.insert(1, *many(LARGE))
    world.sign()
    world.insert(2, *many(LARGE, 1 + LARGE))
    world.go_on()
    world.disk_full = True
    world.save()
    world.sign()
    assert (world.writes, world.inserted) == ([], [])
    world.disk_full = False
    world.finish()
    assert [effect.ticket for effect in world.inserted] == [1, 2]
    assert kept(world) == signed_here(LARGE, LARGE)


def test_a_number_that_is_taken_while_its_signature_is_made_is_passed_over() -> None:
    world = Aside()
    world.insert(1, *many(LARGE))
    replicate(world, "/Gate1/hall/temp", 1, Value(99))
    world.sign()
    world.save()
    world.wait(RETRY)
    world.save()
    assert world.inserted == [Inserted(1, "")]
    assert world.numbers("hall/temp") == [(1, LARGE + 1)]
    assert sorted(payload for _, payload in world.seen()) == sorted([*map(str, range(1, LARGE + 1)), "99"])


def test_a_piece_is_signed_with_the_key_it_names_also_when_there_is_another_by_then() -> None:
    world = Aside()
    world.insert(1, *many(LARGE))
    first = world.key
    world.key = key(2)
    world.wait(RETRY)
    world.insert(2, *many(LARGE, 1 + LARGE))
    assert [asked.signer for asked in world.signs] == [first, world.key]
    world.decline()
    world.sign()
    world.save()
    assert [is_by(each, world, number) for each, number in ((first, LARGE), (world.key, LARGE + 1))] == [True, True]


def is_by(signer: EcdsaPrivate, world: Aside, number: int) -> bool:
    wire = world.store.get(numbered(STREAM, number))
    assert wire is not None
    data = decode_data(wire)
    return data.signature.key_name == signer.name and signer.public.verify(data.signed_portion, data.signature_value)


def test_messages_without_a_key_are_refused_and_leave_no_hole() -> None:
    world = Aside()
    signer_for = world.insertion._minting.signer_for
    world.insertion._minting.signer_for = no_key
    world.insert(1, *many(LARGE))
    assert (world.signs, [effect.ticket for effect in world.inserted]) == ([], [1])
    world.insertion._minting.signer_for = signer_for
    world.insert(2, *many(LARGE))
    world.sign()
    world.save()
    assert world.inserted[1:] == [Inserted(2, "")]
    assert kept(world) == signed_here(LARGE)


def no_key(name: Name, now: int) -> EcdsaPrivate:
    raise NoKey(f"no key for {name} at {now}")


def test_a_draft_that_might_not_fit_a_packet_with_its_signature_is_refused_before_it_has_a_number() -> None:
    world = Aside()
    long = Name.parse("/" + "k" * (MAX_DRAFT_BYTES - 200))
    world.key = EcdsaPrivate(world.key.name, world.key.raw, long)
    world.insert(1, *[posted("hall/temp", "1" * 200)] * LARGE)
    ((ticket, refusal),) = [(effect.ticket, effect.refusal) for effect in world.inserted]
    assert (ticket, refusal.startswith(f"{MAX_DRAFT_BYTES} bytes of a packet are signed at most")) == (1, True)
    world.key = key()
    world.wait(RETRY)
    world.insert(2, *many(LARGE))
    world.sign()
    world.save()
    assert kept(world) == signed_here(LARGE)


def test_what_an_earlier_process_may_have_inserted_is_no_reading_twice_in_a_large_piece_either() -> None:
    world = Aside()
    messages = many(LARGE, qos=2)
    world.insert(1, *messages)
    world.sign()
    world.save()
    world.do(world.insertion.insert(2, [*messages, *many(1, 1 + LARGE, qos=2)], 1, START, again=True))
    world.sign()
    world.save()
    assert world.inserted == [Inserted(1, ""), Inserted(2, "")]
    assert world.numbers("hall/temp") == [(1, LARGE + 1)]
