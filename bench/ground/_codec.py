"""One variant of the codec figures: prints a JSON object of round trips per second, ours and python-ndn's.

A round trip encodes and decodes, and reads name and content of a Data, name and nonce of an Interest. Both sign with
the SHA-256 digest, the one signature whose cost does not depend on a key.
"""

from __future__ import annotations

import json

import ndn.encoding as peer
from ndn.security import DigestSha256Signer

from bench.figure import alternate, rate
from roost.naming import Name
from roost.wire import Data, DigestSigner, Interest, encode_data, encode_interest, tlv

NAME = Name.parse("/BigCompany/Building1/Electricity/Panel1/Heater/Voltage/seq=12345")
CONTENT = bytes(100)
SIGNER = DigestSigner()
PEER_NAME = peer.Name.from_bytes(NAME.wire)
PEER_SIGNER = DigestSha256Signer()


def our_data() -> object:
    data = Data.decode(encode_data(NAME, CONTENT, SIGNER, freshness_ms=1000))
    return data.name, data.content


def peer_data() -> object:
    wire = peer.make_data(PEER_NAME, peer.MetaInfo(freshness_period=1000), CONTENT, PEER_SIGNER)
    name, _, content, _ = peer.parse_data(wire)
    return name, content


def our_interest() -> object:
    interest = Interest.decode(encode_interest(NAME, nonce=b"abcd", must_be_fresh=True))
    return interest.name, interest.nonce


def peer_interest() -> object:
    wire = peer.make_interest(PEER_NAME, peer.InterestParam(must_be_fresh=True, nonce=0x61626364))
    name, parameters, _, _ = peer.parse_interest(wire)
    return name, parameters.nonce


def main() -> None:
    data = alternate(lambda: rate(our_data), lambda: rate(peer_data), label="codec data")
    interest = alternate(lambda: rate(our_interest), lambda: rate(peer_interest), label="codec interest")
    compiled = not (tlv.__file__ or "").endswith(".py")
    print(json.dumps({"compiled": compiled, "data": data, "interest": interest}))


if __name__ == "__main__":
    main()
