"""`roost pipeline check|explain|run|status|stop|backfill FILE`: a pipeline from its text to running, and back."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.cli._exit import FAILED
from roost.cli._output import add_json, show
from roost.cli._page import Page
from roost.cli._progress import progress_of
from roost.cli._supervised import add_reach, checkpoint_of, percent, reach_of, status_file, supervise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from roost.pipeline.graph import Pipeline
    from roost.pipeline.running import Running

SUMMARY = "Run pipelines on Spark: check, explain, run, watch, stop, compute the past."
PAGE: Final = Page(
    examples=(
        ("roost pipeline check floor.yaml", "say what is wrong with it"),
        ("roost pipeline explain floor.yaml --json", "the graph of its groups and stages"),
        ("roost pipeline run floor.yaml", "until it is stopped; it goes on from its checkpoint"),
        ("roost pipeline status floor.yaml", "rates, lag and completeness of each stage"),
        ("roost pipeline stop floor.yaml", "have the one that runs stop"),
        ("roost pipeline backfill floor.yaml --since 7d", "compute a week; what is published already stays"),
    ),
    text="FILE is a pipeline as YAML: stages that read groups and publish into groups.",
    exits={FAILED: "it cannot run (check), or not the whole history could be published (backfill); or failed"},
    see=("sql", "macro", "lineage", "docs/pipelines.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what to do with which pipeline."""
    verbs = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, summary in (
        ("check", "say what is wrong with it"),
        ("explain", "say what it reads, does and publishes, and when"),
        ("run", "run it until it is stopped; it goes on from its checkpoint"),
        ("status", "how it goes: rates, lag, completeness"),
        ("stop", "stop the one that runs"),
        ("backfill", "compute the past: what is published already stays as it is"),
    ):
        verb = verbs.add_parser(action, help=summary)
        verb.add_argument("file", metavar="FILE", type=Path, help="the pipeline as YAML")
        if action in ("run", "status", "stop"):
            verb.add_argument("--checkpoint", metavar="DIR", help="default: pipelines/<name> in ROOST_HOME")
        add_json(verb)
        if action in ("check", "run", "backfill"):
            verb.add_argument("--home", metavar="DIR", default="", help="keys and trust (default: ROOST_HOME)")
        if action in ("run", "backfill"):
            add_reach(verb)
        if action == "run":
            verb.add_argument(
                "--since", metavar="WHEN", default="latest", help="where a new one begins: 24h, earliest (default: now)"
            )
        if action == "backfill":
            verb.add_argument("--since", metavar="WHEN", required=True, help="24h, 2026-05-01T08:00Z, earliest")
            verb.add_argument("--until", metavar="WHEN", default="latest", help="default: now")
            verb.add_argument("--stage", metavar="NAME", action="append", default=[], help="only this one; repeatable")


def run(options: argparse.Namespace) -> int:
    """Do it; the exit status of `check` is 1 if the pipeline cannot run."""
    from roost.pipeline.yaml_form import load

    actions = {"check": _check, "explain": _explain, "run": _run, "status": _status, "stop": _stop}
    return actions.get(options.action, _backfill)(options, load(options.file))


def _check(options: argparse.Namespace, pipeline: Pipeline) -> int:
    from roost.pipeline.checking import ERROR, check

    problems = check(pipeline, _panels(options.home))
    wrong = sum(problem.level == ERROR for problem in problems)
    lines = [str(problem) for problem in problems]
    if not wrong:
        lines.append(f"{pipeline.name} can run: {len(pipeline.stages)} stages, {len(problems)} warnings")
    found = [{"level": each.level, "where": each.where, "what": each.what} for each in problems]
    told = {"pipeline": pipeline.name, "can_run": not wrong, "stages": len(pipeline.stages), "problems": found}
    show(options, told, lines)
    return 1 if wrong else 0


def _explain(options: argparse.Namespace, pipeline: Pipeline) -> int:
    import json

    from roost.pipeline.explaining import explain, graph_json

    print(json.dumps(graph_json(pipeline), indent=1) if options.json else explain(pipeline))
    return 0


def _run(options: argparse.Namespace, pipeline: Pipeline) -> int:
    from roost.cli import note

    _check_times(options)
    checkpoint = checkpoint_of(options.checkpoint, pipeline.name)
    running = _running(options, pipeline, checkpoint)

    def begin(spark: SparkSession) -> StreamingQuery:
        query = running.start(spark, since=options.since)
        note(f"{pipeline.name} runs: {len(pipeline.stages)} stages; checkpoint {checkpoint}; stop with Ctrl-C")
        return query

    supervise(pipeline.name, checkpoint, options, begin, running.status)
    return 0


