"""`roost init`: a trust anchor, this node's keys and a starter policy, in one step.

`roost init --join ANCHOR --schema FILE`: a home that trusts what another machine trusts, and has no keys yet.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

SUMMARY = "make a trust anchor, this node's keys and a starter policy"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--company", help="name of the company, or a prefix such as /org/company (default MyCompany)")
    parser.add_argument("--building", action="append", help="a building; may be given again (default Building1)")
    parser.add_argument("--department", action="append", default=[], help="a department; may be given again")
    parser.add_argument("--campus", action="append", default=[], help="a campus-wide group; may be given again")
    parser.add_argument(
        "--system", default="Electricity", help="the group of this node, e.g. Electricity or Env/floor1"
    )
    parser.add_argument("--panel", default="Panel1", help="the panel that this node is")
    parser.add_argument("--repo", action="append", help="a repo of the group; may be given again (default Repo1)")
    parser.add_argument("--kind", choices=("ecdsa", "ed25519", "rsa"), default="ecdsa", help="kind of the keys")
    parser.add_argument(
        "--join",
        metavar="ANCHOR",
        type=Path,
        help="trust this anchor certificate instead of making one, and make no keys",
    )
    parser.add_argument("--schema", metavar="FILE", type=Path, help="with --join: the schema.lvs of the other machine")


def run(options: argparse.Namespace) -> int:
    """Make everything, or nothing; finish what an earlier run has made and not put in its place."""
    from roost.host.making import finish
    from roost.host.paths import home

    where = home()
    if finish(where):
        print(f"finished the key store in {where}, which an interrupted `roost init` had made; see: roost keys list")
        return 0
    return _join(options, where) if options.join or options.schema else _found(options, where)


def _join(options: argparse.Namespace, where: Path) -> int:
    from roost.errors import BadConfig
    from roost.host.keystore import read_packet_file
    from roost.host.making import new_store
    from roost.trust import Schema
    from roost.wire.certificate import Certificate

    if not (options.join and options.schema):
        raise BadConfig(
            "--join and --schema go together: on the other machine, `roost keys certificate` writes its anchor "
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
    print(f"made a key store in {where}, for you only (0700), with no keys yet")
    print(f"  anchor  {anchor.name}")
    print(f"          SHA-256 {anchor.data.implicit_digest.hex()}: compare it with what the other machine says")
    print(f"  policy  {where / 'schema.lvs'}")
    print("next")
    print("  a key for this machine:   roost keys make NAME, which says how to have it certified")
    return 0


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

    print(f"made a key store in {where}, for you only (0700)")
    print(f"  anchor  {anchor.certificate.name}")
    for name in list(made)[1:]:
        print(f"  key     {made[name].certificate.name}")
    print(f"  policy  {where / 'schema.lvs'}")
    sample = group.stream(options.panel, "Heater", "Voltage").reading(1)
    print("next")
    print(f"  who may publish what:     roost trust explain {sample}")
    print(f"  publish a file:           roost node & roost serve {group.panel(options.panel).name}/hello FILE")
    print(f"  fetch and check it:       roost fetch {group.panel(options.panel).name}/hello")
    print("  all keys:                 roost keys list")
    print(f"  put the anchor in a safe: roost keys export {company.root.name} FILE")
    return 0
