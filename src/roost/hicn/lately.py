"""Names that went on a short while ago and are not waited for any more: how a copy that comes round a loop is known.

Interests of hICN have no nonce. While a name is pending, the table knows a copy by the entry; this is for what makes
no entry, or one that is gone before a copy is back: Interests of lifetime 0 or a short one, and Data that is never
cached. For `LOOP` only the face that asked first may ask for such a name again. In every loop there is a forwarder
whose first asker is outside of it, so no copy gets past that one.
"""

from __future__ import annotations

from typing import Final

from roost.machine import MS

LOOP: Final = 500 * MS  # what a loop takes at most; THCD_REQs of FLIPS live as long, so they are never held up


class Lately:
    """Name → until when, and which face may ask all the same; the oldest goes first."""

    def __init__(self, limit: int) -> None:
        self._limit: Final = limit
        self._names: Final[dict[bytes, tuple[int, int]]] = {}  # bound: limit; in the order of their times

    def __len__(self) -> int:
        return len(self._names)

    def is_copy(self, key: bytes, face_id: int, now: int) -> bool:
        """Whether an Interest from a face counts as a copy of one that went on."""
        found = self._names.get(key)
        return found is not None and found[0] > now and found[1] != face_id

    def note(self, key: bytes, face_id: int, now: int) -> bool:
        """Note that a name goes on for a face; False if there is no room, and then it must not."""
        self._names.pop(key, None)
        self.expire(now)
        if len(self._names) >= self._limit:
            return False
        self._names[key] = (now + LOOP, face_id)
        return True

    def expire(self, now: int) -> None:
        """Forget what cannot come back any more."""
        over: list[bytes] = []
        for key, (until, _) in self._names.items():
            if until > now:
                break
            over.append(key)
        for key in over:
            del self._names[key]
