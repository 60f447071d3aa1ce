"""Link objects and the names in them."""

from __future__ import annotations

import pytest

from roost.errors import BadPacket
from roost.naming import Name
from roost.wire import Data, DigestSigner, Interest, encode_data, encode_interest
from roost.wire.delegation import MAX_DELEGATIONS, decode_link, encode_link

SIGNER = DigestSigner()
N = Name.parse


def test_a_link_comes_back_in_order() -> None:
    names = [N("/isp/a"), N("/campus"), N("/isp/b")]
    data = Data.decode(encode_link(N("/my/link"), names, SIGNER, freshness_ms=1000))
    assert data.content_type == 1
    assert decode_link(data) == names


def test_the_old_form_with_preferences_is_understood() -> None:
    content = bytes.fromhex("1f0a1e0101") + N("/abc").wire
    data = Data.decode(encode_data(N("/l"), content, SIGNER, content_type=1))
    assert decode_link(data) == [N("/abc")]


@pytest.mark.parametrize("content", [b"", bytes.fromhex("2100"), bytes.fromhex("1f00"), b"\x07\x02\x08\x05"])
def test_what_is_no_list_of_names_is_refused(content: bytes) -> None:
    with pytest.raises(BadPacket):
        decode_link(Data.decode(encode_data(N("/l"), content, SIGNER, content_type=1)))


def test_other_data_is_no_link() -> None:
    with pytest.raises(BadPacket, match="ContentType 0"):
        decode_link(Data.decode(encode_data(N("/l"), N("/a").wire, SIGNER)))


def test_delegations_are_bounded() -> None:
    many = tuple(N(f"/h/{n}") for n in range(MAX_DELEGATIONS + 1))
    assert len(Interest.decode(encode_interest(N("/a"), hints=many[1:])).hints) == MAX_DELEGATIONS
    with pytest.raises(BadPacket, match="at most"):
        Interest.decode(encode_interest(N("/a"), hints=many))
    with pytest.raises(BadPacket):
        encode_link(N("/l"), many, SIGNER)


def test_an_implicit_digest_has_one_place() -> None:
    digest = "sha256digest=" + "00" * 32
    assert Interest.decode(encode_interest(N(f"/a/{digest}"))).name == N(f"/a/{digest}")
    with pytest.raises(BadPacket, match="last component"):
        Interest.decode(encode_interest(N(f"/a/{digest}/b")))
    with pytest.raises(BadPacket, match="only an Interest"):
        Data.decode(encode_data(N(f"/a/{digest}"), b"", SIGNER))
