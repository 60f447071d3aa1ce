"""A python-ndn program as its tutorial has it, with nothing set up for Roost but where the forwarder is.

It has a key chain of its own (without `pyndnsec Init-Pib` its `NDNApp()` does not start, without a key of its own it
cannot sign) and finds our node by NDN_CLIENT_TRANSPORT or by client.conf, as docs/client.md says.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from tests.interop.processes import ANSWER_S, Node, private_environment

from roost.host import ACCEPT_ANY, connect
from roost.wire import DigestSigner

PROGRAM = """
from ndn.app import NDNApp
app = NDNApp()
def on_interest(name, param, _):
    app.put_data(name, content=b"from python-ndn", freshness_period=1000)
async def after_start():
    assert await app.register("/python/program", on_interest)
    _, _, content = await app.express_interest("/roost/program/1", must_be_fresh=True)
    print(bytes(content).decode(), flush=True)
app.run_forever(after_start())
"""


@pytest.mark.parametrize("transport", ["unix", "tcp"])
@pytest.mark.parametrize("told_by", ["environment", "client.conf"])
async def test_a_program_with_a_key_chain_of_its_own(node: Node, tmp_path: Path, told_by: str, transport: str) -> None:
    environment = private_environment(tmp_path)
    if told_by == "environment":
        environment["NDN_CLIENT_TRANSPORT"] = node.uris[transport]
    else:
        (tmp_path / ".ndn").mkdir()
        (tmp_path / ".ndn" / "client.conf").write_text(f"transport={node.uris[transport]}\n")
    for command in (["Init-Pib"], ["New-Item", "/python/program"]):
        tool = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ndn.bin.sec", *command), env=environment, stdout=asyncio.subprocess.DEVNULL
        )
        assert await asyncio.wait_for(tool.wait(), ANSWER_S) == 0
    async with (
        connect(node.uris["udp"], verifier=ACCEPT_ANY, signer=DigestSigner()) as face,
        face.serve("/roost/program", lambda _: b"from roost"),
    ):
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PROGRAM), env=environment, stdout=asyncio.subprocess.PIPE
        )
        assert program.stdout is not None
        try:
            assert await asyncio.wait_for(program.stdout.readline(), ANSWER_S) == b"from roost\n"
            assert (await face.fetch("/python/program/1")).content == b"from python-ndn"
        finally:
            program.kill()
            await program.communicate()
