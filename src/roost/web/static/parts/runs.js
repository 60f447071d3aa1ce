// Runs of a macro: what caused them, what they were given, what came of them, how long they took.

import { h } from "../core/dom.js";
import * as format from "../core/format.js";
import { table, tag } from "./frame.js";

/** A table of runs; go(line, column) shows a place of the code. */
export function runsTable(runs, go) {
  return table(
    [
      ["Time", (run) => format.moment(format.ms(run.time)), "whole"],
      [
        "Caused by",
        (run) =>
          run.cause
            ? [run.cause.topic, h("span", { class: "soft" }, format.valueWithUnit(run.cause.value, run.cause.unit))]
            : "it was due",
      ],
      ["Result", (run) => result(run, go), "roomy"],
      [
        "Took",
        (run) => (typeof run.took_us === "number" ? `${format.number(Math.round(run.took_us * 10) / 10)} µs` : "–"),
        "number",
      ],
      ["Given and said", (run) => given(run)],
    ],
    runs,
    { label: "Runs" },
  );
}

function result(run, go) {
  if (run.failure) {
    const { line, column } = run.failure;
    const place = line
      ? h(
          "button",
          { class: "button slim", type: "button", on: { click: () => go(line, column) } },
          `Show line ${line}`,
        )
      : null;
    return [tag("failed", "bad", "cross"), h("span", { class: "soft" }, run.failure.message), place];
  }
  return run.output === undefined
    ? h("span", { class: "soft" }, "nothing published")
    : h("span", { class: "mono small" }, format.value(run.output));
}

function given(run) {
  const samples = run.inputs?.flatMap((each) => each.samples) ?? [];
  const lines = [
    ...samples.map((each) => `${each.topic} = ${format.valueWithUnit(each.value, each.unit)}`),
    ...(run.log ?? []).map((each) => `said: ${each}`),
  ];
  if (!lines.length) return "–";
  return h(
    "details",
    {},
    h(
      "summary",
      { class: "small" },
      `${format.counted(samples.length, "value")}${run.log?.length ? `, ${format.counted(run.log.length, "line")}` : ""}`,
    ),
    h("pre", { class: "small" }, lines.slice(0, 100).join("\n")),
  );
}

/** What went wrong in a run, with its place. */
export function failure(run) {
  const { message = "", line, column } = run.failure ?? {};
  return line ? `${message} (line ${line}${column ? `, column ${column}` : ""})` : message;
}
