"""`roost mqtt` as processes: nodes with an HTTP door, of a group or with plain topics, killed and started again.

    home = Home(tmp_path, "Gate1", "Gate2")
    one, two = home.node(1, 2), home.node(2, 1)        each with the other as its uplink
    with one.running(), two.running():
        one.ask("PUT", "/macros/twice", {"code": "2 * Noctua.topic('hall/temp')"})
        one.end(signal.SIGKILL)
        one.start()

A node keeps its ports and its folder over restarts. `Home` has the keys that all nodes of a group share.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml
from tests.verbs import RUN, environment_of, roost

GROUP = "/BigCompany/Building1/Electricity"


class LiveNode:
    """One process, and how to reach it."""

    def __init__(self, folder: Path, environment: dict[str, str], said: dict[str, Any]) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.said = said
        self.port = self.http = 0
        self._environment = environment
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        doors = {"listeners": [{"tcp": f"127.0.0.1:{self.port}"}], "http": f"127.0.0.1:{self.http}"}
        file = self.folder / "mqtt.yaml"
        file.write_text(yaml.safe_dump(doors | self.said))
        command = [*RUN, "mqtt", "-c", str(file)]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(command, env=self._environment, stdout=subprocess.PIPE, stderr=log, text=True)
        self._process = process
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("listening on mqtt://"):
                self.port = int(line.rpartition(":")[2])
            if line.startswith("listening on http://"):
                self.http = int(line.rpartition(":")[2])
            if line.startswith("ready"):
                return
        raise AssertionError(f"it did not start: {self.log()}")

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it; the exit status."""
        process, self._process = self._process, None
        assert process is not None
        assert process.stdout is not None
        process.send_signal(how)
        with process.stdout as rest:
            rest.read()
        return process.wait(timeout=90)

    def signal(self, which: signal.Signals) -> None:
        """Send it a signal that it lives on with."""
        assert self._process is not None
        self._process.send_signal(which)

    @contextmanager
    def running(self) -> Iterator[LiveNode]:
        """Run it while the block does, unless that ends it."""
        self.start()
        try:
            yield self
        finally:
            if self._process is not None:
                assert self.end() == 0, self.log()

    def log(self) -> str:
        """What it has complained of."""
        return (self.folder / "log").read_text(encoding="utf-8")

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """The status and the JSON of what a path answers; `path` is not percent-encoded."""
        content = None if body is None else json.dumps(body).encode()
        headers = {} if content is None else {"Content-Type": "application/json"}
        url = f"http://127.0.0.1:{self.http}{quote(path, safe='/?=&')}"
        request = urllib.request.Request(url, content, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def put(self, name: str, code: str, **more: object) -> dict[str, Any]:
        """Make or replace a macro; what the node says of it."""
        status, shown = self.ask("PUT", f"/macros/{name}", {"code": code, **more})
        assert status in {200, 201}, shown
        assert isinstance(shown, dict)
        return shown


class Home:
    """The keys of one group, and the nodes that have it; with no panel there is no group."""

    def __init__(self, folder: Path, *panels: str) -> None:
        self.folder = folder
        self.environment = environment_of(folder)
        self._panels = panels
        if panels:
            repos = [part for number, _ in enumerate(panels, 1) for part in ("--repo", f"Repo{number}")]
            self.verb("init", "--company", "BigCompany", "--building", "Building1", *repos)
            for panel in panels:
                self.verb("keys", "make", f"{GROUP}/{panel}")

    def verb(self, *arguments: str) -> str:
        """Run a verb of `roost` that goes well; what it printed."""
        done = roost(self.environment, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    def node(self, number: int = 1, *others: int, **more: Any) -> LiveNode:  # noqa: ANN401  as YAML has it
        """A node, which reaches others by their numbers."""
        said: dict[str, Any] = {"store": str(self.folder / f"store{number}")}
        if self._panels:
            said["trees"] = [{"filter": "#", "group": GROUP}]
            said["groups"] = [{"name": GROUP, "panel": self._panels[number - 1], "repo": f"Repo{number}"}]
            said["node"] = {"unix": self._socket(number), "uplinks": [f"unix://{self._socket(n)}" for n in others]}
        return LiveNode(self.folder / f"node{number}", self.environment, said | more)

    def uri(self, number: int = 1) -> str:
        """Where the NDN side of a node is."""
        return f"unix://{self._socket(number)}"

    def _socket(self, number: int) -> str:
        return str(self.folder / f"{number}.sock")


async def asked(node: LiveNode, *about: object) -> Any:  # noqa: ANN401  as JSON has it
    """What a node answers, while the loop goes on."""
    status, said = await asyncio.to_thread(node.ask, *about)  # type: ignore[arg-type]
    assert status in {200, 201}, said
    return said
