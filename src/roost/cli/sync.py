"""`roost sync GROUP`: join a sync group, say what is learnt, announce numbers of a stream.

Only who produces keeps numbers on the disk, so any number may listen beside one who announces.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._output import add_json, say
from roost.cli._page import Page

if TYPE_CHECKING:
    from roost.sync import Protocol

SUMMARY = "Join a sync group (SVS or PSync): show what its members announce, announce numbers."
_GROUP: Final = "/BigCompany/Building1/Electricity"
PAGE: Final = Page(
    examples=(
        ("roost sync /BigCompany/Building1/Electricity --seconds 1", "what members announce in the next second"),
        (
            f"roost sync {_GROUP} --produce {_GROUP}/Panel1/Heater/Voltage --announce 3 --seconds 2 --json",
            "announce three numbers",
        ),
    ),
    text="Only who produces keeps numbers on the disk, so any number may listen beside one who announces.",
    see=("sub", "mule", "docs/sync.md", "docs/svsps.md"),
)


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
    parser.add_argument("--announce", metavar="N", type=int, help="announce this many new numbers of that stream")
    parser.add_argument(
        "--folder", metavar="DIR", type=Path, help="where its numbers are kept (default: sync in ROOST_HOME)"
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
    add_json(parser, "a line of JSON for what is announced and learnt")


def run(options: argparse.Namespace) -> int:
    """Join until a signal comes or the time is over."""
    import asyncio

    asyncio.run(_sync(options))
    return 0


async def _sync(options: argparse.Namespace) -> None:
    import asyncio
    import signal

    from roost.cli import note
    from roost.errors import NoKey
    from roost.host import ACCEPT_ANY, Joined, connect
    from roost.host.locate import await_node
    from roost.naming import Name
    from roost.wire import DigestSigner

    group = Name.parse(options.group)
    stream = None if options.produce is None else Name.parse(options.produce)
    protocol = _checked(options)
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lambda: task and task.cancel())
    limit = asyncio.timeout(options.seconds)

    async def produce(joined: Joined, stream: Name) -> None:
        first = await joined.produce(stream)
        if options.announce is None:
            note(f"{stream} goes on with {first}")
        else:
            high = first + options.announce - 1
            await joined.announce(stream, high)
            line = f"announced {stream} {first} to {high}"
            say(options, line, event="announced", stream=str(stream), low=first, high=high)

    try:
        uri = await await_node(options.uri, note)
        verifier = ACCEPT_ANY if options.accept_any else None
        async with (
            connect(uri, verifier=verifier, signer=DigestSigner() if options.digest else None) as face,
            face.join(group, protocol, folder=options.folder, durable=stream is not None) as joined,
            limit,
        ):
            note(f"joined {group} by {options.protocol} over {face.where}; stop with Ctrl-C")
            if stream is not None:
                await produce(joined, stream)
            async for learned in joined:
                name = str(learned.stream)
                line = f"learned {name} {learned.low} to {learned.high}"
                say(options, line, event="learned", stream=name, low=learned.low, high=learned.high)
    except asyncio.CancelledError:  # by a signal
        return
    except NoKey as error:
        raise NoKey(f"{error}; or add --digest, which says that vectors are whole, and not who sent them") from None
    except TimeoutError:
        if not limit.expired():  # else somebody did not answer
            raise


def _checked(options: argparse.Namespace) -> Protocol:
    """Look at the options before anything is done; returns the protocol that is meant."""
    from roost.errors import BadConfig, Untrusted
    from roost.host.home_trust import is_initialised
    from roost.host.paths import home
    from roost.sync import PartialPreset
    from roost.sync.choice import PROTOCOLS

    protocol = PROTOCOLS.get(options.protocol)
    if protocol is None:
        raise BadConfig(f"--protocol {options.protocol}: use one of {', '.join(PROTOCOLS)}")
    if options.announce is not None and options.produce is None:
        raise BadConfig("--announce needs --produce STREAM: whose numbers they are")
    if options.announce is not None and options.announce < 1:
        raise BadConfig("--announce is at least 1")
    if options.seconds is not None and not options.seconds > 0:
        raise BadConfig("--seconds is more than 0")
    if isinstance(protocol, PartialPreset) and options.produce is None:
        raise BadConfig("psync-partial is spoken by a producer: add --produce STREAM; programs follow it with `follow`")
    if not options.accept_any and not is_initialised():
        raise Untrusted(
            f"nobody in {options.group} could be believed: no trust is configured in {home()}; run `roost init` or, "
            "for what another machine trusts, `roost init --join`, or add --accept-any if you do not care who is there"
        )
    return protocol
