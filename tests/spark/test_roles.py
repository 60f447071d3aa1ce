"""Figure 7 in Spark: a job reads of a governed stream what the keys of its home open, and the rest is `sealed`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession
from tests.e2e.test_mqtt_groups import uri_of
from tests.roles_house import EXACT, GROUP, RAW, STREAM, VAGUE, House, built, say, working


@contextmanager
def served(house: House) -> Iterator[str]:
    """A node on a thread of its own, with one reading in each stream; gives where its repo is."""
    where: Future[str] = Future()
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def work() -> None:
        async with working(house) as (running, sam):
            await say(sam)
            where.set_result(uri_of(running))
            await over.wait()

    def run() -> None:
        try:
            loop.run_until_complete(work())
        except BaseException as error:
            if where.done():
                raise
            where.set_exception(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield where.result(timeout=60)
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(timeout=60)
        loop.close()


def test_a_job_has_the_streams_that_the_roles_of_its_key_may_see(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = built(tmp_path_factory.mktemp("house"))
    monkeypatch.setenv("ROOST_HOME", str(house.folder / "home"))
    exact, vague = ("good", float(EXACT)), ("good", float(VAGUE))
    sealed = ("sealed", None)
    table = {"ada": [exact, vague], "cid": [sealed, vague], "vic": [sealed, sealed], "eve": [sealed, sealed]}
    with served(house) as uri:
        for user, expected in table.items():
            found = []
            for topic in (RAW, STREAM):
                options = {"group": GROUP, "repos": uri, "home": str(house.home(user)), "subscribe": f"Gate1/{topic}"}
                rows = spark.read.format("roost").options(**options).load().collect()
                found += [(row.quality, row.value) for row in rows]
            assert found == expected, user
