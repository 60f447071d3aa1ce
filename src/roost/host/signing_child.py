"""What the signing process runs: digests in on its standard input, ECDSA signatures out on its standard output.

    to it:    length of the key (4 bytes), number of digests (4), the key as PKCS#8, digests of 32 bytes
    from it:  length of the rest (4 bytes), then each signature behind its length (1); once nothing at all: it is ready

Every request brings its key, so nothing is to be kept in step; requests are answered in their order. The process ends
with its standard input, which is when its parent ends, however that came about; signals to a whole process group are
its parent's business. It knows nothing of Roost, so that it is there at once. `roost.host.signing` is the other end.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from functools import lru_cache
from struct import Struct
from typing import BinaryIO, Final

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_private_key

DIGEST_BYTES: Final = 32
REQUEST: Final = Struct(">II")
ANSWER: Final = Struct(">I")
_MAX_KEYS: Final = 64  # that are read once only

_ALGORITHM: Final = ECDSA(Prehashed(SHA256()), deterministic_signing=True)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until there are no more requests."""
    answers.write(ANSWER.pack(0))
    answers.flush()
    while len(head := requests.read(REQUEST.size)) == REQUEST.size:
        key_bytes, count = REQUEST.unpack(head)
        key = _key(requests.read(key_bytes))
        digests = requests.read(count * DIGEST_BYTES)
        if len(digests) < count * DIGEST_BYTES:
            return
        answer = bytearray()
        for low in range(0, len(digests), DIGEST_BYTES):
            signature = key.sign(digests[low : low + DIGEST_BYTES], _ALGORITHM)
            answer.append(len(signature))
            answer += signature
        answers.write(ANSWER.pack(len(answer)) + answer)
        answers.flush()


@lru_cache(_MAX_KEYS)
def _key(pkcs8: bytes) -> EllipticCurvePrivateKey:
    key = load_der_private_key(pkcs8, None)
    if not isinstance(key, EllipticCurvePrivateKey):
        raise TypeError("only ECDSA keys sign digests")
    return key


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with suppress(BrokenPipeError):
        serve(sys.stdin.buffer, sys.stdout.buffer)
