"""Whatever a repo is told and a producer is answered, bytes from outside never raise anything but `BadPacket`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.insertion_world import GROUP, PANEL1, REPO1, SERVICE, ProducerSide, RepoSide
from tests.trust_world import NOW, World, data

from roost.errors import BadPacket
from roost.machine import Effect
from roost.naming import Component, Name
from roost.naming.conventions import segment, version
from roost.repo import pyrepo
from roost.repo.batch import BATCH, Receipt, decode_batch, encode_batch
from roost.repo.bulk import BulkStream
from roost.repo.commands import CommandParameter, CommandResponse
from roost.repo.pyrepo import CommandStatus, Notification, ObjectParameter
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import DigestSigner, Interest, encode_data, encode_interest, make_data, sign_interest
from roost.wire.tlv import tlv

FILE = Name.parse(f"{PANEL1}/firmware/v=1")
READING = encode_data(Name.parse(f"{PANEL1}/Heater/Voltage/seq=1"), b"x", DigestSigner())
NUMBERS = st.none() | st.integers(0, (1 << 64) - 1)
SEEDS = [
    CommandParameter(FILE, 0, 3, 5, 1000).encode(),
    CommandResponse(403, 5, 0, 3, 1, 2, "no").encode(),
    CommandResponse(300, 5, 0, 3, 1).encode(),
    Notification(Name.parse(PANEL1), b"1234", (GROUP,)).encode(),
    ObjectParameter(FILE, 0, 3, (GROUP,), (FILE,)).encode(),
    pyrepo.encode_check(bytes(32)),
    CommandStatus(300, (pyrepo.ObjectStatus(FILE, 300, 1),)).encode(),
    encode_batch([READING, READING], 2),
    Receipt(206, 1, ((0, "no"),), "text", 1000).encode(),
]
WORLD = World()


@st.composite
def hurt(draw: st.DrawFn) -> bytes:
    """Bytes that nearly make sense: a seed with pieces cut out, changed, put in."""
    wire = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(wire)))
        wire[at : at + draw(st.integers(0, 6))] = draw(st.binary(max_size=6))
    return bytes(wire)


WIRES = hurt() | st.binary(max_size=40)
READERS: list[Callable[[bytes], object]] = [
    CommandParameter.decode,
    CommandResponse.decode,
    Notification.decode,
    pyrepo.decode_message,
    pyrepo.decode_check,
    CommandStatus.decode,
    decode_batch,
    Receipt.decode,
]


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__qualname__)
@given(wire=WIRES)
def test_malformed_bytes_are_refused_and_nothing_else(read: Callable[[bytes], object], wire: bytes) -> None:
    with suppress(BadPacket):
        assert read(wire) is not None


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_parameters_come_back_as_they_were_written(
    start: int | None, end: int | None, process: int | None, lifetime_ms: int | None
) -> None:
    parameter = CommandParameter(FILE, start, end, process, lifetime_ms)
    assert CommandParameter.decode(parameter.encode()) == parameter
    wanted = ObjectParameter(FILE, start, end, (GROUP,))
    assert pyrepo.decode_message(wanted.encode()) == [wanted]


@given(
    st.integers(0, 0xFFFF),
    st.lists(st.tuples(st.integers(0, 255), st.text(max_size=40)), max_size=20),
    st.text(max_size=40),
)
def test_receipts_come_back_as_they_were_written(code: int, refused: list[tuple[int, str]], text: str) -> None:
    receipt = Receipt(code, 3, tuple(refused), text, 7)
    assert Receipt.decode(receipt.encode()) == receipt


@given(st.lists(WIRES, max_size=6), st.integers(1, 50))
def test_a_bulk_stream_never_raises_whatever_comes(wires: list[bytes], step: int) -> None:
    stream = BulkStream()
    whole = READING + b"".join(wires)
    taken = [data for low in range(0, len(whole), step) for data in stream.feed(whole[low : low + step])]
    assert taken[0].wire == READING
    assert stream.taken == len(taken)


@given(st.sampled_from(["insert", "insert check", "delete", "delete check", "insert batch", "watch"]), WIRES, WIRES)
def test_a_believed_command_without_sense_never_raises(verb: str, parameter: bytes, parameters: bytes) -> None:
    side = RepoSide(WORLD, verifier=ACCEPT_ANY)
    for prefix in (SERVICE, REPO1):
        for name in (prefix / verb, prefix / verb / "notify", prefix / verb / Component(parameter)):
            for content in (parameters, tlv(BATCH, parameters)):
                side.tell(Interest.decode(sign_interest(name, DigestSigner(), parameters=content)))
    for question in list(side.pending.values())[:20]:
        side.deliver(make_data(question.name, parameters, DigestSigner()))
    side.time_out()
    side.tick(NOW + 1)
    assert side.insertion.streaming.open == 0


@given(NUMBERS, NUMBERS, st.integers(0, 3), st.integers(0, 11))
def test_whatever_numbers_an_object_has_it_ends(start: int | None, end: int | None, kept: int, came: int) -> None:
    side = RepoSide(WORLD, verifier=ACCEPT_ANY)
    low = start or 0
    there = [FILE / segment(number) for number in range(low, min(low + kept, 1 << 64))]
    side.shelf.kept |= {name: make_data(name, b"", DigestSigner()) for name in there}
    for verb in ("delete", "insert"):
        parameter = Component(CommandParameter(FILE, start, end, 1).encode())
        side.tell(Interest.decode(sign_interest(SERVICE / verb / parameter, WORLD[str(GROUP)].signer)))
    told = ObjectParameter(FILE, start, end).encode()
    side.tell(Interest.decode(encode_interest(SERVICE / "insert" / "notify", parameters=SEEDS[3])))
    side.deliver(make_data(side.asked[-1].name, told, DigestSigner()))
    for question in list(side.pending.values())[:came]:
        side.deliver(make_data(question.name, b"", DigestSigner()))
    while side.pending:
        side.time_out()
    assert all(process.code for process in side.insertion.processes._by_number.values())


@given(WIRES)
def test_an_answer_without_sense_never_raises(content: bytes) -> None:
    side = ProducerSide(WORLD, DigestSigner(), verifier=ACCEPT_ANY)
    told: list[str] = []

    def then(answer: object, reason: str, now: int) -> list[Effect]:
        assert now == NOW
        told.append(reason if answer is None else "")
        return []

    reading = data(f"{PANEL1}/Heater/Voltage/seq=1", WORLD[PANEL1])
    side.settle(side.commander.insert_batch([reading], then, NOW))
    side.settle(side.commander.delete(FILE, 0, 1, then, NOW))
    for sent in side.sent():
        name = sent.name / version(1) if sent.can_be_prefix else sent.name
        side.deliver(make_data(name, content, WORLD[str(REPO1)].signer))
    assert len(told) == 2
