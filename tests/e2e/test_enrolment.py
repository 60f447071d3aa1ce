"""`roost invite` and `roost enroll` as processes, with two homes: who comes in is trusted, and no key has moved."""

from __future__ import annotations

import json
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.verbs import RUN, background, environment_of, roost

GROUP = "/BigCompany/Building1/Electricity"
LISTEN = ("--tcp", "127.0.0.1:0", "--no-udp", "--no-ws")


class Machines:
    """The first, which has the keys of the building, and a second with nothing; a code is carried between them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.first, self.second = (environment_of(folder / name) for name in ("first", "second"))
        self.home = folder / "second" / "roost"
        self.done(self.first, "init", "--company", "BigCompany", "--building", "Building1")

    def done(self, environment: dict[str, str], *arguments: str) -> bytes:
        done = roost(environment, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    @contextmanager
    def invited(self, *arguments: str, comes: bool = True) -> Iterator[str]:
        """Invite while the block runs; the code."""
        with subprocess.Popen(
            [*RUN, "invite", *arguments],
            env=self.first,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            code = process.stdout.readline()
            try:
                yield code
            finally:
                if not comes:
                    process.terminate()
                _, complaint = process.communicate(timeout=90)
            assert not comes or process.returncode == 0, complaint

    def enrol(self, code: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
        """Enrol the second machine, or another one."""
        return subprocess.run(
            [*RUN, "enroll"],
            env=environment or self.second,
            input=code.encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )

    def keys(self, name: str) -> set[bytes]:
        return {path.read_bytes() for path in (self.folder / name / "roost" / "keys").iterdir()}


@pytest.fixture
def machines(tmp_path: Path) -> Machines:
    return Machines(tmp_path)


def uri_of(said: list[str]) -> str:
    return next(line.split()[-1] for line in said if "tcp4://" in line)


def test_a_panel_and_a_repo_come_in_and_what_they_say_is_trusted(machines: Machines) -> None:
    with background(machines.first, "repo", "Repo1", *LISTEN, until="ready") as said:
        near = uri_of(said)
        with machines.invited("panel", "Panel2") as code:
            came = machines.enrol(code)
            assert came.returncode == 0, came.stderr
            late = machines.enrol(code, environment_of(machines.folder / "third"))
            assert late.returncode == 1
            assert b"used" in late.stderr
        assert not machines.keys("first") & machines.keys("second")
        with machines.invited("repo", "Repo2") as code:
            came = machines.enrol(code)
            assert came.returncode == 0, came.stderr
            assert f"roost repo {GROUP}/Repo/Repo2 --uplink {near}".encode() in came.stdout
        assert f'uplinks: ["{near}"]' in (machines.home / "roost.yaml").read_text()
        machines.done(machines.second, "check-config")
        assert len(machines.keys("second")) == 2
        assert all(stat.S_IMODE(key.stat().st_mode) == 0o600 for key in (machines.home / "keys").iterdir())
        far_at = f"unix://{machines.home}/node.sock"
        with background(machines.second, "repo", "Repo2", *LISTEN, "--uplink", near, until="ready"):
            publish = ("pub", GROUP, "Panel2", "Heater/Voltage", "229.5", "--unit", "V", "--copies", "2")
            machines.done(machines.second, *publish, "--at", far_at)
            for environment, at in ((machines.first, near), (machines.second, far_at)):
                shown = machines.done(environment, "sub", GROUP, "--since", "1", "--count", "1", "--json", "--at", at)
                assert json.loads(shown)["value"] == 229.5


def test_who_is_not_to_come_in_is_told_why_and_the_invitation_stays_open(machines: Machines) -> None:
    stranger = environment_of(machines.folder / "stranger")
    machines.done(stranger, "init", "--company", "Elsewhere")
    before = sorted((machines.folder / "stranger" / "roost").rglob("*"))
    with background(machines.first, "repo", "Repo1", *LISTEN, until="ready"):
        with machines.invited("panel", "Panel2") as code:
            refused = machines.enrol(code, stranger)
            assert refused.returncode == 1
            assert b"trusts another anchor" in refused.stderr
            assert sorted((machines.folder / "stranger" / "roost").rglob("*")) == before
            seen = roost(machines.second, "enroll", code.strip())
            assert (seen.returncode, b"is a secret" in seen.stderr) == (1, True)
            assert code.strip().encode() not in seen.stderr
            assert machines.enrol(code).returncode == 0
        with machines.invited("panel", "Panel3", comes=False) as code:
            pass
        gone = machines.enrol(code, environment_of(machines.folder / "third"))
        assert gone.returncode == 1
        assert b"ask for another code" in gone.stderr
        assert not (machines.folder / "third" / "roost").exists()
        for arguments, why in (
            (("panel", "Panel2"), b"has a certificate already"),
            (("panel", "/BigCompany/Building1"), b"is not the name of a panel"),
            (("panel", "Panel3", "--for", "2d"), b"90s, 10m or 1h"),
        ):
            done = roost(machines.first, "invite", *arguments)
            assert (done.returncode, why in done.stderr) == (1, True), done.stderr
        done = roost(machines.first, "invite", "panel", "Panel3", "--for", "1s")
        assert (done.returncode, b"the time is over" in done.stderr) == (1, True)


def test_a_users_device_comes_in_over_mqtt_with_a_password_that_was_made_there(machines: Machines) -> None:
    file = machines.folder / "mqtt.yaml"
    (machines.folder / "permissions").write_text("user pump-7\n  readwrite devices/%u/#\n")
    said = {
        "listeners": [{"tcp": "127.0.0.1:0"}],
        "store": str(machines.folder / "store"),
        "users": str(machines.folder / "users"),
        "permissions": str(machines.folder / "permissions"),
    }
    file.write_text(json.dumps(said), encoding="utf-8")
    with background(machines.first, "node", *LISTEN, until="ready"):
        with machines.invited("user", "pump-7", "--users", str(machines.folder / "users")) as code:
            came = machines.enrol(code)
            assert came.returncode == 0, came.stderr
        again = ("--users", str(machines.folder / "users"), "--again", "--json", "--for", "90s")
        with machines.invited("user", "pump-7", *again, comes=False) as line:
            told = json.loads(line)
            assert (told["event"], told["at"].partition(":")[0], len(told["code"])) == ("invited", "tcp4", 38)
    password = machines.home / "mqtt-pump-7.password"
    assert stat.S_IMODE(password.stat().st_mode) == 0o600
    assert password.read_text().strip() not in (machines.folder / "users").read_text()
    assert password.read_bytes().strip() not in came.stdout
    (machines.folder / "wrong").write_text("something else\n")
    with background(machines.first, "mqtt", "-c", str(file), until="ready") as lines:
        port = next(line.rpartition(":")[2] for line in lines if "mqtt://" in line)
        publish = ("pub", "-p", port, "-t", "devices/pump-7/temp", "-m", "21.5", "-q", "1", "-u", "pump-7")
        machines.done(machines.second, *publish, "--password-file", str(password))
        wrong = roost(machines.second, *publish, "--password-file", str(machines.folder / "wrong"))
        assert wrong.returncode != 0
