"""The wire forms of insertion: repo-ng's, ndn-python-repo's and the streaming insert's [repo.md §2, §3, §4]."""

from __future__ import annotations

import pytest

from roost.errors import BadPacket
from roost.naming import Component, Name
from roost.naming.component import IMPLICIT_DIGEST, PARAMETERS_DIGEST
from roost.repo import batch, pyrepo
from roost.repo.batch import Receipt, decode_batch, encode_batch
from roost.repo.bulk import BulkStream
from roost.repo.commands import CommandParameter, CommandResponse
from roost.repo.pyrepo import CommandStatus, Notification, ObjectParameter, ObjectStatus
from roost.wire import DigestSigner, encode_data, encode_interest
from roost.wire.tlv import number, tlv

ABC = Name.parse("/a/b/c")
MYFILE = Name.parse("/myfile")
REQUEST = "f58e8b1b8083daeadf217b69b57b2ad185382f57277454bc46b473edc8f949bb"


def some_data(count: int, size: int = 10) -> list[bytes]:
    return [encode_data(ABC / str(n), bytes(size), DigestSigner()) for n in range(count)]


def test_a_repo_ng_parameter_is_that_of_its_unit_test() -> None:
    wire = bytes.fromhex("c917 0709080161080162080163 cc0101 cd0164 ce04499602d2".replace(" ", ""))
    parameter = CommandParameter(ABC, 1, 100, 1234567890)
    assert parameter.encode() == wire
    assert CommandParameter.decode(wire) == parameter


def test_a_repo_ng_response_is_that_of_its_unit_test() -> None:
    wire = bytes.fromhex("cf16 ce04499602d2 d0020194 cc0101 cd0164 d10164 d20164".replace(" ", ""))
    response = CommandResponse(404, 1234567890, 1, 100, 100, 100)
    assert response.encode() == wire
    assert CommandResponse.decode(wire) == response


def test_of_a_wrapped_response_the_outer_code_counts() -> None:
    body = "cf16 ce081122334455667788 d00164 cc0100 cd0100 d10100".replace(" ", "")
    wire = bytes.fromhex("651e 6602012c 6700".replace(" ", "") + body)
    response = CommandResponse.decode(wire)
    assert response == CommandResponse(300, 0x1122334455667788, 0, 0, 0)
    assert CommandResponse.decode(bytes.fromhex("6507 66020193 670178".replace(" ", ""))).text == "x"


def test_a_refusal_is_wrapped_so_that_it_can_say_why() -> None:
    response = CommandResponse(403, 7, text="é" * 800)
    read = CommandResponse.decode(response.encode())
    assert (read.code, read.process) == (403, 7)
    assert read.text == "é" * 512


@pytest.mark.parametrize(
    "wire",
    [
        "",
        "c9",
        "c800",
        "c90100",
        "c903cc0101ff",
        "c906cd0164cc0101",
        "c906cc0101cc0101",
        "c904cc020101ff",
        "c905cc03010101",
        "c903f00101",
    ],
)
def test_a_malformed_parameter_is_refused(wire: str) -> None:
    with pytest.raises(BadPacket):
        CommandParameter.decode(bytes.fromhex(wire))


@pytest.mark.parametrize("wire", ["", "cf00", "cf03ce0101", "6500", "65036701ff", "660101"])
def test_a_malformed_response_is_refused(wire: str) -> None:
    with pytest.raises(BadPacket):
        CommandResponse.decode(bytes.fromhex(wire))


def test_a_notification_is_that_of_the_sheet() -> None:
    wire = bytes.fromhex("070b0809707574636c69656e74800401020304")
    notification = Notification(Name.parse("/putclient"), bytes((1, 2, 3, 4)))
    assert notification.encode() == wire
    assert Notification.decode(wire) == notification
    hinted = Notification(MYFILE, b"12345678", (ABC,))
    assert Notification.decode(hinted.encode()) == hinted


