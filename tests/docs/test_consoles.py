"""```console``` blocks: each is run here with a node, or it is said who runs what is in it, or why nobody can.

They are run as they stand but for addresses, names of groups, and where what goes on for ever is to end.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.docs.test_examples import PAGES, ROOT, blocks, environment
from tests.up_node import GROUP, UpNode
from tests.verbs import background

__all__ = ["environment"]  # a fixture

HERE: Final = {
    "howto/join-with-nfd0",
    "howto/join-with-nfd1",
    "howto/run-as-a-service1",
    "howto/spark-cluster1",
    "mqtt-tools0",
}
ELSEWHERE: Final = {  # the file that runs such commands
    "start0": "tests/e2e/test_fresh_clone.py",
    "demo0": "tests/e2e/test_demo.py",
    "demo1": "tests/e2e/test_cli_json.py",
    "demo2": "tests/e2e/test_demo.py",
    "enrolment0": "tests/e2e/test_enrolment.py",
    "enrolment1": "tests/e2e/test_enrolment.py",
    "enrolment2": "tests/e2e/test_enrolment.py",
    "howto/spark-cluster2": "tests/e2e/test_enrolment.py",
    "howto/spark-cluster3": "tests/spark/test_cluster.py",
    "howto/write-a-pipeline0": "tests/spark/test_pages.py",
    "howto/write-a-pipeline1": "tests/spark/test_pages.py",
    "import0": "tests/interop/test_bridge.py",
    "macros0": "tests/spark/test_macro_job.py",
    "roles0": "tests/unit/test_cli_role.py",
    "svsps0": "tests/e2e/test_cli_mule.py",
}
NOBODY: Final = {  # takes what a machine that runs tests does not have
    "howto/join-with-nfd2": "ndnpeek and nfdc",
    "howto/run-as-a-service0": "root, and systemd that runs",
    "howto/spark-cluster0": "an environment of Python that may be changed",
    "node0": "root, and systemd that runs",
    "node1": "podman, and the network",
}
OTHERS: Final = {"cli", "http"}  # tests/e2e/test_cli_examples.py and test_http_page.py have all of them


def named() -> dict[str, str]:
    """All blocks, each by its page and its place there."""
    found: dict[str, str] = {}
    for page in PAGES:
        stem = str(page.relative_to(ROOT / "docs").with_suffix("")) if page.parent != ROOT else page.stem
        if stem not in OTHERS:
            found |= {f"{stem}{at}": body for at, body in enumerate(blocks(page, "console"))}
    return found


def test_of_every_block_it_is_known_who_runs_it() -> None:
    assert named().keys() == HERE | ELSEWHERE.keys() | NOBODY.keys()
    assert not HERE & ELSEWHERE.keys()
    assert [file for file in ELSEWHERE.values() if not (ROOT / file).is_file()] == []


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpNode]:
    node = UpNode(tmp_path_factory.mktemp("consoles"))
    node.write()
    node.start()
    node.publish("hall/temp", 20)
    yield node
    node.close()


def commands(block: str) -> str:
    """What is typed: behind the prompts, if there are any."""
    prompted = re.findall(r"^[$#] (.*)$", block, re.MULTILINE)
    return "\n".join(prompted) if prompted else block


def printed(script: str, environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        ["bash", "-ec", script], env=environment, cwd=folder, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_programs_of_roost_go_by_another_forwarder(node: UpNode, environment: dict[str, str], tmp_path: Path) -> None:
    script = commands(named()["howto/join-with-nfd0"]).replace("/BigCompany/Hall/Electricity", GROUP)
    script = script.replace("unix:///run/nfd/nfd.sock", f"unix://{node.home}/node.sock")
    said = printed(f"{script} -C 1 -W 60", environment | {"ROOST_HOME": str(node.home)}, tmp_path)
    assert f"{GROUP}/Panel1/hall/temp 1 20" in said


@pytest.mark.parametrize("name", ["howto/join-with-nfd1", "howto/spark-cluster1"])
def test_what_goes_on_is_ready(name: str, node: UpNode, tmp_path: Path) -> None:
    words = shlex.split(commands(named()[name]))[1:]
    words = [word.replace("10.0.0.7:6363", "127.0.0.1:0").replace("192.0.2.7:6363", "127.0.0.1:9") for word in words]
    if words[-1] == "--bulk-read":
        words += [str(tmp_path / "door"), "--store", str(tmp_path / "store")]
    if "--tcp" not in words:
        words.append("--no-tcp")
    more = ("--unix", str(tmp_path / "sock"), "--no-udp", "--no-ws")
    with background(node.environment, *words, *more, until="ready") as lines:
        assert lines[-1].startswith("ready")


def test_the_letters_of_mosquitto_do_what_they_do_there(node: UpNode, environment: dict[str, str]) -> None:
    port = node.uri("MQTT: listening on ").rpartition(":")[2]
    lines = (
        commands(named()["mqtt-tools0"]).replace("vmstat 1", "echo 7").replace("-h broker.example ", "").splitlines()
    )
    publish = [line.replace("roost pub", f"roost pub -p {port}") for line in lines if "roost pub" in line]
    subscribe = [line.replace("roost sub", f"roost sub -p {port} -C 1 -W 60") for line in lines if "roost sub" in line]
    assert len(publish) + len(subscribe) == len(lines)
    said = [printed(line, environment, node.home) for line in (*publish, *subscribe)]
    assert said[2] == "hall/1/temperature 21.5\n"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d hall/1/temperature 4 21.5\n", said[3])
    assert '"payload"' in said[4]


def test_doctor_looks_at_the_home_of_the_service(node: UpNode, environment: dict[str, str]) -> None:
    script = commands(named()["howto/run-as-a-service1"]).replace("/opt/roost/bin/", "")
    assert "trust" in printed(script.replace("/var/lib/roost", str(node.home)), environment, node.home)
