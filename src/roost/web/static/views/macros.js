// All macros: what they are, how they do, and where one makes another.

import { get } from "../core/api.js";
import { h } from "../core/dom.js";
import * as format from "../core/format.js";
import { has, may } from "../core/node.js";
import { to } from "../core/routes.js";
import { card, field, head, linkButton, table, tag } from "../parts/frame.js";
import { empty, notice, trouble } from "../parts/notice.js";
import { failure } from "../parts/runs.js";
import { show as showOne } from "./macro.js";

const AT_ONCE = 6;
const MOST = 300;

export async function show(context) {
  const { scope, parameters } = context;
  if (parameters.has("new")) return showOne({ ...context, name: "" });
  if (!has("macros"))
    return h(
      "div",
      {},
      intro([]),
      card(
        null,
        empty(
          "No macros run here",
          "Write macros: in the node's configuration, and below it files: []; then start it again.",
        ),
      ),
    );
  const names = await get("/macros", { limit: MOST + 1 }, scope.signal);
  const macros = await details(names.slice(0, MOST), scope);
  const place = h("div", {});
  const draw = (match) =>
    place.replaceChildren(
      list(
        macros.filter((each) => each.name.toLowerCase().includes(match)),
        macros.length,
      ),
    );
  const search = h("input", {
    id: "macro-search",
    type: "search",
    autocomplete: "off",
    on: { input: () => draw(search.value.trim().toLowerCase()) },
  });
  draw("");
  return h(
    "div",
    {},
    intro(may("macros") ? [linkButton("New macro", to.newMacro(), { sign: "plus", first: true })] : []),
    names.length > MOST ? notice("warning", `There are more than ${MOST} macros; the first ${MOST} are shown.`) : null,
    card(null, [macros.length > 8 ? h("div", { class: "window-tools" }, field("Search", search)) : null, place], {
      flush: true,
    }),
  );
}

function intro(actions) {
  return head(
    "Macros",
    "A macro is a small program that a node runs when readings arrive. What it returns is a stream of its own, signed like any other.",
    { actions },
  );
}

/** All about each, a few at once; one that may not be seen is told as that. */
async function details(names, scope) {
  const found = new Array(names.length);
  let next = 0;
  const work = async () => {
    while (next < names.length) {
      const at = next;
      next += 1;
      try {
        found[at] = { name: names[at], ...(await get(`/macros/${format.path(names[at])}`, {}, scope.signal)) };
      } catch (error) {
        if (error.name === "AbortError") throw error;
        found[at] = { name: names[at], trouble: error };
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

function list(macros, total) {
  if (!macros.length) {
    return total
      ? empty("Nothing matches", "Try fewer letters.")
      : empty(
          "No macros yet",
          "Make the first one: an expression over topics is enough, such as Noctua.topic('room1/celsius') * 1.8 + 32.",
        );
  }
  const counters = (each) => each.counters ?? {};
  return table(
    [
      [
        "Macro",
        (each) => [
          h("a", { href: to.macro(each.name) }, each.name),
          each.definition?.description ? h("span", { class: "soft" }, each.definition.description) : null,
        ],
      ],
      ["State", (each) => state(each), "whole"],
      ["Version", (each) => each.version ?? "–", "number"],
      ["Runs", (each) => format.count(counters(each).runs), "number"],
      ["Results", (each) => format.count(counters(each).results), "number"],
      ["Failures", (each) => format.count(counters(each).failures), "number"],
      [
        "Last failure",
        (each) =>
          each.last_failure
            ? [failure(each.last_failure), h("span", { class: "soft" }, format.ago(each.last_failure.time))]
            : "–",
        "roomy",
      ],
    ],
    macros,
    { label: "Macros" },
  );
}

/** How a macro does, in one word. */
export function state(macro) {
  if (macro.trouble) return trouble(macro.trouble);
  if (macro.refusal) return tag("refused", "bad", "cross");
  if (macro.definition?.engine === "spark") return tag("on Spark", "accent");
  if (macro.runs_on && macro.runs_on !== "here") return tag(`on ${format.tail(macro.runs_on, 1)}`, "accent");
  const { failures = 0, runs = 0, activations = 0, waited = 0 } = macro.counters ?? {};
  if (failures && failures === runs) return tag("failing", "bad", "cross");
  if (failures) return tag("fails now and then", "warn", "warning");
  if (!runs) return tag(activations && waited ? "waits for values" : "has not run yet", "", "info");
  return tag("runs", "good", "check");
}
