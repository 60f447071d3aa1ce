"""`roost archive run|verify|compact|status`: readings as Parquet, for years, with their signatures."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any, Final

from roost.cli._exit import FAILED
from roost.cli._output import add_json, counted, say
from roost.cli._page import Page
from roost.cli._parsing import add_at
from roost.cli._progress import progress_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roost.pipeline.archive.manifest import Archive, GroupArchive

SUMMARY = "Archive groups as Parquet, verify what is archived, compact it."
PAGE: Final = Page(
    examples=(
        ("roost archive run /BigCompany/Building1/Electricity --once", "archive what is new, and leave"),
        (
            'roost archive run /BigCompany/Building1/Electricity "+/Heater/#" --every 5m',
            "some streams, every five minutes, until stopped",
        ),
        ("roost archive verify", "check every archived reading: signature, columns, completeness"),
        ("roost archive status --json", "what is archived, a line of JSON per group"),
        ("roost archive compact --group /BigCompany/Building1/Electricity", "make few files of many"),
    ),
    text="An archive is a folder, or anything that Spark can write, with the readings' signatures; it is read by "
    "`roost sql`, by Spark and by whatever reads Parquet.",
    exits={FAILED: "what is archived is not as it was signed, or not complete (verify); or failed"},
    see=("sql", "repo", "docs/archive.md"),
)

_PAUSE: Final = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)?")
_COUNTS: Final = ("archived", "refused", "missing", "dropped", "uncertified")
_FAULTS: Final = ("readings", "forged", "altered", "absent", "surplus")
_SECONDS: Final = {None: 1, "s": 1, "m": 60, "h": 3600}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what to do with which archive."""
    verbs = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    fill = verbs.add_parser("run", help="archive what is new in a group, again and again")
    fill.add_argument("group", metavar="GROUP", help="the group's name: /BigCompany/Building1/Electricity")
    fill.add_argument(
        "filters", metavar="FILTER", nargs="*", default=[], help='only these streams: "+/Heater/#" (default: all)'
    )
    fill.add_argument("--to", metavar="DIR", help="the archive, a folder or a URI (default: archive in ROOST_HOME)")
    fill.add_argument("--every", metavar="TIME", default="60s", help="how often: 30s, 5m, 1h (default: 60s)")
    fill.add_argument("--once", action="store_true", help="one round, then leave")
    fill.add_argument(
        "--confirm-as",
        metavar="PANEL",
        help='tell the repos what is archived, as this panel; with --retention "# 7d replaced-by +/Archive/Confirmed" '
        "they keep what is not",
    )
    fill.add_argument(
        "--verify",
        metavar="WHAT",
        default="boundary",
        help="always, never, or boundary (the default): what a repo on this machine hands out has been verified",
    )
    fill.add_argument(
        "--bulk",
        metavar="DOOR",
        action="append",
        default=[],
        help="a repo's bulk door: host:port or a path; repeatable",
    )
    add_at(fill)
    add_json(fill, "a line of JSON per round")
    for action, summary in (
        ("verify", "check every archived reading: signature, columns, completeness"),
        ("compact", "make few files of many; also repairs what a killed archiver left"),
        ("status", "what is archived"),
    ):
        verb = verbs.add_parser(action, help=summary)
        verb.add_argument("archive", metavar="DIR", nargs="?", help="the archive (default: archive in ROOST_HOME)")
        verb.add_argument("--group", metavar="GROUP", help="one group (default: all)")
        add_json(verb, "a line of JSON per group")


def run(options: argparse.Namespace) -> int:
    """Do it; the exit status of `verify` is 1 if something is wrong."""
    actions = {"run": _run, "verify": _verify, "compact": _compact, "status": _status}
    return actions[options.action](options)


def _run(options: argparse.Namespace) -> int:
    import signal
    import threading
    import time
    from contextlib import ExitStack

    from roost.cli import note
    from roost.cli._archive_confirming import confirming_of, deliver
    from roost.cli._watched import WatchedSource
    from roost.errors import BadConfig, RoostError
    from roost.host.stretch_access import NEVER, Access
    from roost.naming import Name
    from roost.naming.topic import TopicFilter
    from roost.pipeline.archive.certificates import Certificates
    from roost.pipeline.archive.filling import Report
    from roost.pipeline.archive.live import certificates_of, live, reached
    from roost.pipeline.archive.rounds import Rounds
    from roost.pipeline.archive.writing import open_writer

    group, pause_s = Name.parse(options.group), pause_of(options.every)
    wishes = [TopicFilter(each) for each in options.filters or ["#"]]
    access = Access(tuple(options.uris), verify=options.verify, bulk=tuple(options.bulk), group=str(group))
    if options.confirm_as and access.verify == NEVER:
        raise BadConfig("--confirm-as lets repos drop what is archived, so that has to be verified: leave out --verify")
    archive = _archive(options.to)
    stopped = threading.Event()

    def stop(*_: object) -> None:
        if stopped.is_set():  # the second time: not even to the end of the round
            raise KeyboardInterrupt
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)

    def tell(what: Report | RoostError) -> None:
        if isinstance(what, RoostError):
            note(f"this round failed, the next one goes on: {what}")
            return
        counts = {key: getattr(what, key) for key in _COUNTS}
        say(options, str(what), group=str(group), **counts, first=what.first)
        for trouble in what.first:
            note(trouble)

    with ExitStack() as stack:
        writer = stack.enter_context(open_writer(archive.group(group)))
        if writer.mended:
            note(f"mended: {writer.mended} files that an archiver which was stopped had left")
        face = stack.enter_context(reached(access, note))
        source = WatchedSource(stack.enter_context(live(face, group, access)), progress_of(options))
        certificates = Certificates(archive.folder, certificates_of(face))
        panel = stack.enter_context(face.group(group).panel(options.confirm_as)) if options.confirm_as else None
        confirming = None if panel is None else confirming_of(panel, writer.archive)
        rounds = Rounds(source, writer, certificates, confirming, time.time_ns, wishes)
        if options.once:
            tell(rounds.once())
            if panel is not None:
                deliver(panel, stopped)
        else:
            note(f"archiving {group} in {archive.folder.where('')}; stop with Ctrl-C")
            rounds.until(lambda: stopped.wait(pause_s), tell)
    return 0


