"""`roost macro spark` beside a real node: a macro outgrows it, and nothing else changes for who subscribes.

The command runs in this process, with the Spark of these tests; the node is a process of its own, and so are clients
for it. Readings are published while a macro is the node's, while nobody runs it, and while Spark does.
"""

from __future__ import annotations

import asyncio
import json
import signal
import threading
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
from pyspark.sql import SparkSession
from tests.verbs import background, environment_of

from roost.cli import _spark, main
from roost.host.blocking import connect_sync
from roost.naming import Name
from roost.pipeline.macros_generation import Asked
from roost.pipeline.macros_job import MacroJob
from roost.pipeline.supervisor import ask_to_stop

GROUP = "/BigCompany/Building1/Electricity"
LIMIT_S = 120
TEMP = "hall/temp"
MEAN = {
    "name": "hall/north/mean",
    "code": f"var t = Noctua.topic('{TEMP}', {{limit: 3}}); t.reduce((a, b) => a + b) / t.length",
}
COUNT = {"name": "count", "code": f"Noctua.topic('{TEMP}') && (Noctua.state.n = (Noctua.state.n || 0) + 1)"}
TENFOLD = {"name": "tenfold", "code": "Noctua.topic('Noctua/hall/north/mean') * 10"}
SUM = {"name": "sum", "code": f"Noctua.topic('Noctua/count') + Noctua.topic('{TEMP}')"}
VALUES = [3.0, 5.5, 4.25, 8.0, 1.5, 2.75, 9.0, 6.5, 7.25, 10.5, 0.5, 12.0, 11.0]


