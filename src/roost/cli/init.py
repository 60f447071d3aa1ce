"""`roost init`: a trust anchor, this node's keys, a starter policy and a configuration for `roost up`, in one step.

`roost init --join ANCHOR --schema FILE`: a home that trusts what another machine trusts, and has no keys yet.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Final

from roost.cli._output import add_json, show
from roost.cli._page import Page

SUMMARY = "Make a trust anchor, this node's keys, a starter policy and a configuration for `roost up`."

PAGE: Final = Page(
    examples=(("roost init --company BigCompany --building Hall", "make the keys of a first node"),),
    text="Everything goes into ROOST_HOME (~/.roost), for you only. What is there already is never touched.",
    see=("up", "key", "trust", "invite", "docs/trust.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--company", help="name of the company, or a prefix such as /org/company (default MyCompany)")
    parser.add_argument("--building", action="append", help="a building; may be given again (default Building1)")
    parser.add_argument("--department", action="append", default=[], help="a department; may be given again")
    parser.add_argument("--campus", action="append", default=[], help="a campus-wide group; may be given again")
    parser.add_argument(
        "--system", default="Electricity", help="the group of this node (default: Electricity), e.g. Env/floor1"
    )
    parser.add_argument("--panel", default="Panel1", help="the panel that this node is (default: Panel1)")
    parser.add_argument("--repo", action="append", help="a repo of the group; may be given again (default Repo1)")
    parser.add_argument(
        "--kind", choices=("ecdsa", "ed25519", "rsa"), default="ecdsa", help="kind of the keys (default: ecdsa)"
    )
    parser.add_argument(
        "--join",
        metavar="ANCHOR",
        type=Path,
        help="trust this anchor certificate instead of making one, and make no keys",
    )
    parser.add_argument("--schema", metavar="FILE", type=Path, help="with --join: the schema.lvs of the other machine")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Make everything, or nothing; finish what an earlier run has made and not put in its place."""
    from roost.host.making import finish
    from roost.host.paths import home

    where = home()
    if finish(where):
        said = f"finished the key store in {where}, which an interrupted `roost init` had made; see: roost key list"
        line, file = _node(where)
        return show(options, {"home": where, "finished": True, "configuration": file}, [said, line])
    return _join(options, where) if options.join or options.schema else _found(options, where)


def _node(where: Path) -> tuple[str, Path]:
    """Write a configuration for the node of this home, unless there is one; what is said of it, and where it is."""
    from roost.cli._up_config import FILE, groups_at_home, write_starter

    file = where / FILE
    is_new = write_starter(file, groups_at_home())
    return f"  node    {file}{'' if is_new else ', which was there and stays as it is'}", file


def _join(options: argparse.Namespace, where: Path) -> int:
    from roost.errors import BadConfig
    from roost.host.keystore import read_packet_file
    from roost.host.making import new_store
    from roost.trust import Schema
    from roost.wire.certificate import Certificate

    if not (options.join and options.schema):
        raise BadConfig(
            "--join and --schema go together: on the other machine, `roost key certificate` writes its anchor "
            "certificate into a file, and schema.lvs is in its home"
        )
    if options.company is not None or options.building or options.department or options.campus:
        raise BadConfig("who joins takes the names from --schema: leave out --company, --building and the like")
    try:
        rules = options.schema.read_text(encoding="utf-8")
        schema = Schema(rules)
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise BadConfig(f"{options.schema} cannot be read: {why}") from None
    except BadConfig as error:
        raise BadConfig(f"{options.schema}: {error}") from None
    anchor = Certificate.decode(read_packet_file(options.join))
    if not schema.is_anchor_name(anchor.name):
        raise BadConfig(
            f"{anchor.name} is not named as the anchors of {options.schema} are: they do not belong together"
        )
    with new_store(where) as store:
        store.save_anchor(anchor)
        store.save_schema(rules)
    policy, digest = where / "schema.lvs", anchor.data.implicit_digest.hex()
    lines = [
        f"made a key store in {where}, for you only (0700), with no keys yet",
        f"  anchor  {anchor.name}",
        f"          SHA-256 {digest}: compare it with what the other machine says",
        f"  policy  {policy}",
        "next",
        "  a key for this machine:   roost key make NAME, which says how to have it certified",
    ]
    return show(options, {"home": where, "anchor": anchor.name, "sha256": digest, "policy": policy}, lines)


def _found(options: argparse.Namespace, where: Path) -> int:
    from roost.errors import BadConfig
    from roost.host.making import new_store
    from roost.naming import Name
    from roost.naming.building import Building, Company, Group, Panel, Repo
    from roost.trust import Identity, building_rules, certify, generate, self_sign

    now = time.time_ns()
    named = "MyCompany" if options.company is None else options.company
    if not named.strip("/ "):
        raise BadConfig(
            f"--company {named!r} is no name: give one such as BigCompany, or a prefix such as /org/company"
        )
    buildings = options.building or ["Building1"]
    systems = options.system.strip("/").split("/")
    prefix = Name.parse(named) if named.startswith("/") else Name.of(named)
    company = Company(prefix, frozenset(buildings), frozenset(options.department), len(systems))
    group = company.group(buildings[0], *systems)
    campus = [company.group("", *wide.strip("/").split("/")) for wide in options.campus]
    rules = building_rules(company, campus)

    places: list[Building | Group | Panel | Repo] = [company.building(building) for building in buildings]
    places += [group, group.panel(options.panel), *[group.repo(repo) for repo in options.repo or ["Repo1"]]]

    with new_store(where) as store:
        anchor = self_sign(generate(company.root.name, os.urandom, options.kind), now)
        store.save_key(anchor.key)
        store.save_anchor(anchor.certificate)
        made: dict[str, Identity] = {str(company.root.name): anchor}
        for place in places:
            key = generate(place.name, os.urandom, options.kind)
            certificate = certify(made[str(place.issuer)], key.name, key.public.spki, now)
            made[str(place.name)] = Identity(key, certificate)
            store.save_identity(made[str(place.name)])
        store.save_schema(rules)

    policy, keys = where / "schema.lvs", [made[name].certificate.name for name in list(made)[1:]]
    line, file = _node(where)
    sample = group.stream(options.panel, "Heater", "Voltage").reading(1)
    lines = [
        f"made a key store in {where}, for you only (0700)",
        f"  anchor  {anchor.certificate.name}",
        *[f"  key     {name}" for name in keys],
        f"  policy  {policy}",
        line,
        "next",
        "  run this machine's node:  roost up",
        f"  publish a reading:        roost pub {group.name} {options.panel} Heater/Voltage 229.5 --unit V",
        f"  see what is published:    roost sub {group.name}",
        f"  publish a file:           roost serve {group.panel(options.panel).name}/hello FILE",
        f"  fetch and check it:       roost fetch {group.panel(options.panel).name}/hello",
        f"  who may publish what:     roost trust explain {sample}",
        "  all keys:                 roost key list",
        f"  put the anchor in a safe: roost key export {company.root.name} FILE",
    ]
    told = {"anchor": anchor.certificate.name, "keys": keys, "policy": policy, "configuration": file}
    return show(options, {"home": where} | told, lines)
