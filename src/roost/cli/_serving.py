"""A node or a broker from its configuration until a signal comes: what `roost up` and `roost mqtt` have in common.

SIGINT and SIGTERM end it in order, SIGHUP has it read its configuration again, and systemd is told of all three.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from roost.cli import note
from roost.cli._mqtt_reload import answer, forget_answers
from roost.errors import BadConfig, RoostError
from roost.host.mqtt.running import running_broker
from roost.host.notify import Notifier

if TYPE_CHECKING:
    from roost.cli._config_source import ConfigSource
    from roost.host.mqtt.config import Config
    from roost.host.mqtt.running import Builder, Running

_OTHER_FILES: Final = 1_000  # of the store, the listeners and Python
_PLENTY: Final = 10_000  # connections; fewer are told of, even if the configuration does not say how many
_NEW_ROLES: Final = (
    "roles: were not there at the start; start the node again, until then all permitted streams are given as they are"
)
_AT_A_START: Final = {
    "listeners": "listeners",
    "store": "store",
    "trees": "trees",
    "groups": "groups",
    "node": "node",
    "broker": "durability, packets, sessions, queues, retained, memory, features or denied",
    "http": "http",
    "web": "page, metrics, log, tracing or tokens",
    "name": "name",
    "flips": "flips",
}


def _quietly(_: object) -> None:
    """Tell nobody."""


class Told(NamedTuple):
    """Who hears of each part as it starts, of all before it is ready, of what to do once it is, and of its end.

    `line` is told what is true of all that run: a line for people, and the same for programs.
    """

    line: Callable[[str, Mapping[str, object]], None]
    part: Callable[[str], None] = _quietly
    started: Callable[[Running], None] = _quietly
    ready: Callable[[Running], None] = _quietly


async def serve(config: Config, source: ConfigSource, told: Told, builders: Sequence[Builder] = ()) -> None:
    """Run it until a signal comes; raises `BadConfig` and `NoKey` if it cannot start."""
    try:
        await _serve(config, source, told, builders)
    except BadConfig as error:
        raise BadConfig(source.place(str(error))) from None


async def _serve(config: Config, source: ConfigSource, told: Told, builders: Sequence[Builder]) -> None:
    from roost.cli.node import calm_collector

    config, shortage = within_limits(config)
    stopped = asyncio.Event()
    hangups = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    loop.add_signal_handler(signal.SIGHUP, hangups.set)
    notifier = Notifier()
    async with running_broker(config, builders=builders, tell=told.part) as running, notifier.watched():
        forget_answers(config.store)
        told.started(running)
        if shortage:
            note(shortage)
        calm_collector()
        told.line("ready; stop with Ctrl-C", {"ready": True})
        notifier.ready()
        told.ready(running)
        reloading = asyncio.create_task(_reload_on(hangups, running, source, notifier))
        await stopped.wait()
        notifier.stopping()
        reloading.cancel()
        poll = running.server.poll
        links, refused = len(poll), running.server.journal.rejected
    ended = {"closed": links, "turned_away": poll.turned_away, "cut": poll.outbox.cut, "refused": refused}
    told.line(
        f"stopped; {links} connections closed, {poll.turned_away} turned away, {poll.outbox.cut} cut off for not "
        f"reading, {refused} refusals",
        {"stopped": ended},
    )


def within_limits(config: Config) -> tuple[Config, str]:
    """Have as many open files as the system allows, and let in no more clients than leaves some for the store.

    The sentence says so if that is fewer than the configuration has.
    """
    import resource

    from roost.broker.limits import Limits

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    room = max(1, most - _OTHER_FILES)
    if most == resource.RLIM_INFINITY or config.bounds.max_links <= room:
        return config, ""
    fewer = replace(config, bounds=replace(config.bounds, max_links=room))
    if config.limits.max_links == Limits().max_links and room > _PLENTY:
        return fewer, ""  # nobody asked for as many
    return fewer, (
        f"lets in {room} connections at most, not {config.bounds.max_links} (limits.connections): the system allows "
        f"this process {most} open files (ulimit -Hn)"
    )


async def _reload_on(hangups: asyncio.Event, running: Running, source: ConfigSource, notifier: Notifier) -> None:
    """Reload whenever SIGHUP comes; what is wrong is said, and everything stays as it was."""
    while True:
        await hangups.wait()
        hangups.clear()
        notifier.reloading()
        began = time.monotonic_ns()
        done = True
        try:
            before, fresh = running.config, source.read()
            await running.reload(fresh)
            said = told_of_reload(before, fresh, is_tls=bool(running.server.security.current.contexts))
        except (RoostError, OSError) as error:  # whatever is wrong, the next SIGHUP is heard
            said, done = f"nothing was reloaded, everything stays as it was: {source.place(str(error))}", False
        running.server.journal.warn("%s", said)
        answer(running.config.store, began, said, done=done)
        notifier.ready()


def told_of_reload(config: Config, fresh: Config, *, is_tls: bool) -> str:
    """What was read again of a running configuration, of the parts that there are, and what waits for a start."""
    parts = {
        "users": config.users or fresh.users,
        "permissions": config.permissions or fresh.permissions,
        "certificates": is_tls,
        "authentication": config.hook or fresh.hook,
        "roles": config.roles and fresh.roles,  # what came or went waits, as macros do
        "macros": config.macros and fresh.macros,
    }
    found = [name for name, there in parts.items() if there]
    said = f"reloaded {', '.join(found)} and limits" if found else "reloaded limits"
    is_new = config.roles is None and fresh.roles is not None
    waiting = [name for name in for_the_next_start(config, fresh) if not (is_new and name == "roles")]
    said += f"; what else changed counts from the next start: {', '.join(waiting)}" if waiting else ""
    return f"{said}; {_NEW_ROLES}" if is_new else said


def for_the_next_start(config: Config, fresh: Config) -> list[str]:
    """What differs between two configurations and is no matter of a reload."""
    differs = [key for name, key in _AT_A_START.items() if _of(config, name) != _of(fresh, name)]
    if replace(config.bounds, max_links=0) != replace(fresh.bounds, max_links=0):
        differs.append("buffers")
    reloaded = ("macros", "roles")  # where there were some
    differs += [name for name in reloaded if (_of(config, name) is None) != (_of(fresh, name) is None)]
    return differs


def _of(config: Config, name: str) -> object:
    from roost.broker.settings import BrokerSettings

    value: object = getattr(config, name)
    return replace(value, release="") if isinstance(value, BrokerSettings) else value
