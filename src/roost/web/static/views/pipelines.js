// Pipelines: which stages run from which groups to which, how much goes through, and what is still to come.

import { get } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import * as format from "../core/format.js";
import { to } from "../core/routes.js";
import { card, head, table, tag } from "../parts/frame.js";
import { graph } from "../parts/graph.js";
import { empty } from "../parts/notice.js";

const POLL_MS = 3000;
const LATE_S = 60;
const STATES = {
  running: ["good", "check"],
  failed: ["bad", "cross"],
  dead: ["bad", "cross"],
  stopped: ["warn", "warning"],
};

export async function show({ scope }) {
  const place = h("div", { class: "stack" });
  const round = async () => {
    const { items } = await get("/pipelines", {}, scope.signal);
    if (place.contains(document.activeElement)) return;
    fill(
      place,
      items.length
        ? items.map(pipeline)
        : card(
            null,
            empty(
              "No pipeline runs here",
              "A pipeline is a Spark job from groups to groups. Start one with “roost pipeline run”, and it is shown here.",
            ),
          ),
    );
  };
  await round();
  scope.every(POLL_MS, () => scope.run(round));
  return h(
    "div",
    {},
    head(
      "Pipelines",
      "Windows, joins and histories over whole groups. Each stage reads groups and publishes into one, with the inputs named in every result.",
    ),
    place,
  );
}

function pipeline({ name, state, stages }) {
  const groups = [...new Set(stages.flatMap((each) => [...each.inputs, each.output]))];
  const nodes = [
    ...groups.map((each) => ({ key: `group ${each}`, title: format.tail(each, 2), lines: ["group"], kind: "group" })),
    ...stages.map((each) => ({
      key: `stage ${each.name}`,
      title: each.name,
      lines: [`${rate(each.input_rate)} in`, `${rate(each.output_rate)} out`],
      kind: "stage",
    })),
  ];
  const edges = stages.flatMap((each) => [
    ...each.inputs.map((input) => [`group ${input}`, `stage ${each.name}`]),
    [`stage ${each.name}`, `group ${each.output}`],
  ]);
  const [kind, sign] = STATES[state] ?? ["", "info"];
  return card(
    name,
    [
      stages.length
        ? h(
            "div",
            { class: "graph", tabindex: "0", role: "region", "aria-label": `Graph of ${name}` },
            graph(
              nodes,
              edges,
              `From ${groups.length} groups through ${stages.length} stages; the table below has the same`,
            ),
          )
        : null,
      stages.length ? details(name, stages) : empty("No stages yet", "It has not started its first batch."),
    ],
    { actions: [tag(state, kind, sign)] },
  );
}

function details(name, stages) {
  return table(
    [
      ["Stage", (each) => h("strong", {}, each.name)],
      ["From", (each) => each.inputs.map((input) => h("div", {}, groupLink(input)))],
      ["To", (each) => groupLink(each.output)],
      ["In", (each) => rate(each.input_rate), "number"],
      ["Out", (each) => rate(each.output_rate), "number"],
      ["Behind", (each) => behind(each), "whole"],
      ["Complete", (each) => complete(each.completeness), "whole"],
      ["Last batch", (each) => format.ago(each.last_batch), "whole"],
    ],
    stages,
    { label: `Stages of ${name}` },
  );
}

function behind({ lag_s: seconds }) {
  if (seconds === null || seconds === undefined) return "not known";
  return tag(format.span(seconds * 1000), ...(seconds > LATE_S ? ["warn", "warning"] : ["good", "check"]));
}

function groupLink(name) {
  return h("a", { href: to.streams({ group: name }) }, format.tail(name, 2));
}

function rate(value) {
  return value === null || value === undefined ? "–" : `${format.number(value)}/s`;
}

function complete(share) {
  if (share === null || share === undefined) return "not known";
  const text = `${(Math.floor(share * 1000) / 10).toLocaleString("en")} %`;
  return h(
    "span",
    { class: "share" },
    h("meter", { min: 0, max: 1, low: 0.95, high: 0.999, optimum: 1, value: share, "aria-label": `Complete: ${text}` }),
    text,
  );
}
