"""The faces of this process to repos, one per access: Spark's runners and workers live for many batches.

What plans reads (`watching.py`) and what publishes (`publishing.py`) share them; stretches have their own, because they
ask each repo apart (`roost.host.stretches`).
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import OrderedDict
from typing import Final

from roost.host.blocking import SyncFace, connect_sync
from roost.host.stretch_access import Access
from roost.trust.acceptance import ACCEPT_ANY

MAX_FACES: Final = 8

_faces: Final[OrderedDict[tuple[tuple[str, ...], str, bool, int], SyncFace]] = OrderedDict()  # bound: MAX_FACES
_lock: Final = threading.Lock()


def face_of(access: Access) -> SyncFace:
    """The face to the repos of an access, with the keys and the trust of its home: another one when these change."""
    keys = access.keys
    key = (access.repos, access.home, access.verify == "never", keys.changed)
    with _lock:
        if key not in _faces:
            if access.home:  # or the trust of another home, the usual one, would be taken for that of a wrong name
                keys.check()
            now = time.time_ns()
            known = keys.exists
            believing = ACCEPT_ANY if access.verify == "never" else keys.verifier(now) if known else None
            _faces[key] = connect_sync(
                list(access.repos) or None, verifier=believing, signer=keys.keychain() if known else None
            )
            if len(_faces) > MAX_FACES:
                _faces.popitem(last=False)[1].close()
        _faces.move_to_end(key)
        return _faces[key]


@atexit.register
def close_faces() -> None:
    """Close all; the next who asks gets a new one."""
    with _lock:
        while _faces:
            _faces.popitem()[1].close()
