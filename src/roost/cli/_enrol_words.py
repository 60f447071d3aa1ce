"""What `roost invite` and `roost enroll` say to people: what to do with a code, what came of it, what is next."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from roost.host.enrol_joining import EnrolledKey, EnrolledUser
    from roost.trust.enrolment_code import Code
    from roost.trust.enrolment_messages import Offer


def where(code: Code) -> list[str]:
    """What to do with a code, and what stands in the way."""
    from roost.host.address import is_loopback

    lines = ["type this code into `roost enroll` on the other machine; it is a secret, and good for one:"]
    if code.uri is None:
        lines.insert(0, "the node listens on no TCP address, so the code has none: there, roost enroll --at URI")
    elif is_loopback(code.host):
        lines.insert(
            0,
            f"the code leads to {code.uri}, which is this machine only; for others have the node listen on an address "
            "of the network (--tcp HOST:6363), or say where it is reached (--reach HOST)",
        )
    return lines


def admitted(offer: Offer, users: Path | None) -> list[str]:
    """What the inviter reads when somebody came."""
    from roost.trust.enrolment_messages import KeyOffer

    if isinstance(offer, KeyOffer):
        return [f"let in  {offer.kind} {offer.name}, with a key of its own"]
    return [
        f"let in  user {offer.user}, added to {users}",
        "next",
        "  a node that runs:    roost up reload -c FILE, or kill -HUP",
        "  permissions:         what no line of the permissions file grants is denied; for example",
        f"                         user {offer.user}",
        "                           readwrite  devices/%u/#",
    ]


def enrolled_key(done: EnrolledKey, home: Path, uri: str, *, configured: bool) -> list[str]:
    """What the new panel, repo or device reads."""
    from roost.wire.certificate import told_of

    offer, certificate = done.offer, done.certificate
    until = told_of(certificate.not_after)
    lines = [
        f"enrolled as {offer.kind} {offer.name}",
        f"  home    {home}{', made for you only (0700)' if done.is_new_home else ''}",
        f"  anchor  {offer.anchor.name}",
        f"  key     {certificate.name}, until {until}; it was made here and stays here",
        "next",
    ]
    if configured:
        lines.append(f"  run all of it:  roost up, as {home / 'roost.yaml'} says")
    if offer.kind == "repo":
        return [*lines, f"  run the repo:   roost repo {offer.name} --uplink {uri}"]
    if offer.kind == "panel":
        group, panel = offer.name.prefix(-1), offer.name.at(-1)
        return [*lines, f"  publish:        roost pub {group} {panel} Heater/Voltage 229.5 --unit V --at {uri}"]
    return [*lines, f"  what it signs:  roost trust explain {offer.name}/note"]


def enrolled_user(done: EnrolledUser) -> list[str]:
    """What the new user of a broker reads; never the password."""
    from urllib.parse import urlsplit

    offer = done.offer
    lines = [
        f"enrolled as user {offer.user}",
        f"  password   in {done.password_file}, for you only (0600); it was made here",
    ]
    if done.authority_file is not None:
        lines.append(f"  authority  {done.authority_file}, which the broker's certificate is signed by")
    words = ["roost", "pub"]
    if offer.broker:
        broker = urlsplit(offer.broker)
        words += ["-h", broker.hostname or "HOST", "-p", str(broker.port or 1883)]
    else:
        words += ["-h", "HOST"]
    if done.authority_file is not None:
        words += ["--cafile", str(done.authority_file)]
    words += ["-u", offer.user, "--password-file", str(done.password_file)]
    words += ["-t", f"devices/{offer.user}/temp", "-m", "21.5", "-q", "1"]
    return [*lines, "next", f"  publish:   {shlex.join(words)}"]
