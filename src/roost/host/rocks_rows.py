"""RocksDB (through rocksdict) as rows in the order of their keys: opened with bounds, walked past damage, errors typed.

- A block of a file that does not match RocksDB's checksum makes its iterators end. A walk goes on at the next key that
  can be reached, which it finds by seeking: twice as far each time, then by halves.
- A write that failed makes RocksDB refuse all that follow. The next one opens it anew, if there is room for what that
  takes; until then it can be read.
- RocksDB's own synchronous write does not let Python go on meanwhile (rocksdict holds the interpreter's lock), forcing
  the log afterwards does. So batches are written to the log first, where they survive the death of this process, and
  the log is forced to the disk, where they survive the machine's.
- A damaged log is read as far as it can be: each batch is there whole or not at all, but some that were written may be
  missing (`is_doubtful`).
- rocksdict raises a bare `Exception` for everything, so what happened is read off the text.

What the rows mean is the business of `roost.host.rocks`.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

from roost.errors import BadConfig

try:
    import rocksdict
except ImportError:  # pragma: no cover  a dependency, but one with a binary wheel that some machines have not
    rocksdict = None  # type: ignore[assignment]  # said to who wants to open a store, not to who imports this

CACHE_BYTES: Final = 64 << 20
WRITE_BUFFER_BYTES: Final = 16 << 20
WRITE_BUFFERS: Final = 3
_DIARY_BYTES: Final = 1 << 20  # what RocksDB writes about itself; two of them are kept
_SPARE_BYTES: Final = 1 << 20  # beside the log, when a store is opened that had no room
_BLOOM_BITS: Final = 10
_KNOWN: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EMFILE)


class RocksRows:
    """The rows in a folder, which it holds alone; raises `BadConfig` if it cannot."""

    def __init__(self, path: Path) -> None:
        if rocksdict is None:
            raise BadConfig("the store needs RocksDB: `pip install rocksdict`, or keep this repo's data in memory")
        self.path: Final = path
        self.damaged = 0  # how often a block was found so
        self.is_stuck = False  # after a write that failed, until the store was opened anew
        self.is_doubtful = False  # a part of the log could not be read: batches that were written may be lost
        trouble = self._open()
        if "Corruption" in trouble:
            self.is_doubtful = True
            trouble = self._open()
        if trouble:
            raise BadConfig(_advice(path, trouble))

    # -- reading

    def get(self, key: bytes) -> bytes | None:
        """The value of a key, None without one; empty if it is in a damaged block."""
        try:
            value: bytes | None = self._db.get(key)
        except Exception:  # noqa: BLE001  see the module
            self.damaged += 1
            return b""
        return value

    def forward(self, low: bytes, high: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The rows from `low` to before `high` that can be read."""
        at = low
        walker = self._walker(at, ahead=True)
        while walker is not None:
            while walker.valid():
                at = walker.key()
                if at >= high:
                    return
                yield at, walker.value()
                walker.next()
            walker = self._past_damage(walker, at, high)

    def page(self, low: bytes, high: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """The first rows from `low` to before `high` that can be read, at most `limit`: a walk in one go."""
        walk: Any = self._db.items(from_key=low)
        rows: list[tuple[bytes, bytes]] = list(islice(walk, limit))
        if rows and rows[-1][0] >= high:
            return [row for row in rows if row[0] < high]
        if len(rows) < limit:  # here it ended, silently where there is damage
            at = rows.pop()[0] if rows else low
            rows += islice(self.forward(at, high), limit - len(rows))
        return rows

    def first_keys(self, ranges: Iterable[tuple[bytes, bytes]], limit: int) -> Iterator[list[bytes]]:
        """The first keys in each of some ranges, as in `forward`, at most `limit`: to move a walk is soon done."""
        walker = self._db.iter()
        for low, high in ranges:
            found: list[bytes] = []
            walker.seek(low)
            while len(found) < limit and walker.valid() and (key := walker.key()) < high:
                found.append(key)
                walker.next()
            if not walker.valid() and _has_failed(walker):
                found = [key for key, _ in islice(self.forward(low, high), limit)]
                walker = self._db.iter()
            yield found

    def backward(self, low: bytes, high: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The rows from `low` to before `high` that can be read, the last first."""
        at = high
        walker = self._walker(at, ahead=False)
        while walker is not None:
            while walker.valid():
                at = walker.key()
                if at < low:
                    return
                if at != high:
                    yield at, walker.value()
                walker.prev()
            walker = self._past_damage(walker, at, low)

    def _walker(self, key: bytes, *, ahead: bool) -> Any:  # noqa: ANN401
        """An iterator at a key; a new one each time, for one that has met damage may say so again elsewhere."""
        walker = self._db.iter()
        if ahead:
            walker.seek(key)
        else:
            walker.seek_for_prev(key)
        return walker

    def _past_damage(self, walker: Any, at: bytes, end: bytes) -> Any | None:  # noqa: ANN401
        """An iterator at the next row that can be read, for one that has stopped; None if it was not for damage."""
        if not _has_failed(walker):
            return None
        self.damaged += 1
        width = max(len(at), len(end)) + 1
        bad, limit = _as_number(at, width), _as_number(end, width)
        step = 1 if limit > bad else -1
        ahead = step > 0
        good = bad + step
        while _has_failed(walker := self._walker(_as_key(good, width), ahead=ahead)):
            bad, step = good, 2 * step
            good = bad + step
            if good >= limit if ahead else good <= limit:
                return None
        while abs(good - bad) > 1:
            middle = (good + bad) // 2
            tried = self._walker(_as_key(middle, width), ahead=ahead)
            if _has_failed(tried):
                bad = middle
            else:
                good, walker = middle, tried
        return walker

    # -- writing

    @staticmethod
    def batch() -> Any:  # noqa: ANN401  rocksdict is imported where it is there
        """An empty batch, to be filled with `put` and `delete`."""
        return rocksdict.WriteBatch(raw_mode=True)

    def write(self, batch: Any) -> None:  # noqa: ANN401
        """Write a batch whole to the log; raises `OSError`."""
        if self.is_stuck:
            self._reopen()
        try:
            self._db.write(batch)
        except Exception as error:  # noqa: BLE001  see the module
            raise self._failed(str(error)) from None

    def force(self) -> None:
        """Have all that was written on the disk; raises `OSError`."""
        try:
            self._db.flush_wal(sync=True)
        except Exception as error:  # noqa: BLE001  see the module
            raise self._failed(str(error)) from None

    def _failed(self, trouble: str) -> OSError:
        self.is_stuck = True
        self.damaged += "Corruption" in trouble  # its housekeeping came upon a damaged block
        return _os_error(trouble, self.path)

    def close(self) -> None:
        """Let the folder go."""
        with suppress(Exception):  # it says again that a write failed; what was written is on the disk
            self._db.close()
        del self._db

    def _reopen(self) -> None:
        """Open the store again after a failed write; it is not closed unless there is room to open it."""
        needed = _SPARE_BYTES + sum(log.stat().st_size for log in self.path.glob("*.log"))
        if shutil.disk_usage(self.path).free < needed:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        self.close()
        trouble = self._open()
        if trouble:
            self._open_to_read()
            raise _os_error(trouble, self.path)
        self.is_stuck = False

    # -- opening

    def _open(self) -> str:
        """Open the store; returns what is in the way."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._db = rocksdict.Rdict(str(self.path), self._options())
        except OSError as error:
            return error.strerror or str(error)
        except Exception as error:  # noqa: BLE001  see the module
            return str(error)
        return ""

    def _open_to_read(self) -> None:
        access = rocksdict.AccessType.read_only(error_if_log_file_exist=False)
        self._db = rocksdict.Rdict(str(self.path), self._options(), access_type=access)

    def _options(self) -> Any:  # noqa: ANN401
        table = rocksdict.BlockBasedOptions()
        table.set_block_cache(rocksdict.Cache(CACHE_BYTES))
        table.set_bloom_filter(_BLOOM_BITS, block_based=False)
        table.set_cache_index_and_filter_blocks(v=True)
        table.set_pin_l0_filter_and_index_blocks_in_cache(v=True)
        # In one block, the index of a large file has no place in the cache, and is unpacked anew for every read.
        table.set_index_type(rocksdict.BlockBasedIndexType.two_level_index_search())
        table.set_partition_filters(size=True)
        table.set_pin_top_level_index_and_filter(v=True)
        table.set_checksum_type(rocksdict.ChecksumType.xxh3())
        options = rocksdict.Options(raw_mode=True)
        options.create_if_missing(create_if_missing=True)
        options.set_block_based_table_factory(table)
        options.set_compression_type(rocksdict.DBCompressionType.lz4())
        options.set_paranoid_checks(enabled=True)
        modes = rocksdict.DBRecoveryMode
        options.set_wal_recovery_mode(
            modes.skip_any_corrupted_record() if self.is_doubtful else modes.tolerate_corrupted_tail_records()
        )
        options.set_write_buffer_size(WRITE_BUFFER_BYTES)
        options.set_max_write_buffer_number(WRITE_BUFFERS)
        options.set_max_total_wal_size(WRITE_BUFFERS * WRITE_BUFFER_BYTES)
        options.set_max_open_files(512)
        options.set_max_log_file_size(_DIARY_BYTES)
        options.set_keep_log_file_num(2)
        return options


def _os_error(trouble: str, path: Path) -> OSError:
    """What the system said, out of what RocksDB says; an input/output error where it is something else."""
    for code in _KNOWN:
        if os.strerror(code) in trouble:
            return OSError(code, os.strerror(code), str(path))
    return OSError(errno.EIO, trouble, str(path))


def _advice(path: Path, trouble: str) -> str:
    if "lock" in trouble.lower():
        return f"{path} is in use by another repo: stop that one, or give this one a folder of its own"
    if "Corruption" in trouble:
        return f"{path} cannot be read ({trouble}): move it away, and the repo fills a new one from its peers"
    return f"{path} cannot be used as a store ({trouble}): give a folder that can be written, on a disk with room"


def _has_failed(walker: Any) -> bool:  # noqa: ANN401
    try:
        walker.status()
    except Exception:  # noqa: BLE001  see the module
        return True
    return False


def _as_number(key: bytes, width: int) -> int:
    return int.from_bytes(key.ljust(width, b"\0"), "big")


def _as_key(number: int, width: int) -> bytes:
    """The shortest key of this number, which is not behind any other of it."""
    return number.to_bytes(width, "big").rstrip(b"\0")
