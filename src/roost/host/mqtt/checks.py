"""Password checks beside the broker's thread: few at a time, a bounded number waiting, and right ones remembered.

A check takes a third of a second and 32 MiB by design, so a flood of them must cost the flooder, not the house: as many
run as there are workers, so many more may wait, and the rest is turned away at once. A password that was right is
remembered, not as itself but as a digest under a key that lives and dies with this process, together with the line of
the users file that it was right for: a device that reconnects waits for nobody, and another line makes it forgotten.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from roost.host.mqtt.users import Users

WORKERS: Final = 2
MAX_WAITING: Final = 1024
MAX_REMEMBERED: Final = 20_000


class Checks:
    """Answers come on some thread, perhaps the asking one: hand in what passes them on to the right one."""

    def __init__(self, workers: int = WORKERS, max_waiting: int = MAX_WAITING) -> None:
        self.turned_away = 0
        self.failed = 0  # could not be made, and so counted as wrong
        self.remembered_hits = 0
        self._pool: Final = ThreadPoolExecutor(workers, "password")
        self._places: Final = threading.BoundedSemaphore(workers + max_waiting)
        self._key: Final = os.urandom(32)
        self._lock: Final = threading.Lock()
        self._right: Final[OrderedDict[bytes, None]] = OrderedDict()  # the oldest goes; bound: MAX_REMEMBERED

    def ask(self, users: Users, user: bytes, password: bytes, then: Callable[[bool], object]) -> bool:
        """Have a password checked and `then` told; False, and nothing more, if too many wait already."""
        digest = self._digest(users, user, password)
        if digest is not None and self._remembers(digest):
            self.remembered_hits += 1
            then(True)  # noqa: FBT003 - it is the answer
            return True
        if not self._places.acquire(blocking=False):
            self.turned_away += 1
            return False
        self._pool.submit(self._check, users, user, password, digest, then)
        return True

    def close(self) -> None:
        """Take no more; those that wait are not answered."""
        self._pool.shutdown(cancel_futures=True)

    def _check(
        self, users: Users, user: bytes, password: bytes, digest: bytes | None, then: Callable[[bool], object]
    ) -> None:
        right = False
        try:
            right = users.check(user, password)
        except (MemoryError, ValueError):  # of OpenSSL, when the machine has no memory left
            with self._lock:
                self.failed += 1
        finally:
            self._places.release()
        if right and digest is not None:
            self._remember(digest)
        then(right)

    def _digest(self, users: Users, user: bytes, password: bytes) -> bytes | None:
        kept = users.hash_of(user)
        if kept is None:
            return None
        return hashlib.blake2b(b"%b:%b:%b" % (user, str(kept).encode(), password), key=self._key).digest()

    def _remembers(self, digest: bytes) -> bool:
        with self._lock:
            if digest not in self._right:
                return False
            self._right.move_to_end(digest)
            return True

    def _remember(self, digest: bytes) -> None:
        with self._lock:
            self._right[digest] = None
            if len(self._right) > MAX_REMEMBERED:
                self._right.popitem(last=False)
