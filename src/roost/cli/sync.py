"""`roost sync GROUP`: join a sync group, say what is learnt, announce numbers of a stream."""

from __future__ import annotations

import argparse

SUMMARY = "Join a sync group (SVS or PSync), show what its members announce, and announce numbers of your own."


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say which group, how, and what to announce."""
    parser.add_argument("group", metavar="GROUP", help="the group's name: /BigCompany/Building1/Electricity")
    parser.add_argument(
        "--protocol",
        metavar="NAME",
        default="svs3",
        help="svs3 (the default), svs2, psync, psync-adaptive or psync-partial",
    )
    parser.add_argument("--produce", metavar="STREAM", help="a stream of yours")
    parser.add_argument(
        "--announce", metavar="N", type=int, default=0, help="announce this many new numbers of that stream"
    )
    parser.add_argument("--seconds", metavar="S", type=float, help="leave after so long (default: when told to stop)")
    parser.add_argument("--accept-any", action="store_true", help="do not verify who sends state vectors and replies")
    parser.add_argument("--digest", action="store_true", help="sign with a SHA-256 digest: whole, but from nobody")
    parser.add_argument(
        "--at",
        "--uri",
        dest="uri",
        metavar="URI",
        help="the forwarder (default: NDN_CLIENT_TRANSPORT, client.conf, or the running node)",
    )


def run(options: argparse.Namespace) -> int:
    """Join until a signal comes or the time is over."""
    import asyncio

    asyncio.run(_sync(options))
    return 0


async def _sync(options: argparse.Namespace) -> None:
    import asyncio
    import signal

    from roost.cli import note
    from roost.errors import BadConfig
    from roost.host import ACCEPT_ANY, connect
    from roost.host.locate import await_node
    from roost.naming import Name
    from roost.sync.choice import PROTOCOLS
    from roost.wire import DigestSigner

    group = Name.parse(options.group)
    protocol = PROTOCOLS.get(options.protocol)
    if protocol is None:
        raise BadConfig(f"--protocol {options.protocol}: use one of {', '.join(PROTOCOLS)}")
    if options.announce and not options.produce:
        raise BadConfig("--announce needs --produce STREAM: whose numbers they are")
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lambda: task and task.cancel())
    uri = await await_node(options.uri, note)
    verifier = ACCEPT_ANY if options.accept_any else None
    try:
        async with (
            asyncio.timeout(options.seconds),
            connect(uri, verifier=verifier, signer=DigestSigner() if options.digest else None) as face,
            face.join(group, protocol) as joined,
        ):
            note(f"joined {group} by {options.protocol} over {face.where}; stop with Ctrl-C")
            if options.produce:
                first = await joined.produce(options.produce)
                if options.announce:
                    high = first + options.announce - 1
                    await joined.announce(options.produce, high)
                    print(f"announced {options.produce} {first} to {high}", flush=True)
            async for learned in joined:
                print(f"learned {learned.stream} {learned.low} to {learned.high}", flush=True)
    except (TimeoutError, asyncio.CancelledError):
        return
