// Where a reading comes from, as a tree back to readings of sensors: nested lists that open and close.

import { fill, h } from "../core/dom.js";
import * as format from "../core/format.js";
import { to } from "../core/routes.js";
import { facts, tag } from "./frame.js";
import { icon } from "./icons.js";
import { notice } from "./notice.js";

/** Show it in its place. */
export function showTree(place, passport, lineage) {
  const made = passport.lineage;
  const macro = format.decoded(passport.stream.split("/Noctua/")[1] ?? "");
  const program = made
    ? facts([
        ["Made by", macro ? h("a", { href: to.macro(macro) }, macro) : (made.program ?? "")],
        ["Program", made.digest ? h("span", { class: "mono small" }, made.digest) : ""],
        ["Of a job", made.job ?? ""],
      ])
    : null;
  if (!lineage.inputs?.length) {
    fill(
      place,
      program,
      made
        ? notice("", "Its inputs are named, and cannot be shown here.")
        : notice("right", "A sensor's own reading: it was not made of others."),
    );
    return;
  }
  fill(place, program, h("ul", { class: "tree" }, branch(lineage, 0)));
}

/** Which readings of a stream: one, or a stretch. */
function numbers({ low, high, number }) {
  return low !== undefined && low !== high ? `№ ${low} to ${high}` : `№ ${number}`;
}

function branch(node, level) {
  const inputs = node.inputs ?? [];
  const label = [
    h(
      "a",
      { href: to.passport(node.stream, node.number), title: node.name },
      `${format.tail(node.stream, 2)} ${numbers(node)}`,
    ),
    " ",
    node.verdict === "trusted"
      ? tag("trusted", "good", "check")
      : tag(node.verdict ?? "not verified", node.verdict === "refused" ? "bad" : "warn"),
    node.reason && node.verdict !== "trusted" ? h("span", { class: "soft small" }, ` ${node.reason}`) : null,
    node.hidden ? h("span", { class: "soft small" }, ` ${format.counted(node.hidden, "input")} you may not see`) : null,
    inputs.length || node.truncated || node.hidden || node.unnamed ? null : h("span", { class: "soft small" }, " raw"),
  ];
  if (!inputs.length)
    return h("li", {}, label, node.truncated ? h("span", { class: "soft small" }, " … and further back") : null);
  const below = h(
    "ul",
    { hidden: level >= 2 },
    inputs.map((each) => branch(each, level + 1)),
    node.truncated ? h("li", { class: "soft" }, "and more inputs") : null,
  );
  const turn = (event) => {
    below.hidden = !below.hidden;
    event.currentTarget.setAttribute("aria-expanded", String(!below.hidden));
  };
  const toggle = h(
    "button",
    {
      class: "toggle",
      type: "button",
      "aria-expanded": String(!below.hidden),
      "aria-label": `Inputs of ${format.tail(node.stream, 2)}`,
      on: { click: turn },
    },
    icon("right", 16),
  );
  return h("li", {}, toggle, label, below);
}
