"""The compressions a PSync group may agree on, out of band, for its IBLTs and for its states [PSync §2].

What C++ PSync offers, except zstd, which Python's library does not have yet; `ZLIB` (level 9) is its default for full
sync. Nobody sends which one it is. Reading is bounded: what would grow beyond `max_bytes` is refused before it has.
"""

from __future__ import annotations

import zlib
from typing import Final

from roost.errors import BadConfig, BadPacket

NONE: Final = "none"
ZLIB: Final = "zlib"
GZIP: Final = "gzip"
BZIP2: Final = "bzip2"
LZMA: Final = "lzma"
METHODS: Final = (NONE, ZLIB, GZIP, BZIP2, LZMA)

_LEVEL: Final = 9
_LARGE_BYTES: Final = 1 << 16  # no IBLT is as large; of a state it does not matter how it was made small
_LARGE_LEVEL: Final = 6  # takes a fifth of the time for a tenth more
_GZIP_WINDOW: Final = 31  # zlib's way of asking for a gzip header
_LZMA_MEMORY_BYTES: Final = 80 << 20  # what level 9, the level of C++ PSync, declares; touched only as far as used


def compress(raw: bytes, method: str) -> bytes:
    """Write bytes in a compressed form; the same bytes give the same form."""
    if method == NONE:
        return raw
    if method == ZLIB:
        return zlib.compress(raw, _LEVEL if len(raw) <= _LARGE_BYTES else _LARGE_LEVEL)
    if method == GZIP:
        deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
        return deflate.compress(raw) + deflate.flush()
    if method == BZIP2:
        import bz2  # some Pythons are built without it

        return bz2.compress(raw)
    if method == LZMA:
        import lzma  # as bz2

        return lzma.compress(raw, preset=1)  # what we send is small: a small window does, and costs less memory
    raise _unknown(method)


def compressed_at_most(size_bytes: int, method: str) -> int:
    """How many bytes a compression makes of so many at worst: none of them makes everything smaller."""
    if method == NONE:
        return size_bytes
    if method in {ZLIB, GZIP}:
        return size_bytes + size_bytes // 1024 + 32
    return size_bytes + size_bytes // 64 + 640


def decompress(raw: bytes, method: str, max_bytes: int) -> bytes:
    """Read bytes back; refuses what is cut off, has a tail, or would be longer than `max_bytes`."""
    if method == NONE:
        content, whole = raw[: max_bytes + 1], True
    elif method == ZLIB:
        content, whole = _inflate(raw, zlib.MAX_WBITS, max_bytes)
    elif method == GZIP:
        content, whole = _inflate(raw, _GZIP_WINDOW, max_bytes)
    elif method == BZIP2:
        content, whole = _bunzip(raw, max_bytes)
    elif method == LZMA:
        content, whole = _unlzma(raw, max_bytes)
    else:
        raise _unknown(method)
    if len(content) > max_bytes:
        raise BadPacket(f"{len(raw)} compressed bytes become more than {max_bytes}, the limit here")
    if not whole:
        raise BadPacket(f"{len(raw)} bytes are not one whole {method} stream")
    return content


def _inflate(raw: bytes, window: int, max_bytes: int) -> tuple[bytes, bool]:
    stream = zlib.decompressobj(window)
    try:
        content = stream.decompress(raw, max_bytes + 1)
    except zlib.error as error:
        raise BadPacket(f"not compressed as agreed: {error}") from None
    return content, stream.eof and not stream.unused_data


def _bunzip(raw: bytes, max_bytes: int) -> tuple[bytes, bool]:
    import bz2

    stream = bz2.BZ2Decompressor()
    try:
        content = stream.decompress(raw, max_bytes + 1)
    except OSError as error:
        raise BadPacket(f"not compressed as agreed: {error}") from None
    return content, stream.eof and not stream.unused_data


def _unlzma(raw: bytes, max_bytes: int) -> tuple[bytes, bool]:
    import lzma

    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LZMA_MEMORY_BYTES)
    try:
        content = stream.decompress(raw, max_bytes + 1)
    except lzma.LZMAError as error:
        raise BadPacket(f"not compressed as agreed: {error}") from None
    return content, stream.eof and not stream.unused_data


def _unknown(method: str) -> BadConfig:
    return BadConfig(f"there is no compression called {method!r}: use one of {', '.join(METHODS)}")
