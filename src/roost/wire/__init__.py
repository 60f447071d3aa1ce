"""Bytes to packets and back: TLV, Interest, Data, NDNLPv2, segments, the reading envelope."""

from roost.wire.data import Data, encode_data, make_data
from roost.wire.digest import DigestSigner, NullSigner
from roost.wire.interest import Interest, encode_interest, sign_interest
from roost.wire.lp import LpPacket, decode_lp
from roost.wire.signature import SignatureInfo, Signer
from roost.wire.tlv import MAX_PACKET_BYTES

__all__ = [
    "MAX_PACKET_BYTES",
    "Data",
    "DigestSigner",
    "Interest",
    "LpPacket",
    "NullSigner",
    "SignatureInfo",
    "Signer",
    "decode_lp",
    "encode_data",
    "encode_interest",
    "make_data",
    "sign_interest",
]
