"""What `roost doctor` sees of the trust: the key store, its rights, the anchor, and how long certificates hold."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from roost.cli._doctor_finding import FINE, HINT, WRONG, Finding
from roost.errors import RoostError

SOON_NS: Final = 30 * 86_400 * 1_000_000_000

_AREA: Final = "trust"


def trust(home: Path, now: int | None = None) -> list[Finding]:
    """Whether this home can sign and be believed, now and in a month."""
    from roost.host.keystore import KeyStore
    from roost.wire.certificate import told_of

    at = time.time_ns() if now is None else now
    store = KeyStore(home)
    if not store.exists:
        return [Finding(_AREA, HINT, f"no keys in {home}, so nothing is signed", "make them: roost init")]
    try:
        store.check()
        store.schema()
        anchors, identities = store.anchors(), store.identities()
        keys = store.private_keys()
    except RoostError as error:
        return [Finding(_AREA, WRONG, str(error), "see docs/trust.md")]
    found = [Finding(_AREA, FINE, f"{len(keys)} keys in {home}, for their owner only")]
    if not anchors:
        remedy = "have that of the other nodes: roost init --join, or restore the folder anchors"
        found.append(Finding(_AREA, WRONG, "there is no trust anchor, so nothing is believed", remedy))
    uncertified = {str(key.name) for key in keys} - {str(each.key.name) for each in identities}
    certify = "have it certified: roost key certify"
    found += [Finding(_AREA, HINT, f"{name} has no certificate", certify) for name in sorted(uncertified)]
    named = [(f"the anchor {each.name}", each) for each in anchors]
    newest = {each.name: each.certificate for each in sorted(identities, key=lambda each: each.certificate.not_after)}
    anchored = {each.name for each in anchors}
    named += [(str(name), held) for name, held in newest.items() if held.name not in anchored]
    for name, certificate in named:
        if certificate.not_after < at:
            ended = f"{name}: its certificate ended at {told_of(certificate.not_after)}"
            found.append(Finding(_AREA, WRONG, ended, "have it issued anew: roost key certify"))
        elif certificate.not_before > at:
            begins = f"{name}: its certificate holds from {told_of(certificate.not_before)} on"
            found.append(Finding(_AREA, WRONG, begins, "set the clock, or have it issued anew"))
        elif certificate.not_after < at + SOON_NS:
            ends = f"{name}: its certificate ends at {told_of(certificate.not_after)}"
            found.append(Finding(_AREA, HINT, ends, "have it issued anew before that: roost key certify"))
    if len(found) == 1:
        last = min([certificate.not_after for _, certificate in named], default=at)
        found.append(Finding(_AREA, FINE, f"all certificates hold until {told_of(last)} at least"))
    return found
