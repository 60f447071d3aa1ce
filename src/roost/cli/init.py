"""`roost init`: a trust anchor, this node's keys and a starter policy, in one step."""

from __future__ import annotations

import argparse
import os
import time

SUMMARY = "make a trust anchor, this node's keys and a starter policy"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options."""
    parser.add_argument("--company", default="MyCompany", help="name of the company, or a prefix such as /org/company")
    parser.add_argument("--building", action="append", help="a building; may be given again (default Building1)")
    parser.add_argument("--department", action="append", default=[], help="a department; may be given again")
    parser.add_argument("--campus", action="append", default=[], help="a campus-wide group; may be given again")
    parser.add_argument(
        "--system", default="Electricity", help="the group of this node, e.g. Electricity or Env/floor1"
    )
    parser.add_argument("--panel", default="Panel1", help="the panel that this node is")
    parser.add_argument("--repo", default="Repo1", help="the repo that this node is")
    parser.add_argument("--kind", choices=("ecdsa", "ed25519", "rsa"), default="ecdsa", help="kind of the keys")


def run(options: argparse.Namespace) -> int:
    """Make everything, or nothing; finish what an earlier run has made and not put in its place."""
    from roost.host.making import finish, new_store
    from roost.host.paths import home
    from roost.naming import Name
    from roost.naming.building import Building, Company, Group, Panel, Repo
    from roost.trust import Identity, building_rules, certify, generate, self_sign

    where = home()
    if finish(where):
        print(f"finished the key store in {where}, which an interrupted `roost init` had made; see: roost keys list")
        return 0
    now = time.time_ns()
    buildings = options.building or ["Building1"]
    systems = options.system.strip("/").split("/")
    prefix = Name.parse(options.company) if options.company.startswith("/") else Name.of(options.company)
    company = Company(prefix, frozenset(buildings), frozenset(options.department), len(systems))
    group = company.group(buildings[0], *systems)
    campus = [company.group("", *wide.strip("/").split("/")) for wide in options.campus]
    rules = building_rules(company, campus)

    places: list[Building | Group | Panel | Repo] = [company.building(building) for building in buildings]
    places += [group, group.panel(options.panel), group.repo(options.repo)]

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
    print(f"  fetch and check it:       roost fetch --segments {group.panel(options.panel).name}/hello")
    print("  all keys:                 roost keys list")
    print(f"  put the anchor in a safe: roost keys export {company.root.name} FILE")
    return 0