@pytest.mark.parametrize(
    "wire", ["", "0700800101", "070308016180", "800101", "0703080161", "0703080161800101d303080161"]
)
def test_a_malformed_notification_is_refused(wire: str) -> None:
    with pytest.raises(BadPacket):
        Notification.decode(bytes.fromhex(wire))


def test_an_insert_message_and_its_request_number_are_those_of_the_sheet() -> None:
    wire = bytes.fromhex("fd012d1c070808066d7966696c65cc0100cd0100d40a070808066d7966696c65")
    wanted = ObjectParameter(MYFILE, 0, 0, register=(MYFILE,))
    assert wanted.encode() == wire
    assert pyrepo.decode_message(wire) == [wanted]
    assert pyrepo.request_number(wire).hex() == REQUEST
    assert pyrepo.encode_check(bytes.fromhex(REQUEST)).hex() == "ce20" + REQUEST
    assert pyrepo.decode_check(bytes.fromhex("ce20" + REQUEST)).hex() == REQUEST


def test_the_final_answer_of_a_check_is_that_of_the_sheet() -> None:
    wire = bytes.fromhex("d001c8fd012e10070808066d7966696c65d001c8d10101")
    status = CommandStatus(200, (ObjectStatus(MYFILE, 200, 1),))
    assert status.encode() == wire
    assert CommandStatus.decode(wire) == status


@pytest.mark.parametrize("wire", ["", "fd019100", "fd012d00", "fd012d03cc0101", "c90100"])
def test_a_message_that_has_no_objects_is_refused(wire: str) -> None:
    with pytest.raises(BadPacket):
        pyrepo.decode_message(bytes.fromhex(wire))


def test_a_message_has_a_bound_on_its_objects() -> None:
    with pytest.raises(BadPacket, match="64 objects"):
        pyrepo.decode_message(ObjectParameter(ABC).encode() * 65)


@pytest.mark.parametrize("wire", ["ce0100", "", "d001c8", "ce20"])
def test_a_check_without_a_request_number_is_refused(wire: str) -> None:
    with pytest.raises(BadPacket):
        pyrepo.decode_check(bytes.fromhex(wire))


@pytest.mark.parametrize("wire", ["", "ce0100", "d001c8c90100", "d001c8fd012e00", "d001c8fd012e03d001c8"])
def test_a_malformed_status_is_refused(wire: str) -> None:
    with pytest.raises(BadPacket):
        CommandStatus.decode(bytes.fromhex(wire))


@pytest.mark.parametrize(
    "name",
    [
        ABC / Component(bytes(32), PARAMETERS_DIGEST),
        ABC / Component(bytes(32), IMPLICIT_DIGEST) / "x",
        Name.of("x" * 4000),
    ],
    ids=["parameters digest", "implicit digest", "long"],
)
def test_a_name_that_no_interest_could_ask_for_is_refused(name: Name) -> None:
    with pytest.raises(BadPacket, match="Name in a"):
        CommandParameter.decode(CommandParameter(name).encode())
    with pytest.raises(BadPacket, match="Name in a"):
        pyrepo.decode_message(ObjectParameter(name).encode())
    with pytest.raises(BadPacket, match="Name in a"):
        Notification.decode(Notification(name, b"1").encode())
    with pytest.raises(BadPacket):
        Notification.decode(Notification(ABC, b"1", (name,)).encode())


def test_hints_are_bounded() -> None:
    for hints in ((ABC,) * 9, (Name.of("x" * 700),) * 3):
        with pytest.raises(BadPacket, match="at most 8 Names"):
            pyrepo.decode_message(ObjectParameter(ABC, hints=hints).encode())


def test_a_batch_comes_back_as_it_was_written() -> None:
    packets = some_data(3)
    read = decode_batch(encode_batch(packets, copies=2))
    assert [data.wire for data in read.packets] == packets
    assert read.copies == 2
    assert decode_batch(encode_batch(packets)).copies == 1