class House:
    """A node with a group, HTTP and the keys of a job."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "roost"
        self.environment = environment_of(folder)
        self.checkpoint = folder / "job"
        self.socket = f"unix://{folder}/gate.sock"
        said = {
            "listeners": [{"tcp": "127.0.0.1:0"}],
            "http": "127.0.0.1:0",
            "store": str(folder / "gate"),
            "node": {"unix": str(folder / "gate.sock")},
            "trees": [{"filter": "#", "group": GROUP}],
            "groups": [{"name": GROUP, "panel": "Gate1", "repo": "Repo1"}],
        }
        (folder / "gate.yaml").write_text(json.dumps(said))
        self.mqtt = self.http = ""

    @contextmanager
    def node(self) -> Iterator[None]:
        with background(self.environment, "mqtt", "-c", str(self.folder / "gate.yaml"), until="ready") as lines:
            uris = [line.removeprefix("listening on ") for line in lines if line.startswith("listening on ")]
            self.mqtt, self.http = uris[0], uris[1]
            yield

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401  JSON
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.http + path, content, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def words(self) -> list[str]:
        reach = ["--repos", self.socket, "--home", str(self.home), "--verify", "boundary"]
        where = ["--group", GROUP, "--panel", "Job", "--checkpoint", str(self.checkpoint), *reach]
        return ["macro", "spark", "--url", self.http, *where]

    def causes(self, macro: str) -> list[str]:
        """What set off the results of a macro, wherever they were made, in the order of their times."""
        with connect_sync(self.socket) as face:
            group = face.group(GROUP)
            found = []
            for panel in ("Gate1", "Job"):
                stream = Name.parse(f"{GROUP}/{panel}/Noctua/{macro}")
                for each in group.read(stream) if stream in group.streams() else []:
                    assert each.reading is not None
                    assert each.reading.lineage is not None
                    found.append((each.reading.time, str(each.reading.lineage.cause)))
        return [cause for _, cause in sorted(found)]

    def runs(self) -> dict[str, int]:
        """The macros of the job, with their versions."""
        file = self.checkpoint / "job.json"
        said = json.loads(file.read_text()) if file.exists() else {"macros": []}
        return {each["definition"]["name"]: each["version"] for each in said["macros"]}


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "roost"))
    monkeypatch.delenv("ROOST_PASSPHRASE", raising=False)
    assert main(["init", "--company", "BigCompany", "--building", "Building1", "--repo", "Repo1"]) == 0
    for panel in ("Gate1", "Job"):
        assert main(["keys", "make", f"{GROUP}/{panel}"]) == 0
    return House(tmp_path)


@pytest.fixture
def command(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[House], int]]:
    """The command, with the Spark of these tests, which goes on when it ends."""

    @contextmanager
    def ours(_app: str, _master: str | None) -> Iterator[Callable[[], SparkSession]]:
        yield lambda: spark

    monkeypatch.setattr(_spark, "spark_for", ours)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield lambda house: main(house.words())
    for number, handler in handlers.items():
        signal.signal(number, handler)


class Heard:
    """What a subscriber got, by topic."""

    def __init__(self, client: aiomqtt.Client) -> None:
        self.payloads: dict[str, list[str]] = {}
        self._client = client

    async def until(self, counts: dict[str, int]) -> None:
        """Wait for so many results of macros."""
        messages = aiter(self._client.messages)
        while any(len(self.payloads.get(f"Noctua/{name}", [])) < count for name, count in counts.items()):
            message = await anext(messages)
            assert isinstance(message.payload, bytes)
            self.payloads.setdefault(str(message.topic), []).append(message.payload.decode())

    def of(self, name: str) -> list[str]:
        return self.payloads.get(f"Noctua/{name}", [])


def means(values: list[float]) -> list[float]:
    return [sum(reversed(values[max(0, at - 2) : at + 1])) / min(3, at + 1) for at in range(len(values))]


def test_a_macro_outgrows_its_node_and_nothing_else_changes(
    house: House, command: Callable[[House], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Condition()
    look = MacroJob.look

    def told(job: MacroJob, asked: Sequence[Asked]) -> bool:
        changed = look(job, asked)
        with looked:
            looked.notify_all()
        return changed

    monkeypatch.setattr(MacroJob, "look", told)

    async def runs(wanted: dict[str, int]) -> None:
        """Wait until the job has these macros."""

        def wait() -> None:
            with looked:
                assert looked.wait_for(lambda: house.runs() == wanted, LIMIT_S)

        await asyncio.to_thread(wait)

    async def story() -> None:
        port = int(house.mqtt.rpartition(":")[2])
        async with asyncio.timeout(LIMIT_S), aiomqtt.Client("127.0.0.1", port) as client:
            heard = Heard(client)
            await client.subscribe("Noctua/#", qos=1)

            async def publish(low: int, high: int) -> None:
                for value in VALUES[low:high]:
                    await client.publish(TEMP, str(value), qos=1)

            for each in (MEAN, COUNT, TENFOLD):
                await asyncio.to_thread(house.ask, "POST", "/macros", each)
            await publish(0, 4)
            await heard.until({"hall/north/mean": 4, "count": 4, "tenfold": 4})

            for each in (MEAN, COUNT):
                shown = await asyncio.to_thread(
                    house.ask, "PUT", f"/macros/{each['name']}", {**each, "engine": "spark"}
                )
                assert shown["version"] == 2
            await publish(4, 7)  # nobody runs them now
            begun.set()
            await heard.until({"hall/north/mean": 7, "count": 7, "tenfold": 7})
            await publish(7, 10)
            await heard.until({"hall/north/mean": 10, "count": 10, "tenfold": 10})

            other = {**COUNT, "engine": "spark", "code": COUNT["code"] + " * 100"}
            await asyncio.to_thread(house.ask, "PUT", "/macros/count", other)
            await asyncio.to_thread(house.ask, "POST", "/macros", {**SUM, "engine": "spark"})
            await runs({"count": 3, "hall/north/mean": 2, "sum": 1})
            await publish(10, 11)
            await heard.until({"hall/north/mean": 11, "count": 11, "tenfold": 11, "sum": 1})

            await asyncio.to_thread(house.ask, "DELETE", "/macros/sum")
            await asyncio.to_thread(house.ask, "DELETE", "/macros/count")
            await runs({"hall/north/mean": 2})
            await publish(11, 12)
            await heard.until({"hall/north/mean": 12, "tenfold": 12})

            ask_to_stop(house.checkpoint.with_name("job.status.json"))
            await asyncio.to_thread(ended.wait, LIMIT_S)
            await asyncio.to_thread(house.ask, "PUT", f"/macros/{MEAN['name']}", MEAN)
            await publish(12, 13)
            await heard.until({"hall/north/mean": 13, "tenfold": 13})
        assert [float(each) for each in heard.of("hall/north/mean")] == means(VALUES)
        assert [float(each) for each in heard.of("tenfold")] == [10 * each for each in means(VALUES)]
        assert heard.of("count") == [*map(str, range(1, 11)), "1100"]
        assert heard.of("sum") == [str(1100 + VALUES[10])]
        readings = [str(Name.parse(f"{GROUP}/Gate1/{TEMP}/seq={number}")) for number in range(1, 14)]
        assert house.causes("hall/north/mean") == readings
        assert house.causes("count") == readings[:11]

    def tell() -> None:
        try:
            asyncio.run(story())
        except BaseException as error:  # noqa: BLE001  it is raised where pytest sees it
            troubles.append(error)
        finally:
            begun.set()
            ask_to_stop(house.checkpoint.with_name("job.status.json"))

    troubles: list[BaseException] = []
    begun, ended = threading.Event(), threading.Event()
    with house.node():
        teller = threading.Thread(target=tell)
        teller.start()
        begun.wait(LIMIT_S)
        status = command(house) if not troubles else 1
        ended.set()
        teller.join()
    if troubles:
        raise troubles[0]
    assert status == 0
