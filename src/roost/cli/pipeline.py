"""`roost pipeline check|explain|run|status|stop|backfill FILE`: a pipeline from its text to running, and back."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.cli._supervised import add_reach, checkpoint_of, percent, reach_of, status_file, supervise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from roost.pipeline.graph import Pipeline
    from roost.pipeline.running import Running

SUMMARY = "Run pipelines on Spark: check and explain them, start, watch and stop them, compute the past."


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
        if action in ("explain", "status"):
            verb.add_argument("--json", action="store_true", help="the graph of groups and stages, for programs")
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
    for problem in problems:
        print(problem)
    wrong = sum(problem.level == ERROR for problem in problems)
    if not wrong:
        print(f"{pipeline.name} can run: {len(pipeline.stages)} stages, {len(problems)} warnings")
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

    supervise(pipeline.name, checkpoint, options.master, begin, running.status)
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
    return 0


def _backfill(options: argparse.Namespace, pipeline: Pipeline) -> int:
    from roost.cli import note
    from roost.cli._shortfall import alarms_told, shortfall
    from roost.cli._spark import spark_for

    _check_times(options)
    running = _running(options, pipeline, "")
    with alarms_told() as alarms, spark_for(f"roost {pipeline.name}", options.master) as session:
        told = running.backfill(session(), since=options.since, until=options.until, stages=tuple(options.stage))
    for name, stage in told["stages"].items():
        if stage["rows"]:
            print(f"{name}: {stage['rows']} readings, {percent(stage['completeness'])} complete")
    short = shortfall(told["before"], len(alarms))
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