def _verify(options: argparse.Namespace) -> int:
    import time

    from roost.cli import note
    from roost.cli._watched import WatchedChecker
    from roost.host.keystore import KeyStore
    from roost.host.paths import home
    from roost.pipeline.archive.certificates import Certificates
    from roost.pipeline.archive.verifying import verify
    from roost.trust import Policy

    good = True
    archive = _archive(options.archive)
    certificates = Certificates(archive.folder).all()
    room = Policy().certificates + len(certificates)
    for each in _groups(archive, options.group):
        verifier = KeyStore(home()).verifier(time.time_ns(), Policy(certificates=room, chains=room))
        for certificate in certificates:
            verifier.learn(certificate.data, time.time_ns())  # one that has ended is kept all the same
        progress = progress_of(options)
        report = verify(each, WatchedChecker(verifier, progress, each.manifest().rows))
        progress.end()
        good = good and report.good
        counts = {key: getattr(report, key) for key in _FAULTS}
        told: dict[str, Any] = {"group": str(each.group), "good": report.good, **counts, "first": report.first}
        say(options, f"{each.group}: {report}", **told)
        for trouble in report.first:
            note(trouble)
    return 0 if good else 1


def _compact(options: argparse.Namespace) -> int:
    from roost.pipeline.archive.compaction import compact
    from roost.pipeline.archive.writing import open_writer

    for each in _groups(_archive(options.archive), options.group):
        with open_writer(each) as writer:
            gone = compact(writer)
            mended = f", {writer.mended} left by a stopped archiver mended" if writer.mended else ""
            now = len(writer.manifest.files)
            line = f"{each.group}: {gone} files fewer, {now} now{mended}"
            say(options, line, group=str(each.group), files_fewer=gone, files=now, mended=writer.mended)
    return 0


def _status(options: argparse.Namespace) -> int:
    from roost.pipeline.archive.layout import day_of

    for each in _groups(_archive(options.archive), options.group):
        manifest = each.manifest()
        days = sorted({day_of(path) for path in manifest.files})
        when = f"{days[0]} to {days[-1]}" if days else "nothing yet"
        counts = {"readings": manifest.rows, "streams": len(manifest.covered.streams), "files": len(manifest.files)}
        told = {**counts, "dropped": len(manifest.dropped)}
        line = (
            f"{each.group}: {counted(told['readings'], 'reading')} of {counted(told['streams'], 'stream')} in "
            f"{told['files']} files, {when}; {told['dropped']} were dropped before they could be archived"
        )
        first, last = (str(days[0]), str(days[-1])) if days else (None, None)
        say(options, line, group=str(each.group), **told, first_day=first, last_day=last)
    return 0


def pause_of(text: str) -> float:
    """Read how long to wait; raises `BadConfig` with what to write."""
    from roost.errors import BadConfig

    found = _PAUSE.fullmatch(text)
    pause_s = float(found[1]) * _SECONDS[found[2]] if found else 0
    if not pause_s:
        raise BadConfig(f"--every {text!r} is no time: write 30s, 5m or 1h")
    return pause_s


def _archive(place: str | None) -> Archive:
    from roost.host.paths import home
    from roost.pipeline.archive.folder import Folder
    from roost.pipeline.archive.manifest import Archive

    return Archive(Folder(place or home() / "archive"))


def _groups(archive: Archive, chosen: str | None) -> Iterator[GroupArchive]:
    from roost.errors import BadConfig
    from roost.naming import Name

    known = archive.groups()
    wanted = known if chosen is None else [Name.parse(chosen)]
    if not known or wanted[0] not in known:
        there = ", ".join(str(group) for group in known) or "nothing"
        raise BadConfig(f"{archive.folder.where('')} has no archive of {chosen or 'any group'}: {there} is there")
    for group in wanted:
        yield archive.group(group)