def test_a_batch_is_bounded_in_bytes_and_packets_and_copies() -> None:
    with pytest.raises(BadPacket, match="8000 bytes"):
        encode_batch(some_data(9, 1000))
    with pytest.raises(BadPacket, match="8000 bytes"):
        decode_batch(tlv(batch.BATCH, b"".join(some_data(9, 1000))))
    with pytest.raises(BadPacket, match="not 0, 1"):
        encode_batch([])
    with pytest.raises(BadPacket, match="not 1, 0"):
        decode_batch(tlv(batch.BATCH, number(batch.COPIES, 0) + some_data(1)[0]))


@pytest.mark.parametrize(
    "value",
    [
        b"",
        some_data(1)[0] + number(batch.COPIES, 2),
        number(batch.COPIES, 2) + number(batch.COPIES, 2) + some_data(1)[0],
        encode_interest(ABC, nonce=b"1234"),
        some_data(1)[0][:-1],
    ],
)
def test_a_malformed_batch_is_refused(value: bytes) -> None:
    with pytest.raises(BadPacket):
        decode_batch(tlv(batch.BATCH, value))


def test_a_receipt_comes_back_as_it_was_written() -> None:
    for receipt in (
        Receipt(200, 40),
        Receipt(206, 1, ((0, "no"), (300, "never"))),
        Receipt(503, text="the disk is full", retry_after_ms=1000),
    ):
        assert Receipt.decode(receipt.encode()) == receipt


def test_a_receipt_fits_a_packet_whatever_the_reasons() -> None:
    receipt = Receipt(206, 0, tuple((index, "é" * 5000) for index in range(batch.MAX_PACKETS)), text="x" * 9000)
    content = receipt.encode()
    assert len(content) < 8000
    read = Receipt.decode(content)
    assert [index for index, _ in read.refused] == list(range(batch.MAX_PACKETS))
    assert read.refused[0][1].startswith("é")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        number(batch.STATUS_CODE, 200),
        number(batch.KEPT, 1) + number(batch.STATUS_CODE, 200),
        number(batch.STATUS_CODE, 206) + number(batch.KEPT, 1) + tlv(batch.REFUSED, number(batch.INDEX, 1)),
        number(batch.STATUS_CODE, 206) + number(batch.KEPT, 1) + tlv(batch.REFUSED, number(batch.INDEX, 1) * 2),
    ],
)
def test_a_malformed_receipt_is_refused(body: bytes) -> None:
    with pytest.raises(BadPacket):
        Receipt.decode(tlv(batch.RECEIPT, body))


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100, 5000])
def test_a_bulk_stream_is_cut_into_its_data_wherever_it_was_cut_before(step: int) -> None:
    packets = [*some_data(3), *some_data(1, 400), *some_data(2)]
    whole = b"".join(packets)
    stream = BulkStream()
    found = [data for low in range(0, len(whole), step) for data in stream.feed(whole[low : low + step])]
    assert [data.wire for data in found] == packets
    assert (stream.ended(), stream.taken) == ("", len(packets))


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (encode_interest(ABC, nonce=b"1234"), "element 5 is no Data"),
        (b"\x06\xfe\x00\x01\x00\x00", "more than 65535"),
        (b"\x06\xfd\xff\xff", "65539 bytes"),
        (b"\x06\x01\x00", ""),
        (b"\x06\xfd\x00\x01\x00", ""),
    ],
)
def test_what_is_no_data_ends_a_bulk_stream_behind_the_good_ones(bad: bytes, why: str) -> None:
    good = some_data(2)
    stream = BulkStream()
    assert [data.wire for data in stream.feed(b"".join(good) + bad + good[0])] == good
    assert stream.trouble
    assert why in stream.trouble
    assert stream.feed(good[0]) == []


def test_a_bulk_stream_that_ends_within_a_packet_is_told_so() -> None:
    stream = BulkStream()
    assert stream.feed(some_data(1)[0][:-1]) == []
    assert "ended within a packet" in stream.ended()
