"""Parts of programs that pages show, `title="In a program"`: each runs in one, with a repo, until it shows something.

Those with `title="On Spark"` are run by tests/spark.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from tests.docs.test_examples import PAGES
from tests.verbs import background, environment_of, roost

import roost as api
from roost.host.joining import Joined

FRAGMENT = re.compile(r'^```python title="In a program"\n(.*?)^```', re.MULTILINE | re.DOTALL)
FRAGMENTS = [(page, body) for page in PAGES for body in FRAGMENT.findall(page.read_text(encoding="utf-8"))]
LISTEN = ("--tcp", "127.0.0.1:0", "--no-udp", "--no-ws")
LIMIT_S = 60


class Shown(Exception):
    """What a fragment printed first."""


def shows(*what: object) -> None:
    raise Shown(*what)


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    """A home with the keys of the company that a fragment tells of, and the address of its repo."""
    environment = environment_of(tmp_path)
    for name in ("HOME", "ROOST_HOME"):
        monkeypatch.setenv(name, environment[name])
    monkeypatch.delenv("NDN_CLIENT_TRANSPORT", raising=False)
    made = roost(environment, "init", "--company", request.param)
    assert made.returncode == 0, made.stderr
    with background(environment, "repo", "Repo1", *LISTEN, until="ready") as lines:
        yield next(line.split()[-1] for line in lines if "tcp4://" in line)


def company_of(body: str) -> str:
    found: list[str] = re.findall(r'"/(\w+)/Building1', body)
    return found[0]


async def produce(member: Joined, company: str) -> None:
    """Announce one number after the other, as a sensor would."""
    stream = f"/{company}/Building1/Electricity/Panel1/Heater/State"
    number = await member.produce(stream)
    for further in count(number):
        await member.announce(stream, further)
        await asyncio.sleep(0.2)


@pytest.mark.parametrize(
    ("page", "body", "repo"),
    [(page.stem, body, company_of(body)) for page, body in FRAGMENTS],
    ids=[f"{page.stem}{at}" for at, (page, _) in enumerate(FRAGMENTS)],
    indirect=["repo"],
)
def test_a_part_of_a_program_runs(page: str, body: str, repo: str) -> None:
    """The first thing that it prints ends it; one that prints nothing goes to its end."""
    source = re.sub(r"tcp4://127\.0\.0\.1:636\d", repo, body)
    given: dict[str, Any] = {"roost": api, "print": shows, "picture": bytes(10_000)}
    exec(compile(f"async def fragment():\n{indent(source, '    ')}", page, "exec"), given)

    async def run() -> None:
        async with asyncio.timeout(LIMIT_S), api.connect() as face, api.connect() as another:
            given["face"] = face
            if "face.join(" not in body:
                await given["fragment"]()
                return
            async with another.join(f"/{company_of(body)}/Building1/Electricity", durable=False) as member:
                producing = asyncio.create_task(produce(member, company_of(body)))
                try:
                    await given["fragment"]()
                finally:
                    producing.cancel()

    if "print(" not in body:
        asyncio.run(run())
        return
    with pytest.raises(Shown) as shown:
        asyncio.run(run())
    assert str(shown.value.args[0]).startswith(f"/{company_of(body)}/Building1/Electricity/Panel1/Heater/")


def test_there_are_parts_of_programs() -> None:
    assert len(FRAGMENTS) == 3
