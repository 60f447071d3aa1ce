"""FLIPS over NDN names with what `roost init` makes and all of it verified: publish, follow, be refused a topic."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.verbs import background, environment_of, roost

HOME = "/BigCompany/Building1/flips"
TOPIC = "home/temp"


def test_topics_over_ndn_are_signed_verified_and_refused_by_the_keys_of_init(tmp_path: Path) -> None:
    ours, theirs = (environment_of(tmp_path / who) for who in ("ours", "theirs"))
    made = roost(ours, "init", "--company", "BigCompany", "--building", "Building1")
    assert made.returncode == 0, made.stderr
    here, there = (Path(each["ROOST_HOME"]) for each in (ours, theirs))
    (anchor,) = (here / "anchors").iterdir()
    joined = roost(theirs, "init", "--join", str(anchor), "--schema", str(here / "schema.lvs"))
    assert joined.returncode == 0, joined.stderr
    with background(ours, "node", "--tcp", "127.0.0.1:0", "--no-udp", "--no-ws", until="ready") as said:
        uri = next(line.removeprefix("listening on ") for line in said if "tcp" in line)
        with background(ours, "flips", "pub", TOPIC, "21.5", "--ndn", until="published"):
            shown = roost(ours, "flips", "sub", TOPIC, "--ndn", "-C", "1")
            assert shown.stdout == f"{TOPIC} 100 21.5\n".encode(), shown.stderr

            elsewhere = theirs | {"NDN_CLIENT_TRANSPORT": uri}
            away = roost(elsewhere, "flips", "sub", TOPIC, "--ndn", "--home", HOME, "-C", "1")
            assert away.stdout == shown.stdout, away.stderr
            unsaid = roost(elsewhere, "flips", "sub", TOPIC, "--ndn")
            assert unsaid.returncode == 1
            assert b"--home /MyCompany/Building1/flips" in unsaid.stderr
            unsigned = roost(elsewhere, "flips", "pub", TOPIC, "22", "--ndn", "--home", HOME)
            assert unsigned.returncode == 1
            assert b"no key here may sign /BigCompany/Building1/flips/" in unsigned.stderr

            shutil.copytree(here, there / "twin", ignore=shutil.ignore_patterns("flips", "*.sock"))
            twin = elsewhere | {"ROOST_HOME": str(there / "twin")}
            taken = roost(twin, "flips", "pub", TOPIC, "22", "--ndn")
            assert taken.returncode == 1
            assert b"another publisher has this topic" in taken.stderr
