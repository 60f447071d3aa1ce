"""`roost invite panel|repo|user NAME`: let somebody in with a code that is good for a few minutes and for one.

It runs where the issuer's key is (for an MQTT user: where the users file is), beside a node that the other machine can
reach. Whoever types the code into `roost enroll` there gets the certificate, or becomes a user; no key travels.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._exit import FAILED
from roost.cli._output import add_json, say, wants_json
from roost.cli._page import Page
from roost.errors import BadConfig, TimedOut

if TYPE_CHECKING:
    from collections.abc import Callable

    from roost.host.clock import Clock
    from roost.host.enrol_inviting import End, Settle
    from roost.host.face import Face
    from roost.trust.enrolment_code import Code
    from roost.trust.enrolment_messages import Offer

SUMMARY = "Let a panel, a repo or a user in with a short-lived code; no key is copied."
PAGE: Final = Page(
    examples=(
        ("roost invite panel Panel2", "show a code, and wait up to ten minutes for who types it into `roost enroll`"),
        ("roost invite repo Repo2 --for 1h --reach 10.0.0.7", "a repo, which reaches this node at another address"),
        ("roost invite user pump-7 --broker mqtts://hall.example:8883 --cafile ca.pem", "a user of an MQTT broker"),
    ),
    text="Runs where the issuer's key is (for an MQTT user: where the users file is), beside a node or a repo that the "
    "other machine reaches over TCP. The key, or the password, is made there and stays there.",
    exits={FAILED: "nobody came in; or failed"},
    see=("enroll", "key", "docs/enrolment.md"),
)

_UNITS: Final = {"s": 1, "m": 60, "h": 3600}
_LONGEST_S: Final = 24 * 3600
_ENDS: Final = {
    "expired": "the time is over and nobody came; the code is good for nothing any more",
    "withdrawn": "too many tried without the code: the invitation is withdrawn. Invite anew; `roost status faces` "
    "shows who is connected to the node",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say who is invited, and for how long."""
    parser.add_argument("kind", choices=("panel", "repo", "user"), help="what is invited")
    parser.add_argument(
        "name",
        metavar="NAME",
        help="Panel2 or Repo2, or a whole name such as /BigCompany/Building1/Electricity/Panel2; for a user a whole "
        "name (/BigCompany/DepartmentA/Alice/Phone), or the name of an MQTT user, such as pump-7",
    )
    parser.add_argument("--group", metavar="NAME", help="the group of a panel or a repo (default: the one known here)")
    parser.add_argument(
        "--for", dest="span", metavar="TIME", default="10m", help="how long: 90s, 10m, 1h (default: 10m)"
    )
    parser.add_argument("--again", action="store_true", help="even if this name has been let in before")
    parser.add_argument(
        "--reach",
        metavar="HOST[:PORT]",
        help="where the other machine reaches the node over TCP (default: an address that the node listens on)",
    )
    parser.add_argument("--users", metavar="FILE", type=Path, help="the users file (default: mqtt-users in ROOST_HOME)")
    parser.add_argument(
        "--broker", metavar="URI", default="", help="tell an MQTT user where the broker is: mqtts://hall.example:8883"
    )
    parser.add_argument("--cafile", metavar="FILE", type=Path, help="and give it the authority of the broker's TLS")
    parser.add_argument(
        "--at", dest="uri", metavar="URI", help="the node that the invitation waits behind (default: the running one)"
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Wait until somebody came, or the time is over; the exit status is 0 if somebody did."""
    import asyncio

    return asyncio.run(_invite(options))


async def _invite(options: argparse.Namespace) -> int:
    import secrets

    from roost.cli import note
    from roost.cli._enrol_reach import listening, reach
    from roost.host.client import connect
    from roost.host.clock import Clock
    from roost.host.locate import await_node
    from roost.machine import SECOND
    from roost.trust.acceptance import ACCEPT_ANY
    from roost.trust.enrolment_code import SECRET_BYTES, Code
    from roost.wire import DigestSigner

    clock = Clock()
    until = clock() + _seconds(options.span) * SECOND
    offer, settle = _user(options, until) if _is_mqtt(options) else _key(options, until, clock)
    uri = await await_node(options.uri, note)
    async with connect(uri, verifier=ACCEPT_ANY, signer=DigestSigner()) as face:
        host, port = reach(options.reach, [] if options.reach else await listening(face))
        code = Code(secrets.token_bytes(SECRET_BYTES), host, port) if host else Code(secrets.token_bytes(SECRET_BYTES))
        return await _receive(options, face, code, offer, settle, clock)


async def _receive(
    options: argparse.Namespace, face: Face, code: Code, offer: Offer, settle: Settle, clock: Clock
) -> int:
    import os

    from roost.cli import note
    from roost.cli._enrol_words import admitted, where
    from roost.host.enrol_inviting import Reception
    from roost.trust.enrolment import Invitation
    from roost.trust.enrolment_messages import KeyOffer
    from roost.trust.enrolment_seal import Seal

    invitation = Invitation(Seal(code.secret), offer, os.urandom)
    reception = Reception(invitation, settle, clock)
    for line in () if wants_json(options) else where(code):
        note(line)
    say(options, code.text, event="invited", code=code.text, at=code.uri, until_ns=offer.until)
    tell, wipe = _countdown()
    try:
        end: End = await reception.wait(face, tell)
    finally:
        wipe()
    if reception.ignored:
        note(f"{reception.ignored} packets were ignored, the last one because {reception.last_ignored}")
    if end in _ENDS:
        raise TimedOut(_ENDS[end])
    lines = admitted(offer, options.users)
    who = str(offer.name) if isinstance(offer, KeyOffer) else offer.user
    say(options, "\n".join(lines), event="let in", kind=options.kind, name=who, confirmed=end == "finished")
    if end == "granted":
        note("the other machine has not said that it kept it; if it did not, invite it again with --again")
    return 0


def _is_mqtt(options: argparse.Namespace) -> bool:
    given = options.users or options.broker or options.cafile
    is_mqtt = options.kind == "user" and not options.name.startswith("/")
    if given and not is_mqtt:
        raise BadConfig("--users, --broker and --cafile are for MQTT users, as in: roost invite user pump-7")
    return is_mqtt


def _key(options: argparse.Namespace, until: int, clock: Clock) -> tuple[Offer, Settle]:
    from roost.host.enrol_issuing import certifying, full_name, key_offer
    from roost.host.keystore import KeyStore
    from roost.host.paths import home

    store = KeyStore(home())
    store.check()
    name = full_name(store, options.kind, options.name, options.group)
    offer = key_offer(store, options.kind, name, until, clock(), again=options.again)
    return offer, certifying(store, offer, clock)


def _user(options: argparse.Namespace, until: int) -> tuple[Offer, Settle]:
    from roost.host.enrol_issuing import adding, refuse_user
    from roost.host.mqtt.users import Users, encoded_name, read_users
    from roost.host.paths import home
    from roost.trust.enrolment_messages import UserOffer

    file: Path = options.users or home() / "mqtt-users"
    options.users = file
    encoded_name(options.name)
    if ":" in options.name:
        raise BadConfig(f"{options.name!r} is no name for the users file: it holds ':', which ends a name there")
    users = read_users(file)[0] if file.exists() else Users({})
    refuse_user(users, options.name, file, again=options.again)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    offer = UserOffer(options.name, until, options.broker, _authority(options.cafile))
    return offer, adding(file, offer, again=options.again)


def _authority(file: Path | None) -> bytes:
    if file is None:
        return b""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise BadConfig(f"{file} cannot be read: {error.strerror}") from None
    if b"PRIVATE KEY" in content or b"BEGIN CERTIFICATE" not in content or len(content) > 65_536:
        raise BadConfig(f"{file} is to hold the authority's certificate in PEM, and no private key")
    return content


def _seconds(text: str) -> int:
    found = re.fullmatch(r"(\d{1,5})([smh])", text)
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < seconds <= _LONGEST_S:
        raise BadConfig(f"--for {text} is not a time that a code can be good for: 90s, 10m or 1h, 24h at most")
    return seconds


def _countdown() -> tuple[Callable[[int], None], Callable[[], None]]:
    """Show the time that is left, on a terminal only."""
    if not sys.stderr.isatty():
        return (lambda _: None), (lambda: None)

    def draw(text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    return (lambda left: draw(f"waiting, {left // 60}:{left % 60:02} left; Ctrl-C takes it back")), (lambda: draw(""))