def _status(options: argparse.Namespace, pipeline: Pipeline) -> int:
    import json

    from roost.errors import BadConfig
    from roost.pipeline.checkpoint_lock import is_gone
    from roost.pipeline.explaining import graph_json
    from roost.pipeline.supervisor import RUNNING, WAITING

    file = _status_file(options, pipeline)
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        query: dict[str, Any] = told["queries"][pipeline.name]
    except FileNotFoundError:
        raise BadConfig(f"{pipeline.name} has not run with this checkpoint: there is no {file}") from None
    except (ValueError, KeyError):
        raise BadConfig(f"{file} is no status of {pipeline.name}: is it the checkpoint of another one?") from None
    if query["state"] in {RUNNING, WAITING} and is_gone(checkpoint_of(options.checkpoint, pipeline.name)):
        query["state"] = "killed"
    if options.json:
        print(json.dumps(graph_json(pipeline, query), indent=1))
        return 0
    print(f"{pipeline.name}: {query['state']}, process {told['pid']}, {query['restarts']} restarts")
    if query.get("last_error"):
        print(f"last error: {str(query['last_error']).splitlines()[0]}")
    for name, stage in query.get("stages", {}).items():
        print(f"  {name:<24} {_stage(stage)}")
    return 0


def _stop(options: argparse.Namespace, pipeline: Pipeline) -> int:
    from roost.cli import note
    from roost.errors import BadConfig
    from roost.pipeline.checkpoint_lock import is_gone
    from roost.pipeline.supervisor import ask_to_stop

    file = _status_file(options, pipeline)
    if not file.exists():
        raise BadConfig(f"{pipeline.name} has not run with this checkpoint: there is no {file}")
    if is_gone(checkpoint_of(options.checkpoint, pipeline.name)):
        raise BadConfig(f"{pipeline.name} does not run: nobody has its checkpoint")
    ask_to_stop(file)
    note(f"{pipeline.name} is asked to stop; see: roost pipeline status {options.file}")
    return show(options, {"pipeline": pipeline.name, "asked": True}, ())


def _backfill(options: argparse.Namespace, pipeline: Pipeline) -> int:
    from roost.cli import note
    from roost.cli._shortfall import alarms_told, shortfall
    from roost.cli._spark import spark_for
    from roost.cli._watched import ticking

    _check_times(options)
    running = _running(options, pipeline, "")
    progress = progress_of(options)
    with (
        alarms_told() as alarms,
        spark_for(f"roost {pipeline.name}", options.master) as session,
        ticking(progress, lambda: _done(running.status()), "readings"),
    ):
        told = running.backfill(session(), since=options.since, until=options.until, stages=tuple(options.stage))
    stages = {name: stage for name, stage in told["stages"].items() if stage["rows"]}
    lines = [
        f"{name}: {each['rows']} readings, {percent(each['completeness'])} complete" for name, each in stages.items()
    ]
    short = shortfall(told["before"], len(alarms))
    counts = {name: {"readings": each["rows"], "completeness": each["completeness"]} for name, each in stages.items()}
    show(options, {"pipeline": pipeline.name, "stages": counts, "short": short}, lines)
    if short:
        note(short)
    return 1 if short else 0


# -- what they have in common


def _check_times(options: argparse.Namespace) -> None:
    """Refuse times that are none before Spark is started."""
    from roost.pipeline.options import moment

    for name in ("since", "until"):
        if name in options:
            moment(getattr(options, name), 0, f"--{name}")


def _done(status: Mapping[str, Any]) -> int:
    """The readings that all stages have published."""
    return sum(stage["rows"] for stage in status["stages"].values())


def _stage(stage: Mapping[str, Any]) -> str:
    lag = "—" if stage["lag_s"] is None else f"{stage['lag_s']:.1f} s"
    rates = f"{stage['rows_per_s']:,.1f} readings/s → {stage['results_per_s']:,.1f} results/s"
    return f"{rates}, lag {lag}, {percent(stage['completeness'])} complete"


def _running(options: argparse.Namespace, pipeline: Pipeline, checkpoint: str) -> Running:
    from roost.pipeline.running import Running

    return Running(pipeline, checkpoint=checkpoint, options=reach_of(options))


def _status_file(options: argparse.Namespace, pipeline: Pipeline) -> Path:
    return status_file(checkpoint_of(options.checkpoint, pipeline.name), pipeline.name)


def _panels(home: str) -> frozenset[str]:
    from roost.host.keystore import KeyStore
    from roost.host.paths import home as default_home

    keys = KeyStore(Path(home) if home else default_home())
    return frozenset(str(identity.name) for identity in keys.identities()) if keys.exists else frozenset()
