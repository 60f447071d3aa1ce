"""`roost demo`: a node, a panel that publishes signed readings, a consumer that fetches and checks them, one forger.

Everything is real but the sensor: a node with sockets of its own, keys and certificates up to an anchor. Nothing is
kept: keys live in memory and the Unix socket in a temporary folder, so it runs anywhere and any number of times.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roost.host import Face
    from roost.naming import Name
    from roost.trust import Identity
    from roost.wire import Interest

SUMMARY = "Start a node, publish signed sample readings, fetch them back over a real socket, and say what happened."

_READINGS = 5


def arguments(parser: argparse.ArgumentParser) -> None:
    """Take how many readings to publish."""
    parser.add_argument("--readings", type=int, default=_READINGS, metavar="N", help=f"how many (default {_READINGS})")


def run(options: argparse.Namespace) -> int:
    """Tell the story; 0 if everything came back as it should, and the forgery did not."""
    import asyncio

    from roost.errors import BadConfig

    if options.readings < 1:
        raise BadConfig("--readings is at least 1")
    return asyncio.run(_story(options.readings))


async def _story(count: int) -> int:
    import random
    import secrets
    import tempfile
    from pathlib import Path

    from roost.host import Listen, connect, running
    from roost.naming import Name
    from roost.naming.building import Company
    from roost.node import Node, NodeSettings
    from roost.trust import KeyChain, Verifier, building_schema

    company = Company(Name.parse("/BigCompany"), frozenset({"Building1"}))
    stream = company.group("Building1", "Electricity").stream("Panel1", "Heater", "Voltage").name
    schema = building_schema(company)
    root, building, panel, other = _identities()
    print(f"trust    anchor {root.name}, which signs {building.name}, which signs {panel.name}")
    with tempfile.TemporaryDirectory(prefix="roost-demo-") as folder:
        listen = Listen(unix=Path(folder) / "node.sock", tcp=(("127.0.0.1", 0),))
        node = Node(NodeSettings(), random.Random(secrets.randbits(64)))  # noqa: S311  nonces are no secrets
        async with running(node, listen) as server:
            unix, tcp = server.uris
            print(f"node     listening on {unix} and {tcp}")
            keys = KeyChain(schema, [root, building, panel])
            verifier = Verifier(schema, [root.certificate])
            async with (
                connect(unix, verifier=verifier, signer=keys) as publisher,
                connect(tcp, verifier=verifier) as consumer,
            ):
                good = await _publish_and_fetch(publisher, consumer, stream, count)
                refused = await _forge(publisher, consumer, stream, other)
            counters = node.forwarder.counters
            print(
                f"node     {counters.in_interests} Interests and {counters.in_data} Data came in, "
                f"{node.forwarder.store.hits} answers came from its cache"
            )
    if good and refused:
        print("done     everything published was fetched and verified; the forgery was refused")
        return 0
    print("FAILED   see above for what did not come back, or came back and should not have")
    return 1


async def _publish_and_fetch(publisher: Face, consumer: Face, stream: Name, count: int) -> bool:
    import time

    from roost.naming.building import numbered
    from roost.wire.reading import SENML_CBOR, Reading
    from roost.wire.senml import Value, decode_values, encode_values

    volts = {numbered(stream, n): 229.0 + n / 10 for n in range(1, count + 1)}

    def answer(interest: Interest) -> bytes | None:
        value = volts.get(interest.name)
        if value is None:
            return None
        return Reading(time.time_ns(), SENML_CBOR, encode_values([Value(value, "V")])).encode()

    good = True
    async with publisher.serve(stream, answer):
        print(f"publish  {count} readings of {stream}")
        for attempt in ("from the panel", "again"):
            for name, expected in volts.items():
                began = time.perf_counter()
                data = await consumer.fetch(name)
                took_us = (time.perf_counter() - began) * 1e6
                (value,) = decode_values(Reading.decode(data.content).payload)
                good = good and value.value == expected
                key = data.signature.key_name
                print(
                    f"fetch    {name.at(-1)} = {value.value!r} {value.unit} {attempt}, verified, "
                    f"{len(data.wire)} bytes, {took_us:.0f} µs, signed by {key.prefix(-4) if key else '?'}"
                )
    return good


async def _forge(forger: Face, victim: Face, stream: Name, signer: Identity) -> bool:
    from roost.errors import Untrusted
    from roost.naming.building import numbered
    from roost.wire import Data, make_data

    name = numbered(stream, 666)

    def answer(interest: Interest) -> Data:
        return make_data(interest.name, b"400 V, burn it", signer.signer, freshness_ms=1000)

    async with forger.serve(stream, answer):
        print(f"forge    {name.at(-1)} of the same stream, signed by {signer.name}")
        try:
            await victim.fetch(name)
        except Untrusted as error:
            print(f"refused  {error}")
            return True
    print("accepted, which must not be")
    return False


def _identities() -> list[Identity]:
    import secrets
    import time

    from roost.naming import Name
    from roost.trust import Identity, certify, generate, self_sign

    now = time.time_ns()
    made = [self_sign(generate(Name.parse("/BigCompany/BMS"), secrets.token_bytes, "ecdsa"), now)]
    for name, issuer in (
        ("/BigCompany/Building1", 0),
        ("/BigCompany/Building1/Electricity/Panel1", 1),
        ("/BigCompany/Building1/Electricity/Panel2", 1),
    ):
        key = generate(Name.parse(name), secrets.token_bytes, "ecdsa")
        made.append(Identity(key, certify(made[issuer], key.name, key.public.spki, now)))
    return made
