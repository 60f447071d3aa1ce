"""`roost trust explain NAME|FILE`: why a packet is or is not trusted, and who may sign a name."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Final

from roost.cli._exit import FAILED
from roost.cli._output import add_json, show
from roost.cli._page import Page

SUMMARY = "Say who may sign a name, and why a packet is or is not trusted."
PAGE: Final = Page(
    examples=(
        (
            "roost trust explain /BigCompany/Building1/Electricity/Panel1/Heater/Voltage/seq=1",
            "the rule, the key, and whether we have it",
        ),
        ("roost trust explain anchor.cert --json", "a packet in a file: its chain and the verdict"),
    ),
    exits={FAILED: "not trusted, or no key here may sign it; or failed"},
    see=("key", "init", "docs/trust.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the one verb there is."""
    verbs = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    explain = verbs.add_parser("explain", help="the rule, the key and the fix for a name or a packet")
    explain.add_argument(
        "subject", metavar="NAME|FILE", help="a name (/a/b), or a file: packet or SafeBag, TLV or base64"
    )
    explain.add_argument(
        "--certificate",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a certificate to use besides ours; repeatable",
    )
    add_json(explain)


def run(options: argparse.Namespace) -> int:
    """Explain; the exit status is 0 for trusted (or: a key is held), 1 for not."""
    from roost.errors import BadConfig
    from roost.host.keystore import KeyStore, read_packets_file
    from roost.host.paths import home
    from roost.naming import Name
    from roost.trust import Policy, ReplayRules
    from roost.trust.explain import explain_name, explain_packet
    from roost.wire import Data, Interest
    from roost.wire.safebag import SAFE_BAG, SafeBag
    from roost.wire.tlv import INTEREST

    now = time.time_ns()
    store = KeyStore(home())
    store.check()
    file = Path(options.subject)
    if not file.is_file():
        if not options.subject.startswith(("/", "ndn:")):
            raise BadConfig(f"{options.subject} is neither a file nor a name; a name starts with '/'")
        explanation = explain_name(Name.parse(options.subject), store.keychain(), now)
    else:
        # A packet in a file is looked at later than it was sent: replay is the receiver's question, not this one's.
        policy = Policy(replay=ReplayRules(time=False, nonce=False, sequence=False))
        verifier = store.verifier(now, policy)
        wire, *above = read_packets_file(file)
        for each in [each for path in options.certificate for each in read_packets_file(path)] + above:
            verifier.learn(Data.decode(each), now)
        if wire[:1] == bytes((SAFE_BAG,)):
            wire = SafeBag.decode(wire).certificate.wire  # the key in it stays encrypted
        packet = Interest.decode(wire) if wire[:1] == bytes((INTEREST,)) else Data.decode(wire)
        explanation = explain_packet(packet, verifier, now)
    said = {"subject": options.subject, "good": explanation.good, "explanation": explanation.text}
    show(options, said, [explanation.text])
    return 0 if explanation.good else 1
