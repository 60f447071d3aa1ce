"""mosquitto_pub, mosquitto_sub and mosquitto_rr as clients of any server, and mosquitto itself as a bridge to it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.interop.mosquitto import RUN_S, Ended, free_ports, require_mosquitto

SHOWN: Final = "≡"  # begins what a subscriber shows, among what it says about itself


def run(verb: str, port: int, version: str, *words: str, stdin: bytes = b"") -> Ended:
    """Run one of the clients to its end."""
    command = [f"mosquitto_{verb}", "-h", "127.0.0.1", "-p", str(port), "-V", version, *words]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=RUN_S, check=False)


def succeed(verb: str, port: int, version: str, *words: str, stdin: bytes = b"") -> bytes:
    """Run one of the clients, which has nothing to complain about; what it shows."""
    ended = run(verb, port, version, *words, stdin=stdin)
    assert (ended.returncode, ended.stderr) == (0, b""), ended
    return ended.stdout


class Subscriber:
    """A mosquitto_sub that has its subscriptions; `shown` has the messages by its format."""

    def __init__(self, port: int, version: str, *words: str, shape: str = "%t %p") -> None:
        command = ["stdbuf", "-oL", "mosquitto_sub", "-h", "127.0.0.1", "-p", str(port), "-V", version, "-d", *words]
        self._process: Final = subprocess.Popen([*command, "-F", SHOWN + shape], stdout=subprocess.PIPE, text=True)
        self._limit: Final = threading.Timer(RUN_S, self._process.kill)
        self._limit.start()
        assert any(line.startswith("Subscribed") for line in self._lines()), "it has no subscription"

    def shown(self, count: int = 1) -> list[str]:
        """The next messages."""
        found: list[str] = []
        while len(found) < count:
            line = next(self._lines(), None)
            assert line is not None, f"it ended after {found}"
            if line.startswith(SHOWN):
                found.append(line.removeprefix(SHOWN).rstrip("\n"))
        return found

    def stop(self, *, kill: bool = False) -> None:
        """End it, with a goodbye or without."""
        if kill:
            self._process.kill()
        else:
            self._process.terminate()
        self._limit.cancel()
        with self._process:
            pass

    def _lines(self) -> Iterator[str]:
        assert self._process.stdout is not None
        return iter(self._process.stdout)


@contextlib.contextmanager
def subscribed(port: int, version: str, *words: str, shape: str = "%t %p") -> Iterator[Subscriber]:
    """A subscriber for as long as the block lasts."""
    made = Subscriber(port, version, *words, shape=shape)
    try:
        yield made
    finally:
        made.stop()


class Bridge:
    """A mosquitto with one connection to our server; `port` is where its own clients come."""

    def __init__(self, folder: Path, port: int, version: str, *lines: str) -> None:
        (self.port,) = free_ports(1)
        configuration = folder / f"bridge-{self.port}.conf"
        configuration.write_text(
            f"""listener {self.port} 127.0.0.1
user {"root" if os.geteuid() == 0 else "mosquitto"}
allow_anonymous true
persistence false
log_dest stderr
log_type all
connection to-roost-{self.port}
address 127.0.0.1:{port}
bridge_protocol_version mqttv{version}
restart_timeout 1
{chr(10).join(lines)}
"""
        )
        self.said: Final[list[str]] = []
        self._changed: Final = threading.Condition()
        self._process: Final = subprocess.Popen(
            [require_mosquitto(), "-c", str(configuration)], stderr=subprocess.PIPE, text=True
        )
        self._reader: Final = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def until(self, words: str, count: int = 1) -> None:
        """Wait until its log has had these words so many times."""
        with self._changed:
            found = self._changed.wait_for(lambda: sum(words in line for line in self.said) >= count, RUN_S)
            assert found, f"it never said {words!r}:\n{''.join(self.said)}"

    def stop(self) -> None:
        self._process.terminate()
        self._reader.join(RUN_S)
        with self._process:
            pass

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._changed:
                self.said.append(line)
                self._changed.notify_all()


@contextlib.contextmanager
def bridged(folder: Path, port: int, version: str, *lines: str) -> Iterator[Bridge]:
    """A bridge for as long as the block lasts."""
    made = Bridge(folder, port, version, *lines)
    try:
        yield made
    finally:
        made.stop()
